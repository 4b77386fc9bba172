//! The monitor of one run: facts in, a verdict out.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use super::clock::QuietClock;
use super::config::{Action, StagnationConfig};
use super::fnv::Fnv;
use super::state::{AgentClaim, DiffDigest, State};
use super::{Cap, Level, Reason, Repeat, Verdict};
use crate::phase::Phase;

/// Background jobs known at a time; more are not remembered, so the clock may run while they do.
const MOST_JOBS: usize = 1_024;

/// Phases that can count as new: the five and some words of the agent's own. Inventing words is not progress
/// for ever.
const MOST_PHASES: usize = 32;

/// Changes remembered, to tell new ones from a return to old ones. The oldest are forgotten.
const MOST_DIFFS: usize = 256;

/// Watches one run. Times are since the start of the run, by a clock that only goes forward; one that goes
/// back is taken as standing still.
#[derive(Clone, Debug)]
pub struct Monitor {
    config: StagnationConfig,
    now: Duration,
    clock: QuietClock,
    jobs: BTreeSet<u64>,
    paused: bool,
    seen: Seen,
    reports: Tail,
    work: Tail,
    rounds: Rounds,
    claim: Option<AgentClaim>,
    /// The level that was reached since the last progress, and why.
    held: Option<Finding>,
}

impl Monitor {
    /// A monitor for a run that starts now.
    pub fn new(config: StagnationConfig) -> Monitor {
        Monitor {
            config,
            now: Duration::ZERO,
            clock: QuietClock::default(),
            jobs: BTreeSet::new(),
            paused: false,
            seen: Seen::default(),
            reports: Tail::default(),
            work: Tail::default(),
            rounds: Rounds::default(),
            claim: None,
            held: None,
        }
    }

    /// Takes the state after one message that reported any; call it once a message, however many blocks it
    /// held.
    ///
    /// Real progress is a phase not seen before in this run, a higher progress than ever, or changes not seen
    /// before. A higher iteration is none: a loop that counts rounds and changes nothing is what we look for.
    /// A new error or other indicators are none either, but they end a series of identical states.
    pub fn report(&mut self, state: &State, at: Duration) -> Verdict {
        let was = self.advance(at);
        if self.seen.is_new(state) {
            self.start_afresh();
        }
        self.reports.push(state.report_digest());
        self.work.push(state.work_digest());
        self.rounds.report(state);
        self.judge(was)
    }

    /// Takes a look at the changes between two reports: agents that say nothing work, too.
    pub fn changes_seen(&mut self, diff: DiffDigest, at: Duration) -> Verdict {
        let was = self.advance(at);
        if self.seen.is_new_diff(diff) {
            self.start_afresh();
        }
        self.judge(was)
    }

    /// Takes the agent's word that it is stuck: a warning, and a pause when its retries are used up.
    pub fn agent_says_stuck(&mut self, claim: AgentClaim, at: Duration) -> Verdict {
        let was = self.advance(at);
        let retry_exhausted = claim.retry_exhausted || self.claim.is_some_and(|claim| claim.retry_exhausted);
        self.claim = Some(AgentClaim { retry_exhausted });
        self.judge(was)
    }

    /// A job started that may be silent for long: a background command, or a tool that is still running. Time
    /// does not count until all jobs ended; the run's own deadline still does. Telling it twice changes
    /// nothing.
    pub fn background_started(&mut self, job: &str, at: Duration) -> Verdict {
        let was = self.advance(at);
        if self.jobs.len() < MOST_JOBS {
            self.jobs.insert(Fnv::new().bytes(job.as_bytes()).digest());
        }
        self.stand_still_or_run();
        self.judge(was)
    }

    /// A job ended.
    pub fn background_ended(&mut self, job: &str, at: Duration) -> Verdict {
        let was = self.advance(at);
        self.jobs.remove(&Fnv::new().bytes(job.as_bytes()).digest());
        self.stand_still_or_run();
        self.judge(was)
    }

    /// The run is held for a person; waiting is not stagnation.
    pub fn paused(&mut self, at: Duration) -> Verdict {
        let was = self.advance(at);
        self.paused = true;
        self.stand_still_or_run();
        self.judge(was)
    }

