//! `ringway bench`: measuring, in builds that have it (feature `bench`); packages leave it out.
#[cfg(not(feature = "bench"))]
mod left_out;
#[cfg(feature = "bench")]
mod modes;

#[cfg(not(feature = "bench"))]
pub(crate) use left_out::run;
#[cfg(feature = "bench")]
pub(crate) use modes::run;
