//! The arguments of `ringway devices rule`, and the rule that they make of the present one.
use std::path::PathBuf;

use anyhow::Result;
use clap::{ArgGroup, Args};
use ringway_model::{Consent, DeviceRule};

use super::HomeArgs;
use super::destination::destination;
use super::limit::amount;

const FORM: &str = "a size is bytes, as in 500M, 20G or 1.5Ti, or none";

/// `ringway devices rule`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("consent").args(["ask", "accept", "refuse"]))]
pub(crate) struct RuleArgs {
    /// Its name or the beginning of its id
    pub(crate) device: String,
    /// Ask before each of its offers is accepted (the default)
    #[arg(long)]
    ask: bool,
    /// Accept its offers without asking
    #[arg(long)]
    accept: bool,
    /// Decline its offers without asking. The device hears that it was declined; here only a line
    /// of `ringway recv` mentions it
    #[arg(long)]
    refuse: bool,
    /// What it sends is received into this folder, which must exist, unless `ringway recv` is given
    /// another one
    #[arg(long, value_name = "DIR", conflicts_with = "no_into")]
    pub(crate) into: Option<PathBuf>,
    #[command(flatten)]
    home: HomeArgs,
    /// What it sends is received into the usual folder
    #[arg(long)]
    no_into: bool,
    /// Ask anyway if an offer is larger than SIZE: K, M, G, T are powers of 1000, Ki, Mi, Gi, Ti of
    /// 1024; none removes the limit. A transfer that was accepted without asking and turns out
    /// larger is stopped, and asked about when it is sent again
    #[arg(long, value_name = "SIZE", value_parser = SizeArg::parse)]
    max_size: Option<SizeArg>,
}

/// `--max-size`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SizeArg(pub(crate) Option<u64>);

impl SizeArg {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
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
    /// The rule with the requested changes; the rest of it stays.
    pub(crate) fn changed(&self, rule: &DeviceRule) -> Result<DeviceRule> {
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
            rule.folder = Some(destination(folder)?.into());
        }
        // What may be received into one folder says nothing about another one.
        if self.no_into || self.into.is_some() || self.home.allow_home {
            rule.into_home = self.home.into_home();
        }
        if let Some(SizeArg(bytes_max)) = self.max_size {
            rule.bytes_max = bytes_max;
        }
        Ok(rule)
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
            folder: Some(path.into()),
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
}
