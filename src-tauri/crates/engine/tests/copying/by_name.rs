//! Whether a driver does what its name says: else the suite would run one way by five names.

use ringway_model::IoPath;

use crate::both::{copy_all, drivers};
use crate::places::Place;
use crate::tree::{Tree, pattern};

pub(crate) fn ways(place: &Place) {
    let tree = Tree::new(place.path("source"));
    for (number, len) in [3_000, 20_000, 300_000, 3_500_000].into_iter().enumerate() {
        tree.file(&len.to_string(), pattern(number, len));
    }
    let source = tree.settle();
    for (number, (driver, options)) in drivers(place).into_iter().enumerate() {
        let report = copy_all(&[&source], &place.path(&format!("got-{number}")), &options);
        let (bytes, told) = (report.counts.bytes, report.copy.as_ref().unwrap());
        assert_eq!(told.reflinked_bytes + told.kernel_bytes + told.buffered_bytes, bytes, "{driver}");
        let as_named = match driver {
            "sync" => told.buffered_bytes == bytes && told.uring_bytes == 0,
            "splice" => told.kernel_bytes == bytes,
            "copy_file_range" => told.kernel_bytes + told.reflinked_bytes == bytes,
            "io_uring" => told.uring_bytes == bytes && told.io == IoPath::Uring,
            "reflink" => told.reflinked_bytes == bytes,
            _ => true,
        };
        assert!(as_named, "{driver}: {told:?}");
    }
}
