//! The schema as docs/json.md and the manual show it.
use serde_json::Value;

use super::read::{Choice, Field, Reader, Shape};

/// The beginning of the page.
const INTRODUCTION: &str = include_str!("introduction.md");

/// The changes, at the end of the page.
const CHANGES: &str = include_str!("changes.md");

/// docs/json.md.
pub(super) fn page(schema: &Value) -> String {
    let reader = Reader::new(schema);
    let (events, types) = (reader.events(), reader.types());
    let mut page = format!("# `--json`\n\n{INTRODUCTION}\n## Events\n\n| event | from | meaning |\n|---|---|---|\n");
    for event in &events {
        page += &format!("| [`{0}`](#{0}) | {1} | {2} |\n", event.name, cell(&event.writers), cell(&event.meaning));
    }
    for event in &events {
        page += &format!("\n### `{}`\n\nFrom {}. {}\n", event.name, event.writers, event.meaning);
        page += &shape_of(&event.shape);
    }
    page += "\n## Types\n";
    for named in &types {
        page += &format!("\n### {}\n\n{}\n", named.name, named.meaning);
        page += &shape_of(&named.shape);
    }
    format!("{page}\n## Changes\n\n{CHANGES}")
}

fn shape_of(shape: &Shape) -> String {
    let mut text = String::new();
    if let Some(kind) = &shape.kind {
        text += &format!("\nIt is {}.\n", linked(kind));
    }
    if !shape.fields.is_empty() {
        text += "\n| field | value | meaning |\n|---|---|---|\n";
        for Field { name, kind, meaning, is_optional } in &shape.fields {
            let may_miss = if *is_optional { ", or left out" } else { "" };
            text += &format!("| `{name}` | {}{may_miss} | {} |\n", linked(kind), cell(meaning));
        }
    }
    for included in &shape.includes {
        text += &format!("\nAnd the fields of {}.\n", linked(&format!("{{{included}}}")));
    }
    if !shape.choices.is_empty() {
        let or_none = if shape.may_be_none { ", or none" } else { "" };
        text += &format!("\nOne of{or_none}:\n\n| which | with | meaning |\n|---|---|---|\n");
        for choice in &shape.choices {
            text += &format!("| {} | {} | {} |\n", which(choice), linked(&with(&choice.shape)), cell(&choice.meaning));
        }
    }
    text
}

fn which(choice: &Choice) -> String {
    match &choice.tag {
        Some((field, value)) if field.is_empty() => format!("`{value}`"),
        Some((field, value)) => format!("`{field}`: `{value}`"),
        None => String::new(),
    }
}

/// The fields of a choice, in a cell.
fn with(shape: &Shape) -> String {
    let fields = shape.fields.iter().map(|field| format!("`{}`: {}", field.name, field.kind));
    let included = shape.includes.iter().map(|name| format!("the fields of {{{name}}}"));
    let choices = shape.choices.iter().map(|choice| format!("{} {}", which(choice), with(&choice.shape)));
    fields.chain(included).chain(choices).collect::<Vec<_>>().join("; ")
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// Turns `{Name}` into a link to a type.
fn linked(text: &str) -> String {
    let mut parts = text.split('{');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once('}').unwrap_or((part, ""));
        out += &format!("[{name}](#{}){rest}", name.to_lowercase());
    }
    out
}

/// The section of the manual: a term and its text for each event and type, as
/// [`crate::manual`] reads it.
pub(super) fn manual(schema: &Value) -> String {
    let reader = Reader::new(schema);
    let mut text = String::from("JSON:\n");
    for event in reader.events() {
        let told = told(&event.shape, false);
        text += &format!("  {}  By {}: {} {told}\n", event.name, event.writers, event.meaning);
    }
    text += "\nJSON types:\n";
    for named in reader.types() {
        text += &format!("  {}  {} {}\n", named.name, named.meaning, told(&named.shape, true));
    }
    let lines = text.lines().map(|line| line.trim_end().replace(['`', '{', '}'], ""));
    let introduction = INTRODUCTION.replace('`', "");
    format!("{}\n\n{}", lines.collect::<Vec<_>>().join("\n"), introduction)
}

/// A shape in one paragraph. The meaning of each choice is given only `in_full`, which is for types
/// that several events share.
fn told(shape: &Shape, in_full: bool) -> String {
    let kind = shape.kind.iter().map(|kind| format!("It is {kind}."));
    let fields = shape.fields.iter().map(|Field { name, kind, meaning, is_optional }| {
        let may_miss = if *is_optional { ", or left out" } else { "" };
        format!("{name} ({kind}{may_miss}): {meaning}")
    });
    let included = shape.includes.iter().map(|name| format!("And the fields of {name}."));
    let choices = shape.choices.iter().map(|choice| {
        let (which, with) = (which(choice).replace("`: `", " "), with(&choice.shape));
        let with = if with.is_empty() { with } else { format!(" ({with})") };
        if in_full { format!("{which}{with}: {}", choice.meaning) } else { format!("{which}{with};") }
    });
    kind.chain(fields).chain(included).chain(choices).collect::<Vec<_>>().join(" ")
}
