//! One decision for a run.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::assess::{Assessment, TaskText, assess};
use super::classifier::Classification;
use super::complexity::{CLAUDE_MODELS, Complexity};
use super::epic;
use super::label::{Asked, asked};
use super::reason::{RouteReason, ValueSource};
use crate::config::{Backend, Effort, Executor};
use crate::duration;

/// What the command line asks for; wins over everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    pub complexity: Option<Complexity>,
    pub model: Option<String>,
    pub effort: Option<Effort>,
    pub timeout: Option<Duration>,
}

#[derive(Clone, Copy, Debug)]
pub struct RouteRequest<'r> {
    pub task: TaskText<'r>,
    pub executor: &'r Executor,
    pub overrides: &'r Overrides,
    /// What a small model said, where [`asks_classifier`] wants it asked.
    pub classification: &'r Classification,
}

/// How a run is done: decided once, stored with it, shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Route {
    pub complexity: Complexity,
    /// The model; none leaves it to the agent.
    pub model: Option<String>,
    /// The effort; none leaves it to the agent.
    pub effort: Option<Effort>,
    #[serde(rename = "timeout_s", with = "seconds")]
    pub timeout: Duration,
    pub reasons: Vec<RouteReason>,
}

const MOST_REASONS: usize = 40;

pub fn route(request: &RouteRequest<'_>) -> Route {
    let RouteRequest { task, executor, overrides, classification } = *request;
    let mut asked = asked(task.labels);
    let Assessment { complexity, mut reasons } = weigh(&task, overrides, &asked, classification);
    let (model, model_from) =
        asked_for(overrides.model.clone(), asked.model, executor.model.clone(), "executor.model")
            .map_or_else(|| model(complexity, executor), |(model, from)| (Some(model), from));
    let (effort, effort_from) = asked_for(overrides.effort, asked.effort, executor.effort, "executor.effort")
        .map_or_else(|| effort(complexity, executor), |(effort, from)| (Some(effort), from));
    let (timeout, timeout_from) =
        asked_for(overrides.timeout, asked.timeout, executor.timeout, "executor.timeout")
            .unwrap_or_else(|| timeout(complexity, executor));
    reasons.append(&mut asked.ignored);
    reasons.truncate(MOST_REASONS);
    reasons.extend([
        RouteReason::Model { from: model_from },
        RouteReason::Effort { from: effort_from },
        RouteReason::Timeout { from: timeout_from },
    ]);
    Route { complexity, model, effort, timeout, reasons }
}

/// Whether a small model is to be asked: it is turned on, and its answer could change something.
pub fn asks_classifier(task: &TaskText<'_>, executor: &Executor, overrides: &Overrides) -> bool {
    executor.classifier.enabled
        && overrides.complexity.is_none()
        && asked(task.labels).complexity.is_none()
        && assess(task).complexity < Complexity::Complex
}

/// How much work it is: a person's word, or else the ticket's own, raised by the classifier.
fn weigh(task: &TaskText<'_>, overrides: &Overrides, asked: &Asked, said: &Classification) -> Assessment {
    let label =
        || asked.complexity.clone().map(|(complexity, label)| (complexity, ValueSource::Label { label }));
    let given = overrides.complexity.map(|complexity| (complexity, ValueSource::Flag)).or_else(label);
    if let Some((complexity, by)) = given {
        return as_given(task, complexity, by);
    }
    let mut assessment = assess(task);
    match said {
        Classification::NotAsked => {}
        Classification::Said { complexity, why } => {
            // An epic is told by its structure, never by an opinion.
            let said = (*complexity).min(Complexity::Complex);
            assessment.complexity = assessment.complexity.max(said);
            assessment.reasons.push(RouteReason::Classified { complexity: said, why: why.clone() });
        }
        Classification::Failed(why) => {
            assessment.reasons.push(RouteReason::NotClassified { why: why.clone() });
        }
    }
    assessment
}

/// A stated complexity holds, but for an epic that is not to be split.
fn as_given(task: &TaskText<'_>, complexity: Complexity, by: ValueSource) -> Assessment {
    let mut reasons = vec![RouteReason::Given { by }];
    let whole =
        epic::kept_whole(task.title, task.body, task.labels).filter(|_| complexity == Complexity::Epic);
    match whole {
        None => Assessment { complexity, reasons },
        Some(by) => {
            reasons.push(RouteReason::NotSplit { by: by.to_owned() });
            Assessment { complexity: Complexity::Complex, reasons }
        }
    }
}

/// What a person asked for: on the command line, by a label, by a key of the configuration. The first that says something.
fn asked_for<T>(
    flag: Option<T>,
    label: Option<(T, String)>,
    configured: Option<T>,
    key: &str,
) -> Option<(T, ValueSource)> {
    let flag = flag.map(|value| (value, ValueSource::Flag));
    let label = label.map(|(value, label)| (value, ValueSource::Label { label }));
    let configured = configured.map(|value| (value, ValueSource::Key { key: key.to_owned() }));
    flag.or(label).or(configured)
}

