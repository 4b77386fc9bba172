//! What the signals of a run say together.

use super::event::{Kind, Signal};
use crate::phase::Phase;

/// The progress of the last status that carries one.
pub fn latest_progress<'a>(signals: impl DoubleEndedIterator<Item = &'a Signal>) -> Option<u8> {
    signals.rev().filter(|signal| signal.kind == Kind::Status).find_map(|signal| signal.progress)
}

/// The phase of the last signal that carries one.
pub fn latest_phase<'a>(signals: impl DoubleEndedIterator<Item = &'a Signal>) -> Option<&'a Phase> {
    signals.rev().find_map(|signal| signal.phase.as_ref())
}

/// Whether any signal claims that the agent is done.
pub fn has_exit<'a>(mut signals: impl Iterator<Item = &'a Signal>) -> bool {
    signals.any(Signal::claims_exit)
}

#[cfg(test)]
mod tests {
    use super::super::{Found, Signal, scan};
    use super::{has_exit, latest_phase, latest_progress};

    fn check(message: &str, progress: Option<u8>, phase: Option<&str>, exit: bool) {
        let signals: Vec<Signal> = scan(message.as_bytes())
            .into_iter()
            .filter_map(|found| match found {
                Found::Signal(signal) => Some(*signal),
                Found::Diagnostic(_) | Found::Wrapper(_) => None,
            })
            .collect();
        assert_eq!(latest_progress(signals.iter()), progress, "{message}");
        assert_eq!(latest_phase(signals.iter()).map(|phase| phase.as_str()), phase, "{message}");
        assert_eq!(has_exit(signals.iter()), exit, "{message}");
    }

    #[test]
    fn the_last_report_that_says_something_counts() {
        check("", None, None, false);
        check("nav-signal:v3:{\"progress\":0}\n", Some(0), None, false);
        check(
            "nav-signal:v3:{\"progress\":40}\nnav-signal:v3:{\"phase\":\"impl\"}\n",
            Some(40),
            Some("IMPL"),
            false,
        );
        check("nav-signal:v3:{\"progress\":40}\nPHASE: A → VERIFY\n", Some(40), Some("VERIFY"), false);
        // The progress of an exit is not a status's.
        check(
            "nav-signal:v3:{\"progress\":40}\nnav-signal:v3:{\"type\":\"exit\",\"progress\":90}",
            Some(40),
            None,
            true,
        );
        check("nav-signal:v3:{\"exit_signal\":true}", None, None, true);
        check("nav-signal:v3:{\"type\":\"exit\",\"exit_signal\":false}", None, None, true);
        check("nav-signal:v3:{\"exit_signal\":false}", None, None, false);
    }
}
