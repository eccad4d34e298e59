//! Reads events, types and their parts from a schema, for its page and the manual.
use serde_json::{Map, Value};

use super::IN_PLACE;

/// `Name` in `#/$defs/Name`.
pub(super) fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Reads one schema.
pub(super) struct Reader<'s> {
    schema: &'s Value,
}

/// An event.
pub(super) struct EventDoc {
    pub(super) name: String,
    /// The commands that write it.
    pub(super) writers: String,
    pub(super) meaning: String,
    pub(super) shape: Shape,
}

/// A type that events share.
pub(super) struct TypeDoc {
    pub(super) name: String,
    pub(super) meaning: String,
    pub(super) shape: Shape,
}

/// The parts of a value.
#[derive(Default)]
pub(super) struct Shape {
    /// What the value is, if it is no object.
    pub(super) kind: Option<String>,
    pub(super) fields: Vec<Field>,
    /// Types whose fields are among its own.
    pub(super) includes: Vec<String>,
    /// The values of which it is one.
    pub(super) choices: Vec<Choice>,
    /// Whether it may also be none of these.
    pub(super) may_be_none: bool,
}

/// A field of an object.
pub(super) struct Field {
    pub(super) name: String,
    pub(super) kind: String,
    pub(super) meaning: String,
    pub(super) is_optional: bool,
}

/// One of several values that a value may be.
pub(super) struct Choice {
    /// The field that says which choice this is, and its value: `code` and `declined`.
    pub(super) tag: Option<(String, String)>,
    pub(super) meaning: String,
    pub(super) shape: Shape,
}

impl Shape {
    /// The names of everything without a description.
    pub(super) fn silent(&self, of: &str) -> Vec<String> {
        let fields = self.fields.iter().filter(|field| field.meaning.is_empty());
        let below = self.choices.iter().flat_map(|choice| {
            let name = choice.tag.as_ref().map_or("a choice", |(_, value)| value);
            let own = choice.meaning.is_empty() && choice.shape.includes.is_empty();
            // The choice's own description covers its only field.
            let is_told = !choice.meaning.is_empty() && choice.shape.fields.len() == 1;
            let within = if is_told { Vec::new() } else { choice.shape.silent(&format!("{of}: {name}")) };
            own.then(|| format!("{of}: {name}")).into_iter().chain(within)
        });
        fields.map(|field| format!("{of}.{}", field.name)).chain(below).collect()
    }
}

fn text_of(schema: &Value) -> String {
    schema["description"].as_str().unwrap_or_default().to_owned()
}

impl<'s> Reader<'s> {
    pub(super) fn new(schema: &'s Value) -> Self {
        Self { schema }
    }

    /// All events, as they are listed.
    pub(super) fn events(&self) -> Vec<EventDoc> {
        let read = |event: &Value| {
            let text = text_of(event);
            let (writers, meaning) = text.split_once(": ").expect("an event's comment begins with the commands");
            let mut shape = self.shape(event);
            shape.fields.retain(|field| field.name != "event");
            let name = event["properties"]["event"]["const"].as_str().expect("an event has a name");
            EventDoc { name: name.to_owned(), writers: writers.to_owned(), meaning: meaning.to_owned(), shape }
        };
        self.schema["oneOf"].as_array().into_iter().flatten().map(read).collect()
    }

    /// All types that have a name.
    pub(super) fn types(&self) -> Vec<TypeDoc> {
        let read = |(name, schema): (&String, &Value)| TypeDoc {
            name: name.clone(),
            meaning: text_of(schema),
            shape: self.shape(schema),
        };
        let used = self.schema.to_string();
        let is_used = |name: &str| used.contains(&format!("\"$ref\":\"#/$defs/{name}\""));
        let all = self.schema["$defs"].as_object().into_iter().flatten();
        // An event's own section tells the parts of its type.
        all.filter(|(name, _)| is_used(name) && !self.is_an_events(name)).map(read).collect()
    }

    /// Whether exactly one event, and nothing else, refers to it.
    fn is_an_events(&self, name: &str) -> bool {
        let path = format!("#/$defs/{name}");
        let events = self.schema["oneOf"].as_array().into_iter().flatten();
        let by_events = events.filter(|event| event["$ref"] == path.as_str()).count();
        by_events == 1 && self.schema.to_string().matches(&format!("\"{path}\"")).count() == 1
    }

