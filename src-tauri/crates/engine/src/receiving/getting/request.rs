//! A request for entries of another device's share: what the other end hears of it, what of its
//! answer is taken, and why it may be refused.
use std::ffi::OsString;
use std::num::NonZeroU64;
use std::os::unix::ffi::OsStringExt;
use std::sync::Arc;
use std::time::Duration;

use ringway_model::{Failure, FailureReason, Fault, Invalid, Operation, PathText, Side, Text, TransferId};
use ringway_tree::filesystem::selection::Filter;
use ringway_tree::receive::Asked;
use ringway_wire::control::{Get, GetPath, GetRefusal, Purpose};
use ringway_wire::{RelPath, SelectedPaths, limits};
use rustix::io::Errno;

use crate::devices::reference::PathInShare;
use crate::limits::LANES_MAX;
use crate::transfers::options::GetRequest;
use crate::transfers::transfer::Transfer;

/// The message for patterns or a list that no other device takes.
const TOO_LONG: &str = "for what is got from another device there are at most 1,000 patterns with 16 KiB, and 65,536 listed paths with 4 MiB";

/// The message for a list with other sources than one folder.
const ONE_FOLDER: &str = "a list of paths belongs to one source, a folder";

/// A request, as the other end hears it.
pub(super) struct Request {
    pub(super) get: Get,
    /// The paths that are asked for alone.
    pub(super) selected: Arc<SelectedPaths>,
    filter: Option<Arc<Filter>>,
    /// Listed paths that no entry can have, for which nobody is asked.
    unfit: Vec<Vec<u8>>,
}

impl Request {
    /// # Errors
    /// It is beyond the limits, or asks for two entries of one name.
    pub(super) fn new(request: &GetRequest, transfer: TransferId, retry: Duration) -> Result<Self, Fault> {
        let first = request.paths.first().ok_or(Fault::Invalid(Invalid::NothingToSend))?;
        let share = &first.share;
        if request.paths.iter().any(|path| path.share != *share) {
            return Err(Fault::option("everything that is got at once comes from one share"));
        }
        let path =
            |path: &PathInShare| GetPath { path: path.path().as_bytes().to_vec(), contents_only: path.contents_only };
        let paths: Vec<_> = request.paths.iter().map(path).collect();
        let bytes: usize = paths.iter().map(|path| path.path.len()).sum();
        if paths.len() > limits::GET_PATHS_MAX || bytes > limits::GET_PATHS_BYTES_MAX {
            return Err(Fault::option("there are too many paths: get the folder that they are in"));
        }
        let filter = Filter::new(&request.options.selection)?;
        let patterns = request.options.selection.patterns.clone();
        let bytes: usize = patterns.iter().map(|pattern| pattern.text().len()).sum();
        if patterns.len() > limits::GET_PATTERNS_MAX || bytes > limits::GET_PATTERNS_BYTES_MAX {
            return Err(Fault::option(TOO_LONG));
        }
        let listed = filter.as_ref().and_then(|filter| filter.listed());
        let is_listed = listed.is_some();
        if is_listed && paths.len() != 1 {
            return Err(Fault::option(ONE_FOLDER));
        }
        let (selected, unfit) = selected(listed.into_iter().flatten())?;
        let get = Get {
            transfer: transfer.0,
            share: share.clone(),
            paths,
            lanes: request.options.lanes.unwrap_or(LANES_MAX).clamp(1, LANES_MAX),
            prove: request.options.verify,
            compression: request.options.compression,
            delta: request.options.delta,
            limit: request.options.limit.and_then(|limit| NonZeroU64::new(limit.bytes_per_s())),
            records_per_key: request.options.records_per_key.and_then(NonZeroU64::new),
            retry_s: u32::try_from(retry.as_secs()).unwrap_or(u32::MAX),
            patterns,
            selected: is_listed.then_some(selected.len() as u32),
            purpose: Purpose::Transfer,
        };
        let mut names: Vec<_> = get.paths.iter().filter_map(|path| get.name_of(path)).collect();
        names.sort_unstable();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            let name = OsString::from_vec(pair[0].to_vec());
            return Err(Fault::Invalid(Invalid::SameName { name: name.into() }));
        }
        Ok(Self { get, selected: Arc::new(selected), filter, unfit })
    }

    /// Books the listed paths that no entry can have as failed.
    pub(super) fn fail_unfit(&self, transfer: &Transfer) {
        for path in &self.unfit {
            transfer.figures().fail(Failure {
                path: OsString::from_vec(path.clone()).into(),
                side: Side::Here,
                operation: Operation::Open,
                reason: FailureReason::Os { errno: Errno::NAMETOOLONG.raw_os_error() },
            });
        }
    }

    /// What of the answer is taken; none for all of it. The other end applies the same selection.
    pub(super) fn asked(&self) -> Option<Asked> {
        let (get, filter) = (self.get.clone(), Arc::clone(self.filter.as_ref()?));
        let named: Vec<Vec<u8>> = get.paths.iter().filter_map(|path| get.name_of(path)).map(<[u8]>::to_vec).collect();
        let has_contents = get.paths.iter().any(|path| path.contents_only);
        Some(Arc::new(move |path, is_folder| {
            let (top, below) = match path.iter().position(|byte| *byte == b'/') {
                Some(slash) => (&path[..slash], &path[slash + 1..]),
                None => (path, &b""[..]),
            };
            match named.iter().any(|name| name == top) {
                // What is named is never left out itself, and nothing of the contents of another
                // folder has its name: that would not have been offered.
                true => below.is_empty() || filter.takes(below, is_folder),
                false => has_contents && filter.takes(path, is_folder),
            }
        }))
    }
}

