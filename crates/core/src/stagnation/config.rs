//! When a run counts as stuck, and what to do then.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use serde::Deserialize;

use super::Level;
use crate::duration;

/// What to do when a level is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Tell people.
    Alert,
    /// Hold the run until a person decides.
    Pause,
    /// End the run.
    Abort,
}

/// One value for each level above none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thresholds<T> {
    /// For a warning.
    pub warn: T,
    /// For a pause.
    pub pause: T,
    /// For an abort.
    pub abort: T,
}

impl<T> Thresholds<T> {
    /// The value for a level.
    pub fn at(&self, level: Level) -> Option<&T> {
        match level {
            Level::None => None,
            Level::Warn => Some(&self.warn),
            Level::Pause => Some(&self.pause),
            Level::Abort => Some(&self.abort),
        }
    }

    /// The highest level whose threshold is reached.
    pub(super) fn level(&self, reached: impl Fn(&T) -> bool) -> Level {
        let levels = [Level::Abort, Level::Pause, Level::Warn];
        levels.into_iter().find(|level| self.at(*level).is_some_and(&reached)).unwrap_or(Level::None)
    }
}

/// When a run counts as stuck, and what to do then. Read from a section with the keys of
/// `executor.stagnation`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Section")]
pub struct StagnationConfig {
    /// Whether anybody watches at all.
    pub enabled: bool,
    /// Identical states in a row: `warn_after_identical` and so on.
    pub identical: Thresholds<u32>,
    /// Time without progress: `warn_timeout` and so on.
    pub quiet: Thresholds<Duration>,
    /// The agent's own count of rounds: `warn_at_iteration` and so on. Absent by default: a long task is not
    /// a stuck one.
    pub iterations: Thresholds<Option<u32>>,
    /// Whether more rounds than the agent planned itself are a warning: `warn_over_planned_iterations`. No
    /// more than that: a plan is not a limit.
    pub warn_over_planned: bool,
    /// What to do: `on_warn` and so on.
    pub actions: Thresholds<Vec<Action>>,
}

impl Default for StagnationConfig {
    fn default() -> StagnationConfig {
        StagnationConfig::from_section(Section::default())
    }
}

impl StagnationConfig {
    /// What to do at a level.
    pub fn actions(&self, level: Level) -> &[Action] {
        self.actions.at(level).map(Vec::as_slice).unwrap_or_default()
    }

    /// What a section says, without a look at whether it makes sense.
    pub(crate) fn from_section(section: Section) -> StagnationConfig {
        let actions = |words: Vec<ActionWord>| words.into_iter().map(ActionWord::action).collect();
        StagnationConfig {
            enabled: section.enabled,
            identical: Thresholds {
                warn: section.warn_after_identical,
                pause: section.pause_after_identical,
                abort: section.abort_after_identical,
            },
            quiet: Thresholds {
                warn: section.warn_timeout,
                pause: section.pause_timeout,
                abort: section.abort_timeout,
            },
            iterations: Thresholds {
                warn: section.warn_at_iteration,
                pause: section.pause_at_iteration,
                abort: section.abort_at_iteration,
            },
            warn_over_planned: section.warn_over_planned_iterations,
            actions: Thresholds {
                warn: actions(section.on_warn),
                pause: actions(section.on_pause),
                abort: actions(section.on_abort),
            },
        }
    }
}

/// The section as it is written.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Section {
    /// Whether anybody watches at all.
    pub enabled: bool,
    /// Identical states for a warning.
    pub warn_after_identical: u32,
    /// Identical states for a pause.
    pub pause_after_identical: u32,
    /// Identical states for an abort.
    pub abort_after_identical: u32,
    /// Time without progress for a warning.
    #[serde(with = "crate::duration")]
    pub warn_timeout: Duration,
    /// Time without progress for a pause.
    #[serde(with = "crate::duration")]
    pub pause_timeout: Duration,
    /// Time without progress for an abort.
    #[serde(with = "crate::duration")]
    pub abort_timeout: Duration,
    /// The round for a warning.
    pub warn_at_iteration: Option<u32>,
    /// The round for a pause.
    pub pause_at_iteration: Option<u32>,
    /// The round for an abort.
    pub abort_at_iteration: Option<u32>,
    /// Whether more rounds than the agent planned are a warning.
    pub warn_over_planned_iterations: bool,
    /// What a warning does.
    pub on_warn: Vec<ActionWord>,
    /// What a pause does.
    pub on_pause: Vec<ActionWord>,
    /// What an abort does.
    pub on_abort: Vec<ActionWord>,
}

