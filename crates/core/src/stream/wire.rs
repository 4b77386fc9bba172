//! Field types for other people's JSON: a field that is missing or of the wrong type loses itself, never its line.
//!
//! One pass, no value trees: each type says which JSON shapes it takes ([`Lenient`]) and every other shape is skipped.
//! Knows no agent.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// A value made from the JSON shapes it understands; every other shape gives the default.
pub(super) trait Lenient<'de>: Default {
    fn borrowed(text: &'de str) -> Self {
        Self::copied(text)
    }
    fn copied(_text: &str) -> Self {
        Self::default()
    }
    fn flag(_value: bool) -> Self {
        Self::default()
    }
    fn whole(_value: u64) -> Self {
        Self::default()
    }
    fn real(_value: f64) -> Self {
        Self::default()
    }
    fn list<A: SeqAccess<'de>>(mut items: A) -> Result<Self, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Self::default())
    }
    fn object<A: MapAccess<'de>>(mut entries: A) -> Result<Self, A::Error> {
        while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Self::default())
    }
    /// The same into a default value where it lies: an object is large, and every layer it is handed through would copy it.
    fn fill<A: MapAccess<'de>>(&mut self, entries: A) -> Result<(), A::Error> {
        *self = Self::object(entries)?;
        Ok(())
    }
}

/// An object of the wire: which key goes into which field. Keys that are not named are skipped, and of a key that comes twice
/// the last counts.
macro_rules! wire_object {
    ($(#[$meta:meta])* $vis:vis struct $name:ident $(<$a:lifetime>)? {
        $($(#[$field_meta:meta])* $key:literal => $field:ident: $type:ty,)*
    }) => {
        $(#[$meta])*
        #[derive(Default)]
        $vis struct $name $(<$a>)? {
            $($(#[$field_meta])* pub(super) $field: $type,)*
        }

        impl<'de $(: $a, $a)?> $crate::stream::wire::Lenient<'de> for $name $(<$a>)? {
            fn object<A: serde::de::MapAccess<'de>>(entries: A) -> Result<Self, A::Error> {
                let mut object = Self::default();
                object.fill(entries)?;
                Ok(object)
            }
            fn fill<A: serde::de::MapAccess<'de>>(&mut self, mut entries: A) -> Result<(), A::Error> {
                while let Some(key) = entries.next_key::<$crate::stream::wire::WireText<'de>>()? {
                    match key.as_str() {
                        $($key => $crate::stream::wire::WireField::take(&mut self.$field, &mut entries)?,)*
                        _ => drop(entries.next_value::<serde::de::IgnoredAny>()?),
                    }
                }
                Ok(())
            }
        }

        impl<'de $(: $a, $a)?> serde::Deserialize<'de> for $name $(<$a>)? {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::stream::wire::read(deserializer)
            }
        }
    };
}
pub(super) use wire_object;

/// Reads a lenient value; fails only where the line is no JSON.
pub(super) fn read<'de, T: Lenient<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    deserializer.deserialize_any(Shapes(PhantomData))
}

/// Reads a line into a default value.
pub(super) fn read_line<'de, T: Lenient<'de>>(line: &'de str, into: &mut T) -> Result<(), serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_str(line);
    FieldSeed(into).deserialize(&mut deserializer)?;
    deserializer.end()
}

/// A field that takes its value out of an object.
pub(super) trait WireField<'de> {
    fn take<A: MapAccess<'de>>(&mut self, entries: &mut A) -> Result<(), A::Error>;
}

impl<'de, T: Lenient<'de>> WireField<'de> for T {
    fn take<A: MapAccess<'de>>(&mut self, entries: &mut A) -> Result<(), A::Error> {
        entries.next_value_seed(FieldSeed(self))
    }
}

impl<'de: 'a, 'a> WireField<'de> for Option<&'a RawValue> {
    fn take<A: MapAccess<'de>>(&mut self, entries: &mut A) -> Result<(), A::Error> {
        *self = entries.next_value()?;
        Ok(())
    }
}

/// Where a value is to be; what was there is gone.
pub(super) struct FieldSeed<'p, T>(pub(super) &'p mut T);

impl<'de, T: Lenient<'de>> DeserializeSeed<'de> for FieldSeed<'_, T> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, T: Lenient<'de>> Visitor<'de> for FieldSeed<'_, T> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Shapes::<T>(PhantomData).expecting(f)
    }
    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<(), E> {
        *self.0 = T::borrowed(text);
        Ok(())
    }
    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        *self.0 = T::copied(text);
        Ok(())
    }
    fn visit_bool<E>(self, value: bool) -> Result<(), E> {
        *self.0 = T::flag(value);
        Ok(())
    }
    fn visit_u64<E>(self, value: u64) -> Result<(), E> {
        *self.0 = T::whole(value);
        Ok(())
    }
    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<(), E> {
        *self.0 = Shapes(PhantomData).visit_i64(value)?;
        Ok(())
    }
    fn visit_f64<E>(self, value: f64) -> Result<(), E> {
        *self.0 = T::real(value);
        Ok(())
    }
    fn visit_unit<E>(self) -> Result<(), E> {
        *self.0 = T::default();
        Ok(())
    }
    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<(), A::Error> {
        *self.0 = T::list(items)?;
        Ok(())
    }
    fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<(), A::Error> {
        *self.0 = T::default();
        self.0.fill(entries)
    }
}

