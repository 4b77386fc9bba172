//! A command line cut into simple commands, well enough to see which programs run.
//!
//! Not a shell: nothing is expanded or executed, and text that no shell would take still gives some answer.

use std::iter::Peekable;
use std::str::Chars;

/// One simple command: its words without quotes and redirections.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Simple {
    /// The words, the program first.
    pub(super) words: Vec<String>,
    /// Whether its output goes into a file.
    pub(super) writes_file: bool,
}

/// The simple commands of a command line, in order.
pub(super) fn split(line: &str) -> Vec<Simple> {
    let mut splitter = Splitter { chars: line.chars().peekable(), ..Splitter::default() };
    splitter.run();
    splitter.done
}

/// What the word being read is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Role {
    #[default]
    Argument,
    /// The file of a redirection that is no output to a file.
    Ignored,
    /// The file the output goes to.
    Output,
    /// The word that ends a here-document.
    Delimiter,
}

struct Splitter<'a> {
    chars: Peekable<Chars<'a>>,
    word: Option<String>,
    role: Role,
    command: Simple,
    delimiters: Vec<String>,
    done: Vec<Simple>,
}

impl Default for Splitter<'_> {
    fn default() -> Self {
        Splitter {
            chars: "".chars().peekable(),
            word: None,
            role: Role::Argument,
            command: Simple::default(),
            delimiters: Vec::new(),
            done: Vec::new(),
        }
    }
}

impl Splitter<'_> {
    fn run(&mut self) {
        while let Some(c) = self.chars.next() {
            match c {
                '\'' => self.quoted(),
                '"' => self.double_quoted(),
                '\\' => self.escaped(),
                '#' if self.word.is_none() => self.comment(),
                '\n' => self.line_end(),
                '&' if self.chars.next_if_eq(&'>').is_some() => self.redirect_output(),
                ';' | '&' | '|' | '(' | ')' | '`' => self.command_end(),
                '<' => self.redirect_input(),
                '>' => self.redirect_output(),
                c if c.is_whitespace() => self.word_end(),
                c => self.push(c),
            }
        }
        self.command_end();
    }

    fn push(&mut self, c: char) {
        self.word.get_or_insert_default().push(c);
    }

    fn quoted(&mut self) {
        let word = self.word.get_or_insert_default();
        word.extend(self.chars.by_ref().take_while(|c| *c != '\''));
    }

    fn double_quoted(&mut self) {
        let word = self.word.get_or_insert_default();
        while let Some(c) = self.chars.next() {
            match c {
                '"' => return,
                '\\' => word.extend(self.chars.next().filter(|c| *c != '\n')),
                c => word.push(c),
            }
        }
    }

    /// A backslash takes the meaning from the next character; a line that ends with one goes on.
    fn escaped(&mut self) {
        if let Some(c) = self.chars.next().filter(|c| *c != '\n') {
            self.push(c);
        }
    }

    fn comment(&mut self) {
        while self.chars.next_if(|c| *c != '\n').is_some() {}
    }

    fn word_end(&mut self) {
        let Some(word) = self.word.take() else { return };
        match std::mem::take(&mut self.role) {
            Role::Argument => self.command.words.push(word),
            Role::Ignored => {}
            Role::Output => self.command.writes_file |= !word.starts_with("/dev/"),
            Role::Delimiter => self.delimiters.push(word),
        }
    }

    fn command_end(&mut self) {
        self.word_end();
        self.role = Role::Argument;
        let command = std::mem::take(&mut self.command);
        if !command.words.is_empty() {
            self.done.push(command);
        }
    }

    /// The lines of here-documents are data, not commands.
    fn line_end(&mut self) {
        self.command_end();
        for delimiter in std::mem::take(&mut self.delimiters) {
            while self.chars.peek().is_some() {
                let line: String = self.chars.by_ref().take_while(|c| *c != '\n').collect();
                if line.trim() == delimiter {
                    break;
                }
            }
        }
    }

    fn redirect_input(&mut self) {
        self.word_end();
        let here = self.chars.next_if_eq(&'<').is_some();
        let here_string = here && self.chars.next_if_eq(&'<').is_some();
        self.role = if here && !here_string {
            self.chars.next_if_eq(&'-');
            Role::Delimiter
        } else {
            Role::Ignored
        };
    }

    /// `2>` is about errors and `>&` about another stream; the rest writes a file.
    fn redirect_output(&mut self) {
        let stream = self.word.take_if(|word| word.chars().all(|c| c.is_ascii_digit()));
        self.word_end();
        self.chars.next_if(|c| matches!(c, '>' | '|'));
        let to_stream = self.chars.next_if_eq(&'&').is_some();
        let is_output = !to_stream && stream.is_none_or(|number| number == "1");
        self.role = if is_output { Role::Output } else { Role::Ignored };
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::split;

    /// Commands separated by `;`, words by `,`; a `>` at the end when a file is written.
    fn check(line: &str, expected: &str) {
        let found: Vec<String> = split(line)
            .iter()
            .map(|simple| format!("{}{}", simple.words.join(","), if simple.writes_file { ">" } else { "" }))
            .collect();
        assert_eq!(found.join(";"), expected, "{line:?}");
    }

    #[test]
    fn command_lines_are_cut() {
        check("", "");
        check("cargo test", "cargo,test");
        check("cd x && cargo test || true; ls | head &", "cd,x;cargo,test;true;ls;head");
        check("(cd x; make)\nls", "cd,x;make;ls");
        check("echo $(cargo test) `ls`", "echo,$;cargo,test;ls");
        check("git commit -m 'a; b && c' # note; ls", "git,commit,-m,a; b && c");
        check("git commit -m \"say \\\"hi\\\"\" x\\ y", "git,commit,-m,say \"hi\",x y");
        check("cargo \\\n test", "cargo,test");
        check("echo '' \"\"", "echo,,");
        check("echo a#b", "echo,a#b");
    }

    #[test]
    fn redirections_are_no_words() {
        check("cargo test 2>&1 | tail", "cargo,test;tail");
        check("cargo test > /dev/null 2> err.txt < in.txt", "cargo,test");
        check("echo hi > out.txt", "echo,hi>");
        check("echo hi >> out.txt", "echo,hi>");
        check("echo hi 1>out.txt", "echo,hi>");
        check("make &> log.txt", "make>");
        check("make >& log.txt", "make");
        check("grep x <<< 'cargo test'", "grep,x");
    }

    #[test]
    fn here_documents_are_data() {
        check("cat > t.sh <<'EOF'\ncargo test\nEOF\nls", "cat>;ls");
        check("cat <<-EOF | wc\n\tcargo test\n\tEOF\nls", "cat;wc;ls");
        check("cat <<A <<B\n1\nA\n2\nB\nls", "cat;ls");
        check("cat <<EOF\ncargo test", "cat");
    }

    proptest! {
        #[test]
        fn any_text_is_cut(line in "\\PC{0,60}|[a-z'\"<>&|;()`\\\\\n# $-]{0,60}") {
            for simple in split(&line) {
                prop_assert!(!simple.words.is_empty());
            }
        }
    }
}