    /// A person says to go on: everything is counted from here.
    pub fn resumed(&mut self, at: Duration) -> Verdict {
        let was = self.advance(at);
        self.paused = false;
        self.stand_still_or_run();
        self.rounds.start_afresh();
        self.start_afresh();
        self.judge(was)
    }

    /// Time passed. Ask at [`Verdict::next_check`]; asking at any other time does no harm.
    pub fn tick(&mut self, at: Duration) -> Verdict {
        let was = self.advance(at);
        self.judge(was)
    }

    /// What to do about a verdict: the actions of its level at the moment it is reached, nothing otherwise.
    pub fn actions(&self, verdict: &Verdict) -> &[Action] {
        if verdict.rose() { self.config.actions(verdict.level) } else { &[] }
    }

    /// Moves the time, and says which level was shown before.
    fn advance(&mut self, at: Duration) -> Level {
        self.now = self.now.max(at);
        self.level()
    }

    fn level(&self) -> Level {
        self.held.as_ref().map(|finding| finding.level).unwrap_or_default()
    }

    /// Real progress: what was held against the run is forgotten.
    fn start_afresh(&mut self) {
        self.clock.restart(self.now);
        self.reports = Tail::default();
        self.work = Tail::default();
        self.claim = None;
        self.held = None;
    }

    fn stand_still_or_run(&mut self) {
        self.clock.stand_still(self.paused || !self.jobs.is_empty(), self.now);
    }

    fn judge(&mut self, was: Level) -> Verdict {
        if !self.config.enabled {
            return Verdict::default();
        }
        let strongest = self.strongest();
        if strongest.as_ref().is_some_and(|finding| finding.level >= self.level()) {
            self.held = strongest;
        }
        let reason = self.held.as_ref().map(|finding| finding.reason.clone());
        Verdict { level: self.level(), was, reason, next_check: self.next_check() }
    }

    /// The strongest evidence of this moment; of equals the first.
    fn strongest(&self) -> Option<Finding> {
        let findings = [self.repeats(), self.too_many_rounds(), self.silence(), self.claimed()];
        findings.into_iter().flatten().reduce(|best, next| if next.level > best.level { next } else { best })
    }

    fn repeats(&self) -> Option<Finding> {
        let (times, what) = if self.reports.times >= self.work.times {
            (self.reports.times, Repeat::Report)
        } else {
            (self.work.times, Repeat::Work)
        };
        let level = self.config.identical.level(|threshold| times >= *threshold);
        Finding::at(level, Reason::Repeated { times, what })
    }

    fn too_many_rounds(&self) -> Option<Finding> {
        let caps = &self.config.iterations;
        let level = caps.level(|cap| cap.is_some_and(|cap| self.rounds.counted() >= i64::from(cap)));
        let (level, cap) = match caps.at(level).copied().flatten() {
            Some(cap) => (level, Cap::Configured(cap)),
            None => (
                Level::Warn,
                Cap::Planned(self.rounds.over_plan().filter(|_| self.config.warn_over_planned)?),
            ),
        };
        Finding::at(level, Reason::Iterations { iteration: self.rounds.iteration, cap })
    }

    fn silence(&self) -> Option<Finding> {
        let quiet = self.clock.quiet(self.now);
        let level = self.config.quiet.level(|threshold| quiet >= *threshold);
        Finding::at(level, Reason::NoProgress { quiet })
    }

    fn claimed(&self) -> Option<Finding> {
        let claim = self.claim?;
        let level = if claim.retry_exhausted { Level::Pause } else { Level::Warn };
        Finding::at(level, Reason::AgentSaysSo(claim))
    }

    /// When time alone reaches the next level.
    fn next_check(&self) -> Option<Duration> {
        let quiet = self.clock.quiet(self.now);
        let higher =
            [Level::Warn, Level::Pause, Level::Abort].into_iter().find(|level| *level > self.level())?;
        let threshold = self.config.quiet.at(higher).filter(|_| self.clock.is_running())?;
        Some(self.now + threshold.saturating_sub(quiet))
    }
}

