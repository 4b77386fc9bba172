//! How far a run is: the phase and the percentage people see.
//!
//! Fed with the agent's signals and tool uses in order; what the agent says beats what its tools let us
//! guess. Must never know the run's outcome: an exit here is only the agent's claim.

mod command;
mod tool;
pub mod words;

use serde::{Deserialize, Serialize};

use crate::phase::Phase;
use crate::signal::{Kind, Signal};

pub use tool::{Activity, ToolUse};

/// Shown when the agent claims to be done and names no phase: the commits and the gates have the last 5 %.
const FINISHING: u8 = 95;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ShownPhase {
    /// Nothing is known yet.
    #[default]
    Starting,
    /// Navigator loaded its context.
    Navigator,
    /// Navigator plans the task.
    TaskMode,
    Guessed(Activity),
    /// The agent says how far it is, but not in which phase.
    Working,
    Reported(Phase),
    Stuck,
    /// The agent gave up: it needs a person.
    Blocked,
    /// The agent claims to be done.
    Finishing,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    pub phase: ShownPhase,
    /// Percent done; never goes down.
    pub percent: u8,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub from: Shown,
    pub to: Shown,
}

/// The phase and percentage of one run, as its signals and tool uses arrive.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    shown: Shown,
    phase: Option<Phase>,
    /// The agent speaks for itself: tools are not asked any more.
    told: bool,
    /// The agent has changed files: reading is a part of the work now, tests check it.
    changed_files: bool,
}

impl Progress {
    pub fn shown(&self) -> &Shown {
        &self.shown
    }

    /// Takes a signal; says what changed, if anything did.
    pub fn on_signal(&mut self, signal: &Signal) -> Option<Change> {
        let claim = EndClaim::of(signal);
        let phase = signal.phase.as_ref().filter(|phase| !phase.as_str().is_empty());
        let entered = phase.filter(|phase| self.phase.as_ref() != Some(phase));
        let percent = match claim {
            EndClaim::GivesUp => None,
            EndClaim::Done if phase != Some(&Phase::Complete) => signal.progress.or(Some(FINISHING)),
            EndClaim::Done | EndClaim::Stuck | EndClaim::Nothing => {
                signal.progress.or_else(|| entered.and_then(Phase::percent))
            }
        };
        let told = phase.is_some() || signal.progress.is_some();
        self.told |= told || matches!(claim, EndClaim::GivesUp | EndClaim::Done);
        self.phase = phase.cloned().or(self.phase.take());
        let shown = match claim {
            EndClaim::GivesUp => ShownPhase::Blocked,
            EndClaim::Stuck => ShownPhase::Stuck,
            EndClaim::Done if self.phase == Some(Phase::Complete) => ShownPhase::Reported(Phase::Complete),
            EndClaim::Done => ShownPhase::Finishing,
            EndClaim::Nothing if told => self.told_phase(),
            EndClaim::Nothing => banner(signal).unwrap_or_else(|| self.shown.phase.clone()),
        };
        self.show(shown, percent)
    }

    /// Takes a tool use; says what changed, if anything did. Tools count only while the agent does not speak
    /// for itself.
    pub fn on_tool(&mut self, tool: &ToolUse<'_>) -> Option<Change> {
        let activity = tool::activity(tool).filter(|_| !self.told)?;
        let before = self.changed_files;
        self.changed_files |= matches!(activity, Activity::Implementing | Activity::Committing);
        match activity {
            Activity::Exploring if before => None,
            // Tests before the first change look at the state of things; they say nothing about the task.
            Activity::Testing if !before => {
                self.show(ShownPhase::Guessed(activity), Activity::Exploring.percent())
            }
            Activity::Exploring
            | Activity::Delegating
            | Activity::Installing
            | Activity::Implementing
            | Activity::Testing
            | Activity::Committing => self.show(ShownPhase::Guessed(activity), activity.percent()),
        }
    }

