//! Commands in comments.

use crate::fact::{GivenCommand, UserCommand};
use crate::text::inert_line;

/// How much of what is no command is kept.
const LONGEST_WORDS: usize = 40;

/// The command a comment gives: its first line is `/pilot` and one word, and nothing else. A quoted command is none.
pub fn read_command(comment: &str) -> Option<GivenCommand> {
    let line = comment.trim_start_matches(['\u{feff}', '\r', '\n']).lines().next()?;
    let mut words = line.split_whitespace();
    if line.starts_with(char::is_whitespace) || words.next() != Some("/pilot") {
        return None;
    }
    let word = words.next().unwrap_or_default().to_ascii_lowercase();
    let command = UserCommand::ALL.into_iter().find(|command| command.as_str() == word);
    Some(match command.filter(|_| words.next().is_none()) {
        Some(command) => GivenCommand::Known(command),
        None => GivenCommand::Unknown(inert_line(line.trim_end(), LONGEST_WORDS)),
    })
}

#[cfg(test)]
mod tests {
    use super::read_command;
    use crate::fact::{GivenCommand, UserCommand};

    #[test]
    fn only_a_first_line_of_its_own_is_a_command() {
        for (text, expect) in [
            ("/pilot cancel", Some(Ok(UserCommand::Cancel))),
            ("/pilot RETRY\n\nbecause it was flaky", Some(Ok(UserCommand::Retry))),
            ("\r\n/pilot pause  \r\n", Some(Ok(UserCommand::Pause))),
            ("/pilot resume", Some(Ok(UserCommand::Resume))),
            ("/pilot why", Some(Ok(UserCommand::Why))),
            ("/pilot dance", Some(Err("/pilot dance"))),
            ("/pilot cancel everything\nnow", Some(Err("/pilot cancel everything"))),
            ("/pilot", Some(Err("/pilot"))),
            ("> /pilot cancel", None),
            ("    /pilot cancel", None),
            ("please /pilot cancel", None),
            ("/pilots cancel", None),
            ("first\n/pilot cancel", None),
            ("", None),
        ] {
            let expect = expect.map(|expect: Result<UserCommand, &str>| match expect {
                Ok(command) => GivenCommand::Known(command),
                Err(words) => GivenCommand::Unknown(words.to_owned()),
            });
            assert_eq!(read_command(text), expect, "{text:?}");
        }
        for command in UserCommand::ALL {
            assert_eq!(
                read_command(&format!("/pilot {}", command.as_str())),
                Some(GivenCommand::Known(command))
            );
        }
    }
}
