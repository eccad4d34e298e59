//! Writes the seeds into the corpus folders.
use std::path::Path;

fn main() -> std::io::Result<()> {
    for (target, name, bytes) in ringway_fuzz::seeds() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join(name), bytes)?;
    }
    Ok(())
}
