//! Measures what a mounted share would wait for: `asks DEVICE:SHARE/FILE COUNT` asks one after the
//! other, in one session, what is at the path and for 128 KiB of the file, at offsets that differ.
//! It prints a tab-separated line for both: its name, how many, and the 50th and 99th percentile
//! and the longest, in microseconds.
//!
//! `npm run bench -- --part asks` runs it beside a transfer that fills the link.

use std::env;
use std::error::Error;
use std::time::Instant;

use ringway_engine::{Engine, Listed, Paths, Reference};

/// What a mount reads at once (the kernel's default read-ahead).
const READ_BYTES: u32 = 128 * 1024;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = env::args().skip(1).collect();
    let [what, count] = args.as_slice() else { return Err("usage: asks DEVICE:SHARE/FILE COUNT".into()) };
    let count: u64 = count.parse()?;
    let Reference { device, inside: Some(file) } = Reference::parse(what.as_ref())? else {
        return Err("it names no file".into());
    };
    let engine = Engine::open(Paths::from_env()?)?;
    let mut browser = engine.browse(&engine.resolve(&device)?).await?;

    let (mut stats, mut reads) = (Vec::new(), Vec::new());
    let mut size = u64::from(READ_BYTES);
    for asked in 0..count {
        let began = Instant::now();
        browser.entries(&file, Listed::Itself, |_| async { true }).await?;
        stats.push(began.elapsed().as_micros());

        let began = Instant::now();
        // A step of a prime number of blocks comes to each of them.
        let offset = (asked * 7919 * 4096) % (size - u64::from(READ_BYTES) + 1);
        let (bytes, there) = browser.read(&file, offset, READ_BYTES).await?;
        reads.push(began.elapsed().as_micros());
        size = there.size;
        if bytes.len() != READ_BYTES as usize {
            return Err(format!("{} bytes came from {offset} on", bytes.len()).into());
        }
    }
    browser.close().await;
    print("stat", stats);
    print("read", reads);
    Ok(())
}

fn print(name: &str, mut micros: Vec<u128>) {
    micros.sort_unstable();
    let at = |percent: usize| micros.get((micros.len() * percent / 100).min(micros.len().saturating_sub(1)));
    let [middle, late, last] = [50, 99, 100].map(|percent| at(percent).copied().unwrap_or_default());
    println!("{name}\t{}\t{middle}\t{late}\t{last}", micros.len());
}