/// The listed paths that are asked for, and those that no entry can have.
fn selected<'p>(listed: impl Iterator<Item = &'p [u8]>) -> Result<(SelectedPaths, Vec<Vec<u8>>), Fault> {
    let (mut selected, mut unfit) = (SelectedPaths::default(), Vec::new());
    for path in listed {
        match RelPath::new(path) {
            Ok(path) => selected.push(path).map_err(|_| Fault::option(TOO_LONG))?,
            Err(_) => unfit.push(path.to_vec()),
        }
    }
    Ok((selected, unfit))
}

/// The share of a request.
pub(super) fn share_of(request: &GetRequest) -> Text {
    request.paths.first().map(|path| path.share.as_str()).unwrap_or_default().into()
}

/// Why nothing can be had, as a fault.
pub(super) fn refused(refusal: GetRefusal, request: &GetRequest) -> Fault {
    match refusal {
        GetRefusal::NoShare => Fault::NotShared { share: share_of(request) },
        GetRefusal::NotServed => Fault::NotServed,
        GetRefusal::Cancelled => Fault::Cancelled { by: Side::There, kept: true },
        GetRefusal::Unavailable(why) => Fault::ShareUnavailable { share: share_of(request), trouble: why },
        GetRefusal::Path(number, errno) => {
            let path = request.paths.get(usize::from(number)).map(PathInShare::shown);
            let path = path.unwrap_or_else(|| PathText::from(OsString::new()));
            Fault::PathThere {
                path,
                operation: Operation::Open,
                source: std::io::Error::from_raw_os_error(errno).into(),
            }
        }
        GetRefusal::SameName => Fault::option(
            "two of these have the same name at the top: get them one after the other, or into different folders",
        ),
        GetRefusal::TooManyNames => {
            Fault::option("there are too many names at the top: get the folder itself instead of its contents")
        }
        GetRefusal::Pattern => Fault::option("the other device does not take a pattern of --exclude or --include"),
        GetRefusal::NotOneFolder => Fault::option(ONE_FOLDER),
        GetRefusal::TooSlow => Fault::option(
            "the patterns take too long to compare with the names of that folder: get the folder itself instead of its contents, or use fewer patterns",
        ),
    }
}

#[cfg(test)]
mod tests {
    use ringway_model::{DeviceId, Pattern, Selection};

    use super::*;
    use crate::devices::reference::Reference;
    use crate::devices::target::Target;

