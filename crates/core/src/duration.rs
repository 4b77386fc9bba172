//! Lengths of time as people write them: `30s`, `10m`, `1h30m`.
//!
//! The room for reading and writing them, in configuration and in sentences. Must never know what time it is.

use std::fmt;
use std::time::Duration;

use serde::de::{self, Deserializer, Visitor};
use serde::ser::Serializer;

type Unit = (&'static str, u64);

/// The units, longest first: the order in which they are written.
const UNITS: [Unit; 5] = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

/// Reads a length of time: whole numbers with the units d, h, m, s, ms, longest first. A bare `0` needs no
/// unit.
pub fn parse(text: &str) -> Result<Duration, String> {
    let whole = text.trim();
    if whole.is_empty() {
        return Err("empty duration; write for example 30s, 10m or 1h30m".to_owned());
    }
    if whole == "0" {
        return Ok(Duration::ZERO);
    }
    let mut rest = whole;
    let mut units = &UNITS[..];
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let (number, unit, after) = split_part(whole, rest)?;
        let (milliseconds, smaller) = look_up(unit, units)?;
        units = smaller;
        total = number
            .parse::<u64>()
            .ok()
            .and_then(|count| count.checked_mul(milliseconds))
            .and_then(|part| total.checked_add(part))
            .ok_or_else(|| format!("{whole:?} is longer than can be counted"))?;
        rest = after.trim_start();
    }
    Ok(Duration::from_millis(total))
}

/// Cuts `1h30m` into `1`, `h` and `30m`.
fn split_part<'a>(whole: &str, rest: &'a str) -> Result<(&'a str, &'a str, &'a str), String> {
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (number, after) = rest.split_at(digits);
    if number.is_empty() {
        return Err(format!("a duration starts with a number, not with {rest:?}; write for example 10m"));
    }
    if after.starts_with(['.', ',']) {
        return Err(format!("{whole:?} has a fraction; write whole numbers, for example 1h30m"));
    }
    let letters = after.find(|c: char| c.is_ascii_digit() || c.is_whitespace()).unwrap_or(after.len());
    let (unit, after) = after.split_at(letters);
    if unit.is_empty() {
        return Err(format!("{number} has no unit; write for example {number}s or {number}m"));
    }
    Ok((number, unit, after))
}

/// The milliseconds of a unit, and the units that may still follow it.
fn look_up<'a>(unit: &str, allowed: &'a [Unit]) -> Result<(u64, &'a [Unit]), String> {
    match allowed.iter().position(|(name, _)| *name == unit) {
        Some(index) => Ok((allowed[index].1, &allowed[index + 1..])),
        None if UNITS.iter().any(|(name, _)| *name == unit) => Err(format!(
            "unit {unit:?} stands in the wrong place; write the longest unit first and each once"
        )),
        None => Err(format!("unknown unit {unit:?}; the units are d, h, m, s and ms")),
    }
}

/// Writes a length of time so that [`parse`] reads it back, to the millisecond.
pub fn text(length: Duration) -> String {
    let mut left = length.as_millis();
    let mut text = String::new();
    for (name, milliseconds) in UNITS {
        let count = left / u128::from(milliseconds);
        left %= u128::from(milliseconds);
        if count > 0 {
            text.push_str(&format!("{count}{name}"));
        }
    }
    if text.is_empty() { "0s".to_owned() } else { text }
}

/// For `#[serde(with = "crate::duration")]`: reads a text such as `"10m"`.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    struct DurationVisitor;

    impl Visitor<'_> for DurationVisitor {
        type Value = Duration;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a duration with its unit, such as \"10m\"")
        }

        fn visit_str<E: de::Error>(self, text: &str) -> Result<Duration, E> {
            parse(text).map_err(E::custom)
        }
    }

    deserializer.deserialize_str(DurationVisitor)
}

/// For `#[serde(with = "crate::duration")]`: writes a text such as `"10m"`.
pub fn serialize<S: Serializer>(length: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&text(*length))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;
    use serde::{Deserialize, Serialize};

    use super::{parse, text};

    #[test]
    fn lengths_are_read() {
        for (written, seconds) in [
            ("0", 0),
            ("0s", 0),
            ("30s", 30),
            ("10m", 600),
            (" 2h ", 7_200),
            ("1h30m", 5_400),
            ("1h 30m", 5_400),
            ("1d2h3m4s", 93_784),
            ("90m", 5_400),
        ] {
            assert_eq!(parse(written), Ok(Duration::from_secs(seconds)), "{written:?}");
        }
        assert_eq!(parse("1500ms"), Ok(Duration::from_millis(1_500)));
    }

    #[test]
    fn mistakes_say_what_to_write_instead() {
        for (written, words) in [
            ("", "empty duration; write for example 30s, 10m or 1h30m"),
            ("  ", "empty duration; write for example 30s, 10m or 1h30m"),
            ("10", "10 has no unit; write for example 10s or 10m"),
            ("1h30", "30 has no unit; write for example 30s or 30m"),
            ("10 m", "10 has no unit; write for example 10s or 10m"),
            ("ten", "a duration starts with a number, not with \"ten\"; write for example 10m"),
            ("-5m", "a duration starts with a number, not with \"-5m\"; write for example 10m"),
            ("1.5h", "\"1.5h\" has a fraction; write whole numbers, for example 1h30m"),
            ("10min", "unknown unit \"min\"; the units are d, h, m, s and ms"),
            ("10M", "unknown unit \"M\"; the units are d, h, m, s and ms"),
            ("5m1h", "unit \"h\" stands in the wrong place; write the longest unit first and each once"),
            ("5m5m", "unit \"m\" stands in the wrong place; write the longest unit first and each once"),
            ("99999999999999999999s", "\"99999999999999999999s\" is longer than can be counted"),
            ("999999999999999999d", "\"999999999999999999d\" is longer than can be counted"),
        ] {
            let error = parse(written).expect_err(written);
            assert_eq!(error.to_string(), words, "{written:?}");
        }
    }

    #[test]
    fn lengths_are_written_short() {
        for (milliseconds, written) in
            [(0, "0s"), (1_500, "1s500ms"), (600_000, "10m"), (5_400_000, "1h30m"), (90_000_000, "1d1h")]
        {
            assert_eq!(text(Duration::from_millis(milliseconds)), written);
        }
    }

    #[test]
    fn configuration_holds_them_as_text() {
        #[derive(Debug, Deserialize, Serialize)]
        struct Limits {
            #[serde(with = "crate::duration")]
            wait: Duration,
        }
        let limits: Limits = serde_json::from_str(r#"{"wait":"90s"}"#).unwrap();
        assert_eq!(serde_json::to_string(&limits).unwrap(), r#"{"wait":"1m30s"}"#);
        let error = serde_json::from_str::<Limits>(r#"{"wait":600}"#).unwrap_err().to_string();
        assert!(error.contains("expected a duration with its unit, such as \"10m\""), "{error}");
        let error = serde_json::from_str::<Limits>(r#"{"wait":"600"}"#).unwrap_err().to_string();
        assert!(error.contains("600 has no unit"), "{error}");
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(milliseconds in any::<u64>()) {
            let length = Duration::from_millis(milliseconds);
            prop_assert_eq!(parse(&text(length)), Ok(length));
        }

        #[test]
        fn any_text_is_read_or_refused(written in "\\PC{0,20}") {
            let _ = parse(&written);
        }
    }
}
