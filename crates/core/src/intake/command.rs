//! Commands in comments.

use crate::fact::UserCommand;

/// The command a comment gives: its first line is `/pilot` and one word, and nothing else. A quoted command is none.
pub fn read_command(comment: &str) -> Option<UserCommand> {
    let line = comment.trim_start_matches(['\u{feff}', '\r', '\n']).lines().next()?;
    let mut words = line.split_whitespace();
    if line.starts_with(char::is_whitespace) || words.next() != Some("/pilot") {
        return None;
    }
    let word = words.next()?.to_ascii_lowercase();
    let command = UserCommand::ALL.into_iter().find(|command| command.as_str() == word);
    command.filter(|_| words.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::read_command;
    use crate::fact::UserCommand;

    #[test]
    fn only_a_first_line_of_its_own_is_a_command() {
        for (text, expect) in [
            ("/pilot cancel", Some(UserCommand::Cancel)),
            ("/pilot RETRY\n\nbecause it was flaky", Some(UserCommand::Retry)),
            ("\r\n/pilot pause  \r\n", Some(UserCommand::Pause)),
            ("/pilot resume", Some(UserCommand::Resume)),
            ("/pilot why", Some(UserCommand::Why)),
            ("> /pilot cancel", None),
            ("    /pilot cancel", None),
            ("please /pilot cancel", None),
            ("/pilot cancel everything", None),
            ("/pilot", None),
            ("/pilots cancel", None),
            ("first\n/pilot cancel", None),
            ("", None),
        ] {
            assert_eq!(read_command(text), expect, "{text:?}");
        }
        for command in UserCommand::ALL {
            assert_eq!(read_command(&format!("/pilot {}", command.as_str())), Some(command));
        }
    }
}