impl Default for Section {
    fn default() -> Section {
        let minutes = |count: u64| Duration::from_secs(60 * count);
        Section {
            enabled: true,
            warn_after_identical: 3,
            pause_after_identical: 5,
            abort_after_identical: 7,
            warn_timeout: minutes(10),
            pause_timeout: minutes(20),
            abort_timeout: minutes(30),
            warn_at_iteration: None,
            pause_at_iteration: None,
            abort_at_iteration: None,
            warn_over_planned_iterations: true,
            on_warn: vec![ActionWord::Alert],
            on_pause: vec![ActionWord::Alert, ActionWord::Pause],
            on_abort: vec![ActionWord::Alert, ActionWord::Abort],
        }
    }
}

/// An action as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ActionWord {
    /// Tell people.
    Alert,
    /// Hold the run until a person decides.
    Pause,
    /// End the run.
    Abort,
}

impl ActionWord {
    fn action(self) -> Action {
        match self {
            ActionWord::Alert => Action::Alert,
            ActionWord::Pause => Action::Pause,
            ActionWord::Abort => Action::Abort,
        }
    }
}

impl TryFrom<Section> for StagnationConfig {
    type Error = ConfigError;

    fn try_from(section: Section) -> Result<StagnationConfig, ConfigError> {
        section.check()?;
        Ok(StagnationConfig::from_section(section))
    }
}

/// Why a section makes no sense. Each names the keys to change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigError {
    /// A threshold below the least that can mean something.
    TooSmall {
        /// The key.
        key: &'static str,
        /// Its value.
        value: String,
        /// The least value.
        least: &'static str,
    },
    /// A milder level that comes after a harder one.
    WrongOrder {
        /// The key of the milder level.
        key: &'static str,
        /// Its value.
        value: String,
        /// The key of the harder level.
        before: &'static str,
        /// Its value.
        before_value: String,
    },
    /// A level that shall both pause and abort.
    PauseAndAbort {
        /// The key.
        key: &'static str,
    },
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConfigError::TooSmall { key, value, least } => {
                write!(
                    f,
                    "{key} is {value}; it must be at least {least} (to watch nothing, set enabled: false)"
                )
            }
            ConfigError::WrongOrder { key, value, before, before_value } => {
                write!(f, "{key} ({value}) must not be above {before} ({before_value})")
            }
            ConfigError::PauseAndAbort { key } => {
                write!(f, "{key} lists both pause and abort; a run can be held or ended, not both")
            }
        }
    }
}

impl Error for ConfigError {}

impl ConfigError {
    /// The key that is wrong, without its section.
    pub fn key(&self) -> &'static str {
        match self {
            ConfigError::TooSmall { key, .. }
            | ConfigError::WrongOrder { key, .. }
            | ConfigError::PauseAndAbort { key } => key,
        }
    }
}

impl Section {
    /// Whether the section makes sense.
    pub fn check(&self) -> Result<(), ConfigError> {
        check_steps(
            "2",
            [
                ("warn_after_identical", Some(Step::number(self.warn_after_identical, 2))),
                ("pause_after_identical", Some(Step::number(self.pause_after_identical, 2))),
                ("abort_after_identical", Some(Step::number(self.abort_after_identical, 2))),
            ],
        )?;
        check_steps(
            "1ms",
            [
                ("warn_timeout", Some(Step::time(self.warn_timeout))),
                ("pause_timeout", Some(Step::time(self.pause_timeout))),
                ("abort_timeout", Some(Step::time(self.abort_timeout))),
            ],
        )?;
        check_steps(
            "1",
            [
                ("warn_at_iteration", self.warn_at_iteration.map(|cap| Step::number(cap, 1))),
                ("pause_at_iteration", self.pause_at_iteration.map(|cap| Step::number(cap, 1))),
                ("abort_at_iteration", self.abort_at_iteration.map(|cap| Step::number(cap, 1))),
            ],
        )?;
        check_actions([
            ("on_warn", &self.on_warn),
            ("on_pause", &self.on_pause),
            ("on_abort", &self.on_abort),
        ])
    }
}

