//! The hidden command `__askpass`: git asks, we answer, and the password is in no argument, no address and no file.
//!
//! Git starts a program by its path alone, so it is given a link of this name that leads to Pilot. Which question may be
//! answered is set in the environment of that one git, beside the answer: a server that redirects git gets none.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

/// The word that makes a program answer git when it is its name or its first argument.
pub const WORD: &str = "__askpass";

/// Holds the URL the password is for: `https://user@host`.
pub(super) const FOR: &str = "PILOT_ASKPASS_FOR";

pub(super) const PASSWORD: &str = "PILOT_ASKPASS_PASSWORD";

/// Answers git; none when git did not ask. The program's `main` calls it before anything else, with all of its arguments and
/// a way to read a variable.
pub fn main(
    args: impl Iterator<Item = OsString>,
    variable: impl Fn(&'static str) -> Option<OsString>,
) -> Option<ExitCode> {
    let question = question(args)?;
    let answer = answer(&question, variable(FOR), variable(PASSWORD));
    Some(match answer {
        Some(answer) if tell(&answer).is_ok() => ExitCode::SUCCESS,
        Some(_) | None => ExitCode::FAILURE,
    })
}

fn question(mut args: impl Iterator<Item = OsString>) -> Option<OsString> {
    let program = args.next()?;
    if Path::new(&program).file_name() != Some(OsStr::new(WORD)) {
        args.next().filter(|word| word == WORD)?;
    }
    Some(args.next().unwrap_or_default())
}

fn answer(question: &OsStr, whom: Option<OsString>, password: Option<OsString>) -> Option<String> {
    let whom = whom?.into_string().ok()?;
    let asked = question.to_str()?.strip_prefix("Password for '")?.strip_suffix("': ")?;
    if asked == whom { password?.into_string().ok() } else { None }
}

fn tell(answer: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(answer.as_bytes())?;
    out.write_all(b"\n")?;
    out.flush()
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::{answer, question};

    #[test]
    fn only_git_asks() {
        for (args, expected) in [
            (&["/x/__askpass", "Password"][..], Some("Password")),
            (&["/x/pilot", "__askpass", "Password"], Some("Password")),
            (&["__askpass"], Some("")),
            (&["pilot", "task"], None),
            (&["pilot"], None),
            (&[], None),
        ] {
            let asked = question(args.iter().map(OsString::from));
            assert_eq!(asked, expected.map(OsString::from), "{args:?}");
        }
    }

    #[test]
    fn the_password_is_for_one_host_only() {
        let whom = || Some(OsString::from("https://x-access-token@forge.example"));
        for (asked, told) in [
            ("Password for 'https://x-access-token@forge.example': ", true),
            ("Password for 'https://x-access-token@evil.example': ", false),
            ("Password for 'http://x-access-token@forge.example': ", false),
            ("Password for 'https://forge.example': ", false),
            ("Username for 'https://x-access-token@forge.example': ", false),
            ("", false),
        ] {
            assert_eq!(answer(asked.as_ref(), whom(), Some("s3cr3t".into())).is_some(), told, "{asked}");
        }
        let asked = "Password for 'https://x-access-token@forge.example': ";
        assert_eq!(answer(asked.as_ref(), None, Some("s3cr3t".into())), None);
        assert_eq!(answer(asked.as_ref(), whom(), None), None);
    }
}