/// A level above none and its evidence.
#[derive(Clone, Debug)]
struct Finding {
    level: Level,
    reason: Reason,
}

impl Finding {
    fn at(level: Level, reason: Reason) -> Option<Finding> {
        (level > Level::None).then_some(Finding { level, reason })
    }
}

/// How often the last of a series of digests stands at its end.
#[derive(Clone, Copy, Debug, Default)]
struct Tail {
    last: u64,
    times: u32,
}

impl Tail {
    fn push(&mut self, digest: u64) {
        let again = self.times > 0 && self.last == digest;
        self.times = if again { self.times.saturating_add(1) } else { 1 };
        self.last = digest;
    }
}

/// The agent's own count of rounds.
#[derive(Clone, Copy, Debug, Default)]
struct Rounds {
    iteration: i64,
    planned: Option<i64>,
    /// Rounds a person has forgiven.
    forgiven: i64,
}

impl Rounds {
    fn report(&mut self, state: &State) {
        self.iteration = state.iteration.unwrap_or(self.iteration);
        self.planned = state.max_iterations.or(self.planned);
    }

    fn counted(&self) -> i64 {
        self.iteration.saturating_sub(self.forgiven)
    }

    /// The plan, when it is exceeded; a plan of nothing is none.
    fn over_plan(&self) -> Option<i64> {
        self.planned.filter(|planned| *planned > 0 && self.iteration > *planned)
    }

    fn start_afresh(&mut self) {
        self.forgiven = self.iteration.max(0);
    }
}

/// What the run has reached so far, to tell progress from motion.
#[derive(Clone, Debug, Default)]
struct Seen {
    phases: BTreeSet<u64>,
    progress: Option<u8>,
    diffs: VecDeque<DiffDigest>,
}

impl Seen {
    /// Whether a state is real progress. Every part is remembered, whichever of them is new.
    fn is_new(&mut self, state: &State) -> bool {
        let phase = state.phase.as_ref().is_some_and(|phase| self.is_new_phase(phase));
        let progress = state.progress > self.progress;
        self.progress = self.progress.max(state.progress);
        let diff = state.diff.is_some_and(|diff| self.is_new_diff(diff));
        phase || progress || diff
    }

    fn is_new_phase(&mut self, phase: &Phase) -> bool {
        let digest = Fnv::new().text(phase.as_str()).digest();
        let known = phase.percent().is_some();
        (known || self.phases.len() < MOST_PHASES) && self.phases.insert(digest)
    }

