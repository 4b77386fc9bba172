//! Questions to a person, each with an answer already found.

use std::io::{BufRead, Read, Write};

use pilot_core::config::{Backend, Config, Origin, key, merge, text_layer};

use super::choices;
use super::detect::Detected;
use crate::wrong_use::{WrongUse, bail_wrong_use};

const LONGEST: u64 = 1024;

const TRIES: usize = 5;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Answers {
    pub(super) backend: Backend,
    /// Dollars a day and a month, as they are written.
    pub(super) daily: String,
    pub(super) monthly: String,
}

impl Answers {
    /// The answers when the user takes every suggestion.
    pub(super) fn of(found: &Detected) -> Answers {
        let default = |path: &str| {
            let value = key(path).map(|key| key.value(&Config::default()));
            value.map(|value| value.to_string()).unwrap_or_default()
        };
        Answers {
            backend: found.agents.first().copied().unwrap_or_default(),
            daily: default("budget.daily_limit"),
            monthly: default("budget.monthly_limit"),
        }
    }
}

pub(super) struct Asker<R, W> {
    from: R,
    to: W,
}

impl<R: BufRead, W: Write> Asker<R, W> {
    pub(super) fn new(from: R, to: W) -> Asker<R, W> {
        Asker { from, to }
    }

    /// Asks for everything; Enter takes what was found.
    pub(super) fn answers(&mut self, taken: &Answers, found: &Detected) -> anyhow::Result<Answers> {
        let names: Vec<&str> = choices().map(|backend| backend.as_str()).collect();
        let there = |name: &&&str| found.agents.iter().any(|agent| agent.as_str() == **name);
        let installed: Vec<&str> = names.iter().filter(there).copied().collect();
        let hint = match installed[..] {
            [] => "none of them is on the PATH".to_owned(),
            _ => format!("found: {}", installed.join(", ")),
        };
        writeln!(self.to, "\nAgents: {} ({hint})", names.join(", "))?;
        let name = self.ask("Which agent", taken.backend.as_str(), "executor.backend")?;
        let backend = choices().find(|backend| backend.as_str() == name).unwrap_or(taken.backend);
        Ok(Answers {
            backend,
            daily: self.ask("Dollars a day, at most", &taken.daily, "budget.daily_limit")?,
            monthly: self.ask("Dollars a month, at most", &taken.monthly, "budget.monthly_limit")?,
        })
    }

    /// One question about one key, until the answer can be read.
    fn ask(&mut self, question: &str, taken: &str, path: &'static str) -> anyhow::Result<String> {
        for _ in 0..TRIES {
            write!(self.to, "{question} [{taken}]: ")?;
            self.to.flush()?;
            let mut line = String::new();
            if self.from.by_ref().take(LONGEST).read_line(&mut line)? == 0 {
                writeln!(self.to)?;
                bail_wrong_use!("there was no answer; nothing was written. Add --yes to be asked nothing");
            }
            let answer = if line.trim().is_empty() { taken } else { line.trim() };
            match wrong(path, answer) {
                None => return Ok(answer.to_owned()),
                Some(why) => writeln!(self.to, "  {why}")?,
            }
        }
        Err(WrongUse::error(format_args!("no answer could be read for {path}; nothing was written")))
    }
}

/// What is wrong with a value for a key: the error of a configuration with it.
fn wrong(path: &'static str, value: &str) -> Option<String> {
    let merged = merge([text_layer([(key(path)?, Origin::Default, value)])]);
    // One's own program is no answer here: its arguments would have to be asked for as well.
    merged.problems.first().map(|problem| problem.fault.to_string())
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;
    use std::path::PathBuf;

    use pilot_core::config::Backend;

    use super::{Answers, Asker};
    use crate::commands::init::detect::Detected;

    fn found(agents: &[Backend]) -> Detected {
        Detected {
            directory: PathBuf::from("/x"),
            repository: None,
            kinds: Vec::new(),
            agents: agents.to_vec(),
            forge: None,
            gates: Vec::new(),
            variables: Vec::new(),
        }
    }

    fn asked(typed: &str, agents: &[Backend]) -> (Result<Answers, String>, String) {
        let (found, mut shown) = (found(agents), Vec::new());
        let mut asker = Asker::new(Cursor::new(typed.to_owned()), &mut shown);
        let answers = asker.answers(&Answers::of(&found), &found).map_err(|error| error.to_string());
        (answers, String::from_utf8(shown).unwrap())
    }

    #[test]
    fn enter_takes_what_was_found() {
        let (answers, shown) = asked("\n\n\n", &[Backend::Codex, Backend::Gemini]);
        let answers = answers.unwrap();
        assert_eq!((answers.backend, &*answers.daily, &*answers.monthly), (Backend::Codex, "50", "500"));
        assert!(
            shown.contains("Which agent [codex]: ") && shown.contains("(found: codex, gemini)"),
            "{shown}"
        );
        let (answers, shown) = asked("\n\n\n", &[]);
        assert_eq!(answers.unwrap().backend, Backend::ClaudeCode);
        assert!(shown.contains("none of them is on the PATH"), "{shown}");
    }

    #[test]
    fn a_wrong_answer_is_asked_again_with_the_reason() {
        let (answers, shown) = asked("claude-cod\ncommand\nqwen-code\n$5\n0\n7.50\n100\n", &[]);
        let answers = answers.unwrap();
        assert_eq!((answers.backend, &*answers.daily, &*answers.monthly), (Backend::QwenCode, "7.50", "100"));
        for words in [
            "did you mean claude-code?",
            "needs a program",
            "write an amount of dollars",
            "0 lets nothing run",
        ] {
            assert!(shown.contains(words), "no {words:?} in {shown}");
        }
    }

    #[test]
    fn no_answer_and_endless_nonsense_end_with_a_sentence() {
        let (answers, _) = asked("codex\n", &[]);
        assert!(answers.unwrap_err().contains("there was no answer; nothing was written"));
        let (answers, shown) = asked(&"x".repeat(1 << 20), &[]);
        assert!(answers.unwrap_err().contains("no answer could be read for executor.backend"));
        assert!(shown.len() < 4_000, "{}", shown.len());
    }
}
