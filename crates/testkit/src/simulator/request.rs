//! Requests and replies: what is under way between a Pilot and its adapters, and what becomes of it.

use std::collections::VecDeque;
use std::time::Duration;

use pilot_core::fact::TaskEvent;
use pilot_core::id::{HomeId, ProjectId};
use pilot_core::observed::{FailureKind, PrState};
use pilot_core::perform::{self, Next, Polled, Report};
use pilot_core::port::{Answer, Call, ForgeAnswer, ForgeCall, GitCall, Reply, TrackerAnswer, TrackerCall};
use pilot_core::schedule::TaskRef;
use pilot_core::task::{Action, Key, Query};
use pilot_core::time::Timestamp;
use pilot_core::turn::OutboxEntry;
use pilot_core::words;

use super::fault::{CallKind, Fault, failed_reply, without_newest};
use super::forge::MOST_STALE;
use super::mutant::Mutant;
use super::world::{Crashed, Event, World};

/// How long a reply is waited for.
const TIMEOUT: Duration = Duration::from_secs(30);

/// What a Pilot waits for.
#[derive(Debug)]
pub(super) enum Pending {
    /// An action is being performed.
    Action { entry: OutboxEntry, said: Vec<Reply>, is_repeat: bool },
    /// A task's queries are being answered.
    Query { of: TaskQueries, query: Query, said: Vec<Reply> },
    /// A project is being polled.
    Poll { project: ProjectId, since: Timestamp, said: Vec<Reply> },
}

/// The queries of a task that are left.
#[derive(Debug)]
pub(super) struct TaskQueries {
    pub(super) task: TaskRef,
    pub(super) rest: VecDeque<Query>,
    /// Whether one of those before failed.
    pub(super) has_failed: bool,
}

/// A call on its way to an adapter.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) daemon: usize,
    pub(super) epoch: u64,
    pub(super) home: HomeId,
    pub(super) id: u64,
    pub(super) project: ProjectId,
    pub(super) call: Call,
    pub(super) key: Option<Key>,
    /// The ETag of the last answer to the same call.
    pub(super) etag: Option<u64>,
}

/// A reply, with the ETag that the adapter keeps for the next call of its kind.
#[derive(Debug)]
pub(super) struct Response {
    pub(super) reply: Reply,
    pub(super) etag: Option<(TrackerCall, u64)>,
}

impl World {
    /// Sends a request. Pilot may crash right before and right after.
    pub(super) fn send(
        &mut self,
        daemon: usize,
        project: &ProjectId,
        pending: Pending,
        call: Call,
        key: Option<Key>,
    ) -> Result<(), Crashed> {
        self.may_crash()?;
        let sender = &mut self.daemons[daemon];
        sender.last_request += 1;
        let (id, epoch, home) = (sender.last_request, sender.epoch, sender.owner.clone());
        sender.pending.insert(id, pending);
        let etag = match &call {
            Call::Tracker(call) => sender.etags.get(&(project.clone(), format!("{call:?}"))).copied(),
            Call::Forge(_) | Call::Git(_) => None,
        };
        let project = project.clone();
        let request = Request { daemon, epoch, home, id, project, call, key, etag };
        let wait = self.latency();
        self.later(wait, Event::Request(request));
        self.may_crash()
    }

    /// A request reaches the other side.
    pub(super) fn serve(&mut self, request: &Request) {
        let fault = self.pick_fault(&request.call);
        let failure = fault.and_then(|fault| fault.failure(self.now));
        let answer = fault.is_none_or(Fault::is_done).then(|| self.answer(request, fault));
        if let (Call::Git(GitCall::DeleteBranch { branch, .. }), Some(Fault::Conflict)) =
            (&request.call, fault)
        {
            self.laws.kept.insert(branch.clone());
        }
        let response = match (answer, failure) {
            (_, Some(failure)) => Response { reply: failed_reply(&request.call, failure), etag: None },
            // A list without its newest item has no ETag.
            (Some(response), None) if fault == Some(Fault::WithoutNewest) => {
                Response { reply: response.reply.map(without_newest), etag: None }
            }
            (Some(response), None) => response,
            (None, None) => return,
        };
        let wait = match fault {
            Some(Fault::LostRequest | Fault::LostReply) => TIMEOUT,
            Some(Fault::Late) => TIMEOUT.saturating_sub(Duration::from_secs(5)),
            Some(_) | None => self.latency(),
        };
        let (daemon, epoch, id) = (request.daemon, request.epoch, request.id);
        self.later(wait, Event::Reply { daemon, epoch, id, response });
    }

