//! Git's shell patterns (wildmatch.c): `*`, `?`, `[...]` and, for paths, `**`. Bytes are compared,
//! as git does.

/// The result of comparing the rest of a pattern with the rest of a text.
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

/// Whether git treats the character as more than itself.
pub(crate) fn is_special(byte: u8) -> bool {
    matches!(byte, b'*' | b'?' | b'[' | b'\\')
}

/// Whether every bracket has an end and every backslash a following character, by git's rules. A
/// pattern without these matches nothing.
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
                    // The slash itself is skipped below.
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

/// The result of comparing a star.
enum Star {
    Over(Outcome),
    /// One star before a slash matched a whole name. The pattern's slash is at `behind`, and the
    /// text's is `skipped` bytes further.
    Slash {
        behind: usize,
        skipped: usize,
    },
}

/// Compares from the star at `at`.
fn star(pattern: &[u8], at: usize, text: &[u8], is_path: bool) -> Star {
    let stars = pattern[at..].iter().take_while(|byte| **byte == b'*').count();
    let (behind, rest) = (at + stars, &pattern[at + stars..]);
    let fills_components =
        (at == 0 || pattern[at - 1] == b'/') && (rest.is_empty() || rest[0] == b'/' || rest.starts_with(br"\/"));
    let crosses_slashes = !is_path || (stars > 1 && fills_components);
    // `a/**/b` also matches `a/b`.
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
