//! `ringway devices rule`: what happens to a device's offers before anybody is asked, in arguments,
//! words and JSON.
use std::path::PathBuf;

use anyhow::Result;
use clap::{ArgGroup, Args};
use ringway_engine::{Device, DeviceRule, Engine};
use ringway_model::{AskedBecause, Consent};

use crate::args::HomeArgs;
use crate::json::Event;
use crate::limit::amount;
use crate::output::Output;
use crate::recv::destination;
use crate::text::{bytes, for_terminal};

const FORM: &str = "a size is bytes, as in 500M, 20G or 1.5Ti, or none";

/// `ringway devices rule`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("consent").args(["ask", "accept", "refuse"]))]
pub(crate) struct RuleArgs {
    /// Its name or the beginning of its id
    device: String,
    /// Ask before each of its offers is accepted (as it is from the beginning)
    #[arg(long)]
    ask: bool,
    /// Accept its offers without asking
    #[arg(long)]
    accept: bool,
    /// Decline its offers without asking; it hears that it was declined, and nothing else is said
    /// of it here than a line of `ringway recv`
    #[arg(long)]
    refuse: bool,
    /// What it sends lands in this folder, which must exist, unless `ringway recv` is given another
    /// one
    #[arg(long, value_name = "DIR", conflicts_with = "no_into")]
    into: Option<PathBuf>,
    #[command(flatten)]
    home: HomeArgs,
    /// What it sends lands where everything does
    #[arg(long)]
    no_into: bool,
    /// Ask all the same where it is more than SIZE: K, M, G, T are powers of 1000, Ki, Mi, Gi, Ti
    /// of 1024; none takes the size away. What was accepted and turns out to be more is stopped,
    /// and asked about when it is sent again
    #[arg(long, value_name = "SIZE", value_parser = SizeArg::parse)]
    max_size: Option<SizeArg>,
}

/// `--max-size`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SizeArg(Option<u64>);

impl SizeArg {
    fn parse(text: &str) -> Result<Self, String> {
        match text {
            "none" => Ok(Self(None)),
            text => match amount(text).ok_or(FORM)? {
                0 => Err("a size of nothing: --refuse lets nothing in, --ask asks about everything".to_owned()),
                size => Ok(Self(Some(size))),
            },
        }
    }
}

impl RuleArgs {
    /// Whose rule it is.
    pub(crate) fn device(&self) -> &str {
        &self.device
    }

    /// The rule with what was asked for; the rest of it stays.
    fn changed(&self, rule: &DeviceRule) -> Result<DeviceRule> {
        let mut rule = rule.clone();
        for (asked, consent) in
            [(self.ask, Consent::Ask), (self.accept, Consent::Accept), (self.refuse, Consent::Refuse)]
        {
            if asked {
                rule.consent = consent;
            }
        }
        if self.no_into {
            rule.folder = None;
        }
        if let Some(folder) = &self.into {
            rule.folder = Some(destination(folder)?);
        }
        // What one folder takes says nothing of another one.
        if self.no_into || self.into.is_some() || self.home.allow_home {
            rule.into_home = self.home.into_home();
        }
        if let Some(SizeArg(bytes_max)) = self.max_size {
            rule.bytes_max = bytes_max;
        }
        Ok(rule)
    }
}

/// Shows a device's rule, after changing what was asked for.
pub(crate) fn run(engine: &Engine, device: &Device, args: &RuleArgs, out: &Output) -> Result<()> {
    let rule = args.changed(&device.rule)?;
    if rule != device.rule {
        engine.set_rule(device.id, &rule)?;
    }
    if let Some(folder) = rule.folder.as_ref().filter(|_| args.into.is_some()) {
        // Also where it is the one that the rule had.
        engine.choose_folder(folder);
    }
    out.event(&Event::Rule { id: device.id, name: &device.name, rule: (&rule).into() });
    out.say(format_args!("{}: {}.", for_terminal(&device.name), sentence(&rule)));
    Ok(())
}