    /// What goes wrong with this request, if anything does.
    fn pick_fault(&mut self, call: &Call) -> Option<Fault> {
        let kind = CallKind::of(call)?;
        let nth = self.counts.count(kind);
        if let Some(single) = self.single_fault {
            return (single.call == kind && single.nth == nth).then_some(single.fault);
        }
        if self.are_faults_over || !self.random.permille(self.setup.rates.faults) {
            return None;
        }
        self.totals.faults += 1;
        self.random.pick(&Fault::RANDOM).copied()
    }

    /// The answer of the tracker, the forge or git.
    fn answer(&mut self, request: &Request, fault: Option<Fault>) -> Response {
        let Request { project, call, home, .. } = request;
        self.interfere(project, call, request.key.as_ref());
        let is_stale = !self.are_faults_over && self.random.permille(self.setup.rates.stale);
        let lag = if fault == Some(Fault::Stale) {
            MOST_STALE
        } else if is_stale {
            Duration::from_millis(self.random.between(0, MOST_STALE.as_millis() as u64))
        } else {
            Duration::ZERO
        };
        let then = self.now.before(lag);
        if let Some(reply) = self.forge_of(project).read(call, home, then) {
            return self.answer_read(request, reply, then);
        }
        self.judge_write(request);
        let now = self.now;
        let reply = match call {
            Call::Forge(ForgeCall::Merge { pr, .. }) if self.is(Mutant::MergeWithoutSha) => {
                let merged = self.forge(project).merge(*pr, None, now);
                merged.map(|commit| Answer::Forge(ForgeAnswer::Merged(commit)))
            }
            Call::Tracker(_) | Call::Forge(_) | Call::Git(_) => self.forge(project).write(call, home, now),
        };
        if reply.is_ok() {
            self.last_write = self.now;
        }
        self.after_write(project, call, &reply);
        Response { reply, etag: None }
    }

    fn answer_read(&mut self, request: &Request, reply: Reply, then: Timestamp) -> Response {
        let Request { project, call, etag: known, .. } = request;
        let call = match call {
            Call::Tracker(call) => call,
            Call::Forge(ForgeCall::Checks(sha)) if self.is(Mutant::ChecksOnly) => {
                return Response { reply: self.without_statuses(project, sha, reply), etag: None };
            }
            Call::Forge(ForgeCall::Reviews(pr)) => {
                let at = (request.daemon, project.clone(), *pr);
                self.laws.reviews_read.insert(at, self.now);
                return Response { reply, etag: None };
            }
            Call::Forge(_) | Call::Git(_) => {
                return Response { reply: self.glitch(project, reply), etag: None };
            }
        };
        let etag = self.forge_of(project).etag(call, then);
        let reply = match reply {
            Ok(Answer::Tracker(TrackerAnswer::Tickets(_))) if etag == *known => {
                Ok(Answer::Tracker(TrackerAnswer::Tickets(None)))
            }
            Ok(Answer::Tracker(TrackerAnswer::Posted(_))) if etag == *known => {
                Ok(Answer::Tracker(TrackerAnswer::Posted(None)))
            }
            reply => reply,
        };
        Response { reply, etag: etag.map(|etag| (call.clone(), etag)) }
    }

    /// Once in a while a forge shows an open pull request as closed, for as long as a read may be stale.
    fn glitch(&mut self, project: &ProjectId, reply: Reply) -> Reply {
        let Ok(Answer::Forge(ForgeAnswer::Pull(mut pr))) = reply else { return reply };
        let begins = !self.are_faults_over && self.setup.rates.stale > 0 && self.random.permille(10);
        let now = self.now;
        let until = self.forge(project).glitches.entry(pr.number).or_insert(Timestamp(0));
        if begins && now.since(*until) > 10 * MOST_STALE {
            *until = now.after(MOST_STALE);
        }
        if now < *until && pr.state == PrState::Open {
            pr.state = PrState::Closed;
        }
        Ok(Answer::Forge(ForgeAnswer::Pull(pr)))
    }

