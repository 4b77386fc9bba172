//! `when`: a small language of comparisons over template names.
//!
//! ```text
//! {{emit.kind}} == "bug" and not {{quick}}
//! ```
//!
//! A name is replaced by its value, never by text of the condition: the value `or true` is just a text. Must never know the
//! values.

use std::fmt;

use crate::template::Template;

/// How deep brackets and `not` may be nested.
const DEEPEST: usize = 32;
const LONGEST: usize = 4 * 1024;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    text: String,
    root: Expression,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Expression {
    Or(Box<Expression>, Box<Expression>),
    And(Box<Expression>, Box<Expression>),
    Not(Box<Expression>),
    Compare(Operand, Comparison, Operand),
    /// A value that is there and does not say no.
    Holds(Operand),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    Equal,
    NotEqual,
    Contains,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Operand {
    Name(String),
    Text(String),
}

impl Condition {
    /// Reads a condition, or says what is wrong with an example of what to write.
    pub fn parse(text: &str) -> Result<Condition, String> {
        let root = read_expression(text).map_err(|why| {
            format!("{why}; write for example {{{{emit.kind}}}} == \"bug\" and not {{{{quick}}}}")
        })?;
        Ok(Condition { text: text.trim().to_owned(), root })
    }

    pub fn names(&self) -> Vec<&str> {
        let mut names = Vec::new();
        self.root.names(&mut names);
        names
    }

    /// Whether it holds; a name without a value is an empty text.
    pub fn holds<'v>(&self, value: &dyn Fn(&str) -> Option<std::borrow::Cow<'v, str>>) -> bool {
        self.root.holds(value)
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn read_expression(text: &str) -> Result<Expression, String> {
    if text.len() > LONGEST {
        return Err("longer than a condition should be".to_owned());
    }
    let tokens = tokens(text)?;
    let mut parser = Parser { tokens: &tokens, at: 0, depth: 0 };
    let root = parser.or()?;
    parser.peek().map_or(Ok(root), |token| Err(unexpected(token)))
}

type Values<'f, 'v> = &'f dyn Fn(&str) -> Option<std::borrow::Cow<'v, str>>;

impl Expression {
    fn names<'e>(&'e self, into: &mut Vec<&'e str>) {
        let mut operand = |operand: &'e Operand| {
            if let Operand::Name(name) = operand {
                into.push(name);
            }
        };
        match self {
            Expression::Compare(left, _, right) => {
                operand(left);
                operand(right);
            }
            Expression::Holds(one) => operand(one),
            Expression::Not(inner) => inner.names(into),
            Expression::Or(left, right) | Expression::And(left, right) => {
                left.names(into);
                right.names(into);
            }
        }
    }

    fn holds(&self, value: Values<'_, '_>) -> bool {
        match self {
            Expression::Or(left, right) => left.holds(value) || right.holds(value),
            Expression::And(left, right) => left.holds(value) && right.holds(value),
            Expression::Not(inner) => !inner.holds(value),
            Expression::Holds(one) => {
                let text = one.value(value);
                !["", "0", "false", "no", "off"].contains(&text.trim().to_ascii_lowercase().as_str())
            }
            Expression::Compare(left, comparison, right) => {
                let (left, right) = (left.value(value), right.value(value));
                match comparison {
                    Comparison::Equal => left.trim() == right.trim(),
                    Comparison::NotEqual => left.trim() != right.trim(),
                    Comparison::Contains => left.contains(right.trim()),
                }
            }
        }
    }
}

impl Operand {
    fn value(&self, value: Values<'_, '_>) -> String {
        match self {
            Operand::Text(text) => text.clone(),
            Operand::Name(name) => value(name).unwrap_or_default().into_owned(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Operand(Operand),
    Comparison(Comparison),
    And,
    Or,
    Not,
    Open,
    Close,
}

/// How tokens are written; of two spellings the first is the one that is shown.
const MARKS: [(&str, Token); 6] = [
    ("==", Token::Comparison(Comparison::Equal)),
    ("!=", Token::Comparison(Comparison::NotEqual)),
    ("(", Token::Open),
    (")", Token::Close),
    ("&&", Token::And),
    ("||", Token::Or),
];
const WORDS: [(&str, Token); 4] = [
    ("and", Token::And),
    ("or", Token::Or),
    ("not", Token::Not),
    ("contains", Token::Comparison(Comparison::Contains)),
];

fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let (token, after) = token(rest)?;
        tokens.push(token);
        rest = after.trim_start();
    }
    Ok(tokens)
}

fn token(rest: &str) -> Result<(Token, &str), String> {
    if rest.starts_with("{{") {
        return name(rest);
    }
    for (mark, token) in MARKS {
        if let Some(after) = rest.strip_prefix(mark) {
            return Ok((token, after));
        }
    }
    if let Some(quote) = rest.chars().next().filter(|c| ['"', '\''].contains(c)) {
        let inside = &rest[1..];
        let end = inside.find(quote).ok_or_else(|| format!("no closing {quote}"))?;
        return Ok((Token::Operand(Operand::Text(inside[..end].to_owned())), &inside[end + 1..]));
    }
    word(rest)
}

fn name(rest: &str) -> Result<(Token, &str), String> {
    let end = rest.find("}}").map_or(rest.len(), |end| end + 2);
    let (slot, after) = rest.split_at(end);
    let template = Template::parse(slot).map_err(|error| error.to_string())?;
    match template.names().next() {
        Some(slot) => Ok((Token::Operand(Operand::Name(slot.name.clone())), after)),
        None => Err(format!("{slot:?} is no name")),
    }
}

fn word(rest: &str) -> Result<(Token, &str), String> {
    let end = rest.find(|c: char| !(c.is_alphanumeric() || "_-./".contains(c))).unwrap_or(rest.len());
    let (word, after) = rest.split_at(end);
    if word.is_empty() {
        let odd: String = rest.chars().take(20).collect();
        return Err(format!("{odd:?} is not understood"));
    }
    let known = WORDS.into_iter().find(|(known, _)| *known == word);
    let token = known.map_or_else(|| Token::Operand(Operand::Text(word.to_owned())), |(_, token)| token);
    Ok((token, after))
}

struct Parser<'t> {
    tokens: &'t [Token],
    at: usize,
    depth: usize,
}

