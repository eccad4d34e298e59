//! Git's shell patterns (wildmatch.c): `*`, `?`, `[...]` and, for paths, `**`. Bytes are compared,
//! as git does.

/// What came of comparing the rest of a pattern with the rest of a text.
#[derive(PartialEq, Eq)]
enum Outcome {
    Match,
    NoMatch,
    /// No `*` before this can make it match: the text is too short.
    AbortAll,
    /// A `*` reached a slash: only a `**` before it can make it match.
    AbortToStarStar,
}

/// Whether `pattern` matches all of `text`. In a path, only `**` between slashes matches a slash.
pub(crate) fn matches(pattern: &[u8], text: &[u8], is_path: bool) -> bool {
    compare(pattern, text, is_path) == Outcome::Match
}

/// Whether git reads the character as anything but itself.
pub(crate) fn is_special(byte: u8) -> bool {
    matches!(byte, b'*' | b'?' | b'[' | b'\\')
}

/// Whether git finds an end to every bracket and a character behind every backslash. A pattern
/// without that matches nothing.
pub(crate) fn is_well_formed(pattern: &[u8]) -> bool {
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

fn compare(pattern: &[u8], text: &[u8], is_path: bool) -> Outcome {
    let (mut p, mut t) = (0, 0);
    while let Some(&wanted) = pattern.get(p) {
        let found = text.get(t).copied();
        if found.is_none() && wanted != b'*' {
            return Outcome::AbortAll;
        }
        match wanted {
            b'?' if is_path && found == Some(b'/') => return Outcome::NoMatch,
            b'?' => {}
            b'*' => match star(pattern, p, &text[t..], is_path) {
                Star::Over(outcome) => return outcome,
                Star::Slash { behind, skipped } => {
                    // The slash itself is passed below.
                    p = behind;
                    t += skipped;
                }
            },
            b'[' => {
                let found = found.unwrap_or_default();
                let Some((matched, len)) = bracket(&pattern[p + 1..], found) else { return Outcome::AbortAll };
                if !matched || (is_path && found == b'/') {
                    return Outcome::NoMatch;
                }
                p += len;
            }
            _ => {
                let literal = if wanted == b'\\' { pattern.get(p + 1).copied() } else { Some(wanted) };
                if literal != found {
                    return Outcome::NoMatch;
                }
                p += usize::from(wanted == b'\\');
            }
        }
        p += 1;
        t += 1;
    }
    if t < text.len() { Outcome::NoMatch } else { Outcome::Match }
}

/// What a star leads to.
enum Star {
    Over(Outcome),
    /// One star before a slash took a whole name: the pattern's slash is at `behind`, the text's is
    /// `skipped` bytes on.
    Slash {
        behind: usize,
        skipped: usize,
    },
}

/// Compares from the star at `at` on.
fn star(pattern: &[u8], at: usize, text: &[u8], is_path: bool) -> Star {
    let stars = pattern[at..].iter().take_while(|byte| **byte == b'*').count();
    let (behind, rest) = (at + stars, &pattern[at + stars..]);
    let fills_components =
        (at == 0 || pattern[at - 1] == b'/') && (rest.is_empty() || rest[0] == b'/' || rest.starts_with(br"\/"));
    let crosses_slashes = !is_path || (stars > 1 && fills_components);
    // `a/**/b` matches `a/b`, too.
    if is_path && crosses_slashes && rest.first() == Some(&b'/') && compare(&rest[1..], text, is_path) == Outcome::Match
    {
        return Star::Over(Outcome::Match);
    }
    let slash = text.iter().position(|byte| *byte == b'/');
    if rest.is_empty() {
        return Star::Over(match crosses_slashes || slash.is_none() {
            true => Outcome::Match,
            false => Outcome::AbortToStarStar,
        });
    }
    if !crosses_slashes && rest[0] == b'/' {
        return match slash {
            Some(skipped) => Star::Slash { behind, skipped },
            None => Star::Over(Outcome::AbortAll),
        };
    }
    for (taken, byte) in text.iter().enumerate() {
        match compare(rest, &text[taken..], is_path) {
            Outcome::NoMatch => {}
            Outcome::AbortToStarStar if crosses_slashes => {}
            other => return Star::Over(other),
        }
        if !crosses_slashes && *byte == b'/' {
            return Star::Over(Outcome::AbortToStarStar);
        }
    }
    Star::Over(Outcome::AbortAll)
}

/// Whether the set that begins behind a `[` has the byte, and how many bytes it takes with its `]`.
/// None where git finds no end, or no such class.
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
    // What a range may begin with.
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
                    // No class: the bracket and what follows are characters of the set.
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

/// Classes as git has them, whatever the locale. None for one that it does not know.
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
