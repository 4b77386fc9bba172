//! Plain templates: text with `{{name}}` in it.
//!
//! A template is read once, with the place of every name, so that whatever is wrong with it is said before anything runs.
//! Values go in as they are and are never looked at again: a value that says `{{secret}}` says just that. `\{{` is a plain
//! `{{`. Must never know what a name stands for.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;

use crate::config::{Place, nearest};

pub const LONGEST_TEMPLATE: usize = 256 * 1024;
pub const MOST_NAMES: usize = 1_000;
pub const LONGEST_NAME: usize = 200;

/// The most that a template becomes, in bytes.
pub const LONGEST_OUTPUT: usize = 4 * 1024 * 1024;
const OPEN: &str = "{{";
const CLOSE: &str = "}}";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    parts: Vec<TemplatePart>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum TemplatePart {
    Text(String),
    Slot(TemplateSlot),
}

/// A name in a template and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateSlot {
    pub name: String,
    /// Where its `{{` begins.
    pub place: Place,
}

impl Template {
    pub fn parse(text: &str) -> Result<Template, TemplateError> {
        if text.len() > LONGEST_TEMPLATE {
            let bytes = text.len();
            let why = format!("a template of {bytes} bytes; more than {LONGEST_TEMPLATE} are not read");
            return Err(TemplateError { place: None, why });
        }
        let mut reader = TemplateReader { rest: text, place: Place { line: 1, column: 1 } };
        let mut parts: Vec<TemplatePart> = Vec::new();
        let mut names = 0;
        while !reader.rest.is_empty() {
            let part = reader.part()?;
            match (parts.last_mut(), part) {
                (Some(TemplatePart::Text(before)), TemplatePart::Text(more)) => before.push_str(&more),
                (_, TemplatePart::Slot(slot)) if names == MOST_NAMES => {
                    let why = format!("more than {MOST_NAMES} names; split the template");
                    return Err(TemplateError::at(slot.place, why));
                }
                (_, part) => {
                    names += usize::from(matches!(part, TemplatePart::Slot(_)));
                    parts.push(part);
                }
            }
        }
        Ok(Template { parts })
    }

    /// The names in it, in order; one that stands twice comes twice.
    pub fn names(&self) -> impl Iterator<Item = &TemplateSlot> {
        self.parts.iter().filter_map(|part| match part {
            TemplatePart::Text(_) => None,
            TemplatePart::Slot(slot) => Some(slot),
        })
    }

    /// Says which name is none of those known, the first one there is.
    pub fn check(&self, known: &[&str]) -> Result<(), TemplateError> {
        match self.names().find(|slot| !known.contains(&slot.name.as_str())) {
            None => Ok(()),
            Some(slot) => Err(TemplateError::unknown(slot, known)),
        }
    }

    /// The text with a value for every name. `known` is only asked for the name that was probably meant when a value
    /// is missing.
    pub fn render<'v>(
        &self,
        known: &[&str],
        mut value: impl FnMut(&str) -> Option<Cow<'v, str>>,
    ) -> Result<String, TemplateError> {
        let mut text = String::new();
        for part in &self.parts {
            let (more, place) = match part {
                TemplatePart::Text(more) => (Cow::Borrowed(more.as_str()), None),
                TemplatePart::Slot(slot) => {
                    let more = value(&slot.name).ok_or_else(|| TemplateError::unknown(slot, known))?;
                    (more, Some(slot))
                }
            };
            if text.len() + more.len() > LONGEST_OUTPUT {
                let name = place.map_or_else(String::new, |slot| format!("{}: ", slot.name));
                let why = format!("{name}more than {LONGEST_OUTPUT} bytes in all");
                return Err(TemplateError { place: place.map(|slot| slot.place), why });
            }
            text.push_str(&more);
        }
        Ok(text)
    }
}

/// Goes through a text and knows where it is.
struct TemplateReader<'t> {
    rest: &'t str,
    place: Place,
}

impl<'t> TemplateReader<'t> {
    fn part(&mut self) -> Result<TemplatePart, TemplateError> {
        if self.rest.starts_with("\\{{") {
            self.take(1);
            return Ok(TemplatePart::Text(self.take(OPEN.len()).to_owned()));
        }
        if self.rest.starts_with(OPEN) {
            return self.slot().map(TemplatePart::Slot);
        }
        let next = [OPEN, "\\{{"].iter().filter_map(|mark| self.rest.find(mark)).min();
        Ok(TemplatePart::Text(self.take(next.unwrap_or(self.rest.len())).to_owned()))
    }

