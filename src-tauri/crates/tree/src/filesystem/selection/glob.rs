//! Git's shell patterns (wildmatch.c), compiled: `*`, `?`, `[...]` and, in paths, `**`. Bytes are
//! compared, as git does. A comparison takes time in proportion to the length of the pattern times
//! that of the path, whatever the pattern: a program elsewhere may have chosen either.

/// What matches one byte of a name, or any number of them.
enum Token {
    Byte(u8),
    /// `?`
    Any,
    /// `[...]`
    Set(Box<Set>),
    /// `*`
    Star,
}

/// The bytes of a set, one bit each.
struct Set([u64; 4]);

impl Set {
    /// The set after a `[`, and its length with its `]`.
    fn new(set: &[u8]) -> Option<(Self, usize)> {
        let (_, len) = bracket(set, 0)?;
        let mut bits = [0; 4];
        for byte in 0..=u8::MAX {
            let is_in = bracket(set, byte).is_some_and(|(is_in, _)| is_in);
            bits[usize::from(byte >> 6)] |= u64::from(is_in) << (byte & 63);
        }
        Some((Self(bits), len))
    }

    fn has(&self, byte: u8) -> bool {
        self.0[usize::from(byte >> 6)] >> (byte & 63) & 1 == 1
    }

    /// Those of its bytes that names can have.
    fn bytes(&self) -> impl Iterator<Item = u8> {
        (0..=u8::MAX).filter(|byte| !matches!(byte, b'\0' | b'/') && self.has(*byte))
    }
}

impl Token {
    /// Whether it matches no byte that a name can have.
    fn is_never(&self) -> bool {
        matches!(self, Self::Set(set) if set.bytes().next().is_none())
    }

    /// Whether a name has only this byte in its place, however that is written.
    fn is_only(&self, byte: u8) -> bool {
        match self {
            Self::Byte(own) => *own == byte,
            Self::Set(set) => set.bytes().eq([byte]),
            Self::Any | Self::Star => false,
        }
    }

    /// Whether it is no star and matches the byte.
    fn has(&self, byte: u8) -> bool {
        match self {
            Self::Byte(own) => *own == byte,
            Self::Any => true,
            Self::Set(set) => set.has(byte),
            Self::Star => false,
        }
    }
}

/// A pattern for a name, or for one component of a path.
pub(super) struct NameGlob {
    /// Bytes with which a name begins.
    head: Box<[u8]>,
    /// What is between; `None` for nothing, not even a star.
    middle: Option<Box<[Token]>>,
    /// Bytes with which a name ends.
    tail: Box<[u8]>,
}

impl NameGlob {
    /// A well-formed pattern without slashes.
    pub(super) fn new(pattern: &[u8]) -> Self {
        let mut parser = Parser { pattern, at: 0 };
        let mut tokens = Vec::new();
        while let Some(token) = parser.token() {
            tokens.push(token);
        }
        Self::of(tokens)
    }

    fn of(tokens: Vec<Token>) -> Self {
        fn byte(token: &Token) -> Option<u8> {
            match token {
                Token::Byte(byte) => Some(*byte),
                _ => None,
            }
        }
        let head: Box<[u8]> = tokens.iter().map_while(byte).collect();
        if head.len() == tokens.len() {
            return Self { head, middle: None, tail: Box::default() };
        }
        let behind = tokens.iter().rev().map_while(byte).count();
        let tail = tokens[tokens.len() - behind..].iter().filter_map(byte).collect();
        let middle = tokens.into_iter().skip(head.len());
        let mut middle: Vec<_> = middle.collect();
        middle.truncate(middle.len() - behind);
        Self { head, middle: Some(middle.into()), tail }
    }

    pub(super) fn matches(&self, name: &[u8]) -> bool {
        let between = name.strip_prefix(&*self.head).and_then(|name| name.strip_suffix(&*self.tail));
        between.is_some_and(|between| match self.middle.as_deref() {
            None => between.is_empty(),
            Some([Token::Star]) => true,
            Some(tokens) => compare(tokens, between),
        })
    }
}

/// Compares tokens with a name. Only the last star that was met is tried with more bytes: if a
/// match exists, one exists in which earlier stars take as few as they can.
fn compare(tokens: &[Token], name: &[u8]) -> bool {
    let (mut at, mut from) = (0, 0);
    // The token after the last star, and the bytes before which it ends.
    let mut star = None;
    loop {
        match (tokens.get(at), name.get(from)) {
            (Some(Token::Star), _) => {
                at += 1;
                star = Some((at, from));
                continue;
            }
            (Some(token), Some(byte)) if token.has(*byte) => {
                (at, from) = (at + 1, from + 1);
                continue;
            }
            (None, None) => return true,
            _ => {}
        }
        match &mut star {
            Some((after, end)) if *end < name.len() => {
                *end += 1;
                (at, from) = (*after, *end);
            }
            _ => return false,
        }
    }
}