fn model(complexity: Complexity, executor: &Executor) -> (Option<String>, ValueSource) {
    let routing = &executor.model_routing;
    if !routing.enabled {
        return (None, ValueSource::Off { key: "executor.model_routing.enabled".to_owned() });
    }
    let key = cell("executor.model_routing", complexity);
    match routing.models.of(complexity) {
        Some(model) => (Some(model.clone()), ValueSource::Key { key }),
        None if executor.backend == Backend::ClaudeCode => {
            (Some((*CLAUDE_MODELS.of(complexity)).to_owned()), ValueSource::Table)
        }
        None => (None, ValueSource::NoTable { backend: executor.backend.to_string(), key }),
    }
}

fn effort(complexity: Complexity, executor: &Executor) -> (Option<Effort>, ValueSource) {
    let routing = &executor.effort_routing;
    match routing.efforts.of(complexity) {
        Some(_) if !routing.enabled => {
            (None, ValueSource::Off { key: "executor.effort_routing.enabled".to_owned() })
        }
        Some(effort) => {
            (Some(*effort), ValueSource::Key { key: cell("executor.effort_routing", complexity) })
        }
        None => (None, ValueSource::Agent),
    }
}

fn timeout(complexity: Complexity, executor: &Executor) -> (Duration, ValueSource) {
    let key = cell("executor.timeout_routing", complexity);
    (*executor.timeout_routing.of(complexity), ValueSource::Key { key })
}

/// The key of a cell; an epic's is that of complex tasks.
fn cell(section: &str, complexity: Complexity) -> String {
    format!("{section}.{}", complexity.min(Complexity::Complex))
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Route { complexity, model, effort, timeout, .. } = self;
        let model = model.as_deref().unwrap_or("the agent's model");
        write!(f, "{complexity}: {model}, ")?;
        if let Some(effort) = effort {
            write!(f, "effort {}, ", effort.as_str())?;
        }
        write!(f, "at most {}", duration::text(*timeout))
    }
}

/// Whole seconds, as results have them.
mod seconds {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(length: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(length.as_secs())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        u64::deserialize(deserializer).map(Duration::from_secs)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::{Overrides, Route, RouteRequest, TaskText, asks_classifier, route};
    use crate::config::{Backend, Effort, Executor};
    use crate::route::{Classification, Complexity};

    struct World {
        title: &'static str,
        labels: Vec<String>,
        executor: Executor,
        overrides: Overrides,
        classification: Classification,
    }

    fn world(title: &'static str) -> World {
        World {
            title,
            labels: Vec::new(),
            executor: Executor::default(),
            overrides: Overrides::default(),
            classification: Classification::NotAsked,
        }
    }

    impl World {
        fn task(&self) -> TaskText<'_> {
            TaskText { title: self.title, body: "", labels: &self.labels }
        }

        fn route(&self) -> Route {
            route(&RouteRequest {
                task: self.task(),
                executor: &self.executor,
                overrides: &self.overrides,
                classification: &self.classification,
            })
        }

        /// The route in a line, and the last three reasons.
        fn words(&self) -> String {
            let route = self.route();
            let from: Vec<String> =
                route.reasons[route.reasons.len() - 3..].iter().map(ToString::to_string).collect();
            format!("{route}; {}", from.join("; "))
        }

        fn labelled(mut self, label: &str) -> World {
            self.labels.push(label.to_owned());
            self
        }
    }

    const TRIVIAL: &str = "Fix typo";
    const SIMPLE: &str = "Add a flag";
    const MEDIUM: &str = "Add login";
    const COMPLEX: &str = "Rewrite it";

    #[test]
    fn the_table_holds_by_default() {
        for (title, words) in [
            (
                TRIVIAL,
                "trivial: claude-haiku-4-5-20251001, at most 5m; model from Pilot's table; effort left to the \
                       agent; time from executor.timeout_routing.trivial",
            ),
            (
                SIMPLE,
                "simple: claude-sonnet-4-6, at most 15m; model from Pilot's table; effort left to the agent; \
                      time from executor.timeout_routing.simple",
            ),
            (
                MEDIUM,
                "medium: claude-sonnet-4-6, at most 30m; model from Pilot's table; effort left to the agent; \
                      time from executor.timeout_routing.medium",
            ),
            (
                COMPLEX,
                "complex: claude-opus-4-6, at most 1h; model from Pilot's table; effort left to the agent; \
                       time from executor.timeout_routing.complex",
            ),
            (
                "[epic] All of it",
                "epic: claude-opus-4-6, at most 1h; model from Pilot's table; effort left to the \
                                  agent; time from executor.timeout_routing.complex",
            ),
        ] {
            assert_eq!(world(title).words(), words);
        }
    }

