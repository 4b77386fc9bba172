//! When a run counts as stuck, and what to do then: the section `executor.stagnation`.

use std::time::Duration;

use super::StagnationLevel;
use crate::config::{Row, key_row, section};
use crate::duration;
use crate::text::word_enum;

word_enum! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum StagnationAction {
        Alert = "alert",
        /// Hold the run until a person decides.
        Pause = "pause",
        Abort = "abort",
    }
}

/// One value for each level above none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Thresholds<T> {
    pub warn: T,
    pub pause: T,
    pub abort: T,
}

impl<T> Thresholds<T> {
    pub fn at(&self, level: StagnationLevel) -> Option<&T> {
        match level {
            StagnationLevel::None => None,
            StagnationLevel::Warn => Some(&self.warn),
            StagnationLevel::Pause => Some(&self.pause),
            StagnationLevel::Abort => Some(&self.abort),
        }
    }

    fn levels(&self) -> [(&'static str, &T); 3] {
        [("warn", &self.warn), ("pause", &self.pause), ("abort", &self.abort)]
    }

    fn map<U>(&self, change: impl Fn(&T) -> U) -> Thresholds<U> {
        Thresholds { warn: change(&self.warn), pause: change(&self.pause), abort: change(&self.abort) }
    }

    pub(super) fn level(&self, reached: impl Fn(&T) -> bool) -> StagnationLevel {
        let levels = [StagnationLevel::Abort, StagnationLevel::Pause, StagnationLevel::Warn];
        levels
            .into_iter()
            .find(|level| self.at(*level).is_some_and(&reached))
            .unwrap_or(StagnationLevel::None)
    }
}

section! {
    pub struct StagnationConfig at (executor.stagnation) {
        /// Whether runs are checked for progress.
        user enabled: bool = true;
        /// Identical states in a row.
        keys identical: Thresholds<u32> = Thresholds { warn: 3, pause: 5, abort: 7 }, IDENTICAL;
        /// Time without progress.
        keys quiet: Thresholds<Duration> = Thresholds::in_minutes(10, 20, 30), QUIET;
        /// The agent's own count of rounds. Absent by default: a long task is not a stuck one.
        keys iterations: Thresholds<Option<u32>> = Thresholds::default(), ITERATIONS;
        // No more than a warning: a plan is not a limit.
        /// Whether more rounds than the agent planned itself are a warning.
        user warn_over_planned_iterations: bool = true;
        keys actions: Thresholds<Vec<StagnationAction>> = Thresholds::default_actions(), ACTIONS;
    }
}

const IDENTICAL: &[Row] = &[
    key_row!(user "executor.stagnation.warn_after_identical", executor.stagnation.identical.warn,
        "Identical states in a row for a warning."),
    key_row!(user "executor.stagnation.pause_after_identical", executor.stagnation.identical.pause,
        "Identical states in a row for a pause."),
    key_row!(user "executor.stagnation.abort_after_identical", executor.stagnation.identical.abort,
        "Identical states in a row for an abort."),
];

const QUIET: &[Row] = &[
    key_row!(user "executor.stagnation.warn_timeout", executor.stagnation.quiet.warn,
        "Time without progress for a warning."),
    key_row!(user "executor.stagnation.pause_timeout", executor.stagnation.quiet.pause,
        "Time without progress for a pause."),
    key_row!(user "executor.stagnation.abort_timeout", executor.stagnation.quiet.abort,
        "Time without progress for an abort."),
];

const ITERATIONS: &[Row] = &[
    key_row!(user "executor.stagnation.warn_at_iteration", executor.stagnation.iterations.warn,
        "The round, as the agent counts, for a warning."),
    key_row!(user "executor.stagnation.pause_at_iteration", executor.stagnation.iterations.pause,
        "The round, as the agent counts, for a pause."),
    key_row!(user "executor.stagnation.abort_at_iteration", executor.stagnation.iterations.abort,
        "The round, as the agent counts, for an abort."),
];

const ACTIONS: &[Row] = &[
    key_row!(user "executor.stagnation.on_warn", executor.stagnation.actions.warn, "What a warning does."),
    key_row!(user "executor.stagnation.on_pause", executor.stagnation.actions.pause, "What a pause does."),
    key_row!(user "executor.stagnation.on_abort", executor.stagnation.actions.abort, "What an abort does."),
];

impl Thresholds<Duration> {
    fn in_minutes(warn: u64, pause: u64, abort: u64) -> Thresholds<Duration> {
        let [warn, pause, abort] = [warn, pause, abort].map(Duration::from_mins);
        Thresholds { warn, pause, abort }
    }
}

impl Thresholds<Vec<StagnationAction>> {
    fn default_actions() -> Thresholds<Vec<StagnationAction>> {
        Thresholds {
            warn: vec![StagnationAction::Alert],
            pause: vec![StagnationAction::Alert, StagnationAction::Pause],
            abort: vec![StagnationAction::Alert, StagnationAction::Abort],
        }
    }
}

impl StagnationConfig {
    pub fn actions(&self, level: StagnationLevel) -> &[StagnationAction] {
        self.actions.at(level).map(Vec::as_slice).unwrap_or_default()
    }