    fn request(paths: &[&str], selection: Selection) -> Result<Request, Fault> {
        let inside = |path: &&str| Reference::parse(format!("lab:{path}").as_ref()).unwrap().inside.unwrap();
        let target = Target::Device(DeviceId([7; 32]));
        let mut request = GetRequest::new(target, paths.iter().map(inside).collect(), "/in".into());
        request.options.selection = selection;
        Request::new(&request, TransferId([1; 16]), Duration::ZERO)
    }

    fn without(patterns: &[&str]) -> Selection {
        Selection { patterns: patterns.iter().map(|text| Pattern::Exclude((*text).into())).collect(), paths: None }
    }

    fn only(paths: &[&str]) -> Selection {
        Selection { patterns: Vec::new(), paths: Some(paths.iter().map(|path| path.as_bytes().to_vec()).collect()) }
    }

    #[test]
    fn only_what_is_asked_for_is_taken() {
        assert!(request(&["s/a"], Selection::default()).unwrap().asked().is_none(), "all of it is");
        let asked = request(&["s/a", "s/c/"], without(&["*.o", "/top", "cache/"])).unwrap().asked().unwrap();
        for (path, is_folder, is_taken) in [
            (&b"a"[..], true, true),
            (b"a/x.o", false, false),
            (b"a/top", false, false),
            (b"a/b/top", false, true),
            (b"a/cache", true, false),
            (b"a/cache", false, true),
            // Of the contents of `c`.
            (b"top", false, false),
            (b"x", false, true),
            (b"x/y.o", false, false),
        ] {
            assert_eq!(asked(path, is_folder), is_taken, "{path:?}");
        }
        let asked = request(&["s/a"], only(&["b/c", "./d//"])).unwrap().asked().unwrap();
        for (path, is_folder, is_taken) in [
            (&b"a"[..], true, true),
            (b"a/b", true, true),
            (b"a/b", false, false),
            (b"a/b/c", false, true),
            (b"a/b/x", false, false),
            (b"a/d/e/f", false, true),
            (b"a/e", false, false),
        ] {
            assert_eq!(asked(path, is_folder), is_taken, "{path:?}");
        }
    }

    #[test]
    fn lists_are_sent_as_plain_paths_of_one_folder() {
        let Request { get, selected, .. } = request(&["s/a/"], only(&["./b//c", "a"])).unwrap();
        assert_eq!((get.selected, selected.iter().collect::<Vec<_>>()), (Some(2), vec![&b"a"[..], b"b/c"]));
        assert_eq!(request(&["s/a"], only(&["."])).unwrap().get.selected, None, "that is all of it");
        assert_eq!(request(&["s/a"], only(&[])).unwrap().get.selected, Some(0));
        assert!(matches!(request(&["s/a", "s/b"], only(&["c"])), Err(Fault::Invalid(_))));
        let long = "x".repeat(256);
        let Request { selected, unfit, .. } = request(&["s/a"], only(&["b", &long])).unwrap();
        assert_eq!(selected.iter().collect::<Vec<_>>(), [b"b"], "the others are asked for");
        assert_eq!(unfit, [long.into_bytes()]);
    }

    #[test]
    fn what_is_beyond_the_limits_is_refused_here() {
        let many = vec!["x"; limits::GET_PATTERNS_MAX + 1];
        assert!(request(&["s/a"], without(&many[1..])).is_ok());
        assert!(matches!(request(&["s/a"], without(&many)), Err(Fault::Invalid(_))));
        let long = "x".repeat(4_000);
        assert!(matches!(request(&["s/a"], without(&[&*long; 5])), Err(Fault::Invalid(_))));
        let paths: Vec<_> = (0..=limits::SELECTED_PATHS_MAX).map(|at| at.to_string().into_bytes()).collect();
        let selection = Selection { patterns: Vec::new(), paths: Some(paths) };
        assert!(matches!(request(&["s/a"], selection), Err(Fault::Invalid(_))));
        assert!(matches!(request(&["s/a"], without(&["["])), Err(Fault::Invalid(_))));
    }
}