/// A rule for the table of devices.
pub(crate) fn short(rule: &DeviceRule) -> String {
    let into = rule.folder.as_ref().map(|folder| format!(", into {}", for_terminal(folder))).unwrap_or_default();
    match (rule.consent, rule.bytes_max) {
        (Consent::Ask, _) => format!("ask{into}"),
        (Consent::Accept, None) => format!("accept{into}"),
        (Consent::Accept, Some(size)) => format!("accept up to {}{into}", bytes(size)),
        (Consent::Refuse, _) => "refuse".to_owned(),
    }
}

/// The same as the end of a sentence.
fn sentence(rule: &DeviceRule) -> String {
    let place = match &rule.folder {
        Some(folder) => format!("lands in {}", for_terminal(folder)),
        None => "lands where everything does".to_owned(),
    };
    match (rule.consent, rule.bytes_max) {
        (Consent::Ask, _) => format!("you are asked about each of its offers; what it sends {place}"),
        (Consent::Accept, None) => format!("its offers are accepted without asking; what it sends {place}"),
        (Consent::Accept, Some(size)) => {
            format!(
                "its offers are accepted without asking up to {}, and asked about above; what it sends {place}",
                bytes(size)
            )
        }
        (Consent::Refuse, _) => "its offers are declined without asking".to_owned(),
    }
}

/// Why somebody is asked in spite of a rule.
pub(crate) fn asked_because(because: &AskedBecause) -> String {
    match because {
        AskedBecause::TooMuch { bytes_max } => format!("its rule lets in {} without asking", bytes(*bytes_max)),
        AskedBecause::NoFolder { folder } => {
            format!(
                "{}, where it was to land, is not there, is another folder by now, or cannot be written to",
                for_terminal(folder)
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        args: RuleArgs,
    }

    fn parse(line: &[&str]) -> Result<RuleArgs, clap::Error> {
        Line::try_parse_from(["rule", "lab"].iter().chain(line)).map(|line| line.args)
    }

    #[test]
    fn what_is_not_said_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap();
        let set = |rule: &DeviceRule, line: &[&str]| parse(line).unwrap().changed(rule).unwrap();
        let asked = DeviceRule::default();
        assert_eq!(set(&asked, &[]), asked);
        let full = set(&asked, &["--accept", "--into", path.to_str().unwrap(), "--max-size", "20G"]);
        let wanted = DeviceRule {
            consent: Consent::Accept,
            folder: Some(path),
            bytes_max: Some(20_000_000_000),
            ..DeviceRule::default()
        };
        assert_eq!(full, wanted);
        let refused = set(&full, &["--refuse"]);
        assert_eq!(refused, DeviceRule { consent: Consent::Refuse, ..wanted });
        let plain = DeviceRule { consent: Consent::Accept, ..DeviceRule::default() };
        assert_eq!(set(&refused, &["--accept", "--no-into", "--max-size", "none"]), plain);
    }

    #[test]
    fn what_makes_no_rule_is_refused() {
        for bad in [
            &["--ask", "--accept"][..],
            &["--accept", "--refuse"],
            &["--into", "/", "--no-into"],
            &["--max-size", "0"],
            &["--max-size", "much"],
            &["--max-size", "-5G"],
        ] {
            assert_eq!(parse(bad).unwrap_err().exit_code(), 2, "{bad:?}");
        }
        let gone = parse(&["--into", "/no/such/folder"]).unwrap();
        assert!(gone.changed(&DeviceRule::default()).is_err());
    }

    #[test]
    fn a_rule_reads_as_it_is() {
        let rule = DeviceRule {
            consent: Consent::Accept,
            folder: Some("/srv/a\nb".into()),
            bytes_max: Some(5_000_000),
            ..DeviceRule::default()
        };
        assert_eq!(short(&rule), "accept up to 5.0 MB, into /srv/a\\nb");
        assert_eq!(short(&DeviceRule { consent: Consent::Refuse, ..rule.clone() }), "refuse");
        assert_eq!(short(&DeviceRule::default()), "ask");
        assert!(sentence(&rule).starts_with("its offers are accepted without asking up to 5.0 MB"));
    }
}