struct Shapes<T>(PhantomData<T>);

impl<'de, T: Lenient<'de>> Visitor<'de> for Shapes<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }
    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<T, E> {
        Ok(T::borrowed(text))
    }
    fn visit_str<E>(self, text: &str) -> Result<T, E> {
        Ok(T::copied(text))
    }
    fn visit_bool<E>(self, value: bool) -> Result<T, E> {
        Ok(T::flag(value))
    }
    fn visit_u64<E>(self, value: u64) -> Result<T, E> {
        Ok(T::whole(value))
    }
    fn visit_i64<E>(self, value: i64) -> Result<T, E> {
        Ok(u64::try_from(value).map_or_else(|_| T::real(value as f64), T::whole))
    }
    fn visit_f64<E>(self, value: f64) -> Result<T, E> {
        Ok(T::real(value))
    }
    fn visit_unit<E>(self) -> Result<T, E> {
        Ok(T::default())
    }
    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<T, A::Error> {
        T::list(items)
    }
    fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<T, A::Error> {
        T::object(entries)
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct WireText<'a>(pub(super) Option<Cow<'a, str>>);

impl<'a> WireText<'a> {
    pub(super) fn as_str(&self) -> &str {
        self.0.as_deref().unwrap_or_default()
    }
    pub(super) fn or_empty(self) -> Cow<'a, str> {
        self.0.unwrap_or_default()
    }
}

impl<'de: 'a, 'a> Lenient<'de> for WireText<'a> {
    fn borrowed(text: &'de str) -> Self {
        WireText(Some(Cow::Borrowed(text)))
    }
    fn copied(text: &str) -> Self {
        WireText(Some(Cow::Owned(text.to_owned())))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for WireText<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read(deserializer)
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Count(pub(super) Option<u64>);

impl Count {
    pub(super) fn or_zero(self) -> u64 {
        self.0.unwrap_or(0)
    }
    pub(super) fn status(self) -> Option<u16> {
        self.0.and_then(|status| u16::try_from(status).ok())
    }
}

impl Lenient<'_> for Count {
    fn whole(value: u64) -> Self {
        Count(Some(value))
    }
    fn real(value: f64) -> Self {
        Count((value >= 0.0).then_some(value as u64))
    }
}

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read(deserializer)
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WireNumber(pub(super) Option<f64>);

impl Lenient<'_> for WireNumber {
    fn whole(value: u64) -> Self {
        WireNumber(Some(value as f64))
    }
    fn real(value: f64) -> Self {
        WireNumber(value.is_finite().then_some(value))
    }
}

impl<'de> Deserialize<'de> for WireNumber {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read(deserializer)
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Flag(pub(super) Option<bool>);

impl Flag {
    pub(super) fn is_set(self) -> bool {
        self.0 == Some(true)
    }
}

impl Lenient<'_> for Flag {
    fn flag(value: bool) -> Self {
        Flag(Some(value))
    }
}

impl<'de> Deserialize<'de> for Flag {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read(deserializer)
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct WireObject<T>(pub(super) Option<T>);

impl<T> Default for WireObject<T> {
    fn default() -> Self {
        WireObject(None)
    }
}

impl<'de, T: Lenient<'de>> Lenient<'de> for WireObject<T> {
    fn object<A: MapAccess<'de>>(entries: A) -> Result<Self, A::Error> {
        T::object(entries).map(|value| WireObject(Some(value)))
    }
    fn fill<A: MapAccess<'de>>(&mut self, entries: A) -> Result<(), A::Error> {
        self.0.insert(T::default()).fill(entries)
    }
}

impl<'de, T: Lenient<'de>> Deserialize<'de> for WireObject<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read(deserializer)
    }
}

/// How many items a list has, whatever they are.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Length(pub(super) Option<u64>);

impl<'de> Lenient<'de> for Length {
    fn list<A: SeqAccess<'de>>(mut items: A) -> Result<Self, A::Error> {
        let mut length = 0;
        while items.next_element::<IgnoredAny>()?.is_some() {
            length += 1;
        }
        Ok(Length(Some(length)))
    }
}

impl<'de> Deserialize<'de> for Length {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read(deserializer)
    }
}

/// The strings of a list; the first [`TEXTS_LIMIT`] are kept.
#[derive(Clone, Debug, Default)]
pub(super) struct Texts<'a>(pub(super) Vec<Cow<'a, str>>);

