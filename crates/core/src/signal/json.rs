//! The JSON of the v2 and v3 dialects: objects with known fields, read leniently field by field.

use std::borrow::Cow;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::event::{Code, Diagnostic, Found, Kind, Protocol, Signal, Span};
use crate::phase::Phase;

/// How much of a malformed body a diagnostic shows.
const DETAIL_BYTES: usize = 100;

/// The objects of a body, one after another; `None` when it holds anything else, or nothing.
pub(super) fn objects(body: &[u8]) -> Option<Vec<SignalObject<'_>>> {
    let mut objects = Vec::new();
    for object in serde_json::Deserializer::from_slice(body).into_iter::<SignalObject<'_>>() {
        objects.push(object.ok()?);
    }
    (!objects.is_empty()).then_some(objects)
}

/// What a v2 block says.
pub(super) fn read_v2(body: &[u8], span: Span, found: &mut Vec<Found>) {
    let Some(objects) = objects(body) else {
        found.push(malformed(body, Protocol::V2, span));
        return;
    };
    for object in &objects {
        let draft = object.read(Protocol::V2, span);
        found.push(Found::Signal(Box::new(draft.signal)));
        found.extend(draft.diagnostics.into_iter().map(Found::Diagnostic));
    }
}

/// What a v3 line says; `json` is everything behind its prefix.
pub(super) fn read_v3(json: &[u8], span: Span, found: &mut Vec<Found>) {
    let objects = objects(json).unwrap_or_default();
    let [object] = objects.as_slice() else {
        found.push(malformed(json, Protocol::V3, span));
        return;
    };
    let draft = object.read(Protocol::V3, span);
    let known = matches!(draft.signal.kind, Kind::Exit | Kind::Status);
    if !known {
        // Any other type is no event here, whatever its fields were like.
        found.push(Found::Diagnostic(draft.unknown_type()));
        return;
    }
    found.push(Found::Signal(Box::new(draft.signal)));
    found.extend(draft.diagnostics.into_iter().map(Found::Diagnostic));
}

/// The diagnostic for a body that is no JSON.
pub(super) fn malformed(body: &[u8], protocol: Protocol, span: Span) -> Found {
    let cut = &body[..body.len().min(DETAIL_BYTES)];
    let detail = String::from_utf8_lossy(cut).trim().to_owned();
    Found::Diagnostic(Diagnostic { code: Code::MalformedJson, protocol, detail, span })
}

/// One object, its known fields still as they were written. Of a field written twice the last counts.
#[derive(Debug, Default)]
pub(super) struct SignalObject<'a> {
    v: Option<&'a RawValue>,
    kind: Option<&'a RawValue>,
    phase: Option<&'a RawValue>,
    progress: Option<&'a RawValue>,
    iteration: Option<&'a RawValue>,
    max_iterations: Option<&'a RawValue>,
    exit_signal: Option<&'a RawValue>,
    success: Option<&'a RawValue>,
    reason: Option<&'a RawValue>,
    message: Option<&'a RawValue>,
    indicators: Option<&'a RawValue>,
}

impl<'de: 'a, 'a> Deserialize<'de> for SignalObject<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;
        impl<'de> Visitor<'de> for Fields {
            type Value = SignalObject<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<SignalObject<'de>, A::Error> {
                let mut object = SignalObject::default();
                while let Some(name) = map.next_key::<Cow<'de, str>>()? {
                    let slot = match name.as_ref() {
                        "v" => &mut object.v,
                        "type" => &mut object.kind,
                        "phase" => &mut object.phase,
                        "progress" => &mut object.progress,
                        "iteration" => &mut object.iteration,
                        "max_iterations" => &mut object.max_iterations,
                        "exit_signal" => &mut object.exit_signal,
                        "success" => &mut object.success,
                        "reason" => &mut object.reason,
                        "message" => &mut object.message,
                        "indicators" => &mut object.indicators,
                        _ => {
                            map.next_value::<IgnoredAny>()?;
                            continue;
                        }
                    };
                    *slot = Some(map.next_value()?);
                }
                Ok(object)
            }
        }
        deserializer.deserialize_map(Fields)
    }
}

impl SignalObject<'_> {
    fn read(&self, protocol: Protocol, span: Span) -> SignalDraft {
        let mut draft =
            SignalDraft { signal: Signal::new(protocol, Kind::Status, span), diagnostics: Vec::new() };
        if let Some(word) = draft.string("type", self.kind) {
            draft.signal.kind = kind(&word);
        }
        draft.signal.v = draft.version(self.v).or(protocol.version());
        draft.signal.phase = draft.string("phase", self.phase).map(|word| Phase::parse(&word));
        let progress = draft.number("progress", self.progress);
        draft.signal.progress = progress.map(|n| draft.clamp(n));
        draft.signal.iteration = draft.number("iteration", self.iteration);
        draft.signal.max_iterations = draft.number("max_iterations", self.max_iterations);
        draft.signal.exit_signal = draft.bool("exit_signal", self.exit_signal);
        draft.signal.success = draft.bool("success", self.success);
        draft.signal.reason = draft.string("reason", self.reason);
        draft.signal.message = draft.string("message", self.message);
        draft.signal.indicators = draft.object("indicators", self.indicators);
        if matches!(draft.signal.kind, Kind::Other(_)) {
            let unknown = draft.unknown_type();
            draft.diagnostics.push(unknown);
        }
        draft
    }
}

/// A signal in the making, with what was wrong with its fields. The legacy dialect fills one from its lines.
#[derive(Debug)]
pub(super) struct SignalDraft {
    pub(super) signal: Signal,
    pub(super) diagnostics: Vec<Diagnostic>,
}

