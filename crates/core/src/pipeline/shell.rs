//! A line for the shell in which values are variables, never text.
//!
//! `{{name}}` becomes a reference to a variable of the environment, quoted as its place needs it, so that no value can become a
//! command. Where a reference would be text again (single quotes, a here-document, a command inside double quotes) the name is
//! refused; the variable itself can be used there.

use std::borrow::Cow;

use crate::config::Place;
use crate::template::{Template, TemplateSlot};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellLine {
    pub text: String,
    line: String,
    names: Vec<String>,
}

impl ShellLine {
    pub fn parse(text: &str) -> Result<ShellLine, String> {
        let template = Template::parse(text).map_err(|error| error.to_string())?;
        let mut references = Vec::new();
        let mut names: Vec<String> = Vec::new();
        for slot in template.names() {
            let index = match names.iter().position(|name| *name == slot.name) {
                Some(index) => index,
                None => {
                    names.push(slot.name.clone());
                    names.len() - 1
                }
            };
            let variable = variable(index);
            references.push(match quoting(&text[..offset(text, slot.place)]) {
                Quoting::Plain => format!("\"${{{variable}}}\""),
                Quoting::Double => format!("${{{variable}}}"),
                Quoting::Text(why) => {
                    let TemplateSlot { name, place: Place { line, column } } = slot;
                    return Err(format!(
                        "line {line}, column {column}: {{{{{name}}}}} {why} would be read as text of the command; put it \
                         outside, or use the variable that holds it"
                    ));
                }
            });
        }
        let mut references = references.into_iter();
        let line = template.render(&[], |_| references.next().map(Cow::Owned));
        Ok(ShellLine { text: text.to_owned(), line: line.unwrap_or_default(), names })
    }

    pub fn line(&self) -> &str {
        &self.line
    }

    /// The names in it and the variables that are to hold their values.
    pub fn variables(&self) -> impl Iterator<Item = (&str, String)> {
        self.names.iter().enumerate().map(|(index, name)| (name.as_str(), variable(index)))
    }
}

fn variable(index: usize) -> String {
    format!("PILOT_VALUE_{}", index + 1)
}

fn offset(text: &str, place: Place) -> usize {
    let before: usize = text.split_inclusive('\n').take(place.line as usize - 1).map(str::len).sum();
    let line = &text[before..];
    before + line.chars().take(place.column as usize - 1).map(char::len_utf8).sum::<usize>()
}

enum Quoting {
    Plain,
    Double,
    /// A reference would be plain text here.
    Text(&'static str),
}

fn quoting(before: &str) -> Quoting {
    let (mut quote, mut depth, mut ticks, mut here_document) = (None, 0_usize, 0_usize, false);
    let mut last = ' ';
    let mut chars = before.chars().peekable();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some('\''), '\'') => quote = None,
            (Some('\''), _) => {}
            (_, '\\') => drop(chars.next()),
            (_, '`') => ticks += 1,
            (Some(_), '"') => quote = None,
            (Some(_), '$') if chars.peek() == Some(&'(') => depth += 1,
            (None, '\'' | '"') => quote = Some(c),
            (None, '#') if last.is_whitespace() => drop(chars.by_ref().find(|c| *c == '\n')),
            (None, '<') if last == '<' => here_document = true,
            (Some(_) | None, _) => {}
        }
        last = c;
    }
    match quote {
        Some('\'') => Quoting::Text("inside single quotes"),
        _ if here_document => Quoting::Text("behind a here-document"),
        _ if ticks % 2 == 1 => Quoting::Text("inside backticks"),
        _ if depth > 0 => Quoting::Text("behind a command inside double quotes"),
        Some(_) => Quoting::Double,
        None => Quoting::Plain,
    }
}

#[cfg(test)]
mod tests {
    use super::ShellLine;

    #[test]
    fn values_are_variables_quoted_for_their_place() {
        for (text, line) in [
            ("ls", "ls"),
            ("touch hit-{{x}}", "touch hit-\"${PILOT_VALUE_1}\""),
            (
                "echo \"a {{x}} b\" {{y}} {{x}}",
                "echo \"a ${PILOT_VALUE_1} b\" \"${PILOT_VALUE_2}\" \"${PILOT_VALUE_1}\"",
            ),
            (
                "echo 'it' {{x}} # don't\necho {{x}}",
                "echo 'it' \"${PILOT_VALUE_1}\" # don't\necho \"${PILOT_VALUE_1}\"",
            ),
            ("echo \\' {{x}}", "echo \\' \"${PILOT_VALUE_1}\""),
            ("echo \\{{x}}", "echo {{x}}"),
            ("é\n  {{x}}", "é\n  \"${PILOT_VALUE_1}\""),
        ] {
            assert_eq!(ShellLine::parse(text).unwrap().line(), line, "{text}");
        }
        let line = ShellLine::parse("{{b}} {{a}} {{b}}").unwrap();
        let names: Vec<_> = line.variables().collect();
        assert_eq!(names, [("b", "PILOT_VALUE_1".to_owned()), ("a", "PILOT_VALUE_2".to_owned())]);
    }

    #[test]
    fn where_a_value_would_be_text_it_is_refused() {
        for (text, words) in [
            ("sh -c 'echo {{x}}'", "line 1, column 13: {{x}} inside single quotes"),
            ("cat <<EOF\n{{x}}\nEOF", "behind a here-document"),
            ("echo `ls {{x}}`", "inside backticks"),
            ("echo \"$(ls \"{{x}}\")\"", "behind a command inside double quotes"),
            ("echo {{x", "{{ without }}"),
        ] {
            let error = ShellLine::parse(text).expect_err(text).to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
