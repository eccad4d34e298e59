//! A tree with everything that copying programs get wrong: names, links, modes, times, holes,
//! attributes.

use std::error::Error;
use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Files in each folder of small files.
const SMALL_PER_FOLDER: usize = 100;
/// The most bytes of a small file; every 16th is empty.
const SMALL_LENGTH_MAX: u64 = 8_000;
/// Lengths around which buffers, TLS records and ranges end.
const EDGES: [u64; 9] = [0, 1, 4_095, 4_096, 16_383, 16_384, 16_385, 1_048_576, 1_048_577];
/// The apparent size of the file with holes, in bytes.
const SPARSE_LENGTH: u64 = 64 << 20;

struct Plan {
    root: PathBuf,
    bulk_mib: u64,
    small: usize,
    all_modes: bool,
}

pub(crate) fn main(arguments: impl Iterator<Item = String>) -> Result<(), Box<dyn Error>> {
    let plan = parse(arguments)?;
    fs::create_dir_all(&plan.root)?;
    let mut noise = Noise(0x5eed);
    small_files(&plan, &mut noise)?;
    bulk_files(&plan, &mut noise)?;
    names(&plan.root.join("names"), &mut noise)?;
    links(&plan.root.join("links"), &mut noise)?;
    holes(&plan.root.join("holes"), &mut noise)?;
    attributes(&plan.root.join("attributes"))?;
    modes(&plan)?;
    times(&plan.root.join("times"))?;
    Ok(())
}

fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Plan, Box<dyn Error>> {
    let mut plan = Plan { root: PathBuf::new(), bulk_mib: 8, small: 300, all_modes: false };
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--bulk-mib" => plan.bulk_mib = arguments.next().ok_or(crate::USAGE)?.parse()?,
            "--small" => plan.small = arguments.next().ok_or(crate::USAGE)?.parse()?,
            "--all-modes" => plan.all_modes = true,
            _ => plan.root = argument.into(),
        }
    }
    if plan.root.as_os_str().is_empty() {
        return Err(crate::USAGE.into());
    }
    Ok(plan)
}

fn small_files(plan: &Plan, noise: &mut Noise) -> io::Result<()> {
    for number in 0..plan.small {
        let folder = plan.root.join(format!("small/{:03}", number / SMALL_PER_FOLDER));
        if number % SMALL_PER_FOLDER == 0 {
            fs::create_dir_all(&folder)?;
        }
        let length = if number % 16 == 0 { 0 } else { noise.next() % SMALL_LENGTH_MAX };
        noise.file(&folder.join(format!("{number:05}.bin")), length)?;
    }
    Ok(())
}

/// Half of the bulk in one file, the rest in four unequal ones, and one file for each edge.
fn bulk_files(plan: &Plan, noise: &mut Noise) -> io::Result<()> {
    let folder = plan.root.join("bulk");
    fs::create_dir_all(&folder)?;
    let bulk = plan.bulk_mib << 20;
    noise.file(&folder.join("half"), bulk / 2)?;
    for part in 1..=4 {
        noise.file(&folder.join(format!("part-{part}")), bulk / 20 * part + part)?;
    }
    for edge in EDGES {
        noise.file(&folder.join(format!("edge-{edge}")), edge)?;
    }
    Ok(())
}

fn names(folder: &Path, noise: &mut Noise) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let longest = [b'n'; 255];
    let odd: [&[u8]; 20] = [
        b"line\nbreak",
        b"latin-1 caf\xe9",
        b"\xff\xfe",
        b"escape \x1b[31m",
        b"bell\x07tab\t",
        &longest,
        b"-rf",
        b"--code",
        b" leading and trailing ",
        b"quote'\"`$(true)",
        b"back\\slash",
        b"a..b",
        b"...",
        b".hidden",
        b"CON",
        b"x:",
        b"trailing.",
        b"<img src=x onerror=alert(1)>{{x}}",
        "right\u{202e}left".as_bytes(),
        "e\u{301} and \u{e9}".as_bytes(),
    ];
    for name in odd {
        noise.file(&folder.join(OsStr::from_bytes(name)), 64)?;
    }
    let odd_folder = folder.join(OsStr::from_bytes(b"folder\n\xfe"));
    fs::create_dir(&odd_folder)?;
    noise.file(&odd_folder.join("inside"), 64)?;
    let mut deep = folder.join("deep");
    for level in 0..60 {
        deep.push(format!("level-{level:02}"));
    }
    fs::create_dir_all(&deep)?;
    noise.file(&deep.join("bottom"), 64)
}

fn links(folder: &Path, noise: &mut Noise) -> io::Result<()> {
    fs::create_dir_all(folder.join("other"))?;
    fs::create_dir_all(folder.join("empty/also empty"))?;
    noise.file(&folder.join("target"), 5_000)?;
    symlink("target", folder.join("relative"))?;
    symlink("../links/target", folder.join("round about"))?;
    symlink("nowhere", folder.join("dangling"))?;
    symlink("/nonexistent/absolute", folder.join("absolute"))?;
    symlink("loop", folder.join("loop"))?;
    symlink("other", folder.join("to a folder"))?;
    symlink(OsStr::from_bytes(b"non-utf8 \xe9\n"), folder.join("odd target"))?;
    symlink("x".repeat(4_000), folder.join("long target"))?;
    // Three names of one small file across folders, two of a large one, two of an empty one.
    for (name, length) in [("small", 3_000), ("large", 3 << 20), ("none", 0)] {
        let first = folder.join(format!("hard-{name}-1"));
        noise.file(&first, length)?;
        fs::hard_link(&first, folder.join(format!("other/hard-{name}-2")))?;
    }
    fs::hard_link(folder.join("hard-small-1"), folder.join("hard-small-3"))
}

