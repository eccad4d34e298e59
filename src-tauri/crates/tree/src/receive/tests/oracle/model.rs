//! What may be there after a stream was received, knowing what was there and what was sent; nothing
//! of how the receiver works.
use std::collections::HashSet;

use super::tree::{At, Node, Tree};
use super::*;

/// What the sender has said, by path.
#[derive(Debug, Default)]
pub(super) struct Sent {
    folders: BTreeMap<String, BTreeSet<u32>>,
    files: BTreeMap<String, BTreeSet<String>>,
    perhaps: BTreeMap<String, BTreeSet<String>>,
    links: BTreeMap<String, BTreeSet<String>>,
    /// Names of files with several, and the contents that any of them came with.
    names: BTreeMap<u64, (BTreeSet<String>, BTreeSet<String>)>,
}

fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

impl Sent {
    fn add(&mut self, other: &Self) {
        other.folders.iter().for_each(|(path, said)| self.folders.entry(path.clone()).or_default().extend(said));
        for (all, more) in
            [(&mut self.files, &other.files), (&mut self.perhaps, &other.perhaps), (&mut self.links, &other.links)]
        {
            more.iter().for_each(|(path, said)| all.entry(path.clone()).or_default().extend(said.iter().cloned()));
        }
        for (id, (names, contents)) in &other.names {
            let all = self.names.entry(*id).or_default();
            all.0.extend(names.iter().cloned());
            all.1.extend(contents.iter().cloned());
        }
    }

    /// A folder that entries are said to be in.
    pub(super) fn enter(&mut self, path: &str) {
        self.folders.entry(path.to_owned()).or_default();
    }

    pub(super) fn folder(&mut self, path: &str, mode: u16) {
        self.folders.entry(path.to_owned()).or_default().insert(mode.into());
    }

    pub(super) fn file(&mut self, folder: &str, name: &str, contents: &str) {
        self.files.entry(join(folder, name)).or_default().insert(contents.to_owned());
    }

    /// A file that may, and need not, hold that: a later range named it.
    pub(super) fn perhaps_file(&mut self, folder: &str, name: &str, contents: &str) {
        self.perhaps.entry(join(folder, name)).or_default().insert(contents.to_owned());
    }

    pub(super) fn symlink(&mut self, folder: &str, name: &str, target: &str) {
        self.links.entry(join(folder, name)).or_default().insert(target.to_owned());
    }

    /// A name of the file `id`, with contents or as a further link.
    pub(super) fn linked(&mut self, folder: &str, name: &str, id: u64, contents: Option<&str>) {
        let (names, all) = self.names.entry(id).or_default();
        names.insert(join(folder, name));
        all.extend(contents.map(str::to_owned));
    }

    /// Whether a file at that path may hold that.
    fn allows_file(&self, path: &str, contents: &str) -> bool {
        let said = |path: &str| {
            let mut said = self.files.get(path).into_iter().chain(self.perhaps.get(path));
            said.any(|sent| sent.contains(contents))
        };
        // A name that is said twice, as no honest sender does, may have come with either contents,
        // and so may every name that is linked to it.
        let linked = self.linked_with(path);
        let by_name = |(names, all): &(BTreeSet<String>, BTreeSet<String>)| {
            all.contains(contents) && names.iter().any(|name| linked.contains(name.as_str()))
        };
        linked.iter().any(|name| said(name)) || self.names.values().any(by_name)
    }

    /// That path, and every other one that links may lead to from there.
    fn linked_with<'s>(&'s self, path: &'s str) -> BTreeSet<&'s str> {
        let mut linked = BTreeSet::from([path]);
        loop {
            let before = linked.len();
            for (names, _) in self.names.values() {
                if names.iter().any(|name| linked.contains(name.as_str())) {
                    linked.extend(names.iter().map(String::as_str));
                }
            }
            if linked.len() == before {
                return linked;
            }
        }
    }

    fn are_names_of_one(&self, one: &str, other: &str) -> bool {
        self.names.values().any(|(names, _)| names.contains(one) && names.contains(other))
    }