    fn shape(&self, schema: &Value) -> Shape {
        let mut shape = Shape::default();
        self.read(schema, &mut shape);
        if shape.fields.is_empty() && shape.includes.is_empty() && shape.choices.is_empty() {
            shape.kind = (schema["type"] != "object").then(|| self.kind(schema));
        }
        shape
    }

    fn read(&self, schema: &Value, shape: &mut Shape) {
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        if let Some(fields) = schema["properties"].as_object() {
            let place = |name: &str| required.iter().position(|one| *one == name).unwrap_or(required.len());
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by_key(|(name, _)| place(name));
            shape.fields.extend(fields.into_iter().map(|(name, field)| Field {
                name: name.clone(),
                kind: self.kind(field),
                meaning: self.meaning(field),
                is_optional: place(name) == required.len(),
            }));
        }
        if let Some(path) = schema["$ref"].as_str() {
            match self.is_an_events(name_of(path)) {
                true => self.read(&self.schema["$defs"][name_of(path)], shape),
                false => shape.includes.push(name_of(path).to_owned()),
            }
        }
        for key in IN_PLACE {
            let all = schema[key].as_array().into_iter().flatten();
            match key {
                "allOf" => all.for_each(|part| self.read(part, shape)),
                _ => all.for_each(|choice| self.choose(choice, shape)),
            }
        }
    }

    fn choose(&self, choice: &Value, shape: &mut Shape) {
        if choice.as_object().is_some_and(Map::is_empty) {
            shape.may_be_none = true;
            return;
        }
        // Choices inside a choice are choices of the same value.
        if choice.get("$ref").is_none() && choice.get("properties").is_none() && choice["oneOf"].is_array() {
            return self.read(choice, shape);
        }
        let mut own = self.shape(choice);
        let tag = match choice["const"].as_str() {
            Some(value) => Some((String::new(), value.to_owned())),
            None => self.tag(choice, &mut own),
        };
        if let Some(values) = choice["enum"].as_array() {
            let values = values.iter().filter_map(Value::as_str);
            shape.choices.extend(values.map(|value| Choice {
                tag: Some((String::new(), value.to_owned())),
                meaning: text_of(choice),
                shape: Shape::default(),
            }));
        } else if choice["type"] != "null" {
            shape.choices.push(Choice { tag, meaning: text_of(choice), shape: own });
        }
    }

    /// The field whose value says which of several choices this is.
    fn tag(&self, choice: &Value, shape: &mut Shape) -> Option<(String, String)> {
        let fields = choice["properties"].as_object()?;
        let (name, value) = fields.iter().find_map(|(name, field)| Some((name, field["const"].as_str()?)))?;
        shape.fields.retain(|field| field.name != *name);
        Some((name.clone(), value.to_owned()))
    }

    /// What a field means: its own comment, or its type's.
    fn meaning(&self, field: &Value) -> String {
        match field.get("const") {
            Some(_) => "Which it is.".to_owned(),
            None => text_of(field),
        }
    }

    /// What a value is, in words.
    fn kind(&self, schema: &Value) -> String {
        if let Some(path) = schema["$ref"].as_str() {
            return format!("{{{}}}", name_of(path));
        }
        if let Some(value) = schema["const"].as_str() {
            return format!("`{value}`");
        }
        if let Some(values) = schema["enum"].as_array() {
            let values: Vec<_> = values.iter().filter_map(Value::as_str).map(|value| format!("`{value}`")).collect();
            return values.join(", ");
        }
        if let Some(choices) = schema["anyOf"].as_array().or(schema["oneOf"].as_array()) {
            return choices.iter().map(|choice| self.kind(choice)).collect::<Vec<_>>().join(" or ");
        }
        match &schema["type"] {
            Value::Array(types) => types
                .iter()
                .filter_map(Value::as_str)
                .map(|kind| self.of_type(kind, schema))
                .collect::<Vec<_>>()
                .join(" or "),
            kind => self.of_type(kind.as_str().unwrap_or("value"), schema),
        }
    }

    fn of_type(&self, kind: &str, schema: &Value) -> String {
        match kind {
            "string" => "text".to_owned(),
            "array" => format!("list of {}", self.kind(&schema["items"])),
            kind => kind.to_owned(),
        }
    }
}
