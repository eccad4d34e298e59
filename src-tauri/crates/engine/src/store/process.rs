//! Which process a transfer runs in, and whether that process still runs.
use std::fs;
use std::sync::LazyLock;

/// What tells this process from every other one of this machine, also from those of earlier boots;
/// empty where /proc does not say it.
pub(super) fn this() -> &'static str {
    static THIS: LazyLock<String> = LazyLock::new(|| named(std::process::id()).unwrap_or_default());
    &THIS
}

/// Whether the process of that name still runs. One in another PID namespace seems to have ended
/// until its transfer ends, which corrects that.
pub(super) fn runs(name: &str) -> bool {
    let pid = name.split(' ').nth(1).and_then(|pid| pid.parse().ok());
    pid.and_then(named).is_some_and(|now| now == name)
}

/// Boot, PID and start (proc_pid_stat(5)); `None` if no such process runs.
fn named(pid: u32) -> Option<String> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The program's name stands in brackets, and may have blanks and brackets itself.
    let mut fields = stat.rsplit_once(") ")?.1.split(' ');
    let state = fields.next()?;
    let start = fields.nth(18)?;
    // What nobody has waited for is there, but does not run.
    (!matches!(state, "Z" | "X")).then(|| format!("{} {pid} {start}", boot.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn process_runs_until_it_has_ended_even_if_nobody_has_waited_for_it() {
        assert!(runs(this()));
        let mut child = std::process::Command::new("sleep").arg("600").spawn().unwrap();
        let name = named(child.id()).unwrap();
        assert!(runs(&name));
        let other_start = format!("{name}0");
        assert!(!runs(&other_start), "the PID was used again");
        child.kill().unwrap();
        while runs(&name) {
            std::thread::yield_now();
        }
        child.wait().unwrap();
        assert!(!runs(&name) && !runs(""));
    }
}
