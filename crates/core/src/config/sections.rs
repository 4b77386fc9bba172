//! Lists of sections: an error inside such a value has a line of its own.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use super::field::Field;
use super::nearest::nearest;
use super::node::{MapEntry, Node, Place, Value, join_path};
use super::problem::Fault;

/// Something wrong inside a value that has places of its own.
pub(crate) struct Flaw {
    /// What it is about, below the value; empty for the value as a whole.
    pub(super) below: String,
    /// Where it is written; none for the value as a whole.
    pub(super) place: Option<Place>,
    pub(super) fault: Fault,
}

impl Flaw {
    /// About a key of an item; the empty key is the item as a whole.
    pub(super) fn of(key: &str, place: Place, fault: Fault) -> Flaw {
        let below = if key.is_empty() { "[]".to_owned() } else { format!("[].{key}") };
        Flaw { below, place: Some(place), fault }
    }
}

pub(crate) struct Flaws(pub(super) Vec<Flaw>);

impl From<Fault> for Flaws {
    fn from(fault: Fault) -> Flaws {
        Flaws(vec![Flaw { below: String::new(), place: None, fault }])
    }
}

pub(super) fn items<'n>(
    node: &'n Node,
    wanted: &'static str,
    most: usize,
    of: &'static str,
) -> Result<&'n [Node], Fault> {
    match &node.value {
        Value::List(items) if items.len() > most => Err(Fault::TooLong { most, of }),
        Value::List(items) => Ok(items),
        Value::Null | Value::Scalar(_) | Value::Map(_) | Value::Bad => Err(node.wrong_type(wanted)),
    }
}

/// Calls `take` for each key of a section once; true when all of it could be read.
pub(super) fn entries(
    item: &Node,
    above: &str,
    wanted: &'static str,
    flaws: &mut Vec<Flaw>,
    mut take: impl FnMut(&MapEntry, &mut Vec<Flaw>),
) -> bool {
    let before = flaws.len();
    let all = match &item.value {
        Value::Map(all) => all,
        Value::Bad => return false,
        Value::Null | Value::Scalar(_) | Value::List(_) => {
            flaws.push(Flaw::of(above, item.place, item.wrong_type(wanted)));
            return false;
        }
    };
    let mut seen: BTreeMap<&str, Place> = BTreeMap::new();
    let mut bad = false;
    for entry in all {
        if let Some(first) = seen.insert(entry.key.as_str(), entry.place) {
            flaws.push(Flaw::of(&join_path(above, &entry.key), entry.place, Fault::Duplicate { first }));
            continue;
        }
        // A value that was reported already may be anything.
        bad |= entry.value.value == Value::Bad;
        take(entry, flaws);
    }
    !bad && flaws.len() == before
}

/// One key of an item, of which `T` is what was read so far.
pub(super) struct ItemKey<T> {
    /// Its name from the top of the item, with dots.
    pub(super) name: &'static str,
    pub(super) field: Field<T>,
    pub(super) about: &'static str,
}

/// Declares what is read of an item: each line is `"name" field: Type;` after the sentence that documents the key. A
/// function behind the type reads it.
macro_rules! item_draft {
    (
        $(#[$meta:meta])*
        $vis:vis struct $draft:ident { $($(#[doc = $doc:literal])+ $key:literal $name:ident: $type:ty $(, $read:ident)?;)+ }
    ) => {
        $(#[$meta])*
        #[derive(Default)]
        $vis struct $draft {
            $($name: Option<$type>,)+
        }

        impl $draft {
            $vis const KEYS: &[$crate::config::sections::ItemKey<$draft>] = &[$($crate::config::sections::ItemKey {
                name: $key,
                field: $crate::config::field::field!($draft, $name $(, $read)?),
                about: concat!($($doc),+).trim_ascii(),
            }),+];
        }
    };
}
pub(super) use item_draft;

pub(super) fn read_key<T>(
    (list, keys): (&str, &[ItemKey<T>]),
    draft: &mut T,
    above: &str,
    entry: &MapEntry,
    flaws: &mut Vec<Flaw>,
) {
    let name = join_path(above, &entry.key);
    let Some(key) = keys.iter().find(|key| key.name == name) else {
        flaws.push(unknown(list, above, entry, &names_below(above, keys)));
        return;
    };
    if matches!(entry.value.value, Value::Null | Value::Bad) {
        return;
    }
    if let Err(found) = (key.field.write)(draft, &entry.value) {
        flaws.extend(found.0.into_iter().map(|flaw| Flaw::of(key.name, entry.value.place, flaw.fault)));
    }
}

/// The names of the keys and sections directly below a section of an item.
pub(super) fn names_below<T>(above: &str, keys: &[ItemKey<T>]) -> Vec<&'static str> {
    let below = |name: &'static str| match above {
        "" => Some(name),
        _ => name.strip_prefix(above)?.strip_prefix('.'),
    };
    let mut names: Vec<&str> = keys.iter().filter_map(|key| below(key.name)?.split('.').next()).collect();
    names.dedup();
    names
}

/// What the schema says of a list of such items.
pub(super) fn schema<T>(keys: &[ItemKey<T>], most: usize, required: &[&str]) -> Json {
    let mut item = section();
    item["required"] = json!(required);
    describe(&mut item, keys);
    json!({"type": "array", "maxItems": most, "items": item})
}

/// Adds keys to what the schema says of an item.
pub(super) fn describe<T>(item: &mut Json, keys: &[ItemKey<T>]) {
    for key in keys {
        let mut property = key.field.kind.schema();
        property["description"] = json!(key.about);
        property["x-field"] = json!(key.field.kind.name());
        match key.name.split_once('.') {
            Some((above, name)) => {
                let properties = item["properties"].as_object_mut().expect("made above");
                properties.entry(above).or_insert_with(section)["properties"][name] = property;
            }
            None => item["properties"][key.name] = property,
        }
    }
}

fn section() -> Json {
    json!({"type": "object", "additionalProperties": false, "properties": {}})
}

/// A key that no item has.
pub(super) fn unknown(list: &str, above: &str, entry: &MapEntry, names: &[&str]) -> Flaw {
    let meant = nearest(&entry.key, names.iter().copied());
    let nearest = meant.map(|name| format!("{list}.[].{}", join_path(above, name)));
    let fault = Fault::UnknownKey { nearest, known: names.iter().map(ToString::to_string).collect() };
    Flaw::of(&join_path(above, &entry.key), entry.place, fault)
}