/// A threshold in a form that can be compared and shown.
struct Step {
    size: u128,
    text: String,
    is_enough: bool,
}

impl Step {
    fn number(value: u32, least: u32) -> Step {
        Step { size: u128::from(value), text: value.to_string(), is_enough: value >= least }
    }

    fn time(value: Duration) -> Step {
        Step {
            size: value.as_millis(),
            text: duration::text(value),
            is_enough: value >= Duration::from_millis(1),
        }
    }
}

/// Each large enough, and none above a harder one; an absent one is skipped.
fn check_steps(least: &'static str, steps: [(&'static str, Option<Step>); 3]) -> Result<(), ConfigError> {
    let mut milder: Option<(&'static str, Step)> = None;
    for (key, step) in steps {
        let Some(step) = step else { continue };
        if !step.is_enough {
            return Err(ConfigError::TooSmall { key, value: step.text, least });
        }
        if let Some((milder_key, milder)) = milder.filter(|(_, milder)| milder.size > step.size) {
            return Err(ConfigError::WrongOrder {
                key: milder_key,
                value: milder.text,
                before: key,
                before_value: step.text,
            });
        }
        milder = Some((key, step));
    }
    Ok(())
}

fn check_actions(lists: [(&'static str, &Vec<ActionWord>); 3]) -> Result<(), ConfigError> {
    let both = |list: &[ActionWord]| list.contains(&ActionWord::Pause) && list.contains(&ActionWord::Abort);
    match lists.into_iter().find(|(_, list)| both(list)) {
        Some((key, _)) => Err(ConfigError::PauseAndAbort { key }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::{Value, json};

    use super::super::Level;
    use super::{Action, StagnationConfig};

    fn read(section: Value) -> Result<StagnationConfig, String> {
        serde_json::from_value(section).map_err(|error| error.to_string())
    }

    #[test]
    fn the_defaults_are_the_settled_numbers() {
        let config = read(json!({})).unwrap();
        assert_eq!(config, StagnationConfig::default());
        assert!(config.enabled && config.warn_over_planned);
        assert_eq!((config.identical.warn, config.identical.pause, config.identical.abort), (3, 5, 7));
        let minutes =
            [config.quiet.warn, config.quiet.pause, config.quiet.abort].map(|time| time.as_secs() / 60);
        assert_eq!(minutes, [10, 20, 30]);
        assert_eq!(config.iterations.abort, None);
        assert_eq!(config.actions(Level::None), []);
        assert_eq!(config.actions(Level::Warn), [Action::Alert]);
        assert_eq!(config.actions(Level::Pause), [Action::Alert, Action::Pause]);
        assert_eq!(config.actions(Level::Abort), [Action::Alert, Action::Abort]);
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
        assert!(!config.enabled && !config.warn_over_planned);
        assert_eq!((config.identical.warn, config.identical.pause, config.identical.abort), (2, 2, 9));
        assert_eq!(config.quiet.warn, Duration::from_secs(90));
        assert_eq!(config.quiet.abort, Duration::from_secs(5_400));
        assert_eq!((config.iterations.warn, config.iterations.abort), (Some(8), Some(15)));
        assert_eq!(config.actions(Level::Warn), []);
        assert_eq!(config.actions(Level::Pause), [Action::Alert]);
        assert_eq!(config.actions(Level::Abort), [Action::Abort]);
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
            (json!({"warn_timeout": 600}), "expected a duration with its unit"),
            (json!({"abort_at_iteration": 0}), "abort_at_iteration is 0; it must be at least 1"),
            (
                json!({"warn_at_iteration": 9, "abort_at_iteration": 8}),
                "warn_at_iteration (9) must not be above abort_at_iteration (8)",
            ),
            (json!({"on_pause": ["pause", "abort"]}), "on_pause lists both pause and abort"),
            (json!({"on_warn": ["shout"]}), "unknown variant `shout`"),
            (json!({"warn_after": 3}), "unknown field `warn_after`"),
        ] {
            let error = read(section.clone()).expect_err("refused");
            assert!(error.contains(words), "{section}: {error}");
        }
    }
}