    fn is_new_diff(&mut self, diff: DiffDigest) -> bool {
        if self.diffs.contains(&diff) {
            return false;
        }
        if self.diffs.len() == MOST_DIFFS {
            self.diffs.pop_front();
        }
        self.diffs.push_back(diff);
        true
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;
    use serde_json::{Map, Value, json};

    use super::super::{
        Action, AgentClaim, Cap, DiffDigest, ErrorDigest, Level, Reason, Repeat, StagnationConfig, State,
        Verdict,
    };
    use super::Monitor;
    use crate::phase::Phase;
    use crate::signal::{Kind, Protocol, Signal, Span};

    const STUCK: AgentClaim = AgentClaim { retry_exhausted: false };
    const EXHAUSTED: AgentClaim = AgentClaim { retry_exhausted: true };

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn minutes(count: u64) -> Duration {
        at(60 * count)
    }

    fn monitor() -> Monitor {
        Monitor::new(StagnationConfig::default())
    }

    fn config(section: Value) -> StagnationConfig {
        serde_json::from_value(section).unwrap()
    }

    fn state(iteration: i64) -> State {
        State { phase: Some(Phase::Impl), progress: Some(50), iteration: Some(iteration), ..State::default() }
    }

    fn indicators(value: i64) -> Map<String, Value> {
        [("n".to_owned(), Value::from(value))].into_iter().collect()
    }

    fn error(text: &str) -> Option<ErrorDigest> {
        Some(ErrorDigest::of(text))
    }

    fn diff(text: &str) -> Option<DiffDigest> {
        Some(DiffDigest::of(text.as_bytes()))
    }

    /// Reports the states one a second; gives the level after each.
    fn levels(monitor: &mut Monitor, states: impl IntoIterator<Item = State>) -> String {
        let verdicts = (1..).zip(states).map(|(second, state)| monitor.report(&state, at(second)));
        verdicts.map(|verdict| verdict.level.as_str().to_owned()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn identical_states_warn_at_3_pause_at_5_abort_at_7() {
        let all = "none none warn warn pause pause abort abort";
        assert_eq!(levels(&mut monitor(), (0..8).map(|_| state(1))), all);
        // The same work under a counting loop.
        assert_eq!(levels(&mut monitor(), (0..8).map(state)), all);
        // The same report with other errors and indicators.
        let talks = |n: i64| State { indicators: indicators(n), ..state(1) };
        assert_eq!(levels(&mut monitor(), (0..8).map(talks)), all);
        // Both change: nothing repeats, and only time will tell.
        let moves = |n: i64| State { indicators: indicators(n), ..state(n) };
        assert_eq!(levels(&mut monitor(), (0..8).map(moves)), "none none none none none none none none");
    }

    #[test]
    fn copies_of_a_block_in_one_message_are_one_report() {
        let block = Signal {
            phase: Some(Phase::Impl),
            progress: Some(50),
            ..Signal::new(Protocol::V2, Kind::Status, Span { start: 0, end: 9 })
        };
        let mut watch = monitor();
        let mut known = State::default();
        for (second, expected) in (1..).zip([Level::None, Level::None, Level::Warn]) {
            for copy in [&block, &block, &block, &block] {
                assert!(known.absorb(copy));
            }
            assert_eq!(watch.report(&known, at(second)).level, expected);
        }
    }

    #[test]
    fn the_evidence_names_what_repeats() {
        let mut watch = monitor();
        levels(&mut watch, [state(1), state(1)]);
        let verdict = watch.report(&state(1), at(3));
        assert_eq!(verdict.reason, Some(Reason::Repeated { times: 3, what: Repeat::Report }));
        assert_eq!((verdict.was, verdict.level, verdict.changed()), (Level::None, Level::Warn, true));
        let verdict = watch.report(&state(2), at(4));
        assert_eq!(verdict.reason, Some(Reason::Repeated { times: 4, what: Repeat::Work }));
        assert!(!verdict.changed());
    }

    #[test]
    fn a_series_ends_with_another_state_but_the_level_stays() {
        let mut watch = monitor();
        let other = State { last_error: error("x"), ..state(9) };
        let story = [state(1), state(1), state(1), other, state(1), state(1)];
        assert_eq!(levels(&mut watch, story), "none none warn warn warn warn");
    }

    #[test]
    fn weaker_evidence_does_not_replace_stronger() {
        let mut watch = monitor();
        levels(&mut watch, [state(1), state(1), state(1), state(1), state(1)]);
        watch.report(&State { indicators: indicators(1), ..state(2) }, at(6));
        let verdict = watch.agent_says_stuck(STUCK, at(7));
        assert_eq!(verdict.level, Level::Pause);
        assert_eq!(verdict.reason, Some(Reason::Repeated { times: 5, what: Repeat::Report }));
    }

    #[test]
    fn of_equal_evidence_the_first_kind_is_named() {
        let mut watch = monitor();
        watch.agent_says_stuck(STUCK, at(1));
        levels(&mut watch, [State::default(), State::default()]);
        let verdict = watch.report(&State::default(), minutes(10));
        assert_eq!(verdict.level, Level::Warn);
        assert_eq!(verdict.reason, Some(Reason::Repeated { times: 3, what: Repeat::Report }));
    }

    #[test]
    fn real_progress_takes_the_level_back() {
        let stuck = || {
            let mut watch = monitor();
            levels(&mut watch, [state(1), state(1), state(1), state(1), state(1)]);
            watch
        };
        for (next, level, why) in [
            (State { phase: Some(Phase::Verify), ..state(1) }, Level::None, "new phase"),
            (State { phase: Some(Phase::Other("POLISH".to_owned())), ..state(1) }, Level::None, "own phase"),
            (State { progress: Some(51), ..state(1) }, Level::None, "higher progress"),
            (State { diff: diff("a"), ..state(1) }, Level::None, "changes"),
            (state(2), Level::Pause, "a higher iteration is no progress"),
            (State { progress: Some(49), ..state(1) }, Level::Pause, "lower progress"),
            (State { progress: None, ..state(1) }, Level::Pause, "no progress sent"),
            (State { phase: None, ..state(1) }, Level::Pause, "no phase sent"),
            (State { last_error: error("new"), ..state(1) }, Level::Pause, "another error"),
            (State { indicators: indicators(1), ..state(1) }, Level::Pause, "other indicators"),
        ] {
            let verdict = stuck().report(&next, at(6));
            assert_eq!(verdict.level, level, "{why}");
            assert_eq!(verdict.reason.is_none(), level == Level::None, "{why}");
        }
        let verdict = stuck().changes_seen(DiffDigest::of(b"a"), at(6));
        assert_eq!((verdict.level, verdict.was), (Level::None, Level::Pause));
    }

    #[test]
    fn what_was_seen_before_is_no_progress() {
        let mut watch = monitor();
        let early = State { phase: Some(Phase::Research), progress: Some(20), diff: diff("a"), ..state(1) };
        let late = State { diff: diff("b"), ..state(1) };
        levels(&mut watch, [early.clone(), late.clone()]);
        // Back and forth between two states: no series, but time counts from the last news.
        for minute in 1..10 {
            let swing = if minute % 2 == 0 { &early } else { &late };
            assert_eq!(watch.report(swing, minutes(minute)).level, Level::None, "{minute}");
        }
        assert_eq!(watch.tick(minutes(10) + at(2)).level, Level::Warn);
    }

    #[test]
    fn new_changes_keep_a_repeating_agent_alive() {
        let mut watch = monitor();
        for n in 0..50 {
            let working = State { diff: diff(&n.to_string()), ..state(1) };
            assert_eq!(watch.report(&working, minutes(n)).level, Level::None);
        }
    }

    #[test]
    fn inventing_phases_is_not_progress_for_ever() {
        let mut watch = monitor();
        let mut attempt = |n: u64| {
            let phase = Some(Phase::Other(format!("ATTEMPT {n}")));
            watch.report(&State { phase, ..State::default() }, minutes(n)).level
        };
        // The 32nd word, in minute 31, was the last that counted.
        for n in 0..=40 {
            assert_eq!(attempt(n), Level::None, "{n}");
        }
        assert_eq!(attempt(41), Level::Warn);
        let known = State { phase: Some(Phase::Verify), ..State::default() };
        assert_eq!(watch.report(&known, minutes(42)).level, Level::None);
    }

    #[test]
    fn silence_warns_at_10_pauses_at_20_aborts_at_30_minutes() {
        let mut watch = monitor();
        for (seconds, level, next) in [
            (0, Level::None, Some(600)),
            (599, Level::None, Some(600)),
            (600, Level::Warn, Some(1_200)),
            (1_199, Level::Warn, Some(1_200)),
            (1_200, Level::Pause, Some(1_800)),
            (1_799, Level::Pause, Some(1_800)),
            (1_800, Level::Abort, None),
            (9_999, Level::Abort, None),
        ] {
            let verdict = watch.tick(at(seconds));
            assert_eq!((verdict.level, verdict.next_check), (level, next.map(at)), "{seconds}");
        }
        assert_eq!(watch.tick(at(9_999)).reason, Some(Reason::NoProgress { quiet: at(9_999) }));
    }

    #[test]
    fn a_late_look_goes_straight_to_the_level() {
        let verdict = monitor().tick(minutes(31));
        assert_eq!((verdict.was, verdict.level), (Level::None, Level::Abort));
    }

    #[test]
    fn progress_restarts_the_clock_and_counting_rounds_does_not() {
        let mut watch = monitor();
        let verdict = watch.report(&state(1), minutes(9));
        assert_eq!((verdict.level, verdict.next_check), (Level::None, Some(minutes(19))));
        let moved = State { indicators: indicators(1), ..state(2) };
        assert_eq!(watch.report(&moved, minutes(18)).next_check, Some(minutes(19)));
        assert_eq!(watch.tick(minutes(19)).level, Level::Warn);
        let verdict = watch.changes_seen(DiffDigest::of(b"a"), minutes(20));
        assert_eq!((verdict.level, verdict.next_check), (Level::None, Some(minutes(30))));
        assert_eq!(watch.changes_seen(DiffDigest::of(b"a"), minutes(29)).next_check, Some(minutes(30)));
    }

    #[test]
    fn background_work_suspends_the_clock() {
        let mut watch = monitor();
        assert_eq!(watch.background_started("tests", minutes(5)).next_check, None);
        assert_eq!(watch.background_started("tests", minutes(6)).next_check, None);
        watch.background_started("server", minutes(10));
        assert_eq!(watch.tick(minutes(60)).level, Level::None);
        assert_eq!(watch.background_ended("tests", minutes(60)).next_check, None);
        assert_eq!(watch.background_ended("tests", minutes(61)).next_check, None);
        let verdict = watch.background_ended("server", minutes(70));
        assert_eq!((verdict.level, verdict.next_check), (Level::None, Some(minutes(75))));
        assert_eq!(watch.background_ended("unknown", minutes(71)).next_check, Some(minutes(75)));
        assert_eq!(watch.tick(minutes(75)).level, Level::Warn);
    }

    #[test]
    fn background_work_keeps_a_level_and_repeats_still_count() {
        let mut watch = monitor();
        watch.tick(minutes(10));
        assert_eq!(watch.background_started("job", minutes(11)).level, Level::Warn);
        for second in 1..=5 {
            watch.report(&State::default(), minutes(12) + at(second));
        }
        assert_eq!(watch.tick(minutes(13)).level, Level::Pause);
    }

    #[test]
    fn more_jobs_than_can_be_remembered_do_no_harm() {
        let mut watch = monitor();
        for job in 0..3_000 {
            watch.background_started(&job.to_string(), at(1));
        }
        for job in 0..3_000 {
            watch.background_ended(&job.to_string(), at(2));
        }
        assert_eq!(watch.tick(at(2)).next_check, Some(at(601)));
    }

    #[test]
    fn the_agents_word_is_a_warning_and_used_up_retries_a_pause() {
        let mut watch = monitor();
        let verdict = watch.agent_says_stuck(STUCK, at(1));
        assert_eq!((verdict.level, verdict.reason), (Level::Warn, Some(Reason::AgentSaysSo(STUCK))));
        assert_eq!(watch.agent_says_stuck(STUCK, at(2)).level, Level::Warn);
        let verdict = watch.agent_says_stuck(EXHAUSTED, at(3));
        assert_eq!((verdict.level, verdict.reason), (Level::Pause, Some(Reason::AgentSaysSo(EXHAUSTED))));
        assert_eq!(watch.agent_says_stuck(STUCK, at(4)).level, Level::Pause);
        assert_eq!(watch.report(&state(1), at(5)).level, Level::None);
        assert_eq!(watch.tick(at(6)).level, Level::None);
    }

    #[test]
    fn more_rounds_than_planned_are_a_warning() {
        let mut watch = monitor();
        let planned = |iteration, plan, n| State {
            max_iterations: Some(plan),
            indicators: indicators(n),
            ..state(iteration)
        };
        assert_eq!(watch.report(&planned(10, 10, 0), at(1)).level, Level::None);
        let verdict = watch.report(&planned(11, 10, 1), at(2));
        assert_eq!(verdict.level, Level::Warn);
        assert_eq!(verdict.reason, Some(Reason::Iterations { iteration: 11, cap: Cap::Planned(10) }));
        assert_eq!(watch.report(&planned(99, 10, 2), at(3)).level, Level::Warn);
        // A plan of nothing is no plan.
        assert_eq!(monitor().report(&planned(3, 0, 0), at(1)).level, Level::None);
    }

    #[test]
    fn configured_rounds_are_limits() {
        let section = json!({"warn_at_iteration": 8, "pause_at_iteration": 12, "abort_at_iteration": 15});
        for (iteration, level, cap) in [
            (7, Level::None, None),
            (8, Level::Warn, Some(8)),
            (12, Level::Pause, Some(12)),
            (15, Level::Abort, Some(15)),
            (99, Level::Abort, Some(15)),
        ] {
            let verdict = Monitor::new(config(section.clone())).report(&state(iteration), at(1));
            let reason = cap.map(|cap| Reason::Iterations { iteration, cap: Cap::Configured(cap) });
            assert_eq!((verdict.level, verdict.reason), (level, reason), "{iteration}");
        }
        let only_abort = config(json!({"abort_at_iteration": 4}));
        assert_eq!(Monitor::new(only_abort.clone()).report(&state(3), at(1)).level, Level::None);
        assert_eq!(Monitor::new(only_abort).report(&state(4), at(1)).level, Level::Abort);
    }

    #[test]
    fn a_person_can_let_it_go_on() {
        let mut watch = Monitor::new(config(json!({"pause_at_iteration": 12})));
        assert_eq!(watch.report(&state(12), at(1)).level, Level::Pause);
        watch.paused(at(2));
        assert_eq!(watch.tick(minutes(600)).level, Level::Pause);
        let verdict = watch.resumed(minutes(600));
        assert_eq!((verdict.level, verdict.next_check), (Level::None, Some(minutes(610))));
        assert_eq!(watch.report(&state(13), minutes(601)).level, Level::None);
        assert_eq!(watch.report(&state(24), minutes(602)).level, Level::Pause);
    }

    #[test]
    fn actions_are_due_once_at_the_moment_a_level_is_reached() {
        let mut watch = monitor();
        let due = |watch: &Monitor, verdict: &Verdict| watch.actions(verdict).to_vec();
        let verdict = watch.tick(minutes(10));
        assert_eq!(due(&watch, &verdict), [Action::Alert]);
        let verdict = watch.tick(minutes(11));
        assert_eq!(due(&watch, &verdict), []);
        let verdict = watch.tick(minutes(30));
        assert_eq!(due(&watch, &verdict), [Action::Alert, Action::Abort]);
        let verdict = watch.report(&state(1), minutes(31));
        assert!(verdict.changed() && due(&watch, &verdict).is_empty());
        // Down to a level that still holds: nobody is told again.
        watch.tick(minutes(60));
        let over = State { progress: Some(60), max_iterations: Some(1), ..state(2) };
        let verdict = watch.report(&over, minutes(61));
        assert_eq!((verdict.was, verdict.level), (Level::Pause, Level::Warn));
        assert_eq!(due(&watch, &verdict), []);
    }

    #[test]
    fn a_clock_that_goes_back_stands_still() {
        let mut watch = monitor();
        assert_eq!(watch.tick(minutes(12)).level, Level::Warn);
        let verdict = watch.tick(minutes(1));
        assert_eq!((verdict.level, verdict.next_check), (Level::Warn, Some(minutes(20))));
        assert_eq!(watch.report(&state(1), minutes(1)).next_check, Some(minutes(22)));
    }

    /// What a configuration does in a fixed set of stories.
    fn fingerprint(config: &StagnationConfig) -> String {
        let mut told = Vec::new();
        let mut tell = |watch: &Monitor, verdict: Verdict| {
            told.push(format!("{:?} {:?} {:?}", verdict.level, verdict.next_check, watch.actions(&verdict)));
        };
        let mut watch = Monitor::new(config.clone());
        for second in 1..=20 {
            let verdict = watch.report(&state(1), at(second));
            tell(&watch, verdict);
        }
        let mut watch = Monitor::new(config.clone());
        for minute in 1..=40 {
            let verdict = watch.tick(minutes(minute));
            tell(&watch, verdict);
        }
        let mut watch = Monitor::new(config.clone());
        for iteration in 1..=40 {
            let counting =
                State { indicators: indicators(iteration), max_iterations: Some(30), ..state(iteration) };
            let verdict = watch.report(&counting, at(1));
            tell(&watch, verdict);
        }
        told.join("\n")
    }

    #[test]
    fn flipping_any_key_changes_something() {
        let usual = fingerprint(&StagnationConfig::default());
        for section in [
            json!({"enabled": false}),
            json!({"warn_after_identical": 2}),
            json!({"pause_after_identical": 4}),
            json!({"abort_after_identical": 8}),
            json!({"warn_timeout": "5m"}),
            json!({"pause_timeout": "15m"}),
            json!({"abort_timeout": "35m"}),
            json!({"warn_at_iteration": 8}),
            json!({"pause_at_iteration": 12}),
            json!({"abort_at_iteration": 15}),
            json!({"warn_over_planned_iterations": false}),
            json!({"on_warn": []}),
            json!({"on_pause": ["alert"]}),
            json!({"on_abort": ["pause"]}),
        ] {
            assert_ne!(fingerprint(&config(section.clone())), usual, "{section}");
        }
        assert_eq!(fingerprint(&config(json!({}))), usual);
    }

    /// A fact, as numbers.
    type Fact = (u8, i64, u8, u64);

    fn any_facts() -> impl Strategy<Value = Vec<Fact>> {
        prop::collection::vec((0..10u8, 0..4i64, 0..4u8, 0..400u64), 1..60)
    }

    /// Feeds a fact that is no real progress once `state(0)` was reported.
    fn feed(watch: &mut Monitor, (what, iteration, detail, _): Fact, now: Duration) -> Verdict {
        match what {
            0 => watch.agent_says_stuck(STUCK, now),
            1 => watch.agent_says_stuck(EXHAUSTED, now),
            2 => watch.background_started(&detail.to_string(), now),
            3 => watch.background_ended(&detail.to_string(), now),
            4 => watch.paused(now),
            5 | 6 => watch.tick(now),
            7 => watch.report(&State { progress: Some(50 - detail), ..state(iteration) }, now),
            8 => watch.report(
                &State { last_error: error(&"e".repeat(usize::from(detail))), ..state(iteration) },
                now,
            ),
            _ => watch.report(&State { phase: None, ..state(iteration) }, now),
        }
    }

    proptest! {
        #[test]
        fn the_level_never_falls_without_progress(facts in any_facts()) {
            let mut watch = monitor();
            let mut now = Duration::ZERO;
            let mut level = watch.report(&state(0), now).level;
            for fact in facts {
                now += at(fact.3);
                let verdict = feed(&mut watch, fact, now);
                prop_assert!(verdict.level >= level);
                prop_assert_eq!(verdict.was, level);
                prop_assert_eq!(verdict.reason.is_none(), verdict.level == Level::None);
                level = verdict.level;
            }
        }

        #[test]
        fn the_same_tick_again_changes_nothing(facts in any_facts()) {
            let mut watch = monitor();
            let mut now = Duration::ZERO;
            for fact in facts {
                now += at(fact.3);
                let verdict = feed(&mut watch, fact, now);
                let again = watch.tick(now);
                prop_assert_eq!(&again, &Verdict { was: verdict.level, ..verdict });
                prop_assert!(watch.actions(&again).is_empty());
            }
        }

        #[test]
        fn the_next_check_is_the_first_moment_time_alone_matters(facts in any_facts()) {
            let mut watch = monitor();
            let mut now = Duration::ZERO;
            for fact in facts {
                now += at(fact.3);
                let verdict = feed(&mut watch, fact, now);
                match verdict.next_check {
                    Some(next) => {
                        prop_assert!(next > now);
                        prop_assert_eq!(watch.clone().tick(next - Duration::from_millis(1)).level, verdict.level);
                        prop_assert!(watch.clone().tick(next).level > verdict.level);
                    }
                    None => prop_assert_eq!(watch.clone().tick(now + minutes(999)).level, verdict.level),
                }
            }
        }

        #[test]
        fn disabled_never_speaks(facts in any_facts()) {
            let mut watch = Monitor::new(config(json!({"enabled": false})));
            let mut now = Duration::ZERO;
            for fact in facts {
                now += at(fact.3);
                prop_assert_eq!(feed(&mut watch, fact, now), Verdict::default());
                prop_assert_eq!(watch.changes_seen(DiffDigest::of(&[fact.0]), now), Verdict::default());
                prop_assert_eq!(watch.resumed(now), Verdict::default());
            }
        }
    }
}