/// A pattern for a path.
pub(super) struct PathGlob {
    /// Bytes at its beginning that are literal. Git compares them separately, and reads the rest as
    /// a pattern of its own. So the stars of `a**/b` are those of `**/b`.
    literal: Box<[u8]>,
    stretches: Vec<Stretch>,
}

/// Components that follow each other, and what is before them.
struct Stretch {
    /// How many components are before it at the least, any number more included; `None` if it
    /// follows at once.
    skips: Option<usize>,
    names: Vec<NameGlob>,
}

impl PathGlob {
    /// A well-formed pattern, without a slash at its beginning or end.
    pub(super) fn new(pattern: &[u8]) -> Self {
        let literal = pattern.iter().take_while(|byte| !is_special(**byte)).count();
        let (literal, pattern) = pattern.split_at(literal);
        let mut stretches = vec![Stretch { skips: None, names: Vec::new() }];
        let mut parser = Parser { pattern, at: 0 };
        while let Some((component, is_last)) = parser.component() {
            let last = stretches.last_mut().expect("there is one");
            match component {
                Component::Name(tokens) => last.names.push(NameGlob::of(tokens)),
                Component::Folders { least } => match (&mut last.skips, last.names.is_empty()) {
                    (Some(skips), true) => *skips += least,
                    _ => stretches.push(Stretch { skips: Some(least), names: Vec::new() }),
                },
            }
            if is_last {
                break;
            }
        }
        Self { literal: literal.into(), stretches }
    }

    pub(super) fn matches(&self, path: &[u8]) -> bool {
        let Some(rest) = path.strip_prefix(&*self.literal) else { return false };
        let components = || rest.split(|byte| *byte == b'/');
        if let [Stretch { skips: None, names }] = &*self.stretches {
            let mut components = components();
            let same = names.iter().all(|glob| components.next().is_some_and(|name| glob.matches(name)));
            return same && components.next().is_none();
        }
        // Most paths end otherwise, and then nothing has to be collected.
        let mut from_end = rest.rsplit(|byte| *byte == b'/');
        let last = self.stretches.last().map_or(&[][..], |stretch| &stretch.names);
        if !last.iter().rev().all(|glob| from_end.next().is_some_and(|name| glob.matches(name))) {
            return false;
        }
        let components: Vec<&[u8]> = components().collect();
        let mut at = 0;
        for (number, Stretch { skips, names }) in self.stretches.iter().enumerate() {
            let is_there = |at: usize| names.iter().zip(&components[at..]).all(|(glob, name)| glob.matches(name));
            at += skips.unwrap_or(0);
            // Where it is at the latest.
            let Some(end) = components.len().checked_sub(names.len()).filter(|end| at <= *end) else { return false };
            let found = match skips {
                None => is_there(at).then_some(at),
                Some(_) if number + 1 == self.stretches.len() => is_there(end).then_some(end),
                // The first place is the best one: what follows has most to choose from.
                Some(_) => (at..=end).find(|at| is_there(*at)),
            };
            let Some(found) = found else { return false };
            at = found + names.len();
        }
        at == components.len()
    }
}

/// One component of a pattern.
enum Component {
    Name(Vec<Token>),
    /// `**` as a whole component: this many components at the least.
    Folders {
        least: usize,
    },
}

struct Parser<'p> {
    pattern: &'p [u8],
    at: usize,
}

impl Parser<'_> {
    fn rest(&self) -> &[u8] {
        &self.pattern[self.at..]
    }

    /// The next token; stars that follow each other are one.
    fn token(&mut self) -> Option<Token> {
        let byte = *self.rest().first()?;
        self.at += 1;
        Some(match byte {
            b'?' => Token::Any,
            b'*' => {
                self.at += self.rest().iter().take_while(|byte| **byte == b'*').count();
                Token::Star
            }
            b'[' => {
                let (set, len) = Set::new(self.rest())?;
                self.at += len;
                Token::Set(Box::new(set))
            }
            b'\\' => {
                let literal = *self.rest().first()?;
                self.at += 1;
                Token::Byte(literal)
            }
            literal => Token::Byte(literal),
        })
    }

    /// The next component of a path, and whether it is the last one.
    fn component(&mut self) -> Option<(Component, bool)> {
        let stars = self.rest().iter().take_while(|byte| **byte == b'*').count();
        if stars > 1 {
            // `a/**/b` also matches `a/b`, but not if the slash after the stars is escaped.
            let (taken, least, is_last) = match &self.rest()[stars..] {
                [] => (stars, 1, true),
                [b'/', ..] => (stars + 1, 0, false),
                [b'\\', b'/', ..] => (stars + 2, 1, false),
                _ => (0, 0, false),
            };
            if taken > 0 {
                self.at += taken;
                return Some((Component::Folders { least }, is_last));
            }
        }
        let mut tokens = Vec::new();
        loop {
            match self.token() {
                None => return Some((Component::Name(tokens), true)),
                Some(Token::Byte(b'/')) => return Some((Component::Name(tokens), false)),
                Some(token) => tokens.push(token),
            }
        }
    }
}

