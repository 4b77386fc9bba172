//! Fields: how a value of each type is read, shown and described. The type of a field says all of it; a field of another
//! form names the function that reads it.

use std::time::Duration;

use serde_json::{Value as Json, json};

use super::factor::Factor;
use super::node::Node;
use super::projects::Project;
use super::scalar::{
    DURATION, FACTOR, MONEY, NUMBER, SIZE, bad, bytes, choose, count, dollars, factor, flag, line, list,
    money, price, text, time,
};
use super::sections::Flaws;
use super::{gates, projects, size};
use crate::budget::{Price, Usd};
use crate::duration;
use crate::gate::{Gate, Percent};
use crate::text::WordEnum;

#[derive(Clone, Copy, Debug)]
pub(crate) enum FieldKind {
    Flag,
    Number,
    Size,
    Duration,
    Text,
    Dollars,
    Factor,
    Percentage,
    /// One of these words.
    Word(fn() -> Vec<&'static str>),
    ListOfTexts,
    ListOfWords(fn() -> Vec<&'static str>),
    ListOfSections {
        name: &'static str,
        schema: fn() -> Json,
    },
}

impl FieldKind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            FieldKind::Flag => "flag",
            FieldKind::Number => "number",
            FieldKind::Size => "size",
            FieldKind::Duration => "duration",
            FieldKind::Text => "text",
            FieldKind::Dollars => "dollars",
            FieldKind::Factor => "factor",
            FieldKind::Percentage => "percentage",
            FieldKind::Word(_) => "word",
            FieldKind::ListOfTexts => "list of texts",
            FieldKind::ListOfWords(_) => "list of words",
            FieldKind::ListOfSections { name, .. } => name,
        }
    }

    /// The words a value may be, when they are few.
    pub(crate) fn words(self) -> Vec<&'static str> {
        if let FieldKind::Word(words) | FieldKind::ListOfWords(words) = self { words() } else { Vec::new() }
    }

    pub(crate) fn is_list(self) -> bool {
        matches!(self, FieldKind::ListOfTexts | FieldKind::ListOfWords(_)) || self.is_list_of_sections()
    }

    pub(crate) fn is_list_of_sections(self) -> bool {
        matches!(self, FieldKind::ListOfSections { .. })
    }

    pub(crate) fn schema(self) -> Json {
        match self {
            FieldKind::Flag => json!({"type": "boolean"}),
            FieldKind::Number => json!({"type": "integer", "minimum": 0, "maximum": u32::MAX}),
            FieldKind::Factor => json!({"type": "number", "minimum": 1, "maximum": 100}),
            FieldKind::Dollars => json!({"type": "number", "minimum": 0}),
            FieldKind::Percentage => json!({"type": "number", "minimum": 0, "maximum": 100}),
            FieldKind::Size | FieldKind::Duration | FieldKind::Text => json!({"type": "string"}),
            FieldKind::Word(words) => json!({"enum": words()}),
            FieldKind::ListOfTexts => json!({"type": "array", "items": {"type": "string"}}),
            FieldKind::ListOfWords(words) => json!({"type": "array", "items": {"enum": words()}}),
            FieldKind::ListOfSections { schema, .. } => schema(),
        }
    }
}

/// A type whose values can be configured.
pub(crate) trait Configurable: Sized {
    const KIND: FieldKind;

    fn read(node: &Node) -> Result<Self, Flaws>;

    fn show(&self) -> Json;
}

/// One field of `T`: what its value must be, how it is read into `T`, how it is shown.
#[derive(Debug)]
pub(crate) struct Field<T> {
    pub(crate) kind: FieldKind,
    pub(crate) write: fn(&mut T, &Node) -> Result<(), Flaws>,
    pub(crate) show: fn(&T) -> Json,
}

impl<T> Clone for Field<T> {
    fn clone(&self) -> Field<T> {
        *self
    }
}

impl<T> Copy for Field<T> {}