    fn allows_link(&self, path: &str, target: &str) -> bool {
        self.links.get(path).is_some_and(|sent| sent.contains(target))
    }

    /// Whether something was said of that path or below it.
    fn reaches(&self, path: &str) -> bool {
        let below =
            |said: &String| said.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        let mut named = self.names.values().flat_map(|(names, _)| names);
        let mut said = self.folders.keys().chain(self.files.keys()).chain(self.perhaps.keys()).chain(self.links.keys());
        said.any(below) || named.any(below)
    }
}

/// `a (1).txt` and `a (1)` came as `a.txt` and `a`.
fn without_number(name: &str) -> String {
    let Some((stem, rest)) = name.rsplit_once(" (") else { return name.to_owned() };
    match rest.split_once(')') {
        Some((number, tail)) if number.bytes().all(|byte| byte.is_ascii_digit()) => format!("{stem}{tail}"),
        _ => name.to_owned(),
    }
}

fn top(path: &str) -> &str {
    path.split('/').next().unwrap_or(path)
}

/// The sender's path of what is at `path`, where the top-level folder got a number.
fn sent_as(path: &str) -> String {
    let (top, below) = path.split_at(top(path).len());
    without_number(top) + below
}

/// What of the sessions so far bears on the next one.
pub(super) struct Judge {
    policy: OnConflict,
    /// All that was sent: what one session has staged may appear in a later one.
    sent: Sent,
    /// What was received, as it was left.
    received: Tree,
    /// The names at the top after the last session, once there was one.
    tops: Option<HashSet<String>>,
    /// Folders at the top that the owner has made since the first session.
    made: HashSet<String>,
}

impl Judge {
    pub(super) fn new(policy: OnConflict) -> Self {
        Self { policy, sent: Sent::default(), received: Tree::new(), tops: None, made: HashSet::new() }
    }

    /// Whether what a session has made of `before` is something that a yes to [`OFFERED`] allows.
    pub(super) fn session(&mut self, before: &Tree, after: &Tree, sent: Sent, is_complete: bool) -> Result<(), String> {
        self.sent.add(&sent);
        let tops = |tree: &Tree| tree.keys().filter(|path| !path.contains('/')).cloned().collect::<HashSet<_>>();
        if let Some(known) = &self.tops {
            self.made.extend(tops(before).difference(known).cloned());
        }
        self.tops = Some(tops(after));
        before.iter().try_for_each(|(path, was)| self.existing(path, was, after.get(path), before))?;
        for (path, is) in after {
            if before.get(path).is_none_or(|was| was.ino != is.ino) {
                self.arrived(path, is, before)?;
            }
        }
        if is_complete {
            self.complete(&sent, before, after)?;
        }
        let is_new = |(path, is): &(&String, &At)| before.get(*path) != Some(is);
        self.received.extend(after.iter().filter(is_new).map(|(path, is)| (path.clone(), is.clone())));
        Ok(())
    }

    /// What was there stays, unless the policy lets it be replaced by what was sent for it.
    fn existing(&self, path: &str, was: &At, is: Option<&At>, before: &Tree) -> Result<(), String> {
        let Some(is) = is else { return Err(format!("{path} is gone")) };
        let is_same = was.node == is.node && was.ino == is.ino;
        if is_same && was.mode == is.mode && (was.mtime == is.mtime || was.node == Node::Folder) {
            return Ok(());
        }
        let left = self.received.get(path).filter(|left| left.ino == was.ino && left.node == was.node);
        // A folder that an earlier session made and had no time to finish: it gets the mode that
        // was sent for it.
        if is_same && was.node == Node::Folder && left.is_some_and(|left| left.mode == was.mode) {
            return Ok(());
        }
        let may_change = match self.policy {
            OnConflict::Replace => true,
            OnConflict::RenameTop => left.is_some(),
            OnConflict::Keep | OnConflict::Rename => false,
        };
        // What the device's folder became, if that got a number.
        let path = &*if self.policy == OnConflict::RenameTop { sent_as(path) } else { path.to_owned() };
        let allowed = may_change
            && OFFERED.contains(&top(path))
            && match &is.node {
                Node::Folder => {
                    // The sender's mode less what would let others in who were kept out.
                    let is_said = self.sent.folders.get(path).is_some_and(|modes| !modes.is_empty());
                    is_same && (was.mode == is.mode || (is_said && is.mode & !was.mode & 0o7777 == 0))
                }
                // Equal by size and time: only its mode is corrected.
                Node::File(_) if is_same => was.has_sent_time() && is.has_sent_time(),
                // It became another name of a file that stayed: `arrived` judges that.
                Node::File(_) if before.values().any(|other| other.ino == is.ino) => true,
                Node::File(contents) => self.sent.allows_file(path, contents),
                Node::Link(target) => self.sent.allows_link(path, target),
            };
        if allowed { Ok(()) } else { Err(format!("{path} was changed: {was:?} is {is:?}")) }
    }