    /// The phase to show for a report: the one named last; without any, a guess or a claim no longer holds.
    fn told_phase(&self) -> ShownPhase {
        match (&self.phase, &self.shown.phase) {
            (Some(phase), _) => ShownPhase::Reported(phase.clone()),
            (None, ShownPhase::Navigator) => ShownPhase::Navigator,
            (None, ShownPhase::TaskMode) => ShownPhase::TaskMode,
            (
                None,
                ShownPhase::Starting
                | ShownPhase::Guessed(_)
                | ShownPhase::Working
                | ShownPhase::Reported(_)
                | ShownPhase::Stuck
                | ShownPhase::Blocked
                | ShownPhase::Finishing,
            ) => ShownPhase::Working,
        }
    }

    fn show(&mut self, phase: ShownPhase, percent: Option<u8>) -> Option<Change> {
        let percent = percent.unwrap_or(0).min(100).max(self.shown.percent);
        let from = std::mem::replace(&mut self.shown, Shown { phase, percent });
        (from != self.shown).then(|| Change { from, to: self.shown.clone() })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EndClaim {
    /// Done, as far as the agent is concerned.
    Done,
    /// It cannot go on: `success: false` is believed.
    GivesUp,
    /// It does not get on.
    Stuck,
    Nothing,
}

impl EndClaim {
    fn of(signal: &Signal) -> EndClaim {
        match signal.kind {
            Kind::Blocked => EndClaim::GivesUp,
            Kind::Completed | Kind::Skip | Kind::Approve | Kind::Reject => EndClaim::Done,
            Kind::Status
            | Kind::Phase
            | Kind::Exit
            | Kind::Stagnation
            | Kind::Marker
            | Kind::Emit
            | Kind::Update
            | Kind::Other(_) => match (signal.claims_exit(), signal.success) {
                (true, Some(false)) => EndClaim::GivesUp,
                (true, Some(true) | None) => EndClaim::Done,
                (false, _) if signal.kind == Kind::Stagnation => EndClaim::Stuck,
                (false, _) => EndClaim::Nothing,
            },
        }
    }
}

/// The phase Navigator's banners stand for. `WORKFLOW CHECK` stands for none.
fn banner(signal: &Signal) -> Option<ShownPhase> {
    match (&signal.kind, signal.message.as_deref()) {
        (Kind::Marker, Some("Navigator Session Started")) => Some(ShownPhase::Navigator),
        (Kind::Marker, Some("TASK MODE ACTIVATED")) => Some(ShownPhase::TaskMode),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Activity, Progress, Shown, ShownPhase, ToolUse};
    use crate::phase::Phase;
    use crate::signal::{Kind, Protocol, Signal, Span};

    fn signal(kind: Kind) -> Signal {
        Signal::new(Protocol::V2, kind, Span { start: 0, end: 0 })
    }

    fn status(phase: &str, progress: impl Into<Option<u8>>) -> Signal {
        let phase = (!phase.is_empty()).then(|| Phase::parse(phase));
        Signal { phase, progress: progress.into(), ..signal(Kind::Status) }
    }

    fn exit(success: impl Into<Option<bool>>) -> Signal {
        Signal { success: success.into(), exit_signal: Some(true), ..signal(Kind::Exit) }
    }

    fn marker(message: &str) -> Signal {
        Signal { message: Some(message.to_owned()), ..signal(Kind::Marker) }
    }

    fn bash(command: &str) -> ToolUse<'_> {
        ToolUse { name: "Bash", command: Some(command), path: None }
    }

    fn tool(name: &str) -> ToolUse<'_> {
        ToolUse { name, command: None, path: None }
    }

