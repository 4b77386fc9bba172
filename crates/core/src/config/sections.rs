//! Lists of sections: what is wrong inside such a value is told by its own line.

use std::collections::BTreeMap;

use super::nearest::nearest;
use super::node::{Entry, Node, Place, Value};
use super::problem::Fault;

/// Something wrong inside a value that has places of its own.
pub(super) struct Flaw {
    /// What it is about, below the value; empty for the value as a whole.
    pub(super) below: String,
    /// Where it stands; none for the value as a whole.
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

/// Everything that is wrong with a value.
pub(super) struct Flaws(pub(super) Vec<Flaw>);

impl From<Fault> for Flaws {
    fn from(fault: Fault) -> Flaws {
        Flaws(vec![Flaw { below: String::new(), place: None, fault }])
    }
}

/// The items of a list of at most so many.
pub(super) fn items<'n>(
    node: &'n Node,
    wanted: &'static str,
    most: usize,
    of: &'static str,
) -> Result<&'n [Node], Fault> {
    match &node.value {
        Value::List(items) if items.len() > most => Err(Fault::TooLong { most, of }),
        Value::List(items) => Ok(items),
        Value::Null | Value::Scalar(_) | Value::Map(_) | Value::Bad => {
            Err(Fault::WrongType { wanted, found: node.value.kind() })
        }
    }
}

/// Hands over each key of a section once; says whether all of it could be read.
pub(super) fn entries(
    item: &Node,
    above: &str,
    wanted: &'static str,
    flaws: &mut Vec<Flaw>,
    mut take: impl FnMut(&Entry, &mut Vec<Flaw>),
) -> bool {
    let before = flaws.len();
    let all = match &item.value {
        Value::Map(all) => all,
        Value::Bad => return false,
        Value::Null | Value::Scalar(_) | Value::List(_) => {
            let fault = Fault::WrongType { wanted, found: item.value.kind() };
            flaws.push(Flaw::of(above, item.place, fault));
            return false;
        }
    };
    let mut seen: BTreeMap<&str, Place> = BTreeMap::new();
    let mut bad = false;
    for entry in all {
        if let Some(first) = seen.insert(entry.key.as_str(), entry.place) {
            flaws.push(Flaw::of(&join(above, &entry.key), entry.place, Fault::Duplicate { first }));
            continue;
        }
        // What was already complained about may be anything.
        bad |= entry.value.value == Value::Bad;
        take(entry, flaws);
    }
    !bad && flaws.len() == before
}

/// A key that no item has.
pub(super) fn unknown(list: &str, above: &str, entry: &Entry, names: &[&str]) -> Flaw {
    let meant = nearest(&entry.key, names.iter().copied());
    let nearest = meant.map(|name| format!("{list}.[].{}", join(above, name)));
    let fault = Fault::UnknownKey { nearest, known: names.iter().map(ToString::to_string).collect() };
    Flaw::of(&join(above, &entry.key), entry.place, fault)
}

fn join(above: &str, key: &str) -> String {
    if above.is_empty() { key.to_owned() } else { format!("{above}.{key}") }
}