    /// What is new was offered and sent, and shares nothing with what was there.
    fn arrived(&self, path: &str, is: &At, before: &Tree) -> Result<(), String> {
        let asked: Vec<_> = path.split('/').map(without_number).collect();
        if !OFFERED.contains(&asked[0].as_str()) {
            return Err(format!("{path} was not offered"));
        }
        let asked = asked.join("/");
        // A file that stayed is the target of a link only if what was sent under its own name is
        // equal to it, which under `replace` size and time tell, as rsync has it.
        if let Some((owned, was)) = before.iter().find(|(_, was)| was.ino == is.ino && was.node != Node::Folder) {
            let is_equal = match &was.node {
                Node::File(contents) => {
                    was.has_sent_time()
                        || [owned, &sent_as(owned)].iter().any(|path| self.sent.allows_file(path, contents))
                }
                _ => false,
            };
            let is_linked = [owned, &sent_as(owned)].iter().any(|path| self.sent.are_names_of_one(path, &asked));
            return match self.policy {
                OnConflict::Replace | OnConflict::RenameTop if is_equal && is_linked => Ok(()),
                _ => Err(format!("{path} is a name of {owned}, which was there before")),
            };
        }
        let is_allowed = match &is.node {
            Node::Folder => self.sent.reaches(&asked),
            Node::File(contents) => self.sent.allows_file(&asked, contents),
            Node::Link(target) => self.sent.allows_link(&asked, target),
        };
        if is_allowed { Ok(()) } else { Err(format!("{path} is {is:?}, and that was not sent")) }
    }

    /// What was confirmed is there.
    fn complete(&self, sent: &Sent, before: &Tree, after: &Tree) -> Result<(), String> {
        let linked = sent.names.values().flat_map(|(names, _)| names).filter(|path| !sent.perhaps.contains_key(*path));
        for path in sent.files.keys().chain(linked) {
            // Equal by size and time, as rsync has it, and so left alone; its further names lead to
            // it.
            let stayed = |is: &At| before.values().any(|was| was.has_sent_time() && is.ino == was.ino);
            let is_it = |is: &At| match &is.node {
                Node::File(contents) => sent.allows_file(path, contents) || stayed(is),
                // Said twice, as no honest sender does: the last one has the name.
                Node::Link(target) => sent.allows_link(path, target),
                Node::Folder => false,
            };
            let is_under_a_number = || {
                let asked = |at: &String| at.split('/').map(without_number).eq(path.split('/').map(str::to_owned));
                after.iter().any(|(at, is)| asked(at) && is_it(is))
            };
            let is_there = match self.policy {
                OnConflict::Replace => after.get(path).is_some_and(is_it),
                // What was there is kept, whatever it is.
                OnConflict::Keep => before.contains_key(path) || after.get(path).is_some_and(is_it),
                OnConflict::Rename | OnConflict::RenameTop => is_under_a_number(),
            };
            let has_a_number = || self.made.contains(top(path)) && is_under_a_number();
            if !is_there && !has_a_number() {
                return Err(format!("{path} was confirmed and is {:?}", after.get(path)));
            }
        }
        Ok(())
    }
}