    /// One step of a story: what the agent does, and what people see then.
    fn check(story: &[(Did<'_>, &str)]) {
        let mut progress = Progress::default();
        for (index, (did, expected)) in story.iter().enumerate() {
            let before = progress.shown().clone();
            let change = match did {
                Said(signal) => progress.on_signal(signal),
                Used(tool) => progress.on_tool(tool),
            };
            let shown = progress.shown();
            assert_eq!(super::words::line(shown), *expected, "step {index} of {story:?}");
            assert_eq!(change.is_some(), before != *shown, "step {index} of {story:?}");
            if let Some(change) = change {
                assert_eq!((&change.from, &change.to), (&before, shown));
            }
        }
    }

    #[derive(Debug)]
    enum Did<'a> {
        Said(Box<Signal>),
        Used(ToolUse<'a>),
    }

    fn said<'a>(signal: Signal) -> Did<'a> {
        Said(Box::new(signal))
    }
    use Did::{Said, Used};

    #[test]
    fn the_phases_have_their_percentages() {
        check(&[
            (said(status("INIT", None)), "starting 0 %"),
            (said(status("RESEARCH", None)), "research 25 %"),
            (said(status("IMPL", None)), "implementing 50 %"),
            (said(status("VERIFY", None)), "verifying 80 %"),
            (said(status("COMPLETE", None)), "complete 100 %"),
        ]);
    }

    #[test]
    fn a_reported_progress_beats_the_table() {
        check(&[
            (said(status("IMPL", 30)), "implementing 30 %"),
            // The same phase again is not entered again.
            (said(status("IMPL", None)), "implementing 30 %"),
            (said(status("", 35)), "implementing 35 %"),
            // The table still holds for the next phase.
            (said(status("VERIFY", None)), "verifying 80 %"),
            (said(status("COMPLETE", 90)), "complete 90 %"),
        ]);
    }

    #[test]
    fn the_percentage_never_goes_down_but_the_phase_may_go_back() {
        check(&[
            (said(status("VERIFY", 85)), "verifying 85 %"),
            (said(status("IMPL", 40)), "implementing 85 %"),
            (said(status("RESEARCH", None)), "research 85 %"),
            (said(status("", 0)), "research 85 %"),
            (said(status("", 100)), "research 100 %"),
        ]);
    }

    #[test]
    fn a_word_of_the_agents_own_has_no_percentage() {
        check(&[
            (said(status("RESEARCH", None)), "research 25 %"),
            (said(status("polish", None)), "polish 25 %"),
            (said(status("polish", 60)), "polish 60 %"),
            (said(status("  ", None)), "polish 60 %"),
        ]);
        assert_eq!(status(" ", None).phase, Some(Phase::Other(String::new())));
    }

    #[test]
    fn banners_change_the_phase_and_the_workflow_check_does_not() {
        check(&[
            (said(marker("WORKFLOW CHECK")), "starting 0 %"),
            (said(marker("Navigator Session Started")), "navigator 0 %"),
            (said(marker("WORKFLOW CHECK")), "navigator 0 %"),
            (said(marker("TASK MODE ACTIVATED")), "task-mode 0 %"),
            // A banner tells neither phase nor progress: the tools still may.
            (Used(tool("Grep")), "exploring 15 %"),
            (said(status("IMPL", None)), "implementing 50 %"),
        ]);
        check(&[
            (said(marker("TASK MODE ACTIVATED")), "task-mode 0 %"),
            (said(status("", 20)), "task-mode 20 %"),
        ]);
    }

    #[test]
    fn an_exit_is_a_claim() {
        check(&[
            (said(status("VERIFY", None)), "verifying 80 %"),
            (said(exit(None)), "finishing 95 %"),
            (Used(bash("git commit -m x")), "finishing 95 %"),
            (said(status("COMPLETE", None)), "complete 100 %"),
            (said(exit(true)), "complete 100 %"),
        ]);
        let complete = Some(Phase::Complete);
        check(&[(said(Signal { phase: complete.clone(), ..exit(true) }), "complete 100 %")]);
        check(&[(said(Signal { phase: complete, progress: Some(90), ..exit(true) }), "complete 90 %")]);
        check(&[(said(Signal { progress: Some(85), ..exit(true) }), "finishing 85 %")]);
        check(&[(said(Signal { exit_signal: Some(true), ..status("VERIFY", None) }), "finishing 95 %")]);
        check(&[(said(status("COMPLETE", 90)), "complete 90 %"), (said(exit(None)), "complete 95 %")]);
        for kind in [Kind::Completed, Kind::Skip, Kind::Approve, Kind::Reject] {
            check(&[(said(signal(kind)), "finishing 95 %")]);
        }
    }

    #[test]
    fn giving_up_raises_nothing() {
        let claims = Signal { phase: Some(Phase::Complete), progress: Some(100), ..exit(false) };
        check(&[
            (said(status("IMPL", None)), "implementing 50 %"),
            (said(exit(false)), "blocked 50 %"),
            (said(claims), "blocked 50 %"),
        ]);
        check(&[
            (said(signal(Kind::Blocked)), "blocked 0 %"),
            (Used(tool("Edit")), "blocked 0 %"),
            (said(status("", 10)), "working 10 %"),
        ]);
    }

    #[test]
    fn being_stuck_is_shown_until_the_next_word() {
        check(&[
            (said(status("IMPL", None)), "implementing 50 %"),
            (said(signal(Kind::Stagnation)), "stuck 50 %"),
            (said(status("", 55)), "implementing 55 %"),
        ]);
        check(&[(said(signal(Kind::Stagnation)), "stuck 0 %"), (Used(tool("Edit")), "implementing 40 %")]);
    }

    #[test]
    fn other_marks_change_nothing() {
        for kind in [Kind::Emit, Kind::Update, Kind::Other("note".to_owned()), Kind::Status, Kind::Phase] {
            check(&[(said(signal(kind)), "starting 0 %"), (Used(tool("Read")), "exploring 15 %")]);
        }
    }

    #[test]
    fn tools_let_us_guess_until_the_agent_speaks() {
        check(&[
            (Used(bash("cd x && cargo test")), "testing 15 %"),
            (Used(tool("Read")), "exploring 15 %"),
            (Used(bash("npm ci")), "installing 30 %"),
            (Used(tool("Task")), "delegating 30 %"),
            (Used(tool("TodoWrite")), "delegating 30 %"),
            (Used(tool("Edit")), "implementing 40 %"),
            // Reading between two edits is not exploring.
            (Used(tool("Read")), "implementing 40 %"),
            (Used(bash("cargo test")), "testing 70 %"),
            (Used(tool("Edit")), "implementing 70 %"),
            (Used(bash("git add -A && git commit -m done")), "committing 90 %"),
            (said(status("", 92)), "working 92 %"),
            (Used(tool("Edit")), "working 92 %"),
            (said(status("verify", None)), "verifying 92 %"),
        ]);
    }

    fn any_event() -> impl Strategy<Value = (u8, Option<u8>, u8)> {
        (0..16u8, proptest::option::of(0..=100u8), 0..6u8)
    }

    fn play(progress: &mut Progress, (what, percent, phase): (u8, Option<u8>, u8)) -> bool {
        let phase = ["", "INIT", "RESEARCH", "IMPL", "VERIFY", "polish"][usize::from(phase)];
        let change = match what {
            0 => progress.on_tool(&tool("Read")),
            1 => progress.on_tool(&tool("Edit")),
            2 => progress.on_tool(&bash("cargo test")),
            3 => progress.on_tool(&bash("git commit")),
            4 => progress.on_signal(&marker("TASK MODE ACTIVATED")),
            5 => progress.on_signal(&exit(None)),
            6 => progress.on_signal(&Signal { progress: percent, ..exit(false) }),
            7 => progress.on_signal(&signal(Kind::Stagnation)),
            _ => progress.on_signal(&status(phase, percent)),
        };
        change.is_some()
    }

    proptest! {
        #[test]
        fn the_percentage_never_falls_and_every_change_is_told(events in prop::collection::vec(any_event(), 0..40)) {
            let mut progress = Progress::default();
            for event in events {
                let before = progress.shown().clone();
                let told = play(&mut progress, event);
                prop_assert!(before.percent <= progress.shown().percent);
                prop_assert!(progress.shown().percent <= 100);
                prop_assert_eq!(told, before != *progress.shown());
            }
        }

        #[test]
        fn a_report_twice_changes_nothing_the_second_time(
            events in prop::collection::vec(any_event(), 0..10), last in any_event()
        ) {
            let mut progress = Progress::default();
            for event in events {
                play(&mut progress, event);
            }
            play(&mut progress, last);
            prop_assert!(!play(&mut progress, last));
        }
    }

    #[test]
    fn a_run_starts_at_nothing() {
        let progress = Progress::default();
        assert_eq!(*progress.shown(), Shown { phase: ShownPhase::Starting, percent: 0 });
        assert_eq!(Activity::Exploring.percent(), Some(15));
    }
}
