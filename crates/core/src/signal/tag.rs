//! The tags of the XML dialect: their names, and the reading of one opening tag byte by byte.

use super::event::Kind;
use super::look::looked;

/// The prefix every tag of ours starts with.
pub(super) const PREFIX: &[u8] = b"<pilot:";
/// A longer opening tag, prefix included, is malformed.
pub(super) const TAG_LIMIT: usize = 4096;

/// The names that are marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MarkName {
    Completed,
    Skip,
    Approve,
    Reject,
    Blocked,
    Emit,
    Update,
}

impl MarkName {
    pub(super) const ALL: [MarkName; 7] = [
        MarkName::Completed,
        MarkName::Skip,
        MarkName::Approve,
        MarkName::Reject,
        MarkName::Blocked,
        MarkName::Emit,
        MarkName::Update,
    ];

    pub(super) fn parse(word: &[u8]) -> Option<MarkName> {
        MarkName::ALL.into_iter().find(|name| name.as_str().as_bytes() == word)
    }

    pub(super) fn as_str(self) -> &'static str {
        match self {
            MarkName::Completed => "completed",
            MarkName::Skip => "skip",
            MarkName::Approve => "approve",
            MarkName::Reject => "reject",
            MarkName::Blocked => "blocked",
            MarkName::Emit => "emit",
            MarkName::Update => "update",
        }
    }

    pub(super) fn kind(self) -> Kind {
        match self {
            MarkName::Completed => Kind::Completed,
            MarkName::Skip => Kind::Skip,
            MarkName::Approve => Kind::Approve,
            MarkName::Reject => Kind::Reject,
            MarkName::Blocked => Kind::Blocked,
            MarkName::Emit => Kind::Emit,
            MarkName::Update => Kind::Update,
        }
    }

    /// The start of its opening tag.
    pub(super) fn opening(self) -> &'static [u8] {
        match self {
            MarkName::Completed => b"<pilot:completed",
            MarkName::Skip => b"<pilot:skip",
            MarkName::Approve => b"<pilot:approve",
            MarkName::Reject => b"<pilot:reject",
            MarkName::Blocked => b"<pilot:blocked",
            MarkName::Emit => b"<pilot:emit",
            MarkName::Update => b"<pilot:update",
        }
    }

    /// How large a body may be.
    pub(super) fn body_limit(self) -> usize {
        match self {
            MarkName::Update => 1 << 20,
            MarkName::Completed
            | MarkName::Skip
            | MarkName::Approve
            | MarkName::Reject
            | MarkName::Blocked
            | MarkName::Emit => 1 << 18,
        }
    }

    /// The attribute it cannot do without.
    fn required(self) -> Option<&'static str> {
        match self {
            MarkName::Emit => Some("key"),
            MarkName::Update => Some("path"),
            MarkName::Completed
            | MarkName::Skip
            | MarkName::Approve
            | MarkName::Reject
            | MarkName::Blocked => None,
        }
    }
}

/// The word at the start of `text`, as a tag name continues: empty when there is none.
pub(super) fn word(text: &[u8]) -> &[u8] {
    let part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    match text.first() {
        Some(first) if first.is_ascii_alphabetic() => {
            &text[..text.iter().position(|byte| !part(byte)).unwrap_or(text.len())]
        }
        _ => b"",
    }
}

/// Whether a tag name that was cut off may have become a known one.
pub(super) fn may_become_known(word: &[u8]) -> bool {
    MarkName::ALL.into_iter().any(|name| name.as_str().as_bytes().starts_with(word))
}

pub(super) fn nearest(word: &[u8]) -> &'static str {
    let short = &word[..word.len().min(32)];
    let by_distance = |name: &MarkName| distance(&short.to_ascii_lowercase(), name.as_str().as_bytes());
    MarkName::ALL.into_iter().min_by_key(by_distance).map_or("", MarkName::as_str)
}

