//! The subset of ICU's message format that the table uses.

/// What an argument is called that is not known, in the middle of a sentence and at its beginning.
const UNKNOWN: [(&str, &str, &str); 2] = [
    ("peer", "the other device", "The other device"),
    ("destination", "the destination folder", "The destination folder"),
];

/// A message with its arguments put in. An argument that is not given and has no name for the
/// unknown stays in its braces.
pub(super) fn filled(message: &str, given: &[(&'static str, String)]) -> String {
    let mut out = String::new();
    let mut rest = message;
    while let Some((before, argument, after)) = next_argument(rest) {
        out.push_str(before);
        out.push_str(&value(argument, given, out.is_empty()));
        rest = after;
    }
    out.push_str(rest);
    out
}

/// The text before the first argument, what stands between its braces, and the text after it.
fn next_argument(message: &str) -> Option<(&str, &str, &str)> {
    let start = message.find('{')?;
    let mut depth = 0_usize;
    for (at, c) in message[start..].char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            let end = start + at;
            return Some((&message[..start], &message[start + 1..end], &message[end + 1..]));
        }
    }
    None
}

fn value(argument: &str, given: &[(&'static str, String)], is_first: bool) -> String {
    let (name, kind) = argument.split_once(',').map_or((argument, ""), |(name, kind)| (name, kind.trim()));
    let found = given.iter().find(|(known, _)| *known == name.trim()).map(|(_, value)| value.as_str());
    match (found, kind.strip_prefix("plural,")) {
        (Some(number), Some(forms)) => plural(forms, number),
        (Some(value), None) => value.to_owned(),
        (None, _) => match UNKNOWN.iter().find(|(unknown, ..)| *unknown == name) {
            Some((_, inside, first)) => if is_first { first } else { inside }.to_string(),
            None => format!("{{{argument}}}"),
        },
    }
}

/// The form for that number: `one {# item} other {# items}`.
fn plural(mut forms: &str, number: &str) -> String {
    let wanted = if number == "1" { "one" } else { "other" };
    while let Some((name, form, rest)) = next_argument(forms) {
        if name.trim() == wanted {
            return form.replace('#', number);
        }
        forms = rest;
    }
    String::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_and_plural_forms_are_put_in() {
        let said = |message, given: &[(&'static str, &str)]| {
            let given: Vec<_> = given.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
            filled(message, &given)
        };
        assert_eq!(said("{a} is {b, number}.", &[("a", "x{b}"), ("b", "1,000")]), "x{b} is 1,000.");
        let items = ", {n, plural, one {# item} other {# items}} left";
        assert_eq!(said(items, &[("n", "1")]), ", 1 item left");
        assert_eq!(said(items, &[("n", "1,000")]), ", 1,000 items left");
        assert_eq!(said("{peer} asks {peer}. {other}", &[]), "The other device asks the other device. {other}");
        assert_eq!(said("{peer} asks {peer}.", &[("peer", "nas")]), "nas asks nas.");
        assert_eq!(said("{destination} is full.", &[]), "The destination folder is full.");
    }
}
