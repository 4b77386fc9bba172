//! Marks that do not count, in a sentence each.

use super::event::{Code, Diagnostic};
use crate::text::inert_line;

/// What is wrong with a mark, and what became of it.
pub fn diagnostic(diagnostic: &Diagnostic) -> String {
    let what = match diagnostic.code {
        Code::BadField => "a field of the wrong type is ignored",
        Code::Coerced => "a number is read as a whole one",
        Code::Duplicate => "a repeated status is ignored",
        Code::InCodeSpan => "a signal in a code span does not count",
        Code::InComment => "a signal in a comment does not count",
        Code::InFence => "a signal in a code block does not count",
        Code::InQuote => "a signal in a quote does not count",
        Code::MalformedJson => "a signal that is no JSON object does not count",
        Code::MalformedLegacy => "a status without a phase does not count",
        Code::MalformedTag => "a tag that cannot be read does not count",
        Code::NotOnOwnLine => "an approval that shares its line does not count",
        Code::ProgressClamped => "a progress outside of 0 to 100 is clamped",
        Code::TooLarge => "a signal beyond its size limit does not count",
        Code::TooMany => "signals beyond the limit of a message do not count",
        Code::Unclosed => "a signal without its end does not count",
        Code::UnknownAttribute => "an unknown attribute is ignored",
        Code::UnknownTag => "an unknown tag does not count",
        Code::UnknownType => "a signal of an unknown type is kept, and does nothing",
    };
    match inert_line(&diagnostic.detail, 200) {
        detail if detail.is_empty() => what.to_owned(),
        detail => format!("{what}: {detail}"),
    }
}