/// Whether git treats the character as more than itself.
fn is_special(byte: u8) -> bool {
    matches!(byte, b'*' | b'?' | b'[' | b'\\')
}

/// Whether a path can match as far as its names go: a part that is `.`, `..` or empty is no name of
/// an entry, also where it is written as `[.]`, and neither is one with a set of no byte that names
/// have. The pattern is well-formed, without a slash at its beginning or end.
pub(super) fn can_be_a_path(pattern: &[u8]) -> bool {
    let mut parser = Parser { pattern, at: 0 };
    while let Some((component, is_last)) = parser.component() {
        if let Component::Name(tokens) = component
            && (tokens.len() <= 2 && tokens.iter().all(|token| token.is_only(b'.'))
                || tokens.iter().any(Token::is_never))
        {
            return false;
        }
        if is_last {
            break;
        }
    }
    true
}

/// Whether every bracket has an end and every backslash a following character, by git's rules. A
/// pattern without these matches nothing.
pub(super) fn is_well_formed(pattern: &[u8]) -> bool {
    let mut at = 0;
    while let Some(&byte) = pattern.get(at) {
        match byte {
            b'\\' if at + 1 == pattern.len() => return false,
            b'\\' => at += 1,
            b'[' => match bracket(&pattern[at + 1..], 0) {
                Some((_, len)) => at += len,
                None => return false,
            },
            _ => {}
        }
        at += 1;
    }
    true
}

/// Whether the set after a `[` has the byte, and the length of the set with its `]`. `None` if git
/// finds no end, or no such class.
fn bracket(set: &[u8], byte: u8) -> Option<(bool, usize)> {
    let mut at = 0;
    let next = |at: &mut usize| {
        *at += 1;
        set.get(*at).copied()
    };
    let mut now = set.first().copied()?;
    let negated = matches!(now, b'!' | b'^');
    if negated {
        now = next(&mut at)?;
    }
    // The character with which a range may begin.
    let mut before = None;
    let mut matched = false;
    loop {
        let mut begins = None;
        let behind = set.get(at + 1).copied();
        match (now, before) {
            (b'\\', _) => {
                now = next(&mut at)?;
                matched |= byte == now;
                begins = Some(now);
            }
            (b'-', Some(low)) if behind.is_some_and(|behind| behind != b']') => {
                let mut high = next(&mut at)?;
                if high == b'\\' {
                    high = next(&mut at)?;
                }
                matched |= (low..=high).contains(&byte);
            }
            (b'[', _) if behind == Some(b':') => {
                let name = &set[at + 2..];
                let len = name.iter().position(|byte| *byte == b']')?;
                match name[..len].strip_suffix(b":") {
                    Some(class) => {
                        matched |= is_in_class(class, byte)?;
                        at += 2 + len;
                    }
                    // It is no class: the bracket and the following bytes are characters of the
                    // set.
                    None => {
                        matched |= byte == b'[';
                        begins = Some(b'[');
                    }
                }
            }
            (literal, _) => {
                matched |= byte == literal;
                begins = Some(literal);
            }
        }
        before = begins;
        now = next(&mut at)?;
        if now == b']' {
            return Some((matched != negated, at + 1));
        }
    }
}

/// Whether a class has the byte. Classes are git's, whatever the locale. `None` for an unknown one.
fn is_in_class(class: &[u8], byte: u8) -> Option<bool> {
    let is_space = matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
    Some(match class {
        b"alnum" => byte.is_ascii_alphanumeric(),
        b"alpha" => byte.is_ascii_alphabetic(),
        b"blank" => matches!(byte, b' ' | b'\t'),
        b"cntrl" => byte.is_ascii_control(),
        b"digit" => byte.is_ascii_digit(),
        b"graph" => byte.is_ascii_graphic(),
        b"lower" => byte.is_ascii_lowercase(),
        b"print" => byte.is_ascii_graphic() || byte == b' ',
        b"punct" => byte.is_ascii_punctuation(),
        b"space" => is_space,
        b"upper" => byte.is_ascii_uppercase(),
        b"xdigit" => byte.is_ascii_hexdigit(),
        _ => return None,
    })
}