    /// What follows on the forge when something was written.
    fn after_write(&mut self, project: &ProjectId, call: &Call, reply: &Reply) {
        let outcome = if reply.is_ok() { "done" } else { "refused" };
        self.trace_line(format_args!("forge: {} {outcome}", short_call(call)));
        match (call, reply) {
            (Call::Git(GitCall::Push { sha, .. }), Ok(_)) => self.plan_ci(project, sha),
            (Call::Forge(ForgeCall::Merge { .. }), Ok(Answer::Forge(ForgeAnswer::Merged(commit)))) => {
                self.totals.merges += 1;
                // In the script it is the first merge that lags, so that the forge is asked too.
                let lag = match self.setup.is_scripted {
                    true => (self.totals.merges == 1).then_some(20),
                    false => self.random.percent(15).then(|| self.random.between(5, 90)),
                };
                if let Some(lag) = lag {
                    let from = self.now.after(Duration::from_secs(lag));
                    self.forge(project).not_yet_on_base.insert(commit.clone(), from);
                }
            }
            (Call::Forge(ForgeCall::CreatePull(_)), Ok(Answer::Forge(ForgeAnswer::Pull(pr)))) => {
                self.review_new(project, pr.number);
            }
            (Call::Tracker(TrackerCall::Create(_)), Ok(_)) => self.totals.fixes += 1,
            (Call::Forge(ForgeCall::CreateTag { .. }), Ok(_)) => self.totals.tags += 1,
            (_, _) => {}
        }
    }

    /// A reply reaches the Pilot that waits for it.
    pub(super) fn receive(&mut self, daemon: usize, id: u64, response: Response) -> Result<(), Crashed> {
        let Some(pending) = self.daemons[daemon].pending.remove(&id) else { return Ok(()) };
        let Response { reply, etag } = response;
        match pending {
            Pending::Action { entry, said, is_repeat } => {
                self.continue_action(daemon, entry, said, reply, is_repeat)
            }
            Pending::Query { of, query, mut said } => {
                said.push(self.mutate_query_reply(&query, reply));
                self.next_query_step(daemon, of, query, said)
            }
            Pending::Poll { project, since, mut said } => {
                if let Some((call, etag)) = etag {
                    let key = (project.clone(), format!("{call:?}"));
                    self.daemons[daemon].etags.insert(key, etag);
                }
                said.push(self.mutate_poll_reply(reply));
                self.next_poll_step(daemon, project, since, said)
            }
        }
    }

    /// Starts to perform an action.
    pub(super) fn perform(&mut self, daemon: usize, entry: OutboxEntry) -> Result<(), Crashed> {
        if self.is(Mutant::LabelBeforeClaim)
            && let (Action::PlaceClaim { .. }, Some(task)) = (&entry.action, &entry.task)
        {
            let labels = ["pilot-in-progress".to_owned()].into();
            let call = Call::Tracker(TrackerCall::AddLabels(task.clone(), labels));
            let (epoch, home) = (self.daemons[daemon].epoch, self.daemons[daemon].owner.clone());
            let (project, key) = (entry.project.clone(), Some(entry.key.clone()));
            let request = Request { daemon, epoch, home, id: 0, project, call, key, etag: None };
            let _ = self.answer(&request, None);
        }
        self.next_action_step(daemon, entry, Vec::new(), false)
    }

    fn continue_action(
        &mut self,
        daemon: usize,
        entry: OutboxEntry,
        mut said: Vec<Reply>,
        reply: Reply,
        is_repeat: bool,
    ) -> Result<(), Crashed> {
        let is_lost = matches!(&reply, Err(failure) if failure.kind == FailureKind::Lost);
        if is_lost && self.is(Mutant::BlindRepeat) && !is_repeat {
            return self.next_action_step(daemon, entry, said, true);
        }
        said.push(self.mutate_action_reply(&entry.action, said.len(), reply));
        self.next_action_step(daemon, entry, said, false)
    }

    fn next_action_step(
        &mut self,
        daemon: usize,
        entry: OutboxEntry,
        said: Vec<Reply>,
        is_repeat: bool,
    ) -> Result<(), Crashed> {
        match perform::next_step(&entry.action, self.policy(&entry.project), &said) {
            Next::Call(call) => {
                let (project, key) = (entry.project.clone(), entry.key.clone());
                self.send(daemon, &project, Pending::Action { entry, said, is_repeat }, call, Some(key))
            }
            Next::Done(report) => {
                if let (Action::StartRun(_), Some(task)) = (&entry.action, &entry.task) {
                    let at = (entry.project.clone(), task.clone());
                    match perform::run_input(said) {
                        Some(input) => self.daemons[daemon].run_inputs.insert(at, input),
                        None => self.daemons[daemon].run_inputs.remove(&at),
                    };
                }
                self.report(daemon, &entry, report);
                Ok(())
            }
        }
    }

