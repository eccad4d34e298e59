//! The subset of ICU's message format that the table uses.
use super::{OTHER_DEVICE, OTHER_DEVICE_FIRST};

/// A message with its arguments filled in. Arguments that are not given stay in braces, except the
/// other device's name.
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
        (None, _) if name == "peer" => if is_first { OTHER_DEVICE_FIRST } else { OTHER_DEVICE }.to_owned(),
        (None, _) => format!("{{{argument}}}"),
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
    }
}