    /// The first value that makes no sense: its key in the section, and why.
    pub(crate) fn check(&self) -> Result<(), (String, String)> {
        check_steps("after_identical", (2, "2"), &self.identical.map(|count| Some(*count)), u32::to_string)?;
        let least = (Duration::from_millis(1), "1ms");
        check_steps("timeout", least, &self.quiet.map(|time| Some(*time)), |time| duration::text(*time))?;
        check_steps("at_iteration", (1, "1"), &self.iterations, u32::to_string)?;
        let both = |list: &[StagnationAction]| {
            list.contains(&StagnationAction::Pause) && list.contains(&StagnationAction::Abort)
        };
        for (level, list) in self.actions.levels() {
            if both(list) {
                let key = format!("on_{level}");
                let why = format!("{key} lists both pause and abort; a run can be held or ended, not both");
                return Err((key, why));
            }
        }
        Ok(())
    }
}

/// Each large enough, and none above a harder one; an absent one is skipped.
fn check_steps<T: PartialOrd>(
    of: &str,
    (least, least_text): (T, &str),
    steps: &Thresholds<Option<T>>,
    text: impl Fn(&T) -> String,
) -> Result<(), (String, String)> {
    let mut milder: Option<(String, &T)> = None;
    for (level, step) in steps.levels() {
        let Some(step) = step else { continue };
        let key = format!("{level}_{of}");
        if *step < least {
            let why = format!(
                "{key} is {}; it must be at least {least_text} (to watch nothing, set enabled: false)",
                text(step)
            );
            return Err((key, why));
        }
        if let Some((milder, value)) = milder.filter(|(_, milder)| *milder > step) {
            let why = format!("{milder} ({}) must not be above {key} ({})", text(value), text(step));
            return Err((milder, why));
        }
        milder = Some((key, step));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::{Value, json};

    use super::super::StagnationLevel;
    use super::{StagnationAction, StagnationConfig};

    fn read(section: Value) -> Result<StagnationConfig, String> {
        super::super::monitor::tests::read_section(section)
    }

    #[test]
    fn the_defaults_are_the_settled_numbers() {
        let config = read(json!({})).unwrap();
        assert_eq!(config, StagnationConfig::default());
        assert!(config.enabled && config.warn_over_planned_iterations);
        assert_eq!((config.identical.warn, config.identical.pause, config.identical.abort), (3, 5, 7));
        let minutes =
            [config.quiet.warn, config.quiet.pause, config.quiet.abort].map(|time| time.as_secs() / 60);
        assert_eq!(minutes, [10, 20, 30]);
        assert_eq!(config.iterations.abort, None);
        assert_eq!(config.actions(StagnationLevel::None), []);
        assert_eq!(config.actions(StagnationLevel::Warn), [StagnationAction::Alert]);
        assert_eq!(
            config.actions(StagnationLevel::Pause),
            [StagnationAction::Alert, StagnationAction::Pause]
        );
        assert_eq!(
            config.actions(StagnationLevel::Abort),
            [StagnationAction::Alert, StagnationAction::Abort]
        );
    }

    #[test]
    fn every_key_is_read() {
        let config = read(json!({
            "enabled": false,
            "warn_after_identical": 2, "pause_after_identical": 2, "abort_after_identical": 9,
            "warn_timeout": "90s", "pause_timeout": "2m", "abort_timeout": "1h30m",
            "warn_at_iteration": 8, "pause_at_iteration": 12, "abort_at_iteration": 15,
            "warn_over_planned_iterations": false,
            "on_warn": [], "on_pause": ["alert"], "on_abort": ["abort"],
        }))
        .unwrap();
        assert!(!config.enabled && !config.warn_over_planned_iterations);
        assert_eq!((config.identical.warn, config.identical.pause, config.identical.abort), (2, 2, 9));
        assert_eq!(config.quiet.warn, Duration::from_secs(90));
        assert_eq!(config.quiet.abort, Duration::from_secs(5_400));
        assert_eq!((config.iterations.warn, config.iterations.abort), (Some(8), Some(15)));
        assert_eq!(config.actions(StagnationLevel::Warn), []);
        assert_eq!(config.actions(StagnationLevel::Pause), [StagnationAction::Alert]);
        assert_eq!(config.actions(StagnationLevel::Abort), [StagnationAction::Abort]);
    }

    #[test]
    fn nonsense_is_refused_with_the_key() {
        for (section, words) in [
            (json!({"warn_after_identical": 0}), "warn_after_identical is 0; it must be at least 2"),
            (json!({"warn_after_identical": 1}), "warn_after_identical is 1; it must be at least 2"),
            (
                json!({"warn_after_identical": 6}),
                "warn_after_identical (6) must not be above pause_after_identical (5)",
            ),
            (
                json!({"abort_after_identical": 4}),
                "pause_after_identical (5) must not be above abort_after_identical (4)",
            ),
            (json!({"warn_timeout": "0"}), "warn_timeout is 0s; it must be at least 1ms"),
            (json!({"pause_timeout": "1h"}), "pause_timeout (1h) must not be above abort_timeout (30m)"),
            (json!({"warn_timeout": "soon"}), "a duration starts with a number"),
            (json!({"warn_timeout": 600}), "600 has no unit"),
            (json!({"abort_at_iteration": 0}), "abort_at_iteration is 0; it must be at least 1"),
            (
                json!({"warn_at_iteration": 9, "abort_at_iteration": 8}),
                "warn_at_iteration (9) must not be above abort_at_iteration (8)",
            ),
            (json!({"on_pause": ["pause", "abort"]}), "on_pause lists both pause and abort"),
            (json!({"on_warn": ["shout"]}), "the choice is alert, pause, abort"),
            (json!({"warn_after": 3}), "WARN_AFTER: unknown key"),
        ] {
            let error = read(section.clone()).expect_err("refused");
            assert!(error.contains(words), "{section}: {error}");
        }
    }
}