fn distance(a: &[u8], b: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Attributes {
    /// The value of `key` or `path`, whichever the tag must have.
    pub(super) required: Option<String>,
    /// The names of attributes the tag does not know.
    pub(super) unknown: Vec<String>,
}

/// What one more byte made of the tag.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum TagProgress {
    More,
    /// `/>`: the mark is whole.
    SelfClosed,
    /// `>`: a body follows.
    Opened,
    /// It is no tag; why.
    Malformed(&'static str),
}

/// Reads an opening tag from the byte behind its name.
#[derive(Debug)]
pub(super) struct TagReader {
    name: MarkName,
    state: TagState,
    read: usize,
    attribute: Vec<u8>,
    value: Vec<u8>,
    seen: Vec<Vec<u8>>,
    attributes: Attributes,
}

#[derive(Clone, Copy, Debug)]
enum TagState {
    BehindName,
    Between,
    Attribute,
    BehindAttribute,
    BehindEquals,
    Value(u8),
    Slash,
}

impl TagReader {
    pub(super) fn new(name: MarkName) -> TagReader {
        TagReader {
            name,
            state: TagState::BehindName,
            read: name.opening().len(),
            attribute: Vec::new(),
            value: Vec::new(),
            seen: Vec::new(),
            attributes: Attributes::default(),
        }
    }

    pub(super) fn into_attributes(self) -> Attributes {
        self.attributes
    }

    pub(super) fn step(&mut self, byte: u8) -> TagProgress {
        looked(1);
        self.read += 1;
        if self.read > TAG_LIMIT {
            return TagProgress::Malformed("tag over 4 KiB");
        }
        let blank = byte.is_ascii_whitespace();
        self.state = match self.state {
            TagState::BehindName | TagState::Between if blank => TagState::Between,
            TagState::BehindName | TagState::Between if byte == b'/' => TagState::Slash,
            TagState::BehindName | TagState::Between if byte == b'>' => {
                return self.whole(TagProgress::Opened);
            }
            TagState::BehindName => return TagProgress::Malformed("no blank behind the name"),
            TagState::Between if byte.is_ascii_alphabetic() || byte == b'_' => {
                self.attribute.push(byte);
                TagState::Attribute
            }
            TagState::Between => return TagProgress::Malformed("not an attribute"),
            TagState::Attribute if byte.is_ascii_alphanumeric() || b"_-.:".contains(&byte) => {
                self.attribute.push(byte);
                TagState::Attribute
            }
            TagState::Attribute | TagState::BehindAttribute if blank => TagState::BehindAttribute,
            TagState::Attribute | TagState::BehindAttribute if byte == b'=' => TagState::BehindEquals,
            TagState::Attribute | TagState::BehindAttribute => {
                return TagProgress::Malformed("attribute without a value");
            }
            TagState::BehindEquals if blank => TagState::BehindEquals,
            TagState::BehindEquals if byte == b'"' || byte == b'\'' => TagState::Value(byte),
            TagState::BehindEquals => return TagProgress::Malformed("value without quotes"),
            TagState::Value(quote) if byte == quote => match self.take_attribute() {
                Ok(()) => TagState::Between,
                Err(why) => return TagProgress::Malformed(why),
            },
            TagState::Value(quote) => {
                self.value.push(byte);
                TagState::Value(quote)
            }
            TagState::Slash if byte == b'>' => return self.whole(TagProgress::SelfClosed),
            TagState::Slash => return TagProgress::Malformed("slash inside the tag"),
        };
        TagProgress::More
    }

    fn take_attribute(&mut self) -> Result<(), &'static str> {
        let name = std::mem::take(&mut self.attribute);
        let value = std::mem::take(&mut self.value);
        if self.seen.contains(&name) {
            return Err("attribute twice");
        }
        if self.name.required().is_some_and(|required| required.as_bytes() == name) {
            self.attributes.required = Some(decode_entities(&String::from_utf8_lossy(&value)));
        } else {
            self.attributes.unknown.push(String::from_utf8_lossy(&name).into_owned());
        }
        self.seen.push(name);
        Ok(())
    }

    fn whole(&self, end: TagProgress) -> TagProgress {
        match (self.name.required(), &self.attributes.required) {
            (Some(_), None) => TagProgress::Malformed("key or path missing"),
            (Some(_), Some(value)) if value.is_empty() => TagProgress::Malformed("key or path empty"),
            (Some(_), Some(_)) | (None, _) => end,
        }
    }
}

/// Decodes the five entities of XML, once; anything else stays as written.
fn decode_entities(value: &str) -> String {
    const ENTITIES: [(&str, char); 5] =
        [("&amp;", '&'), ("&lt;", '<'), ("&gt;", '>'), ("&quot;", '"'), ("&apos;", '\'')];
    let mut out = String::with_capacity(value.len());
    let mut rest = value;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let entity = ENTITIES.iter().find(|(entity, _)| rest.starts_with(entity));
        let (char, length) = entity.map_or(('&', 1), |(entity, char)| (*char, entity.len()));
        out.push(char);
        rest = &rest[length..];
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::{MarkName, TagProgress, TagReader, nearest, word};

    fn read(name: MarkName, rest: &str) -> (TagProgress, usize) {
        let mut reader = TagReader::new(name);
        for (at, byte) in rest.bytes().enumerate() {
            let progress = reader.step(byte);
            if progress != TagProgress::More {
                return (progress, at + 1);
            }
        }
        (TagProgress::More, rest.len())
    }

    #[test]
    fn a_tag_ends_where_it_ends() {
        assert_eq!(read(MarkName::Skip, ">x"), (TagProgress::Opened, 1));
        assert_eq!(read(MarkName::Skip, " \n/>x"), (TagProgress::SelfClosed, 4));
        assert_eq!(read(MarkName::Emit, " key = \"a>b\"  >"), (TagProgress::Opened, 15));
        assert_eq!(read(MarkName::Emit, "\tkey='x'/>"), (TagProgress::SelfClosed, 10));
        assert_eq!(read(MarkName::Update, " path=\"a\" x='1' y='2'>").0, TagProgress::Opened);
        assert_eq!(read(MarkName::Update, " path=\"a").0, TagProgress::More);
    }

    #[test]
    fn what_is_no_tag_says_why() {
        for (name, rest) in [
            (MarkName::Skip, "!"),
            (MarkName::Skip, " / >"),
            (MarkName::Skip, " <"),
            (MarkName::Skip, " now>"),
            (MarkName::Emit, ">"),
            (MarkName::Emit, " key=\"\">"),
            (MarkName::Emit, " key=a>"),
            (MarkName::Emit, " key=\"a\" key='b'>"),
            (MarkName::Update, " key=\"a\">"),
        ] {
            assert!(matches!(read(name, rest).0, TagProgress::Malformed(_)), "{name:?} {rest}");
        }
        assert!(matches!(read(MarkName::Skip, &" ".repeat(5000)).0, TagProgress::Malformed(_)));
    }

    #[test]
    fn unknown_names_point_at_the_nearest_known_one() {
        for (written, meant) in [("complete", "completed"), ("re-ject", "reject"), ("Approved", "approve")] {
            assert_eq!(nearest(written.as_bytes()), meant);
        }
        assert_eq!(word(b"re-ject>x"), b"re-ject");
        assert_eq!(word(b" x"), b"");
        assert_eq!(word(b"\xc3\xa9"), b"");
    }
}
