//! Replays the fuzz targets' corpus with the compiler that builds the tests, so that what fuzzing
//! once found stays fixed.
#[path = "../../../../tests/fuzz/src/lib.rs"]
pub mod fuzz;

use std::path::Path;

#[test]
fn every_target_accepts_its_corpus() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/fuzz/corpus");
    for (name, target) in fuzz::TARGETS {
        let mut replayed = 0;
        for file in std::fs::read_dir(corpus.join(name)).unwrap_or_else(|error| panic!("corpus of {name}: {error}")) {
            let path = file.unwrap().path();
            let bytes = std::fs::read(&path).unwrap();
            if let Err(panic) = std::panic::catch_unwind(|| target(&bytes)) {
                eprintln!("while replaying {}", path.display());
                std::panic::resume_unwind(panic);
            }
            replayed += 1;
        }
        let seeds = fuzz::seeds().iter().filter(|seed| seed.0 == name).count();
        assert!(replayed >= seeds, "{name}: {replayed} files, {seeds} seeds");
    }
}
