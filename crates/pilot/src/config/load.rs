//! YAML to a tree with places: the only file that knows the parser.
//!
//! Every node keeps its line and column, so that an error about any key can name them. Bounded in bytes, depth and nodes,
//! aliases counted as large as their targets: a small file cannot become a large tree.

use granit_parser::{Event, Options, Parser, ScalarStyle, ScanError, Span, Tag};
use pilot_core::config::{MapEntry, Node, Place, Scalar, Value};

pub(crate) const LARGEST: u64 = 1 << 20;

const DEEPEST: usize = 32;

/// How many values a file may hold, aliases written out.
const MOST: usize = 20_000;

/// Why a text is no configuration file, and where.
#[derive(Debug)]
pub(crate) struct NotYaml {
    /// Where the text stops making sense; none for the text as a whole.
    pub(crate) place: Option<Place>,
    pub(crate) why: String,
}

pub(crate) fn tree(bytes: &[u8]) -> Result<Node, NotYaml> {
    let text = text(bytes)?;
    let mut options = Options::default();
    options.flow_nesting_limit = 2 * DEEPEST;
    options.block_nesting_limit = 2 * DEEPEST;
    let mut builder = Builder {
        parser: Parser::new_from_str_with_options(text, options),
        nodes: 0,
        repeated: 0,
        anchors: Vec::new(),
    };
    builder.document()
}

fn text(bytes: &[u8]) -> Result<&str, NotYaml> {
    if bytes.len() as u64 > LARGEST {
        return Err(NotYaml { place: None, why: format!("larger than {} KiB", LARGEST / 1024) });
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let line = bytes[..error.valid_up_to()].split(|byte| *byte == b'\n').count();
        NotYaml {
            place: Some(Place { line: u32::try_from(line).unwrap_or(u32::MAX), column: 1 }),
            why: "not UTF-8; save the file as UTF-8".to_owned(),
        }
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    match text.split('\n').zip(1..).find(|(line, _)| line.contains('\0')) {
        Some((_, line)) => Err(NotYaml {
            place: Some(Place { line, column: 1 }),
            why: "a NUL character; this is no text file".to_owned(),
        }),
        None => Ok(text),
    }
}

struct Builder<'a> {
    parser: Parser<'a, granit_parser::StrInput<'a>>,
    nodes: usize,
    repeated: usize,
    anchors: Vec<(usize, Node)>,
}

impl<'a> Builder<'a> {
    fn document(&mut self) -> Result<Node, NotYaml> {
        let mut root: Option<Node> = None;
        loop {
            let (event, span) = self.next()?;
            if matches!(event, Event::StreamEnd) {
                let nothing = Node { place: Place { line: 1, column: 1 }, value: Value::Null };
                return Ok(root.unwrap_or(nothing));
            }
            if !event.is_node() {
                continue;
            }
            if root.is_some() {
                return Err(at(&span, "a second document; keep one, without a line `---` between"));
            }
            root = Some(self.node(event, &span, 0)?);
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "the parser's events are an open set")]
    fn node(&mut self, event: Event<'a>, span: &Span, depth: usize) -> Result<Node, NotYaml> {
        self.nodes += 1;
        if self.nodes > MOST {
            return Err(at(span, &format!("more than {MOST} values")));
        }
        if depth > DEEPEST {
            return Err(at(span, &format!("nested more than {DEEPEST} deep")));
        }
        if let Some(tag) = event.tag() {
            refuse_tag(tag, span)?;
        }
        let anchor = event.anchor_id();
        let value = match event {
            Event::Scalar(text, style, ..) => scalar(&text, style),
            Event::SequenceStart(..) => self.list(depth)?,
            Event::MappingStart(..) => self.section(depth)?,
            Event::Alias(id) => return self.alias(id, span),
            _ => return Err(at(span, "a value is missing")),
        };
        let node = Node { place: place(span), value };
        if let Some(anchor) = anchor.filter(|anchor| *anchor > 0) {
            self.anchors.push((anchor, node.clone()));
        }
        Ok(node)
    }