    fn slot(&mut self) -> Result<TemplateSlot, TemplateError> {
        let place = self.place;
        self.take(OPEN.len());
        // A name has one line, and no other name in it: what follows ends another name.
        let line = self.rest.split('\n').next().unwrap_or_default();
        let end = line.find(CLOSE).filter(|end| !line[..*end].contains(OPEN));
        let Some(end) = end else {
            let why = "{{ without }} in the same line; close it, or write \\{{ for plain braces";
            return Err(TemplateError::at(place, why));
        };
        let name = self.take(end).trim();
        self.take(CLOSE.len());
        if name.is_empty() {
            let why = "no name between {{ and }}; name a value, or write \\{{ for plain braces";
            return Err(TemplateError::at(place, why));
        }
        if name.len() > LONGEST_NAME || !name.chars().all(is_letter_of_a_name) {
            let name: String = name.chars().take(80).collect();
            let why = format!(
                "{name:?} is no name; names are made of letters, digits and _ . : / -, at most {LONGEST_NAME} bytes"
            );
            return Err(TemplateError::at(place, why));
        }
        Ok(TemplateSlot { name: name.to_owned(), place })
    }

    fn take(&mut self, bytes: usize) -> &'t str {
        let (taken, rest) = self.rest.split_at(bytes);
        for c in taken.chars() {
            match c {
                '\n' => self.place = Place { line: self.place.line + 1, column: 1 },
                _ => self.place.column += 1,
            }
        }
        self.rest = rest;
        taken
    }
}

fn is_letter_of_a_name(c: char) -> bool {
    c.is_alphanumeric() || ['_', '.', ':', '/', '-'].contains(&c)
}

/// Why a text is no template, or why it could not be filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateError {
    /// Where it is, unless it is about the whole text.
    pub place: Option<Place>,
    why: String,
}

impl TemplateError {
    fn at(place: Place, why: impl Into<String>) -> TemplateError {
        TemplateError { place: Some(place), why: why.into() }
    }

    fn unknown(slot: &TemplateSlot, known: &[&str]) -> TemplateError {
        let hint = match nearest(&slot.name, known.iter().copied()) {
            Some(meant) => format!("did you mean {meant}?"),
            None if known.is_empty() => "there are no names here".to_owned(),
            None => format!("there are {}", known[..known.len().min(24)].join(", ")),
        };
        TemplateError::at(slot.place, format!("nothing is called {:?}; {hint}", slot.name))
    }
}

impl fmt::Display for TemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(Place { line, column }) = self.place {
            write!(f, "line {line}, column {column}: ")?;
        }
        f.write_str(&self.why)
    }
}