impl SignalDraft {
    pub(super) fn note(&mut self, code: Code, detail: impl Into<String>) {
        let (protocol, span) = (self.signal.protocol, self.signal.span);
        self.diagnostics.push(Diagnostic { code, protocol, detail: detail.into(), span });
    }

    pub(super) fn clamp(&mut self, progress: i64) -> u8 {
        let clamped = progress.clamp(0, 100);
        if clamped != progress {
            self.note(Code::ProgressClamped, progress.to_string());
        }
        clamped as u8
    }

    /// A whole number, or one made of a number's text.
    pub(super) fn whole(&mut self, field: &str, number: RoundedNumber) -> i64 {
        if number.coerced {
            self.note(Code::Coerced, field);
        }
        number.value
    }

    fn unknown_type(&self) -> Diagnostic {
        Diagnostic {
            code: Code::UnknownType,
            protocol: self.signal.protocol,
            detail: self.signal.kind.as_str().to_owned(),
            span: self.signal.span,
        }
    }

    fn number(&mut self, field: &str, raw: Option<&RawValue>) -> Option<i64> {
        let raw = sent(raw)?;
        let read = match raw.as_bytes()[0] {
            b'"' => serde_json::from_str::<String>(raw)
                .ok()
                .and_then(|text| RoundedNumber::parse(&text))
                .map(|number| RoundedNumber { coerced: true, ..number }),
            b'-' | b'0'..=b'9' => Some(RoundedNumber::of_literal(raw)),
            _ => None,
        };
        match read {
            Some(number) => Some(self.whole(field, number)),
            None => self.lose(field),
        }
    }

    fn version(&mut self, raw: Option<&RawValue>) -> Option<i64> {
        let raw = sent(raw)?;
        match raw.as_bytes()[0] {
            b'-' | b'0'..=b'9' => Some(RoundedNumber::of_literal(raw).value),
            _ => self.lose("v"),
        }
    }

    fn string(&mut self, field: &str, raw: Option<&RawValue>) -> Option<String> {
        let raw = sent(raw)?;
        serde_json::from_str(raw).ok().or_else(|| self.lose(field))
    }

    fn bool(&mut self, field: &str, raw: Option<&RawValue>) -> Option<bool> {
        match sent(raw)? {
            "true" => Some(true),
            "false" => Some(false),
            _ => self.lose(field),
        }
    }

    fn object(&mut self, field: &str, raw: Option<&RawValue>) -> Option<Map<String, Value>> {
        let raw = sent(raw)?;
        serde_json::from_str(raw).ok().or_else(|| self.lose(field))
    }

    fn lose<T>(&mut self, field: &str) -> Option<T> {
        self.note(Code::BadField, field);
        None
    }
}

/// A number rounded down to a whole one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct RoundedNumber {
    pub(super) value: i64,
    /// Whether it was written as something else.
    pub(super) coerced: bool,
}

impl RoundedNumber {
    /// Decimal digits with an optional sign and fraction.
    pub(super) fn parse(text: &str) -> Option<RoundedNumber> {
        let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
        let (whole, fraction) = match digits.split_once('.') {
            Some((whole, fraction)) => (whole, Some(fraction)),
            None => (digits, None),
        };
        let decimal = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        if !decimal(whole) || !fraction.is_none_or(decimal) {
            return None;
        }
        Some(RoundedNumber::of_literal(text.strip_prefix('+').unwrap_or(text)))
    }

    /// A JSON number literal, however large.
    fn of_literal(literal: &str) -> RoundedNumber {
        let coerced = literal.contains(['.', 'e', 'E']);
        let value = if coerced {
            literal.parse::<f64>().map_or(0, |float| float.floor() as i64)
        } else {
            let past = if literal.starts_with('-') { i64::MIN } else { i64::MAX };
            literal.parse().unwrap_or(past)
        };
        RoundedNumber { value, coerced }
    }
}

/// Absent and `null` are the same: not sent.
fn sent(raw: Option<&RawValue>) -> Option<&str> {
    raw.map(RawValue::get).filter(|text| *text != "null")
}

fn kind(word: &str) -> Kind {
    match word {
        "status" => Kind::Status,
        "phase" => Kind::Phase,
        "exit" => Kind::Exit,
        "stagnation" => Kind::Stagnation,
        _ => Kind::Other(word.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::{RoundedNumber, objects};

    #[test]
    fn numbers_are_rounded_down_and_never_overflow() {
        for (text, expect) in [
            ("70", Some((70, false))),
            ("+7", Some((7, false))),
            ("-5", Some((-5, false))),
            ("-3.5", Some((-4, true))),
            ("99.99", Some((99, true))),
            ("99999999999999999999999", Some((i64::MAX, false))),
            ("-99999999999999999999999", Some((i64::MIN, false))),
            ("", None),
            ("-", None),
            (".5", None),
            ("5.", None),
            ("1e3", None),
            ("0x20", None),
            ("NaN", None),
            ("inf", None),
            ("7%", None),
            (" 7", None),
        ] {
            let read = RoundedNumber::parse(text).map(|number| (number.value, number.coerced));
            assert_eq!(read, expect, "{text:?}");
        }
        assert_eq!(RoundedNumber::of_literal("1e400").value, i64::MAX);
    }

    #[test]
    fn a_body_is_objects_or_nothing() {
        let count = |body: &str| objects(body.as_bytes()).map(|objects| objects.len());
        assert_eq!(count("{}"), Some(1));
        assert_eq!(count("{}{} \r\n\t{}"), Some(3));
        for bad in ["", "  ", "[]", "{},{}", "{} x", "{", "null", "{}}", "{\"a\":}", "\u{feff}{}"] {
            assert_eq!(count(bad), None, "{bad:?}");
        }
        let deep = format!("{{\"x\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(count(&deep), Some(1));
    }
}