impl<'t> Parser<'t> {
    fn peek(&self) -> Option<&'t Token> {
        self.tokens.get(self.at)
    }

    fn take(&mut self, token: &Token) -> bool {
        let found = self.peek() == Some(token);
        self.at += usize::from(found);
        found
    }

    fn or(&mut self) -> Result<Expression, String> {
        let mut left = self.and()?;
        while self.take(&Token::Or) {
            left = Expression::Or(Box::new(left), Box::new(self.and()?));
        }
        Ok(left)
    }

    fn and(&mut self) -> Result<Expression, String> {
        let mut left = self.not()?;
        while self.take(&Token::And) {
            left = Expression::And(Box::new(left), Box::new(self.not()?));
        }
        Ok(left)
    }

    fn not(&mut self) -> Result<Expression, String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err("nested too deep".to_owned());
        }
        let inner = if self.take(&Token::Not) {
            Expression::Not(Box::new(self.not()?))
        } else if self.take(&Token::Open) {
            let inner = self.or()?;
            if !self.take(&Token::Close) {
                return Err("no closing )".to_owned());
            }
            inner
        } else {
            self.comparison()?
        };
        self.depth -= 1;
        Ok(inner)
    }

    fn comparison(&mut self) -> Result<Expression, String> {
        let left = self.operand()?;
        let Some(Token::Comparison(comparison)) = self.peek() else { return Ok(Expression::Holds(left)) };
        self.at += 1;
        Ok(Expression::Compare(left, *comparison, self.operand()?))
    }

    fn operand(&mut self) -> Result<Operand, String> {
        match self.peek() {
            Some(Token::Operand(operand)) => {
                self.at += 1;
                Ok(operand.clone())
            }
            Some(token) => Err(unexpected(token)),
            None => Err("ends where a value should be".to_owned()),
        }
    }
}

fn unexpected(token: &Token) -> String {
    let word = if let Token::Operand(operand) = token {
        match operand {
            Operand::Name(name) => format!("{{{{{name}}}}}"),
            Operand::Text(text) => format!("{text:?}"),
        }
    } else {
        let mut known = WORDS.iter().chain(&MARKS);
        known.find(|(_, known)| known == token).map_or_else(String::new, |(word, _)| (*word).to_owned())
    };
    format!("{word} makes no sense here")
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::Condition;

    fn holds(text: &str) -> Result<bool, String> {
        let value = |name: &str| match name {
            "kind" => Some(Cow::Borrowed("bug")),
            "quick" => Some(Cow::Borrowed("false")),
            "evil" => Some(Cow::Borrowed("x or true == true")),
            "files" => Some(Cow::Borrowed("src/a.rs\ndocs/b.md\n")),
            _ => None,
        };
        let condition = Condition::parse(text).map_err(|error| error.to_string())?;
        Ok(condition.holds(&value))
    }

    #[test]
    fn conditions_mean_what_they_say() {
        for (text, expect) in [
            ("{{kind}} == bug", true),
            ("{{kind}} == 'bug'", true),
            ("{{kind}} != \"bug\"", false),
            ("{{ kind }}", true),
            ("{{quick}}", false),
            ("{{missing}}", false),
            ("{{missing}} == \"\"", true),
            ("not {{quick}} and {{kind}} == bug", true),
            ("{{quick}} or {{kind}} == bug", true),
            ("{{quick}} && ({{kind}} == bug || true)", false),
            ("{{evil}} == x", false),
            ("{{evil}} == y", false),
            ("{{files}} contains docs/", true),
            ("not not {{kind}}", true),
        ] {
            assert_eq!(holds(text), Ok(expect), "{text}");
        }
    }

    #[test]
    fn mistakes_are_told() {
        for (text, words) in [
            ("", "ends where a value should be"),
            ("{{kind}} ==", "ends where a value should be"),
            ("{{kind}} = bug", "\"= bug\" is not understood"),
            ("{{kind}} == bug bug", "\"bug\" makes no sense here"),
            ("({{kind}}", "no closing )"),
            ("'x", "no closing '"),
            ("{{kind == x", "{{ without }}"),
            ("and", "and makes no sense here"),
            (&"(".repeat(100), "nested too deep"),
            (&"x".repeat(5000), "longer than"),
        ] {
            let error = holds(text).expect_err(text);
            assert!(error.contains(words), "{text}: {error}");
        }
        assert_eq!(Condition::parse("{{a}} == {{b}} or not {{c}}").unwrap().names(), ["a", "b", "c"]);
    }
}
