//! Applying facts: the one place that changes the position of the engine.

use std::collections::BTreeMap;

use super::super::attempt::{Attempt, AttemptFailure, MarkKind, MarkNote};
use super::super::fact::{LoopItem, RunFact, UserAnswer};
use super::super::file::{OnBlocked, OnStagnation, StepKind, Turns, Until};
use super::super::verdict::{StepRole, StepVerdict, judge_attempt};
use super::{
    DueAttempt, Engine, Halt, HaltKind, LoopFrame, LoopRounds, LoopTurn, PipelineStep, Position, Question,
    StepRecord, StepStatus, WorkerChoice,
};
use crate::outcome::Class;
use crate::text::truncate;

/// The same complaint so often is stagnation.
const SAME_COMPLAINT: u32 = 3;

/// How much of a foreign text a decision repeats.
const QUOTE: usize = 400;

impl Engine<'_> {
    /// The decision in words; none when the fact does not fit.
    pub(super) fn apply(&mut self, fact: &RunFact) -> Option<String> {
        match (fact, self.position.clone()) {
            (RunFact::Picked { from, only, emits }, _) => self.picked(from, *only, emits),
            (RunFact::Listed { items }, Position::Listing) => Some(self.listed(items)),
            (
                RunFact::NotReady { reason },
                Position::Listing | Position::Trying(_) | Position::Asking(Question::Gate),
            ) => Some(self.halt(reason, HaltKind::Step)),
            (RunFact::Started { worker, .. }, Position::Trying(attempt)) => {
                self.pause = false;
                Some(format!("attempt {} by {worker}", attempt.number))
            }
            (RunFact::Ended { attempt }, Position::Trying(tried)) => self.ended(attempt, tried),
            (RunFact::Written { failure: None }, Position::Writing(verdict, tried)) => {
                Some(self.settled(verdict, tried))
            }
            (RunFact::Written { failure: Some(why) }, Position::Writing(_, tried)) => {
                let why = format!("updates could not be put into place: {why}");
                Some(self.settled(StepVerdict::Failed(AttemptFailure::new(Class::Unknown, why)), tried))
            }
            (RunFact::Answered { answer }, Position::Asking(question)) => self.answered(answer, question),
            (RunFact::Resumed, Position::Halted(halt)) => Some(self.resumed(halt.kind)),
            (RunFact::Resumed, Position::Asking(Question::Blocked(_))) => Some(self.resumed(HaltKind::Step)),
            (_, _) => None,
        }
    }

    /// Advances until something has to be waited for.
    pub(super) fn settle(&mut self) {
        while self.position == Position::Before {
            let Some(step) = self.step() else {
                self.end_of_turn();
                continue;
            };
            let holds = step.when.as_ref().is_none_or(|when| when.holds(&|name| self.plain(name)));
            self.record(step);
            if holds {
                self.enter();
            } else {
                let condition = step.when.as_ref().map(ToString::to_string).unwrap_or_default();
                self.status(StepStatus::Skipped, format!("not done: {condition}"));
                self.advance();
            }
        }
    }

    fn enter(&mut self) {
        let Some(step) = self.step() else { return };
        self.position = match &step.kind {
            StepKind::Agent(_) | StepKind::Shell(_) => {
                Position::Trying(DueAttempt::first(WorkerChoice::First))
            }
            StepKind::Gate(_) => {
                self.status(StepStatus::Waiting, String::new());
                Position::Asking(Question::Gate)
            }
            StepKind::Loop(inner) => match &inner.turns {
                Turns::Over { .. } => Position::Listing,
                Turns::Until { max_rounds, .. } => {
                    let rounds = LoopRounds { round: 1, granted: *max_rounds, ..LoopRounds::default() };
                    self.push(LoopTurn::Rounds(rounds), inner.steps.len());
                    Position::Before
                }
            },
        };
    }

    fn push(&mut self, turn: LoopTurn, end: usize) {
        let Some(frame) = self.frames.last() else { return };
        let mut path = frame.path.clone();
        path.push(frame.next);
        self.frames.push(LoopFrame { path, next: 0, end, turn });
    }

    fn advance(&mut self) {
        if let Some(frame) = self.frames.last_mut() {
            frame.next += 1;
        }
        self.position = Position::Before;
    }

    /// The steps of a list are done: another turn, or the loop is over.
    fn end_of_turn(&mut self) {
        let Some(frame) = self.frames.last_mut() else { return };
        match &mut frame.turn {
            LoopTurn::Top => self.position = Position::Done,
            LoopTurn::Items { items, at } if *at + 1 >= items.len() => {
                let words = format!("{} done", count(items.len(), "item"));
                self.leave(StepStatus::Completed, words);
            }
            LoopTurn::Items { at, .. } => {
                *at += 1;
                frame.next = 0;
                self.pause = true;
            }
            LoopTurn::Rounds(rounds) if rounds.round >= rounds.granted => {
                let last =
                    rounds.feedback.last().map(|(_, text)| format!("; last feedback: {}", quote(text)));
                let rounds = count(rounds.round as usize, "round");
                let word = self.until().map_or("end", Until::as_str);
                let reason = format!("no {word} after {rounds}{}", last.unwrap_or_default());
                self.halt(&reason, HaltKind::Exhausted);
            }
            LoopTurn::Rounds(rounds) => {
                rounds.round += 1;
                rounds.approved.clear();
                frame.next = 0;
                self.pause = true;
            }
        }
    }

    fn leave(&mut self, status: StepStatus, words: String) {
        self.frames.pop();
        self.status(status, words);
        self.advance();
    }

    fn picked(&mut self, from: &str, only: bool, emits: &BTreeMap<String, String>) -> Option<String> {
        let next = self.pipeline.steps.iter().position(|step| step.id == from)?;
        let end = if only { next + 1 } else { self.pipeline.steps.len() };
        self.frames = vec![LoopFrame { path: Vec::new(), next, end, turn: LoopTurn::Top }];
        self.records.clear();
        self.emits = emits.clone();
        self.position = Position::Before;
        Some(format!("begins at {from}"))
    }

    fn listed(&mut self, items: &[LoopItem]) -> String {
        let words = format!("{} to go through", count(items.len(), "item"));
        if items.is_empty() {
            self.status(StepStatus::Completed, "nothing to go through".to_owned());
            self.advance();
        } else if let Some(StepKind::Loop(inner)) = self.step().map(|step| &step.kind) {
            self.push(LoopTurn::Items { items: items.to_vec(), at: 0 }, inner.steps.len());
            self.position = Position::Before;
        }
        words
    }

    fn ended(&mut self, attempt: &Attempt, tried: DueAttempt) -> Option<String> {
        let role = self.role(self.step()?);
        let judgement = judge_attempt(role, attempt);
        self.account(attempt, &judgement.notes);
        self.note_movement(role, attempt);
        if !judgement.keeps_data() {
            return Some(self.settled(judgement.verdict, tried));
        }
        for mark in attempt.marks.iter().filter(|mark| mark.kind == MarkKind::Emit) {
            if let Some(key) = &mark.key {
                self.emits.insert(key.clone(), mark.payload.clone().unwrap_or_default());
            }
        }
        if attempt.staged > 0 {
            self.position = Position::Writing(judgement.verdict, tried);
            return Some(format!("{} to put into place", count(attempt.staged as usize, "update")));
        }
        Some(self.settled(judgement.verdict, tried))
    }

    /// A fix that changes nothing while a complaint is open is a bad sign; one that changes something voids approvals.
    fn note_movement(&mut self, role: StepRole, attempt: &Attempt) {
        let Some(rounds) = self.rounds_mut().filter(|_| role != StepRole::Review) else { return };
        match attempt.moved {
            Some(true) => {
                rounds.approved.clear();
                rounds.stalled = false;
            }
            Some(false) if role == StepRole::Work && !rounds.feedback.is_empty() => rounds.stalled = true,
            Some(false) | None => {}
        }
    }

    fn settled(&mut self, verdict: StepVerdict, tried: DueAttempt) -> String {
        match verdict {
            StepVerdict::Failed(failure) => self.failed(failure, tried),
            StepVerdict::NoVerdict(why) if tried.reminded => {
                self.failed_for_good(&AttemptFailure::new(Class::Unknown, format!("{why}, twice")), &tried)
            }
            StepVerdict::NoVerdict(why) => {
                self.position = Position::Trying(DueAttempt { reminded: true, after: None, ..tried });
                format!("{why}; it is reminded")
            }
            StepVerdict::Blocked(text) => self.blocked(text, &tried),
            StepVerdict::Completed(words) => self.completed(words.as_deref()),
            StepVerdict::Skipped(why) => self.skipped(&why),
            StepVerdict::Approved => self.approved(),
            StepVerdict::Rejected(text) => self.rejected(&text),
        }
    }

    fn completed(&mut self, said: Option<&str>) -> String {
        let words =
            said.map_or_else(|| "completed".to_owned(), |words| format!("completed: {}", quote(words)));
        self.status(StepStatus::Completed, words.clone());
        match self.until() {
            Some(Until::Completed) if said.is_some() => self.leave_by_word("completed"),
            Some(_) | None => self.advance(),
        }
        words
    }

    fn skipped(&mut self, why: &str) -> String {
        let words = format!("skipped: {}", quote(why));
        self.status(StepStatus::Skipped, words.clone());
        match (self.until(), self.frames.last_mut()) {
            (Some(Until::Skip), _) => self.leave_by_word("skip"),
            // The rest of what is done for this item is passed over.
            (_, Some(frame @ LoopFrame { turn: LoopTurn::Items { .. }, .. })) => {
                frame.next = frame.end;
                self.position = Position::Before;
            }
            (_, Some(LoopFrame { turn: LoopTurn::Top | LoopTurn::Rounds(_), .. }) | None) => self.advance(),
        }
        words
    }

    fn leave_by_word(&mut self, word: &str) {
        let words = format!("{word} in round {}", self.round());
        self.leave(StepStatus::Completed, words);
    }

    fn approved(&mut self) -> String {
        self.status(StepStatus::Approved, "approved".to_owned());
        let Some(frame) = self.frames.last() else { return String::new() };
        let (at, steps) = (frame.next, self.pipeline.steps_below(&frame.path).unwrap_or_default());
        let reviews = |step: &PipelineStep| matches!(&step.kind, StepKind::Agent(agent) if agent.review);
        let Some(rounds) = self.rounds_mut() else { return String::new() };
        rounds.approved.insert(at);
        let missing =
            |(index, step): &(usize, &PipelineStep)| reviews(step) && !rounds.approved.contains(index);
        let missing = steps.iter().enumerate().filter(missing).count();
        if missing > 0 {
            self.advance();
            return format!("approved; {} to go", count(missing, "reviewer"));
        }
        let words = format!("approved in round {}", self.round());
        self.leave(StepStatus::Approved, words.clone());
        words
    }

    fn rejected(&mut self, text: &str) -> String {
        let words = format!("rejected: {}", quote(text));
        self.status(StepStatus::Rejected, words.clone());
        let Some(rounds) = self.rounds_mut() else { return words };
        let round = rounds.round;
        match rounds.feedback.last_mut() {
            Some((last, before)) if *last == round => *before = format!("{before}\n\n{text}"),
            Some(_) | None => rounds.feedback.push((round, text.to_owned())),
        }
        let times = rounds.complaints.entry(essence(text)).or_default();
        *times += 1;
        let same = *times >= SAME_COMPLAINT;
        let stalled = std::mem::take(&mut rounds.stalled);
        // In the last round the loop ends anyway, with its own reason.
        if rounds.round >= rounds.granted || !(same || stalled) {
            self.advance();
            return words;
        }
        let why = match same {
            true => "the same complaint came three times",
            false => "the fix changed nothing, and the review rejects again",
        };
        self.stagnated(&format!("{why}: {}", quote(text)))
    }

    fn stagnated(&mut self, why: &str) -> String {
        let escalation = match self.around() {
            Some(Turns::Until { on_stagnation, .. }) => on_stagnation,
            Some(Turns::Over { .. }) | None => &OnStagnation::Stop,
        };
        let escalated = self.rounds().is_some_and(|rounds| rounds.escalated);
        match escalation {
            OnStagnation::Gate => {
                self.status(StepStatus::Waiting, why.to_owned());
                self.position = Position::Asking(Question::Stagnated(why.to_owned()));
                format!("stagnation: {why}; a person is asked")
            }
            OnStagnation::Agent(_) if !escalated => {
                self.helped();
                if let Some(rounds) = self.rounds_mut() {
                    rounds.escalated = true;
                }
                self.advance();
                format!("stagnation: {why}; another agent takes over")
            }
            OnStagnation::Agent(_) | OnStagnation::Stop => {
                self.halt(&format!("stagnation: {why}"), HaltKind::Stagnated)
            }
        }
    }

    /// The user or another agent helped a loop without progress.
    fn helped(&mut self) {
        if let Some(rounds) = self.rounds_mut() {
            rounds.complaints.clear();
            rounds.stalled = false;
        }
    }

    fn blocked(&mut self, text: String, tried: &DueAttempt) -> String {
        let then = match self.step().map(|step| &step.kind) {
            Some(StepKind::Agent(agent)) => agent.on_blocked,
            Some(StepKind::Shell(shell)) => shell.on_blocked,
            Some(StepKind::Gate(_) | StepKind::Loop(_)) | None => OnBlocked::Ask,
        };
        let words = format!("blocked: {}", quote(&text));
        match then {
            OnBlocked::Fail => self.failed_for_good(&AttemptFailure::new(Class::Blocked, words), tried),
            OnBlocked::Skip => {
                self.status(StepStatus::Skipped, words.clone());
                self.advance();
                format!("{words}; passed over")
            }
            OnBlocked::Fallback if tried.who == WorkerChoice::First => {
                self.position = Position::Trying(DueAttempt::first(WorkerChoice::Fallback));
                format!("{words}; the fallback takes over")
            }
            OnBlocked::Fallback | OnBlocked::Ask => {
                self.status(StepStatus::Waiting, words.clone());
                self.position = Position::Asking(Question::Blocked(text));
                format!("{words}; waits for a person")
            }
        }
    }

    fn failed(&mut self, failure: AttemptFailure, tried: DueAttempt) -> String {
        let retries = self.step().map_or(0, |step| match &step.kind {
            StepKind::Agent(_) => self.worker(step, &tried).and_then(|worker| worker.retry).unwrap_or(0),
            StepKind::Shell(shell) => shell.retry,
            StepKind::Gate(_) | StepKind::Loop(_) => 0,
        });
        if tried.number <= retries && may_help(failure.class()) {
            let words =
                format!("attempt {} failed: {}; it is tried again", tried.number, quote(&failure.reason));
            self.position =
                Position::Trying(DueAttempt { number: tried.number + 1, after: Some(failure), ..tried });
            return words;
        }
        self.failed_for_good(&failure, &tried)
    }

    fn failed_for_good(&mut self, failure: &AttemptFailure, tried: &DueAttempt) -> String {
        let fallback = self.agent().is_some_and(|agent| agent.fallback.is_some());
        if fallback && tried.who == WorkerChoice::First {
            self.position = Position::Trying(DueAttempt::first(WorkerChoice::Fallback));
            return format!("failed: {}; the fallback takes over", quote(&failure.reason));
        }
        self.halt(&failure.reason, HaltKind::Step)
    }

    fn halt(&mut self, reason: &str, kind: HaltKind) -> String {
        let at = match kind {
            HaltKind::Step => self.at(),
            HaltKind::Exhausted | HaltKind::Stagnated => self.loop_at(),
        };
        if let Some(record) = self.records.iter_mut().rev().find(|record| record.at == at) {
            (record.status, record.words) = (StepStatus::Failed, reason.to_owned());
        }
        let reason = format!("{at}: {reason}");
        self.position = Position::Halted(Halt { reason: reason.clone(), kind });
        format!("failed: {reason}")
    }

    fn answered(&mut self, answer: &UserAnswer, question: Question) -> Option<String> {
        match (question, answer) {
            (Question::Gate, UserAnswer::Yes) => {
                self.status(StepStatus::Completed, "a person said yes".to_owned());
                self.advance();
                Some("a person said yes".to_owned())
            }
            (Question::Stagnated(_), UserAnswer::Yes) => {
                self.status(StepStatus::Rejected, "rejected; the user continued".to_owned());
                self.helped();
                self.advance();
                Some("the user continued".to_owned())
            }
            (Question::Gate, UserAnswer::No) => Some(self.halt("a person said no", HaltKind::Step)),
            (Question::Stagnated(why), UserAnswer::No) => {
                Some(self.halt(&format!("stagnation: {why}"), HaltKind::Stagnated))
            }
            (Question::Blocked(asked), UserAnswer::Text(text)) => {
                self.status(StepStatus::Running, "a person answered".to_owned());
                let answer = Some((asked, text.clone()));
                self.position =
                    Position::Trying(DueAttempt { answer, ..DueAttempt::first(WorkerChoice::First) });
                Some("a person answered".to_owned())
            }
            (Question::Blocked(_), UserAnswer::Yes | UserAnswer::No)
            | (Question::Gate | Question::Stagnated(_), UserAnswer::Text(_)) => None,
        }
    }

    fn resumed(&mut self, kind: HaltKind) -> String {
        match kind {
            HaltKind::Step => {
                self.status(StepStatus::Running, String::new());
                self.enter();
            }
            HaltKind::Stagnated => {
                self.open_loop();
                self.helped();
                self.advance();
            }
            HaltKind::Exhausted => {
                let more = match self.around() {
                    Some(Turns::Until { max_rounds, .. }) => *max_rounds,
                    Some(Turns::Over { .. }) | None => 0,
                };
                self.open_loop();
                self.helped();
                if let Some(rounds) = self.rounds_mut() {
                    rounds.granted = rounds.granted.saturating_add(more);
                }
                // Its steps are done; the next round begins.
                self.position = Position::Before;
            }
        }
        "started again by a person".to_owned()
    }

    /// The loop that had failed continues.
    fn open_loop(&mut self) {
        let at = self.loop_at();
        if let Some(record) = self.records.iter_mut().rev().find(|record| record.at == at) {
            (record.status, record.words) = (StepStatus::Running, String::new());
        }
    }

    fn record(&mut self, step: &PipelineStep) {
        self.records.push(StepRecord {
            at: self.at(),
            id: step.id.clone(),
            depth: self.frames.len() - 1,
            kind: step.kind.as_str(),
            status: StepStatus::Running,
            words: String::new(),
            attempts: 0,
            duration_ms: 0,
            cost_usd: None,
            tokens: None,
            notes: Vec::new(),
        });
    }

    fn current(&mut self) -> Option<&mut StepRecord> {
        let at = self.at();
        self.records.iter_mut().rev().find(|record| record.at == at)
    }

    fn status(&mut self, status: StepStatus, words: String) {
        if let Some(record) = self.current() {
            (record.status, record.words) = (status, words);
        }
    }

    fn account(&mut self, attempt: &Attempt, notes: &[MarkNote]) {
        let Some(record) = self.current() else { return };
        record.attempts += 1;
        record.duration_ms += attempt.duration_ms;
        record.cost_usd = match (record.cost_usd, attempt.cost_usd) {
            (Some(sum), Some(more)) => Some(sum + more),
            (sum, more) => sum.or(more),
        };
        record.tokens = match (record.tokens, attempt.tokens) {
            (Some(sum), Some(more)) => Some(sum.saturating_add(more)),
            (sum, more) => sum.or(more),
        };
        record.notes.extend(attempt.notes.iter().chain(notes).cloned());
    }
}

/// Whether another attempt of the same kind may end better.
fn may_help(class: Class) -> bool {
    !matches!(
        class,
        Class::Auth | Class::Billing | Class::InvalidConfig | Class::ModelNotFound | Class::PromptTooLong
    )
}

/// A complaint without what changes from round to round: case, space, and the numbers of lines.
fn essence(text: &str) -> String {
    let (mut words, mut before): (Vec<String>, &str) = (Vec::new(), "");
    for word in text.split_whitespace() {
        let number = word.trim_matches(|c: char| c.is_ascii_punctuation());
        let is_line = ["line", "lines"].contains(&before)
            && number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
        if !is_line {
            words.push(without_places(word).to_lowercase());
        }
        before = word;
    }
    truncate(&words.join(" "), 4096).to_owned()
}

fn without_places(word: &str) -> &str {
    let plain = word.trim_end_matches(|c: char| c.is_ascii_punctuation() || c.is_ascii_digit());
    if word[plain.len()..].starts_with(':') { plain } else { word }
}

fn quote(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match truncate(&line, QUOTE) {
        cut if cut.len() < line.len() => format!("{cut}…"),
        whole => whole.to_owned(),
    }
}

fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}
