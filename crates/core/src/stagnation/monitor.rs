//! The monitor of one run: facts in, a verdict out.

use std::collections::BTreeSet;
use std::time::Duration;

use super::clock::QuietClock;
use super::config::{StagnationAction, StagnationConfig};
use super::fnv::Fnv;
use super::rounds::RoundCount;
use super::seen::BestReached;
use super::series::Series;
use super::state::{AgentClaim, DiffDigest, RunState};
use super::{Repeat, RoundCap, StagnationLevel, StagnationReason, StagnationVerdict};

/// Background jobs known at a time; more are not remembered, so the clock may run while they do.
const MOST_JOBS: usize = 1_024;

/// Watches one run. Times are since the start of the run, by a clock that only goes forward; one that goes
/// back is taken as standing still.
#[derive(Clone, Debug)]
pub struct Monitor {
    config: StagnationConfig,
    now: Duration,
    clock: QuietClock,
    jobs: BTreeSet<u64>,
    paused: bool,
    seen: BestReached,
    reports: Series,
    work: Series,
    rounds: RoundCount,
    claim: Option<AgentClaim>,
    /// The level that was reached since the last progress, and why.
    held: Option<LevelFinding>,
}

impl Monitor {
    pub fn new(config: StagnationConfig) -> Monitor {
        Monitor {
            config,
            now: Duration::ZERO,
            clock: QuietClock::default(),
            jobs: BTreeSet::new(),
            paused: false,
            seen: BestReached::default(),
            reports: Series::default(),
            work: Series::default(),
            rounds: RoundCount::default(),
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
    pub fn report(&mut self, state: &RunState, at: Duration) -> StagnationVerdict {
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
    pub fn changes_seen(&mut self, diff: DiffDigest, at: Duration) -> StagnationVerdict {
        let was = self.advance(at);
        if self.seen.is_new_diff(diff) {
            self.start_afresh();
        }
        self.judge(was)
    }

    /// Takes the agent's word that it is stuck: a warning, and a pause when its retries are used up.
    pub fn agent_says_stuck(&mut self, claim: AgentClaim, at: Duration) -> StagnationVerdict {
        let was = self.advance(at);
        let retry_exhausted = claim.retry_exhausted || self.claim.is_some_and(|claim| claim.retry_exhausted);
        self.claim = Some(AgentClaim { retry_exhausted });
        self.judge(was)
    }

    /// A job started that may be silent for long: a background command, or a tool that is still running. Time
    /// does not count until all jobs ended; the run's own deadline still does. Telling it twice changes
    /// nothing.
    pub fn background_started(&mut self, job: &str, at: Duration) -> StagnationVerdict {
        let was = self.advance(at);
        if self.jobs.len() < MOST_JOBS {
            self.jobs.insert(Fnv::new().bytes(job.as_bytes()).digest());
        }
        self.stand_still_or_run();
        self.judge(was)
    }

    pub fn background_ended(&mut self, job: &str, at: Duration) -> StagnationVerdict {
        let was = self.advance(at);
        self.jobs.remove(&Fnv::new().bytes(job.as_bytes()).digest());
        self.stand_still_or_run();
        self.judge(was)
    }

    /// The run is held for a person; waiting is not stagnation.
    pub fn paused(&mut self, at: Duration) -> StagnationVerdict {
        let was = self.advance(at);
        self.paused = true;
        self.stand_still_or_run();
        self.judge(was)
    }

    /// A person says to go on: everything is counted from here.
    pub fn resumed(&mut self, at: Duration) -> StagnationVerdict {
        let was = self.advance(at);
        self.paused = false;
        self.stand_still_or_run();
        self.rounds.start_afresh();
        self.start_afresh();
        self.judge(was)
    }

    /// Time passed. Ask at [`StagnationVerdict::next_check`]; asking at any other time does no harm.
    pub fn tick(&mut self, at: Duration) -> StagnationVerdict {
        let was = self.advance(at);
        self.judge(was)
    }

    /// What to do about a verdict: the actions of its level at the moment it is reached, nothing otherwise.
    pub fn actions(&self, verdict: &StagnationVerdict) -> &[StagnationAction] {
        if verdict.rose() { self.config.actions(verdict.level) } else { &[] }
    }

    /// Moves the time, and says which level was shown before.
    fn advance(&mut self, at: Duration) -> StagnationLevel {
        self.now = self.now.max(at);
        self.level()
    }

    fn level(&self) -> StagnationLevel {
        self.held.as_ref().map(|finding| finding.level).unwrap_or_default()
    }

    fn start_afresh(&mut self) {
        self.clock.restart(self.now);
        self.reports = Series::default();
        self.work = Series::default();
        self.claim = None;
        self.held = None;
    }

    fn stand_still_or_run(&mut self) {
        self.clock.stand_still(self.paused || !self.jobs.is_empty(), self.now);
    }

    fn judge(&mut self, was: StagnationLevel) -> StagnationVerdict {
        if !self.config.enabled {
            return StagnationVerdict::default();
        }
        let strongest = self.strongest();
        if strongest.as_ref().is_some_and(|finding| finding.level >= self.level()) {
            self.held = strongest;
        }
        let reason = self.held.as_ref().map(|finding| finding.reason.clone());
        StagnationVerdict { level: self.level(), was, reason, next_check: self.next_check() }
    }

    /// The strongest evidence of this moment; of equals the first.
    fn strongest(&self) -> Option<LevelFinding> {
        let findings = [self.repeats(), self.too_many_rounds(), self.silence(), self.claimed()];
        findings.into_iter().flatten().reduce(|best, next| if next.level > best.level { next } else { best })
    }

    fn repeats(&self) -> Option<LevelFinding> {
        let (times, what) = if self.reports.times >= self.work.times {
            (self.reports.times, Repeat::Report)
        } else {
            (self.work.times, Repeat::Work)
        };
        let level = self.config.identical.level(|threshold| times >= *threshold);
        LevelFinding::at(level, StagnationReason::Repeated { times, what })
    }

    fn too_many_rounds(&self) -> Option<LevelFinding> {
        let caps = &self.config.iterations;
        let level = caps.level(|cap| cap.is_some_and(|cap| self.rounds.counted() >= i64::from(cap)));
        let (level, cap) = match caps.at(level).copied().flatten() {
            Some(cap) => (level, RoundCap::Configured(cap)),
            None => (
                StagnationLevel::Warn,
                RoundCap::Planned(
                    self.rounds.over_plan().filter(|_| self.config.warn_over_planned_iterations)?,
                ),
            ),
        };
        LevelFinding::at(level, StagnationReason::Iterations { iteration: self.rounds.iteration, cap })
    }

    fn silence(&self) -> Option<LevelFinding> {
        let quiet = self.clock.quiet(self.now);
        let level = self.config.quiet.level(|threshold| quiet >= *threshold);
        LevelFinding::at(level, StagnationReason::NoProgress { quiet })
    }

    fn claimed(&self) -> Option<LevelFinding> {
        let claim = self.claim?;
        let level = if claim.retry_exhausted { StagnationLevel::Pause } else { StagnationLevel::Warn };
        LevelFinding::at(level, StagnationReason::AgentSaysSo(claim))
    }

    fn next_check(&self) -> Option<Duration> {
        let quiet = self.clock.quiet(self.now);
        let higher = [StagnationLevel::Warn, StagnationLevel::Pause, StagnationLevel::Abort]
            .into_iter()
            .find(|level| *level > self.level())?;
        let threshold = self.config.quiet.at(higher).filter(|_| self.clock.is_running())?;
        Some(self.now + threshold.saturating_sub(quiet))
    }
}

#[derive(Clone, Debug)]
struct LevelFinding {
    level: StagnationLevel,
    reason: StagnationReason,
}

impl LevelFinding {
    fn at(level: StagnationLevel, reason: StagnationReason) -> Option<LevelFinding> {
        (level > StagnationLevel::None).then_some(LevelFinding { level, reason })
    }
}

#[cfg(test)]
mod laws;
#[cfg(test)]
pub(super) mod tests;