/// `field!(T, a.b)` is the field `a.b` of `T`, read as its type says; a third argument reads it instead.
macro_rules! field {
    ($owner:ty, $($part:ident).+) => {
        $crate::config::field::field!($owner, $($part).+, $crate::config::field::Configurable::read)
    };
    ($owner:ty, $($part:ident).+, $read:path) => {
        $crate::config::field::Field::<$owner> {
            kind: $crate::config::field::kind_of(|owner: &$owner| &owner.$($part).+),
            write: |owner, node| {
                owner.$($part).+ = $read(node)?;
                Ok(())
            },
            show: |owner| $crate::config::field::Configurable::show(&owner.$($part).+),
        }
    };
}
pub(crate) use field;

pub(crate) const fn kind_of<T, V: Configurable>(_: fn(&T) -> &V) -> FieldKind {
    V::KIND
}

macro_rules! scalars {
    ($($type:ty: $kind:ident, $wanted:expr, $read:ident, $show:expr;)+) => { $(
        impl Configurable for $type {
            const KIND: FieldKind = FieldKind::$kind;

            fn read(node: &Node) -> Result<$type, Flaws> {
                Ok($read(text(node, $wanted)?)?)
            }

            fn show(&self) -> Json {
                let show: fn(&$type) -> Json = $show;
                show(self)
            }
        }
    )+ };
}

scalars! {
    bool: Flag, "true or false", flag, |value| json!(value);
    u32: Number, NUMBER, count, |value| json!(value);
    u64: Size, SIZE, bytes, |value| json!(size::text(*value));
    Duration: Duration, DURATION, time, |value| json!(duration::text(*value));
    String: Text, "a text", line, |value| json!(value);
    Usd: Dollars, MONEY, money, |value| dollars(*value);
    Factor: Factor, FACTOR, factor, |value| json!(value.number());
}

impl Configurable for Percent {
    const KIND: FieldKind = FieldKind::Percentage;

    fn read(node: &Node) -> Result<Percent, Flaws> {
        let scalar = text(node, "a percentage such as 80")?;
        let percent = Percent::parse(&scalar.text);
        Ok(percent.ok_or_else(|| bad(scalar, "write a number from 0 to 100".to_owned()))?)
    }

    fn show(&self) -> Json {
        json!(self)
    }
}

impl<T: Configurable> Configurable for Option<T> {
    const KIND: FieldKind = T::KIND;

    fn read(node: &Node) -> Result<Option<T>, Flaws> {
        T::read(node).map(Some)
    }

    fn show(&self) -> Json {
        self.as_ref().map_or(Json::Null, T::show)
    }
}

impl<T: WordEnum> Configurable for T {
    const KIND: FieldKind = FieldKind::Word(T::words);

    fn read(node: &Node) -> Result<T, Flaws> {
        Ok(choose(text(node, "a word")?)?)
    }

    fn show(&self) -> Json {
        json!(self.word())
    }
}

impl<T: WordEnum> Configurable for Vec<T> {
    const KIND: FieldKind = FieldKind::ListOfWords(T::words);

    fn read(node: &Node) -> Result<Vec<T>, Flaws> {
        let words = list(node)?.into_iter().map(choose);
        Ok(words.collect::<Result<_, _>>()?)
    }

    fn show(&self) -> Json {
        json!(self.iter().map(|one| one.word()).collect::<Vec<_>>())
    }
}

macro_rules! lists {
    ($($item:ty: $kind:expr, $read:expr, $show:expr;)+) => { $(
        impl Configurable for Vec<$item> {
            const KIND: FieldKind = $kind;

            fn read(node: &Node) -> Result<Vec<$item>, Flaws> {
                let read: fn(&Node) -> Result<Vec<$item>, Flaws> = $read;
                read(node)
            }

            fn show(&self) -> Json {
                let show: fn(&[$item]) -> Json = $show;
                show(self)
            }
        }
    )+ };
}

lists! {
    String: FieldKind::ListOfTexts,
        |node| Ok(list(node)?.into_iter().map(line).collect::<Result<_, _>>()?),
        |texts| json!(texts);
    Price: FieldKind::ListOfTexts,
        |node| Ok(list(node)?.into_iter().map(price).collect::<Result<_, _>>()?),
        |prices| json!(prices.iter().map(ToString::to_string).collect::<Vec<_>>());
    Gate: FieldKind::ListOfSections { name: "list of gates", schema: gates::schema }, gates::read, gates::value;
    Project: FieldKind::ListOfSections { name: "list of projects", schema: projects::schema },
        projects::read, projects::value;
}