    /// Records what came of an action.
    fn report(&mut self, daemon: usize, entry: &OutboxEntry, report: Report) {
        let (project, key) = (&entry.project, &entry.key);
        let about = entry.task.as_ref().map_or_else(|| project.to_string(), ToString::to_string);
        let outcome = self.describe(project, &report);
        self.trace_line(format_args!("pilot {daemon}: {about} {key}: {outcome}"));
        self.daemons[daemon].schedule.performed(entry, report);
    }

    fn describe(&self, project: &ProjectId, report: &Report) -> String {
        let references = &self.policy(project).references;
        match report {
            Report::Task(event) => words::task_event(event, references),
            Report::Project(event) => words::project_event(event),
            Report::Message { to, received, .. } => {
                format!("to {to}: {}", words::task_event(received, references))
            }
            Report::Failed(failure) => failure.to_string(),
        }
    }

    /// Answers a task's queries, one after the other.
    pub(super) fn run_queries(&mut self, daemon: usize, mut of: TaskQueries) -> Result<(), Crashed> {
        match of.rest.pop_front() {
            Some(query) => self.next_query_step(daemon, of, query, Vec::new()),
            None => {
                self.daemons[daemon].schedule.queries_ended(of.task, of.has_failed);
                Ok(())
            }
        }
    }

    fn next_query_step(
        &mut self,
        daemon: usize,
        mut of: TaskQueries,
        query: Query,
        said: Vec<Reply>,
    ) -> Result<(), Crashed> {
        let store = self.daemons[daemon].store;
        let facts = self.stores[store].load(&of.task.0, &of.task.1).task;
        match perform::next_query_step(&query, &facts, self.policy(&of.task.0), &said) {
            Next::Call(call) => {
                let project = of.task.0.clone();
                self.send(daemon, &project, Pending::Query { of, query, said }, call, None)
            }
            Next::Done(Ok(event)) => {
                let is_closed = matches!(&event, TaskEvent::PrRead { pr } if pr.state == PrState::Closed);
                self.daemons[daemon].schedule.query_answered(&of.task, &query, event.clone());
                self.run_jobs(daemon)?;
                if is_closed && self.is(Mutant::BelieveOneRead) {
                    let now = self.now;
                    self.now = now.after(4 * self.policy(&of.task.0).settle);
                    self.daemons[daemon].schedule.query_answered(&of.task, &query, event);
                    self.run_jobs(daemon)?;
                    self.now = now;
                }
                self.run_queries(daemon, of)
            }
            Next::Done(Err(_)) => {
                of.has_failed = true;
                self.run_queries(daemon, of)
            }
        }
    }

    pub(super) fn next_poll_step(
        &mut self,
        daemon: usize,
        project: ProjectId,
        since: Timestamp,
        said: Vec<Reply>,
    ) -> Result<(), Crashed> {
        let is_same = matches!(said[..], [Ok(Answer::Tracker(TrackerAnswer::Tickets(None)))]);
        if is_same && self.is(Mutant::CommandsOnlyWithListing) {
            let polled = Polled { tickets: Ok(None), commands: Ok(Vec::new()), since };
            self.finish_poll(daemon, &project, polled);
            return Ok(());
        }
        match perform::next_poll_step(self.policy(&project), since, &said) {
            Next::Call(call) => {
                let of = project.clone();
                self.send(daemon, &of, Pending::Poll { project, since, said }, call, None)
            }
            Next::Done(polled) => {
                self.finish_poll(daemon, &project, polled);
                Ok(())
            }
        }
    }

    fn finish_poll(&mut self, daemon: usize, project: &ProjectId, polled: Polled) {
        let clock = self.clock();
        self.daemons[daemon].schedule.polled(project, polled, clock);
    }
}

/// A call in a line.
pub(super) fn short_call(call: &Call) -> String {
    let text = format!("{call:?}");
    text.chars().take(90).collect()
}
