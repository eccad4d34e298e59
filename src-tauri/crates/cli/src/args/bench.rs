//! `ringway bench`, in builds that have it (feature `bench`), and whatever follows it in others.
#[cfg(not(feature = "bench"))]
mod left_out;
#[cfg(feature = "bench")]
mod modes;

#[cfg(not(feature = "bench"))]
pub(crate) use left_out::{BenchArgs, LEFT_OUT};
#[cfg(feature = "bench")]
pub(crate) use modes::{BenchArgs, BenchCommand};