const TEXTS_LIMIT: usize = 32;

impl<'de: 'a, 'a> Lenient<'de> for Texts<'a> {
    fn list<A: SeqAccess<'de>>(mut items: A) -> Result<Self, A::Error> {
        let mut texts = Vec::new();
        while let Some(item) = items.next_element::<WireText<'a>>()? {
            if texts.len() < TEXTS_LIMIT {
                texts.extend(item.0);
            }
        }
        Ok(Texts(texts))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Texts<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read(deserializer)
    }
}

/// The HTTP status that follows these words in a sentence of the agent's.
pub(super) fn status_after(words: &str, text: &str) -> Option<u16> {
    let (_, rest) = text.split_once(words)?;
    rest.get(..3)?.parse().ok().filter(|status| (100..600).contains(status))
}

/// The line with every lone surrogate escape replaced by U+FFFD, or nothing when there is none.
///
/// JavaScript cuts strings between the halves of a character and writes the half as `\ud83d`, which is no text: without
/// this the whole line would be lost for half an emoji.
pub(super) fn without_lone_surrogates(line: &str) -> Option<String> {
    let mut repaired = String::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(backslash) = memchr::memchr(b'\\', &line.as_bytes()[at..]).map(|offset| at + offset) {
        at = backslash + 2;
        match (surrogate(line, backslash), surrogate(line, backslash + 6)) {
            (Some(Half::High), Some(Half::Low)) => at = backslash + 12,
            (Some(_), _) => {
                repaired.push_str(&line[copied..backslash]);
                repaired.push_str("\\ufffd");
                at = backslash + 6;
                copied = at;
            }
            (None, _) => {}
        }
        if at >= line.len() {
            break;
        }
    }
    (copied > 0).then(|| repaired + &line[copied..])
}

enum Half {
    High,
    Low,
}

fn surrogate(line: &str, at: usize) -> Option<Half> {
    let digits = line.as_bytes().get(at..at + 6)?.strip_prefix(b"\\u")?;
    match u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()? {
        0xD800..=0xDBFF => Some(Half::High),
        0xDC00..=0xDFFF => Some(Half::Low),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Count, Flag, Length, Texts, WireNumber, WireObject, WireText, without_lone_surrogates};

    wire_object! {
        struct Everything<'a> {
            "text" => text: WireText<'a>,
            "count" => count: Count,
            "number" => number: WireNumber,
            "flag" => flag: Flag,
            "texts" => texts: Texts<'a>,
            "length" => length: Length,
            "object" => object: WireObject<Inner>,
        }
    }

    wire_object! {
        struct Inner {
            "count" => count: Count,
        }
    }

    #[test]
    fn a_field_of_the_wrong_type_is_lost_alone() {
        for wrong in
            ["null", "-1", "1.5", "true", "\"s\"", "[1,[2]]", "{\"a\":{\"b\":[]}}", "\"\\n\"", "1e400"]
        {
            for field in ["text", "count", "number", "flag", "texts", "length", "object"] {
                let line = format!("{{\"{field}\":{wrong},\"zz\":{wrong}}}");
                let read = serde_json::from_str::<Everything<'_>>(&line);
                assert!(read.is_ok() || wrong == "1e400", "{line}");
            }
        }
        let line =
            r#"{"text":1,"count":"x","flag":true,"texts":["a",1,"b"],"length":[1,2],"object":{"count":-4}}"#;
        let read: Everything<'_> = serde_json::from_str(line).unwrap();
        assert_eq!((read.text.0, read.count.0, read.number.0), (None, None, None));
        assert_eq!((read.flag.0, read.length.0), (Some(true), Some(2)));
        assert_eq!(read.texts.0, ["a", "b"]);
        assert_eq!(read.object.0.map(|inner| inner.count.0), Some(None));
    }

    #[test]
    fn half_characters_are_replaced_and_whole_ones_kept() {
        for (line, repaired) in [
            (r#""plain \n text""#, None),
            (r#""\ud83d\ude00""#, None),
            (r#""\\ud83d""#, None),
            (r#""cut \ud83d""#, Some(r#""cut \ufffd""#)),
            (r#""\ude00 \ud83d\ude00 \uD83D\n""#, Some(r#""\ufffd \ud83d\ude00 \ufffd\n""#)),
            (r#""\ud83d\ud83d\ude00""#, Some(r#""\ufffd\ud83d\ude00""#)),
            (r#""\ud8"#, None),
            (r"\", None),
        ] {
            assert_eq!(without_lone_surrogates(line).as_deref(), repaired, "{line}");
        }
    }

    proptest! {
        #[test]
        fn repairing_never_panics(line in r#"([a-f0-9\\u"é]|\\ud[89c]00){0,60}"#) {
            without_lone_surrogates(&line);
        }
    }
}
