//! The tags of the XML dialect: their names, and the reading of one opening tag byte by byte.

use super::event::Kind;
use super::look::looked;

/// The prefix every tag of ours starts with.
pub(super) const PREFIX: &[u8] = b"<pilot:";
/// A longer opening tag, prefix included, is malformed.
pub(super) const TAG_LIMIT: usize = 4096;

/// The names that are marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Name {
    Completed,
    Skip,
    Approve,
    Reject,
    Blocked,
    Emit,
    Update,
}

impl Name {
    pub(super) const ALL: [Name; 7] =
        [Name::Completed, Name::Skip, Name::Approve, Name::Reject, Name::Blocked, Name::Emit, Name::Update];

    pub(super) fn parse(word: &[u8]) -> Option<Name> {
        Name::ALL.into_iter().find(|name| name.as_str().as_bytes() == word)
    }

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Name::Completed => "completed",
            Name::Skip => "skip",
            Name::Approve => "approve",
            Name::Reject => "reject",
            Name::Blocked => "blocked",
            Name::Emit => "emit",
            Name::Update => "update",
        }
    }

    pub(super) fn kind(self) -> Kind {
        match self {
            Name::Completed => Kind::Completed,
            Name::Skip => Kind::Skip,
            Name::Approve => Kind::Approve,
            Name::Reject => Kind::Reject,
            Name::Blocked => Kind::Blocked,
            Name::Emit => Kind::Emit,
            Name::Update => Kind::Update,
        }
    }

    /// The start of its opening tag.
    pub(super) fn opening(self) -> &'static [u8] {
        match self {
            Name::Completed => b"<pilot:completed",
            Name::Skip => b"<pilot:skip",
            Name::Approve => b"<pilot:approve",
            Name::Reject => b"<pilot:reject",
            Name::Blocked => b"<pilot:blocked",
            Name::Emit => b"<pilot:emit",
            Name::Update => b"<pilot:update",
        }
    }

    /// How large a body may be.
    pub(super) fn body_limit(self) -> usize {
        match self {
            Name::Update => 1 << 20,
            Name::Completed | Name::Skip | Name::Approve | Name::Reject | Name::Blocked | Name::Emit => {
                1 << 18
            }
        }
    }

    /// The attribute it cannot do without.
    fn required(self) -> Option<&'static str> {
        match self {
            Name::Emit => Some("key"),
            Name::Update => Some("path"),
            Name::Completed | Name::Skip | Name::Approve | Name::Reject | Name::Blocked => None,
        }
    }
}

/// The word at the start of `text`, as a tag name goes on: empty when there is none.
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
    Name::ALL.into_iter().any(|name| name.as_str().as_bytes().starts_with(word))
}

/// The known name nearest to a word that is none.
pub(super) fn nearest(word: &[u8]) -> &'static str {
    let short = &word[..word.len().min(32)];
    let by_distance = |name: &Name| distance(&short.to_ascii_lowercase(), name.as_str().as_bytes());
    Name::ALL.into_iter().min_by_key(by_distance).map_or("", Name::as_str)
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

/// A whole opening tag.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Attributes {
    /// The value of `key` or `path`, whichever the tag must have.
    pub(super) required: Option<String>,
    /// The names of attributes the tag does not know.
    pub(super) unknown: Vec<String>,
}

/// What one more byte made of the tag.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Progress {
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
    name: Name,
    state: State,
    read: usize,
    attribute: Vec<u8>,
    value: Vec<u8>,
    seen: Vec<Vec<u8>>,
    attributes: Attributes,
}

#[derive(Clone, Copy, Debug)]
enum State {
    BehindName,
    Between,
    Attribute,
    BehindAttribute,
    BehindEquals,
    Value(u8),
    Slash,
}

