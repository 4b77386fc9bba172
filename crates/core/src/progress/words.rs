//! How phases read to people.

use super::{Shown, ShownPhase};
use crate::phase::Phase;

/// An agent's own phase word is cut here: it stands in a column of a table.
const LONGEST_WORD: usize = 40;

pub fn phase(shown: &ShownPhase) -> String {
    match shown {
        ShownPhase::Starting => "starting".to_owned(),
        ShownPhase::Navigator => "navigator".to_owned(),
        ShownPhase::TaskMode => "task-mode".to_owned(),
        ShownPhase::Guessed(activity) => activity.to_string(),
        ShownPhase::Working => "working".to_owned(),
        ShownPhase::Reported(phase) => reported(phase),
        ShownPhase::Stuck => "stuck".to_owned(),
        ShownPhase::Blocked => "blocked".to_owned(),
        ShownPhase::Finishing => "finishing".to_owned(),
    }
}

fn reported(phase: &Phase) -> String {
    match phase {
        Phase::Init => "starting".to_owned(),
        Phase::Research => "research".to_owned(),
        Phase::Impl => "implementing".to_owned(),
        Phase::Verify => "verifying".to_owned(),
        Phase::Complete => "complete".to_owned(),
        Phase::Other(word) => own_word(word),
    }
}

/// An agent's own word is text from outside: printable, short, in lower case like the others.
fn own_word(word: &str) -> String {
    let printable = word.to_lowercase();
    printable.chars().filter(|c| !c.is_control()).take(LONGEST_WORD).collect()
}

pub fn line(shown: &Shown) -> String {
    format!("{} {} %", phase(&shown.phase), shown.percent)
}

#[cfg(test)]
mod tests {
    use super::super::{Activity, Shown, ShownPhase};
    use super::{line, phase};
    use crate::phase::Phase;

    #[test]
    fn every_phase_has_a_word() {
        for (shown, word) in [
            (ShownPhase::Starting, "starting"),
            (ShownPhase::Navigator, "navigator"),
            (ShownPhase::TaskMode, "task-mode"),
            (ShownPhase::Guessed(Activity::Exploring), "exploring"),
            (ShownPhase::Guessed(Activity::Delegating), "delegating"),
            (ShownPhase::Guessed(Activity::Installing), "installing"),
            (ShownPhase::Guessed(Activity::Implementing), "implementing"),
            (ShownPhase::Guessed(Activity::Testing), "testing"),
            (ShownPhase::Guessed(Activity::Committing), "committing"),
            (ShownPhase::Working, "working"),
            (ShownPhase::Reported(Phase::Init), "starting"),
            (ShownPhase::Reported(Phase::Research), "research"),
            (ShownPhase::Reported(Phase::Impl), "implementing"),
            (ShownPhase::Reported(Phase::Verify), "verifying"),
            (ShownPhase::Reported(Phase::Complete), "complete"),
            (ShownPhase::Reported(Phase::parse("code review")), "code review"),
            (ShownPhase::Reported(Phase::parse("a\u{1b}[31mb")), "a[31mb"),
            (ShownPhase::Stuck, "stuck"),
            (ShownPhase::Blocked, "blocked"),
            (ShownPhase::Finishing, "finishing"),
        ] {
            assert_eq!(phase(&shown), word);
        }
        assert_eq!(phase(&ShownPhase::Reported(Phase::parse(&"é".repeat(500)))), "é".repeat(40));
        assert_eq!(
            line(&Shown { phase: ShownPhase::Reported(Phase::Impl), percent: 65 }),
            "implementing 65 %"
        );
    }
}