    #[test]
    fn every_cell_can_be_set() {
        let mut executor = Executor::default();
        let models = &mut executor.model_routing.models;
        let name = |name: &str| Some(name.to_owned());
        (models.trivial, models.simple, models.medium, models.complex) =
            (name("t"), name("s"), name("m"), name("c"));
        let efforts = &mut executor.effort_routing.efforts;
        (efforts.trivial, efforts.simple) = (Some(Effort::Low), Some(Effort::Medium));
        (efforts.medium, efforts.complex) = (Some(Effort::High), Some(Effort::Max));
        let times = &mut executor.timeout_routing;
        let seconds = Duration::from_secs;
        (times.trivial, times.simple, times.medium, times.complex) =
            (seconds(1), seconds(2), seconds(3), seconds(4));
        for (title, words) in [
            (
                TRIVIAL,
                "trivial: t, effort low, at most 1s; model from executor.model_routing.trivial; effort from \
                       executor.effort_routing.trivial; time from executor.timeout_routing.trivial",
            ),
            (
                SIMPLE,
                "simple: s, effort medium, at most 2s; model from executor.model_routing.simple; effort from \
                      executor.effort_routing.simple; time from executor.timeout_routing.simple",
            ),
            (
                MEDIUM,
                "medium: m, effort high, at most 3s; model from executor.model_routing.medium; effort from \
                      executor.effort_routing.medium; time from executor.timeout_routing.medium",
            ),
            (
                COMPLEX,
                "complex: c, effort max, at most 4s; model from executor.model_routing.complex; effort from \
                       executor.effort_routing.complex; time from executor.timeout_routing.complex",
            ),
        ] {
            assert_eq!(World { executor: executor.clone(), ..world(title) }.words(), words);
        }
    }

    #[test]
    fn what_is_configured_for_every_run_beats_the_table() {
        let executor = Executor {
            model: Some("mine".to_owned()),
            effort: Some(Effort::Xhigh),
            timeout: Some(Duration::from_secs(60)),
            ..Executor::default()
        };
        assert_eq!(
            World { executor, ..world(COMPLEX) }.words(),
            "complex: mine, effort xhigh, at most 1m; model from executor.model; effort from executor.effort; \
             time from executor.timeout"
        );
    }

    #[test]
    fn routing_can_be_turned_off() {
        let mut off = world(TRIVIAL);
        off.executor.model_routing.enabled = false;
        off.executor.effort_routing.enabled = false;
        off.executor.effort_routing.efforts.trivial = Some(Effort::Low);
        assert_eq!(
            off.words(),
            "trivial: the agent's model, at most 5m; model left to the agent, as executor.model_routing.enabled is \
             false; effort left to the agent, as executor.effort_routing.enabled is false; time from \
             executor.timeout_routing.trivial"
        );
        off.executor.model = Some("mine".to_owned());
        assert!(off.words().starts_with("trivial: mine, at most 5m; model from executor.model;"));
    }

    #[test]
    fn other_agents_have_only_the_models_that_are_configured() {
        for backend in Backend::ALL {
            let mut other = world(TRIVIAL);
            other.executor.backend = backend;
            let words = other.words();
            let expect = match backend {
                Backend::ClaudeCode => "model from Pilot's table".to_owned(),
                Backend::Codex
                | Backend::Opencode
                | Backend::Gemini
                | Backend::QwenCode
                | Backend::Command => format!(
                    "model left to {}, for which Pilot has no table; set executor.model_routing.trivial for one",
                    backend.as_str()
                ),
            };
            assert!(words.contains(&expect), "{words}");
            other.executor.model_routing.models.trivial = Some("small".to_owned());
            assert!(other.words().contains("trivial: small,"), "{}", other.words());
        }
    }

    #[test]
    fn labels_beat_what_is_configured_and_flags_beat_labels() {
        let mut asked = world(TRIVIAL)
            .labelled("pilot-complexity:complex")
            .labelled("pilot-model:special")
            .labelled("pilot-effort:low")
            .labelled("pilot-timeout:2h");
        asked.executor.model = Some("mine".to_owned());
        asked.executor.effort = Some(Effort::Max);
        asked.executor.timeout = Some(Duration::from_secs(60));
        assert_eq!(
            asked.words(),
            "complex: special, effort low, at most 2h; model from the label pilot-model:special; effort from the label \
             pilot-effort:low; time from the label pilot-timeout:2h"
        );
        assert_eq!(
            asked.route().reasons[0].to_string(),
            "complexity from the label pilot-complexity:complex"
        );
        asked.overrides = Overrides {
            complexity: Some(Complexity::Simple),
            model: Some("flag".to_owned()),
            effort: Some(Effort::High),
            timeout: Some(Duration::from_secs(90)),
        };
        assert_eq!(
            asked.words(),
            "simple: flag, effort high, at most 1m30s; model from the command line; effort from the command line; \
             time from the command line"
        );
    }

