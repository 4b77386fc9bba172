//! The signal card: how the agent tells how it is doing.

use crate::signal::{Found, Signal, Span, scan};

/// The marks that our prompts show. Each holds a placeholder no agent would write, so that a mark an agent means is never
/// taken for a sample.
pub const SAMPLES: [&str; 3] = [
    r#"{"v":2,"type":"status","phase":"IMPL","progress":60,"message":"<what you are doing>"}"#,
    r#"{"v":2,"type":"exit","exit_signal":true,"success":true,"reason":"<what you did>"}"#,
    r#"{"v":2,"type":"exit","exit_signal":true,"success":false,"reason":"<what stands in the way>"}"#,
];

/// Whether a signal repeats a sample of our own prompt: an agent that reads its orders aloud reports nothing.
pub fn is_echo(signal: &Signal) -> bool {
    SAMPLES.iter().any(|sample| {
        scan(fenced(sample).as_bytes()).into_iter().any(|found| match found {
            Found::Signal(shown) => alike(&shown, signal),
            Found::Diagnostic(_) | Found::Wrapper(_) => false,
        })
    })
}

pub(super) fn card() -> String {
    let [status, done, blocked] = SAMPLES.map(fenced);
    format!(
        "## Telling Pilot how it goes\n\
         When you enter a phase (RESEARCH, IMPL, VERIFY, COMPLETE), and now and then in between, put a block like this \
         into your own text, on lines of its own, with values of your own:\n\n{status}\n\n\
         When all is done and committed, end with:\n\n{done}\n\n\
         When you cannot finish, commit what is worth keeping and end with:\n\n{blocked}\n\n\
         When the task should not be done at all, change nothing and write in your last message one line \
         `DECLINED: <reason>`.\n"
    )
}

fn fenced(json: &str) -> String {
    format!("```pilot-signal\n{json}\n```")
}

/// Equal but for the place.
fn alike(one: &Signal, other: &Signal) -> bool {
    let nowhere = Span { start: 0, end: 0 };
    Signal { span: nowhere, ..one.clone() } == Signal { span: nowhere, ..other.clone() }
}

#[cfg(test)]
mod tests {
    use super::{SAMPLES, card, fenced, is_echo};
    use crate::outcome::StreamFacts;
    use crate::signal::{Found, Signal, scan};

    fn signals(text: &str) -> Vec<Signal> {
        let signal = |found| match found {
            Found::Signal(signal) => Some(*signal),
            Found::Diagnostic(diagnostic) => panic!("{diagnostic:?}"),
            Found::Wrapper(_) => None,
        };
        scan(text.as_bytes()).into_iter().filter_map(signal).collect()
    }

    #[test]
    fn the_samples_are_good_signals_and_do_not_count_when_echoed() {
        let shown = signals(&card());
        assert_eq!(shown.len(), SAMPLES.len());
        assert!(shown.iter().all(is_echo));
        let mut facts = StreamFacts::default();
        facts.plain(card().as_bytes());
        assert_eq!(facts.declined(), None);
    }

    #[test]
    fn what_an_agent_means_is_no_echo() {
        for (sample, placeholder) in
            SAMPLES.into_iter().zip(["what you are doing", "what you did", "what stands in the way"])
        {
            let meant = sample.replace(&format!("<{placeholder}>"), "tests pass");
            assert_ne!(meant, sample);
            assert!(!signals(&fenced(&meant)).iter().any(is_echo), "{meant}");
        }
        let bare = signals(
            "```pilot-signal\n{\"v\":2,\"type\":\"exit\",\"exit_signal\":true,\"success\":true}\n```",
        );
        assert!(!bare.iter().any(is_echo));
    }
}
