//! Measures what a mounted share would wait for: `asks DEVICE:SHARE/FILE COUNT` asks one after the
//! other, in one session, what is at the path and for 128 KiB of the file, at offsets that differ.
//! With `DEVICE:SHARE/PATH FOLDER` behind that, it gets PATH into FOLDER and asks in the session of
//! that. It prints a tab-separated line for both: its name, how many, and the 50th and 99th
//! percentile and the longest, in microseconds; and `get` with how long that took.
//!
//! `npm run bench -- --part asks` runs it beside a transfer that fills the link.

use std::env;
use std::error::Error;
use std::path::Path;
use std::time::{Duration, Instant};

use ringway_engine::{Browser, Carrier, Engine, GetRequest, Listed, PathInShare, Paths, Reference, Target};
use ringway_model::{Outcome, Stage};
use tokio::time::sleep;

/// What a mount reads at once (the kernel's default read-ahead).
const READ_BYTES: u32 = 128 * 1024;

/// In this time a transfer adds lanes until the link is full.
const FILLING: Duration = Duration::from_secs(3);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = env::args().skip(1).collect();
    let (what, count, got) = match args.as_slice() {
        [what, count] => (what, count, None),
        [what, count, got, folder] => (what, count, Some((got, Path::new(folder)))),
        _ => return Err("usage: asks DEVICE:SHARE/FILE COUNT [DEVICE:SHARE/PATH FOLDER]".into()),
    };
    let count: u64 = count.parse()?;
    let engine = Engine::open(Paths::from_env()?)?;
    let (target, file) = named(&engine, what)?;
    let Some((got, folder)) = got else {
        let mut browser = engine.browse(&target).await?;
        ask(&mut browser, &file, count).await?;
        browser.close().await;
        return Ok(());
    };

    let began = Instant::now();
    let (target, path) = named(&engine, got)?;
    let (transfer, mut asker) = engine.get_asking(GetRequest::new(target, vec![path], folder.into()));
    while !matches!(transfer.progress().stage, Stage::Running | Stage::Ended) {
        sleep(Duration::from_millis(10)).await;
    }
    sleep(FILLING).await;
    let asked = ask(&mut asker, &file, count).await;
    let is_over = transfer.progress().stage != Stage::Running;
    let report = transfer.wait().await;
    if !matches!(report.outcome, Outcome::Complete) {
        return Err(format!("get: {:?}", report.outcome).into());
    }
    asked?;
    if is_over {
        return Err("the transfer ended before the questions".into());
    }
    println!("get\t{}", began.elapsed().as_micros());
    Ok(())
}

fn named(engine: &Engine, what: &str) -> Result<(Target, PathInShare), Box<dyn Error>> {
    let Reference { device, inside: Some(inside) } = Reference::parse(what.as_ref())? else {
        return Err("it names no path".into());
    };
    Ok((engine.resolve(&device)?, inside))
}

async fn ask<C: Carrier>(browser: &mut Browser<C>, file: &PathInShare, count: u64) -> Result<(), Box<dyn Error>> {
    let (mut stats, mut reads) = (Vec::new(), Vec::new());
    let mut size = u64::from(READ_BYTES);
    for asked in 0..count {
        let began = Instant::now();
        browser.entries(file, Listed::Itself, |_| async { true }).await?;
        stats.push(began.elapsed().as_micros());

        let began = Instant::now();
        // A step of a prime number of blocks comes to each of them.
        let offset = (asked * 7919 * 4096) % (size - u64::from(READ_BYTES) + 1);
        let (bytes, there) = browser.read(file, offset, READ_BYTES).await?;
        reads.push(began.elapsed().as_micros());
        size = there.size;
        if bytes.len() != READ_BYTES as usize {
            return Err(format!("{} bytes came from {offset} on", bytes.len()).into());
        }
    }
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