impl TagReader {
    pub(super) fn new(name: Name) -> TagReader {
        TagReader {
            name,
            state: State::BehindName,
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

    pub(super) fn step(&mut self, byte: u8) -> Progress {
        looked(1);
        self.read += 1;
        if self.read > TAG_LIMIT {
            return Progress::Malformed("tag over 4 KiB");
        }
        let blank = byte.is_ascii_whitespace();
        self.state = match self.state {
            State::BehindName | State::Between if blank => State::Between,
            State::BehindName | State::Between if byte == b'/' => State::Slash,
            State::BehindName | State::Between if byte == b'>' => return self.whole(Progress::Opened),
            State::BehindName => return Progress::Malformed("no blank behind the name"),
            State::Between if byte.is_ascii_alphabetic() || byte == b'_' => {
                self.attribute.push(byte);
                State::Attribute
            }
            State::Between => return Progress::Malformed("not an attribute"),
            State::Attribute if byte.is_ascii_alphanumeric() || b"_-.:".contains(&byte) => {
                self.attribute.push(byte);
                State::Attribute
            }
            State::Attribute | State::BehindAttribute if blank => State::BehindAttribute,
            State::Attribute | State::BehindAttribute if byte == b'=' => State::BehindEquals,
            State::Attribute | State::BehindAttribute => {
                return Progress::Malformed("attribute without a value");
            }
            State::BehindEquals if blank => State::BehindEquals,
            State::BehindEquals if byte == b'"' || byte == b'\'' => State::Value(byte),
            State::BehindEquals => return Progress::Malformed("value without quotes"),
            State::Value(quote) if byte == quote => match self.take_attribute() {
                Ok(()) => State::Between,
                Err(why) => return Progress::Malformed(why),
            },
            State::Value(quote) => {
                self.value.push(byte);
                State::Value(quote)
            }
            State::Slash if byte == b'>' => return self.whole(Progress::SelfClosed),
            State::Slash => return Progress::Malformed("slash inside the tag"),
        };
        Progress::More
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

    fn whole(&self, end: Progress) -> Progress {
        match (self.name.required(), &self.attributes.required) {
            (Some(_), None) => Progress::Malformed("key or path missing"),
            (Some(_), Some(value)) if value.is_empty() => Progress::Malformed("key or path empty"),
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
    use super::{Name, Progress, TagReader, nearest, word};

    fn read(name: Name, rest: &str) -> (Progress, usize) {
        let mut reader = TagReader::new(name);
        for (at, byte) in rest.bytes().enumerate() {
            let progress = reader.step(byte);
            if progress != Progress::More {
                return (progress, at + 1);
            }
        }
        (Progress::More, rest.len())
    }

    #[test]
    fn a_tag_ends_where_it_ends() {
        assert_eq!(read(Name::Skip, ">x"), (Progress::Opened, 1));
        assert_eq!(read(Name::Skip, " \n/>x"), (Progress::SelfClosed, 4));
        assert_eq!(read(Name::Emit, " key = \"a>b\"  >"), (Progress::Opened, 15));
        assert_eq!(read(Name::Emit, "\tkey='x'/>"), (Progress::SelfClosed, 10));
        assert_eq!(read(Name::Update, " path=\"a\" x='1' y='2'>").0, Progress::Opened);
        assert_eq!(read(Name::Update, " path=\"a").0, Progress::More);
    }

    #[test]
    fn what_is_no_tag_says_why() {
        for (name, rest) in [
            (Name::Skip, "!"),
            (Name::Skip, " / >"),
            (Name::Skip, " <"),
            (Name::Skip, " now>"),
            (Name::Emit, ">"),
            (Name::Emit, " key=\"\">"),
            (Name::Emit, " key=a>"),
            (Name::Emit, " key=\"a\" key='b'>"),
            (Name::Update, " key=\"a\">"),
        ] {
            assert!(matches!(read(name, rest).0, Progress::Malformed(_)), "{name:?} {rest}");
        }
        assert!(matches!(read(Name::Skip, &" ".repeat(5000)).0, Progress::Malformed(_)));
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