    fn list(&mut self, depth: usize) -> Result<Value, NotYaml> {
        let mut items = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if matches!(event, Event::SequenceEnd) {
                return Ok(Value::List(items));
            }
            items.push(self.node(event, &span, depth + 1)?);
        }
    }

    fn section(&mut self, depth: usize) -> Result<Value, NotYaml> {
        let mut entries = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if matches!(event, Event::MappingEnd) {
                return Ok(Value::Map(entries));
            }
            let Event::Scalar(key, ..) = event else {
                return Err(at(&span, "a key is a plain name, not a list, a section or an alias"));
            };
            let (event, value) = self.next()?;
            let value = self.node(event, &value, depth + 1)?;
            entries.push(MapEntry { key: key.into_owned(), place: place(&span), value });
        }
    }

    /// The target of an alias, counted again.
    fn alias(&mut self, id: usize, span: &Span) -> Result<Node, NotYaml> {
        let found = self.anchors.iter().rev().find(|(anchor, _)| *anchor == id);
        // An anchor is known once its node is complete, so an alias inside its own node finds nothing.
        let (_, node) = found.ok_or_else(|| at(span, "an alias to the section it is in"))?;
        let (nodes, bytes) = size(node);
        self.nodes += nodes;
        self.repeated += bytes;
        if self.nodes > MOST || self.repeated as u64 > LARGEST {
            return Err(at(span, "more than is read, aliases written out"));
        }
        let mut node = node.clone();
        node.place = place(span);
        Ok(node)
    }

    fn next(&mut self) -> Result<(Event<'a>, Span), NotYaml> {
        match self.parser.next_event() {
            Some(Ok(event)) => Ok(event),
            Some(Err(error)) => Err(scan_error(&error)),
            None => Err(NotYaml { place: None, why: "ends in the middle".to_owned() }),
        }
    }
}

fn scalar(text: &str, style: ScalarStyle) -> Value {
    if style == ScalarStyle::Plain && ["", "~", "null", "Null", "NULL"].contains(&text) {
        return Value::Null;
    }
    Value::Scalar(Scalar::new(text))
}

fn refuse_tag(tag: &Tag, span: &Span) -> Result<(), NotYaml> {
    let original: String = tag.original().chars().take(40).collect();
    Err(at(span, &format!("a tag ({original}); write the value without it")))
}

fn size(node: &Node) -> (usize, usize) {
    let sum = |(nodes, bytes): (usize, usize), below: &Node| {
        let (more, text) = size(below);
        (nodes + more, bytes + text)
    };
    match &node.value {
        Value::Null | Value::Bad => (1, 0),
        Value::Scalar(scalar) => (1, scalar.text.len()),
        Value::List(items) => items.iter().fold((1, 0), sum),
        Value::Map(entries) => entries.iter().fold((1, 0), |all, entry| {
            let (nodes, bytes) = sum(all, &entry.value);
            (nodes, bytes + entry.key.len())
        }),
    }
}

fn scan_error(error: &ScanError) -> NotYaml {
    let marker = error.marker();
    NotYaml { place: Some(mark(marker.line(), marker.col())), why: format!("not YAML: {}", error.info()) }
}

fn at(span: &Span, why: &str) -> NotYaml {
    NotYaml { place: Some(place(span)), why: why.to_owned() }
}

fn place(span: &Span) -> Place {
    mark(span.start.line(), span.start.col())
}

/// The parser counts lines from 1 and columns from 0.
fn mark(line: usize, column: usize) -> Place {
    let small = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    Place { line: small(line).max(1), column: small(column).saturating_add(1) }
}

#[cfg(test)]
mod tests {
    use pilot_core::config::{Node, Value};

    use super::{LARGEST, tree};

