//! The schema of `--json`, its page and its section of the manual, made from the types of the
//! events.
mod page;
mod read;

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::Event;

/// The schema of one line (JSON Schema 2020-12). Events have no fields but those of their types.
fn schema() -> Value {
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut schema = Value::from(generator.into_root_schema_for::<Event<'_>>());
    schema["title"] = "A line of ringway --json".into();
    let defs = schema["$defs"].clone();
    close(&mut schema, &defs, true);
    describe(&mut schema);
    schema.sort_all_objects();
    schema
}

/// Keywords whose schemas describe the same value.
const IN_PLACE: [&str; 3] = ["allOf", "anyOf", "oneOf"];

/// Forbids fields that are not described, at each place where a value stands, so that the parts of
/// an object may be described separately.
fn close(schema: &mut Value, defs: &Value, is_value: bool) {
    if is_value && may_be_object(schema, defs) {
        schema["unevaluatedProperties"] = false.into();
    }
    let Some(schema) = schema.as_object_mut() else { return };
    for (key, below) in schema {
        match key.as_str() {
            "properties" => values_of(below).for_each(|below| close(below, defs, true)),
            "$defs" => values_of(below).for_each(|below| close(below, defs, false)),
            "items" => close(below, defs, true),
            key if IN_PLACE.contains(&key) => {
                below.as_array_mut().into_iter().flatten().for_each(|below| close(below, defs, false));
            }
            _ => {}
        }
    }
}

fn values_of(object: &mut Value) -> impl Iterator<Item = &mut Value> {
    object.as_object_mut().into_iter().flat_map(Map::values_mut)
}

fn may_be_object(schema: &Value, defs: &Value) -> bool {
    let referred = schema["$ref"].as_str().map(|path| &defs[read::name_of(path)]);
    let in_place = IN_PLACE.iter().filter_map(|key| schema[*key].as_array()).flatten();
    schema["type"] == "object"
        || schema["type"].as_array().is_some_and(|types| types.contains(&json!("object")))
        || referred.into_iter().chain(in_place).any(|schema| may_be_object(schema, defs))
}

/// Turns doc comments for rustdoc into plain text: one line, without links.
fn describe(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            for (key, value) in fields {
                match value {
                    Value::String(text) if key == "description" => *text = plain(text),
                    value => describe(value),
                }
            }
        }
        Value::Array(all) => all.iter_mut().for_each(describe),
        _ => {}
    }
}

/// `[`Self::total`]` is `total` here, `[`Stage::Ended`]` is `ended`, and None is null.
fn plain(text: &str) -> String {
    let in_json = |word| if word == "None" { "Null" } else { word };
    let words = text.split_whitespace().map(in_json).collect::<Vec<_>>().join(" ");
    let mut parts = words.split("[`");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (link, rest) = part.split_once("`]").expect("a link in a comment ends");
        let rest = rest.strip_prefix('(').and_then(|rest| rest.split_once(')')).map_or(rest, |(_, rest)| rest);
        let name = link.rsplit_once("::").map_or_else(|| link.to_owned(), |(_, name)| snake_case(name));
        out.push_str(&format!("`{name}`{rest}"));
    }
    out
}

/// A variant's name as serde writes it; a field keeps its name.
fn snake_case(name: &str) -> String {
    let mut out = String::new();
    for (at, c) in name.char_indices() {
        if c.is_ascii_uppercase() && at > 0 {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes the files instead of comparing them.
    const WRITE: &str = "RINGWAY_JSON_PAGE";

    fn is_up_to_date(path: &str, made: &str) {
        let path = format!("{}/{path}", env!("CARGO_MANIFEST_DIR"));
        if std::env::var(WRITE).is_ok_and(|value| value == "write") {
            std::fs::write(&path, made).unwrap();
        }
        let kept = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(kept == made, "{path} is not what the types say: npm run json");
    }

    #[test]
    fn the_schema_is_up_to_date() {
        let text = serde_json::to_string_pretty(&schema()).unwrap();
        is_up_to_date("../../../docs/json.schema.json", &format!("{text}\n"));
    }

    #[test]
    fn the_page_is_up_to_date() {
        is_up_to_date("../../../docs/json.md", &page::page(&schema()));
    }

    #[test]
    fn the_manual_is_up_to_date() {
        is_up_to_date("src/json/manual.txt", &page::manual(&schema()));
    }

    #[test]
    fn every_event_says_who_writes_it_and_every_field_what_it_is() {
        let schema = schema();
        let reader = read::Reader::new(&schema);
        let events = reader.events();
        assert!(events.len() > 35, "{}", events.len());
        let mut silent = Vec::new();
        for event in &events {
            assert!(!event.writers.is_empty(), "{}", event.name);
            silent.extend(event.shape.silent(&event.name));
        }
        silent.extend(reader.types().iter().flat_map(|named| named.shape.silent(&named.name)));
        assert!(silent.is_empty(), "without a comment: {}", silent.join(", "));
    }

    #[test]
    fn comments_become_plain_text() {
        assert_eq!(plain("Of\n[`Self::bytes`], see\n[`a::b`](c)."), "Of `bytes`, see `b`.");
        assert_eq!(plain("None while it is [`Stage::AwaitingAnswer`]."), "Null while it is `awaiting_answer`.");
    }
}