fn holes(folder: &Path, noise: &mut Noise) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let mut sparse = File::create(folder.join("sparse"))?;
    for offset in [0, 5 << 20, SPARSE_LENGTH / 2 + 12_345] {
        sparse.seek(SeekFrom::Start(offset))?;
        noise.write(&mut sparse, 20_000)?;
    }
    sparse.set_len(SPARSE_LENGTH)?;
    File::create(folder.join("only a hole"))?.set_len(3 << 20)?;
    // Zeros that are data: they may become holes, but must stay zeros.
    fs::write(folder.join("zeros"), vec![0; 200_000])
}

fn attributes(folder: &Path) -> Result<(), Box<dyn Error>> {
    fs::create_dir_all(folder)?;
    let file = folder.join("file");
    fs::write(&file, "with attributes")?;
    let large = format!("0x{}", "5a00ff0a".repeat(500));
    for (name, value) in [("user.text", "plain"), ("user.binary", "0x00ff0a1b"), ("user.large", &large)] {
        setfattr(&file, name, value)?;
    }
    setfattr(&file, "user.empty", "")?;
    setfattr(folder, "user.folder", "on a folder")
}

/// The `attr` package's tool: extended attributes are not in the standard library.
fn setfattr(path: &Path, name: &str, value: &str) -> Result<(), Box<dyn Error>> {
    let status = Command::new("setfattr").args(["-n", name, "-v", value]).arg(path).status()?;
    if status.success() { Ok(()) } else { Err(format!("setfattr {name}: {status}").into()) }
}

/// One file for each mode that its owner may read (with `--all-modes`: for every mode), and folders
/// that are not 0755.
fn modes(plan: &Plan) -> io::Result<()> {
    let folder = plan.root.join("modes");
    fs::create_dir_all(&folder)?;
    for mode in 0..0o1000_u32 {
        if plan.all_modes || mode & 0o400 != 0 {
            let file = folder.join(format!("{mode:04o}"));
            fs::write(&file, format!("{mode:04o}\n"))?;
            fs::set_permissions(&file, Permissions::from_mode(mode))?;
        }
    }
    for mode in [0o500, 0o700, 0o711, 0o755, 0o777, 0o1777] {
        let inner = folder.join(format!("folder-{mode:04o}"));
        fs::create_dir(&inner)?;
        fs::write(inner.join("file"), "inside")?;
        fs::set_permissions(&inner, Permissions::from_mode(mode))?;
    }
    Ok(())
}

/// Seconds since 1970 with nanoseconds that no float can hold: before 1970, around it, after 2038
/// and after 2106.
fn times(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let moments: [(i64, u32); 7] = [
        (-2_147_000_000, 1),
        (-1, 999_999_999),
        (0, 0),
        (1, 1),
        (1_234_567_890, 123_456_789),
        (2_147_483_648, 500_000_001),
        (7_258_118_400, 999_999_999),
    ];
    for (seconds, nanoseconds) in moments {
        let file = folder.join(format!("at {seconds}"));
        fs::write(&file, "x")?;
        set_modified(&file, moment(seconds, nanoseconds))?;
        let inner = folder.join(format!("folder at {seconds}"));
        fs::create_dir(&inner)?;
        fs::write(inner.join("file"), "x")?;
        set_modified(&inner, moment(seconds, nanoseconds))?;
    }
    set_modified(folder, moment(946_684_799, 987_654_321))
}

fn moment(seconds: i64, nanoseconds: u32) -> SystemTime {
    let whole = Duration::from_secs(seconds.unsigned_abs());
    let start = if seconds < 0 { UNIX_EPOCH - whole } else { UNIX_EPOCH + whole };
    start + Duration::from_nanos(nanoseconds.into())
}

fn set_modified(path: &Path, when: SystemTime) -> io::Result<()> {
    File::open(path)?.set_modified(when)
}

/// A fixed stream of incompressible bytes (xorshift64*), the same in every run.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn write(&mut self, to: &mut impl Write, length: u64) -> io::Result<()> {
        let mut rest = length;
        let mut buffer = [0; 8_192];
        while rest > 0 {
            for word in buffer.chunks_exact_mut(8) {
                word.copy_from_slice(&self.next().to_le_bytes());
            }
            let part = usize::try_from(rest.min(8_192)).expect("at most a buffer");
            to.write_all(&buffer[..part])?;
            rest -= part as u64;
        }
        Ok(())
    }

    fn file(&mut self, path: &Path, length: u64) -> io::Result<()> {
        self.write(&mut File::create_new(path)?, length)
    }
}