impl Error for TemplateError {}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use proptest::prelude::*;

    use super::{LONGEST_NAME, LONGEST_OUTPUT, LONGEST_TEMPLATE, MOST_NAMES, Template};
    use crate::config::Place;

    fn render(template: &str, values: &[(&str, &str)]) -> Result<String, String> {
        let template = Template::parse(template).map_err(|error| error.to_string())?;
        let known: Vec<&str> = values.iter().map(|(name, _)| *name).collect();
        let value = |name: &str| {
            values.iter().find(|(known, _)| *known == name).map(|(_, value)| Cow::Borrowed(*value))
        };
        template.render(&known, value).map_err(|error| error.to_string())
    }

    #[test]
    fn names_are_filled_in() {
        let values = [
            ("name", "Ada"),
            ("file:docs/plan.md", "# Plan"),
            ("agent:reviewer", "kind"),
            ("emit.plan", "{{name}}"),
            ("FEEDBACK", ""),
            ("größe", "5"),
        ];
        for (template, text) in [
            ("", ""),
            ("plain { } }} text\n", "plain { } }} text\n"),
            ("Hello {{name}}!", "Hello Ada!"),
            ("{{ name }}{{name\t}}", "AdaAda"),
            ("{{file:docs/plan.md}}\n{{agent:reviewer}}", "# Plan\nkind"),
            ("[{{emit.plan}}]", "[{{name}}]"),
            ("[{{FEEDBACK}}]", "[]"),
            ("{{größe}}", "5"),
            ("${{name}}", "$Ada"),
            ("\\{{name}} and {{name}}", "{{name}} and Ada"),
            ("\\\\{{name}}", "\\{{name}}"),
            ("{{name}}}", "Ada}"),
        ] {
            assert_eq!(render(template, &values), Ok(text.to_owned()), "{template:?}");
        }
    }

    #[test]
    fn mistakes_say_where_and_what_to_do() {
        for (template, words) in [
            ("a\nb {{name\n}}", "line 2, column 3: {{ without }} in the same line; close it"),
            ("é{{", "line 1, column 2: {{ without }}"),
            ("{{a {{name}}", "line 1, column 1: {{ without }}"),
            ("{{{name}}", "line 1, column 1: \"{name\" is no name; names are made of letters"),
            ("x {{ }}", "line 1, column 3: no name between {{ and }}"),
            ("{{two words}}", "line 1, column 1: \"two words\" is no name"),
            ("{{a|b}}", "\"a|b\" is no name"),
            ("{{nmae}}", "line 1, column 1: nothing is called \"nmae\"; did you mean name?"),
            ("\n\n  {{zzz}}", "line 3, column 3: nothing is called \"zzz\"; there are name, other"),
        ] {
            let error = render(template, &[("name", "x"), ("other", "y")]).expect_err(template);
            assert!(error.contains(words), "{template:?}: {error}");
        }
        let none = Template::parse("{{x}}").unwrap().render(&[], |_| None).unwrap_err();
        assert!(none.to_string().ends_with("nothing is called \"x\"; there are no names here"), "{none}");
    }

    #[test]
    fn names_are_known_before_anything_is_filled_in() {
        let template = Template::parse("{{a}}\n {{b}} {{a}}").unwrap();
        let names: Vec<(&str, Place)> =
            template.names().map(|slot| (slot.name.as_str(), slot.place)).collect();
        let at = |line, column| Place { line, column };
        assert_eq!(names, [("a", at(1, 1)), ("b", at(2, 2)), ("a", at(2, 8))]);
        assert_eq!(template.check(&["a", "b"]), Ok(()));
        let error = template.check(&["a", "c"]).unwrap_err();
        assert_eq!(error.to_string(), "line 2, column 2: nothing is called \"b\"; did you mean a?");
    }

    #[test]
    fn everything_has_a_bound() {
        let long = "x".repeat(LONGEST_TEMPLATE);
        assert!(Template::parse(&long).is_ok());
        let error = Template::parse(&format!("{long}x")).unwrap_err();
        assert_eq!(error.place, None);
        assert_eq!(error.to_string(), "a template of 262145 bytes; more than 262144 are not read");

        let many = "{{x}}".repeat(MOST_NAMES);
        assert!(Template::parse(&many).is_ok());
        let error = Template::parse(&format!("{many}\n{{{{x}}}}")).unwrap_err();
        assert_eq!(error.to_string(), "line 2, column 1: more than 1000 names; split the template");

        let name = "n".repeat(LONGEST_NAME);
        assert!(Template::parse(&format!("{{{{{name}}}}}")).is_ok());
        assert!(Template::parse(&format!("{{{{{name}n}}}}")).unwrap_err().to_string().contains("is no name"));

        let half = "v".repeat(LONGEST_OUTPUT / 2);
        let value = |_: &str| Some(Cow::Borrowed(half.as_str()));
        let twice = Template::parse("{{a}}{{b}}").unwrap();
        assert_eq!(twice.render(&[], value).unwrap().len(), LONGEST_OUTPUT);
        let error = Template::parse("{{a}}{{b}}{{c}}").unwrap().render(&[], value).unwrap_err();
        assert_eq!(error.to_string(), "line 1, column 11: c: more than 4194304 bytes in all");
        let error = Template::parse("{{a}}{{b}}.").unwrap().render(&[], value).unwrap_err();
        assert_eq!(error.to_string(), "more than 4194304 bytes in all");
    }

    /// Text in which braces, names and backslashes meet often.
    fn brace_mix() -> impl Strategy<Value = String> {
        let pieces = prop::sample::select(vec![
            "{",
            "{{",
            "}",
            "}}",
            "\\",
            "\n",
            " ",
            "name",
            "{{name}}",
            "{{ a.b }}",
            "é",
            ":",
            "\\{{",
            "x y",
        ]);
        prop::collection::vec(pieces, 0..24).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in any::<String>()) {
            let _ = Template::parse(&text);
        }

        #[test]
        fn an_error_points_at_its_braces(text in brace_mix()) {
            let place = match Template::parse(&text) {
                Ok(_) => None,
                Err(error) => error.place,
            };
            if let Some(Place { line, column }) = place {
                let line = text.split('\n').nth(line as usize - 1).unwrap();
                let there: String = line.chars().skip(column as usize - 1).take(2).collect();
                prop_assert_eq!(there, "{{");
            }
        }

        #[test]
        fn text_that_is_quoted_comes_out_as_it_went_in(text in brace_mix()) {
            // A backslash before braces would quote them a second time.
            let plain = text.replace('\\', "");
            let quoted = plain.replace("{{", "\\{{");
            let template = Template::parse(&quoted).unwrap();
            prop_assert_eq!(template.names().count(), 0);
            prop_assert_eq!(template.render(&[], |_| None).unwrap(), plain);
        }

        #[test]
        fn a_value_is_never_looked_at_again(text in brace_mix(), value in brace_mix()) {
            if let Ok(template) = Template::parse(&text) {
                let marked = template.render(&[], |_| Some(Cow::Borrowed("\u{1}"))).unwrap();
                let filled = template.render(&[], |_| Some(Cow::Borrowed(value.as_str()))).unwrap();
                prop_assert_eq!(marked.replace('\u{1}', &value), filled);
            }
        }
    }
}