    /// A tree as one line: `line:column` of every entry and value.
    fn shown(node: &Node) -> String {
        match &node.value {
            Value::Null => "~".to_owned(),
            Value::Bad => "!".to_owned(),
            Value::Scalar(scalar) => format!("{:?}", scalar.text),
            Value::List(items) => format!("[{}]", items.iter().map(shown).collect::<Vec<_>>().join(" ")),
            Value::Map(entries) => {
                let entries = entries.iter().map(|entry| {
                    let value = &entry.value;
                    format!(
                        "{}@{}:{}={}@{}:{}",
                        entry.key,
                        entry.place.line,
                        entry.place.column,
                        shown(value),
                        value.place.line,
                        value.place.column
                    )
                });
                format!("{{{}}}", entries.collect::<Vec<_>>().join(" "))
            }
        }
    }

    fn refused(bytes: &[u8], words: &str, line: Option<u32>) {
        let error = tree(bytes).expect_err(words);
        assert!(error.why.contains(words), "{words}: {}", error.why);
        assert!(error.why.len() < 300, "{}", error.why);
        assert_eq!(error.place.map(|place| place.line), line, "{words}");
    }

    #[test]
    fn everything_has_its_place() {
        let node = tree(b"# top\na:\n  b: 1 # one\n  'c': \"x\"\nd: [p, \"null\", null]\ne:\n").unwrap();
        assert_eq!(
            shown(&node),
            "{a@2:1={b@3:3=\"1\"@3:6 c@4:3=\"x\"@4:8}@3:3 d@5:1=[\"p\" \"null\" ~]@5:4 e@6:1=~@6:2}"
        );
        for nothing in ["", "\n", "# only words\n", "---\n", "\u{feff}"] {
            assert_eq!(shown(&tree(nothing.as_bytes()).unwrap()), "~", "{nothing:?}");
        }
    }

    #[test]
    fn aliases_are_written_out() {
        let node = tree(b"a: &x {k: v}\nb: *x\n").unwrap();
        assert_eq!(shown(&node), "{a@1:1={k@1:8=\"v\"@1:11}@1:7 b@2:1={k@1:8=\"v\"@1:11}@2:4}");
    }

    #[test]
    fn what_is_no_configuration_is_refused() {
        refused(b"a:\n\tb: 2\n", "not YAML: tabs disallowed", Some(2));
        refused(b"a: [1, 2\n", "not YAML: unclosed bracket", Some(1));
        refused(b"a: 1\nb: \xff\n", "not UTF-8", Some(2));
        refused(b"a: 1\nb: \0\n", "a NUL character", Some(2));
        refused(b"a: 1\n---\nb: 2\n", "a second document", Some(3));
        refused(b"a: !!binary eA==\n", "a tag (!!binary)", Some(1));
        refused(b"? [a, b]\n: 1\n", "a key is a plain name", Some(1));
        refused(b"a: &x [*x]\n", "an alias to the section it is in", Some(1));
        refused(b"a: *nowhere\n", "not YAML", Some(1));
    }

    #[test]
    fn bombs_are_refused() {
        let mut laughs = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
        for level in 1..30 {
            let item = format!("*a{},", level - 1).repeat(10);
            laughs.push_str(&format!("a{level}: &a{level} [{}]\n", item.trim_end_matches(',')));
        }
        refused(laughs.as_bytes(), "more than is read, aliases written out", Some(5));
        let long = format!("a: &a {}\nb: [{}]\n", "x".repeat(900_000), ["*a"; 10_000].join(","));
        refused(long.as_bytes(), "more than is read, aliases written out", Some(2));
        let deep = format!("a: {}{}\n", "[".repeat(40), "]".repeat(40));
        refused(deep.as_bytes(), "nested more than 32 deep", Some(1));
        let deeper = format!("a: {}", "[".repeat(500_000));
        refused(deeper.as_bytes(), "recursion limit exceeded", Some(1));
        let wide = "- x\n".repeat(30_000);
        refused(wide.as_bytes(), "more than 20000 values", Some(20_000));
        let huge = vec![b'#'; usize::try_from(LARGEST).unwrap() + 1];
        refused(&huge, "larger than 1024 KiB", None);
    }
}