    #[test]
    fn an_epic_by_label_is_kept_whole_by_label() {
        let epic = world(SIMPLE).labelled("pilot-complexity:epic");
        assert_eq!(epic.route().complexity, Complexity::Epic);
        let whole = epic.labelled("no-decompose").route();
        assert_eq!(whole.complexity, Complexity::Complex);
        assert_eq!(whole.reasons[1].to_string(), "not split, as no-decompose says");
    }

    #[test]
    fn labels_that_cannot_be_followed_are_among_the_reasons() {
        let reasons = world(MEDIUM).labelled("pilot-effort:hard").route().reasons;
        let said = "label \"pilot-effort:hard\" ignored: the choice is low, medium, high, xhigh, max";
        assert!(reasons.iter().any(|reason| reason.to_string() == said), "{reasons:?}");
        let many = (0..500).fold(world(MEDIUM), |world, i| world.labelled(&format!("pilot-x{i}:y")));
        assert!(many.route().reasons.len() <= super::MOST_REASONS + 3);
    }

    #[test]
    fn the_classifier_only_raises() {
        let said = |complexity| Classification::Said { complexity, why: "why".to_owned() };
        for (title, complexity, expect) in [
            (SIMPLE, Complexity::Complex, Complexity::Complex),
            (SIMPLE, Complexity::Trivial, Complexity::Simple),
            (TRIVIAL, Complexity::Trivial, Complexity::Trivial),
            (TRIVIAL, Complexity::Medium, Complexity::Medium),
            (MEDIUM, Complexity::Epic, Complexity::Complex),
            (COMPLEX, Complexity::Simple, Complexity::Complex),
        ] {
            let route = World { classification: said(complexity), ..world(title) }.route();
            assert_eq!(route.complexity, expect, "{title} {complexity}");
        }
        let failed =
            World { classification: Classification::Failed("it is late".to_owned()), ..world(SIMPLE) };
        assert_eq!(failed.route().complexity, Complexity::Simple);
        let said =
            failed.route().reasons.iter().any(|reason| reason.to_string().ends_with("not count: it is late"));
        assert!(said);
    }

    #[test]
    fn the_classifier_is_asked_where_it_can_change_something() {
        let asks = |world: &World| asks_classifier(&world.task(), &world.executor, &world.overrides);
        assert!(!asks(&world(MEDIUM)), "off by default");
        let on = |title| {
            let mut world = world(title);
            world.executor.classifier.enabled = true;
            world
        };
        assert!(asks(&on(TRIVIAL)) && asks(&on(SIMPLE)) && asks(&on(MEDIUM)));
        assert!(!asks(&on(COMPLEX)) && !asks(&on("[epic] x")));
        assert!(!asks(&on(MEDIUM).labelled("pilot-complexity:simple")));
        let mut given = on(MEDIUM);
        given.overrides.complexity = Some(Complexity::Simple);
        assert!(!asks(&given));
    }

    #[test]
    fn a_route_is_stored_and_read_back() {
        let mut stored = world(TRIVIAL).labelled("pilot-effort:low").labelled("pilot-x:y");
        stored.classification = Classification::Failed("late".to_owned());
        let route = stored.route();
        let json = serde_json::to_value(&route).unwrap();
        assert_eq!(json["complexity"], "trivial");
        assert_eq!(json["model"], "claude-haiku-4-5-20251001");
        assert_eq!(json["effort"], "low");
        assert_eq!(json["timeout_s"], 300);
        assert_eq!(json["reasons"][0]["reason"], "title");
        assert_eq!(serde_json::from_value::<Route>(json).unwrap(), route);
    }

    proptest! {
        #[test]
        fn any_ticket_has_a_route(title in any::<String>(), body in any::<String>(), label in any::<String>()) {
            let labels = [label];
            let task = TaskText { title: &title, body: &body, labels: &labels };
            let (executor, overrides) = (Executor::default(), Overrides::default());
            let request = RouteRequest {
                task,
                executor: &executor,
                overrides: &overrides,
                classification: &Classification::NotAsked,
            };
            let found = route(&request);
            prop_assert_eq!(&found, &route(&request));
            prop_assert!(found.reasons.len() > 3);
        }

        #[test]
        fn a_body_alone_never_makes_a_task_trivial(body in "(fix|typo|unused|bump|version|import|\\n|- \\[ \\] | |lint){0,25}") {
            let found = super::assess(&TaskText { title: MEDIUM, body: &body, labels: &[] });
            prop_assert!(found.complexity > Complexity::Trivial);
        }
    }
}
