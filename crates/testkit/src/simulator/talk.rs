//! Requests and replies: what is under way between a Pilot and a forge, and what becomes of it on the wire.

use std::collections::VecDeque;
use std::time::Duration;

use pilot_core::fact::{By, Happened, Order, ProjectHappened};
use pilot_core::intake::read_command;
use pilot_core::name::{CommentId, HomeId, IssueNumber, ProjectId};
use pilot_core::perform::{self, Answer, Call, Next, Reply, Report};
use pilot_core::seen::{Failure, FailureKind, Permission, PrState};
use pilot_core::task::{Action, Key, Look};
use pilot_core::time::Timestamp;
use pilot_core::turn::{Applied, Input, Intent, ProjectInput};

use super::fault::{CallKind, Fault};
use super::forge::{Listed, MOST_STALE};
use super::mutant::Mutant;
use super::world::{Ask, CommentHeard, Dead, Event, World};

/// How long a reply is waited for.
const PATIENCE: Duration = Duration::from_secs(30);

/// What a Pilot waits for.
#[derive(Debug)]
pub(super) enum Talk {
    /// An action is being performed.
    Perform { intent: Intent, said: Vec<Reply>, repeated: bool },
    /// A task is being looked at.
    Look { project: ProjectId, issue: IssueNumber, look: Look, rest: VecDeque<Look>, failed: bool },
    /// The labelled issues were asked for.
    List { project: ProjectId },
    /// New comments were asked for.
    Comments { project: ProjectId },
    /// What somebody who gave an order may do was asked for.
    Order { project: ProjectId, first: (CommentId, IssueNumber, String, Order), rest: VecDeque<CommentHeard> },
}

/// What came back.
#[derive(Debug)]
pub(super) enum Heard {
    Reply(Reply),
    Listed(Result<Listed, Failure>),
    Comments(Result<Vec<CommentHeard>, Failure>),
}

impl World {
    /// Sends a request. Pilot may die right before and right after.
    pub(super) fn ask(
        &mut self,
        daemon: usize,
        project: &ProjectId,
        talk: Talk,
        ask: Ask,
        key: Option<Key>,
    ) -> Result<(), Dead> {
        self.may_die()?;
        let pilot = &mut self.daemons[daemon];
        pilot.last_talk += 1;
        let (number, epoch, home) = (pilot.last_talk, pilot.epoch, pilot.owner.clone());
        pilot.talks.insert(number, talk);
        let project = project.clone();
        let arrive = Event::Arrive { daemon, epoch, home, talk: number, project, ask, key };
        let wait = self.latency();
        self.later(wait, arrive);
        self.may_die()
    }

    /// A request reaches the forge.
    #[expect(clippy::too_many_arguments, reason = "they are what a request is")]
    pub(super) fn arrive(
        &mut self,
        daemon: usize,
        epoch: u64,
        home: &HomeId,
        talk: u64,
        project: &ProjectId,
        ask: &Ask,
        key: Option<&Key>,
    ) {
        let fault = self.fault(CallKind::of(ask));
        let failure = fault.and_then(|fault| fault.failure(self.now));
        let done = fault.is_none_or(Fault::is_done);
        let answer = done.then(|| match ask {
            Ask::Call(call) => Heard::Reply(self.call(daemon, epoch, home, project, call, key, fault)),
            Ask::Labelled { etag } => Heard::Listed(Ok(self.labelled(project, *etag, fault))),
            Ask::CommentsBehind(last) => Heard::Comments(Ok(self.comments(project, *last))),
        });
        if let (Ask::Call(Call::DeleteBranch { branch, .. }), Some(Fault::Conflict)) = (ask, fault) {
            self.laws.kept.insert(branch.clone());
        }
        let heard = match (answer, failure) {
            (_, Some(failure)) => Heard::failed(ask, failure),
            (Some(heard), None) if fault == Some(Fault::WithoutNewest) => heard.without_newest(ask),
            (Some(heard), None) => heard,
            (None, None) => return,
        };
        let wait = match fault {
            Some(Fault::LostRequest | Fault::LostReply) => PATIENCE,
            Some(Fault::Late) => PATIENCE.saturating_sub(Duration::from_secs(5)),
            Some(_) | None => self.latency(),
        };
        self.later(wait, Event::Reply { daemon, epoch, talk, heard });
    }

    /// What goes wrong with this request, if anything does.
    fn fault(&mut self, call: CallKind) -> Option<Fault> {
        let nth = self.made.count(call);
        if let Some(cell) = self.cell {
            return (cell.call == call && cell.nth == nth).then_some(cell.fault);
        }
        if self.calm || !self.random.permille(self.scene.weather.faults) {
            return None;
        }
        self.story.faults += 1;
        self.random.pick(&Fault::OF_A_STORM).copied()
    }

    /// A call of the core's, at the forge.
    #[expect(clippy::too_many_arguments, reason = "they are what a call is")]
    fn call(
        &mut self,
        daemon: usize,
        epoch: u64,
        home: &HomeId,
        project: &ProjectId,
        call: &Call,
        key: Option<&Key>,
        fault: Option<Fault>,
    ) -> Reply {
        self.meddle(project, call, key);
        let stale = !self.calm && self.random.permille(self.scene.weather.stale);
        let lag = if fault == Some(Fault::Stale) {
            MOST_STALE
        } else if stale {
            Duration::from_millis(self.random.between(0, MOST_STALE.as_millis() as u64))
        } else {
            Duration::ZERO
        };
        let then = self.now.before(lag);
        if let Some(reply) = self.forge_of(project).read(call, home, then) {
            self.laws.read(project, key, &reply);
            return self.glitch(project, reply);
        }
        self.judge_write(daemon, epoch, home, project, call, key);
        let now = self.now;
        let reply = if let (Call::Merge { pr, .. }, true) = (call, self.is(Mutant::MergeWithoutSha)) {
            self.forge(project).merge(*pr, None, now)
        } else {
            self.forge(project).write(call, home, now)
        };
        if reply.is_ok() {
            self.last_write = self.now;
        }
        self.after_write(project, call, &reply);
        reply
    }

    /// Once in a while a forge shows an open pull request as closed, for as long as a read may be stale.
    fn glitch(&mut self, project: &ProjectId, reply: Reply) -> Reply {
        let Ok(Answer::Pr(mut pr)) = reply else { return reply };
        let begins = !self.calm && self.scene.weather.stale > 0 && self.random.permille(10);
        let now = self.now;
        let until = self.forge(project).glitches.entry(pr.number).or_insert(Timestamp(0));
        if begins && now.since(*until) > 10 * MOST_STALE {
            *until = now.after(MOST_STALE);
        }
        if now < *until && pr.state == PrState::Open {
            pr.state = PrState::Closed;
        }
        Ok(Answer::Pr(pr))
    }

    /// What follows on the forge when something was written.
    fn after_write(&mut self, project: &ProjectId, call: &Call, reply: &Reply) {
        self.say(format_args!("forge: {} {}", short(call), if reply.is_ok() { "done" } else { "refused" }));
        match (call, reply) {
            (Call::Push { sha, .. }, Ok(_)) => self.plan_ci(project, sha),
            (Call::Merge { .. }, Ok(Answer::Merged(commit))) => {
                self.story.merges += 1;
                if !self.scene.scripted && self.random.percent(15) {
                    let from = self.now.after(Duration::from_secs(self.random.between(5, 90)));
                    self.forge(project).not_yet_on_base.insert(commit.clone(), from);
                }
            }
            (Call::CreateIssue { .. }, Ok(_)) => self.story.fixes += 1,
            (Call::CreateTag { .. }, Ok(_)) => self.story.tags += 1,
            (_, _) => {}
        }
    }

    fn labelled(&mut self, project: &ProjectId, etag: u64, fault: Option<Fault>) -> Listed {
        let stale =
            fault == Some(Fault::Stale) || !self.calm && self.random.permille(self.scene.weather.stale);
        let then = if stale { self.now.before(MOST_STALE / 2) } else { self.now };
        let label = self.policy(project).label.clone();
        self.forge_of(project).labelled(&label, etag, then)
    }

    fn comments(&self, project: &ProjectId, last: CommentId) -> Vec<CommentHeard> {
        let comments = self.forge_of(project).comments_behind(last, self.now);
        comments.into_iter().map(|(id, issue, comment)| CommentHeard { id, issue, comment }).collect()
    }

    /// A reply reaches who asked.
    pub(super) fn hear(&mut self, daemon: usize, talk: u64, heard: Heard) -> Result<(), Dead> {
        let Some(talk) = self.talk_of(daemon, talk) else { return Ok(()) };
        match (talk, heard) {
            (Talk::Perform { intent, said, repeated }, Heard::Reply(reply)) => {
                self.perform_on(daemon, intent, said, reply, repeated)
            }
            (Talk::Look { project, issue, look, rest, failed }, Heard::Reply(reply)) => {
                self.looked(daemon, &project, issue, &look, rest, failed, reply)
            }
            (Talk::List { project }, Heard::Listed(listed)) => self.listed(daemon, &project, listed),
            (Talk::Comments { project }, Heard::Comments(Ok(comments))) => {
                self.orders(daemon, &project, comments.into())
            }
            (Talk::Order { project, first, rest }, Heard::Reply(Ok(Answer::Permission(permission)))) => {
                self.ordered(daemon, &project, first, permission, rest)
            }
            // Whatever failed is asked again with the next tick.
            (_, _) => Ok(()),
        }
    }

    /// Begins to perform an action.
    pub(super) fn perform(&mut self, daemon: usize, intent: Intent) -> Result<(), Dead> {
        if self.is(Mutant::LabelBeforeClaim)
            && let (Action::PlaceClaim { .. }, Some(task)) = (&intent.action, &intent.task)
        {
            let labels = ["pilot-in-progress".to_owned()].into();
            let call = Call::AddLabels(task.number(), labels);
            let (epoch, home) = (self.daemons[daemon].epoch, self.daemons[daemon].owner.clone());
            let _ = self.call(daemon, epoch, &home, &intent.project, &call, Some(&intent.key), None);
        }
        self.perform_next(daemon, intent, Vec::new(), false)
    }

    fn perform_on(
        &mut self,
        daemon: usize,
        intent: Intent,
        mut said: Vec<Reply>,
        reply: Reply,
        repeated: bool,
    ) -> Result<(), Dead> {
        let lost = matches!(&reply, Err(failure) if failure.kind == FailureKind::Lost);
        if lost && self.is(Mutant::BlindRepeat) && !repeated {
            return self.perform_next(daemon, intent, said, true);
        }
        said.push(self.twisted(&intent, said.len(), reply));
        self.perform_next(daemon, intent, said, false)
    }

    /// A reply as a broken Pilot would take it.
    fn twisted(&self, intent: &Intent, place: usize, reply: Reply) -> Reply {
        match (self.mutant, &intent.action, place, reply) {
            (Some(Mutant::NoLookForPr), Action::OpenPr(_), 0, Ok(_)) => Ok(Answer::Prs(Vec::new())),
            (Some(Mutant::NoLookForFix), Action::OpenFix(_), 0, Ok(_)) => Ok(Answer::OwnIssues(Vec::new())),
            (Some(Mutant::NoLookForComment), _, _, Ok(Answer::Comments(_)))
            | (Some(Mutant::NoLookForAnswers), Action::AnswerOnce { .. }, _, Ok(Answer::Comments(_))) => {
                Ok(Answer::Comments(Vec::new()))
            }
            (Some(Mutant::DropClaim), Action::PlaceClaim { .. }, _, Ok(_)) => Ok(Answer::Claim(None)),
            (Some(Mutant::OldText), Action::StartRun(order), _, Ok(Answer::Issue(Some(mut read)))) => {
                read.issue.body.hash = order.body.clone();
                Ok(Answer::Issue(Some(read)))
            }
            (_, _, _, Ok(Answer::Ci(reading))) => Ok(Answer::Ci(self.twisted_ci(reading))),
            (_, _, _, reply) => reply,
        }
    }

    fn perform_next(
        &mut self,
        daemon: usize,
        intent: Intent,
        said: Vec<Reply>,
        repeated: bool,
    ) -> Result<(), Dead> {
        let policy = self.policy(&intent.project);
        match perform::next(&intent.action, policy, &said) {
            Next::Call(call) => {
                let (project, key) = (intent.project.clone(), intent.key.clone());
                self.ask(
                    daemon,
                    &project,
                    Talk::Perform { intent, said, repeated },
                    Ask::Call(call),
                    Some(key),
                )
            }
            Next::Report(report) => self.report(daemon, &intent, *report),
        }
    }

    /// Writes down what came of an action.
    fn report(&mut self, daemon: usize, intent: &Intent, report: Report) -> Result<(), Dead> {
        let (project, key) = (&intent.project, intent.key.clone());
        self.say(format_args!("pilot {daemon}: {} {key}: {}", whose(intent), outcome(&report)));
        let settles = Some(key.clone());
        match (report, &intent.task) {
            (Report::Task(happened), Some(task)) => {
                self.settle(daemon, project, task.number(), &Input { happened, settles })
            }
            (Report::Failed(failure), Some(task)) => {
                let happened = Happened::Failed { key, failure };
                self.settle(daemon, project, task.number(), &Input { happened, settles })
            }
            (Report::Tell { to, happened, told }, Some(task)) => {
                // First the one, then that it was: a death between the two tells it twice, not never.
                self.tell_now(daemon, project, to, Some(&Input { happened: *happened, settles: None }))?;
                self.settle(daemon, project, task.number(), &Input { happened: *told, settles })
            }
            (Report::Project(happened), _) => {
                self.tell_project(daemon, project, Some(&ProjectInput { happened, settles }))
            }
            (Report::Failed(failure), None) => {
                let happened = ProjectHappened::Failed { key, failure };
                self.tell_project(daemon, project, Some(&ProjectInput { happened, settles }))
            }
            (Report::Task(_) | Report::Tell { .. }, None) => Ok(()),
        }
    }

    /// Writes down what came of an action of a task's. When its claim is over, the action is given back at least.
    fn settle(
        &mut self,
        daemon: usize,
        project: &ProjectId,
        issue: IssueNumber,
        input: &Input,
    ) -> Result<(), Dead> {
        let Some(key) = input.settles.clone() else { return Ok(()) };
        if self.tell_now(daemon, project, issue, Some(input))? == Applied::Fenced {
            let failure = Failure::new(FailureKind::Interrupted, "the claim is over");
            let happened = Happened::Failed { key: key.clone(), failure };
            self.tell_now(daemon, project, issue, Some(&Input { happened, settles: Some(key) }))?;
        }
        Ok(())
    }

    /// Looks at a task, one thing after the other.
    pub(super) fn look(
        &mut self,
        daemon: usize,
        project: &ProjectId,
        issue: IssueNumber,
        mut rest: VecDeque<Look>,
        failed: bool,
    ) -> Result<(), Dead> {
        match rest.pop_front() {
            Some(look) => {
                let ledger = self.daemons[daemon].ledger;
                let task = self.ledgers[ledger].load(project, issue).task;
                let call = perform::ask(&look, &task);
                let talk = Talk::Look { project: project.clone(), issue, look, rest, failed };
                self.ask(daemon, project, talk, Ask::Call(call), None)
            }
            None => self.looked_at_everything(daemon, project, issue, failed),
        }
    }

    #[expect(clippy::too_many_arguments, reason = "they are what a look is")]
    fn looked(
        &mut self,
        daemon: usize,
        project: &ProjectId,
        issue: IssueNumber,
        look: &Look,
        rest: VecDeque<Look>,
        failed: bool,
        reply: Reply,
    ) -> Result<(), Dead> {
        let reply = match reply {
            Ok(Answer::Ci(reading)) => Ok(Answer::Ci(self.twisted_ci(reading))),
            Ok(Answer::Permission(_)) if self.is(Mutant::AnybodyMayStart) => {
                Ok(Answer::Permission(Permission::Admin))
            }
            Ok(Answer::OnBase(_)) if self.is(Mutant::MergedIsDone) => Ok(Answer::OnBase(true)),
            Ok(Answer::Issue(_))
                if self.is(Mutant::NoDependencies) && matches!(look, Look::Dependency { .. }) =>
            {
                let Look::Dependency { issue: on } = look else { return Ok(()) };
                let state = pilot_core::seen::DependencyState::Closed;
                let happened = Happened::DependencySeen { issue: *on, state };
                self.tell(daemon, project, issue, Some(Input { happened, settles: None }))?;
                return self.look(daemon, project, issue, rest, failed);
            }
            reply => reply,
        };
        let failed = match perform::heard(look, reply) {
            Ok(happened) => {
                let closed = matches!(&happened, Happened::PrSeen { pr } if pr.state == PrState::Closed);
                let input = Input { happened, settles: None };
                self.tell(daemon, project, issue, Some(input.clone()))?;
                if closed && self.is(Mutant::BelieveOneRead) {
                    let now = self.now;
                    self.now = now.after(4 * self.policy(project).settle);
                    self.tell(daemon, project, issue, Some(input))?;
                    self.now = now;
                }
                failed
            }
            Err(_) => true,
        };
        self.look(daemon, project, issue, rest, failed)
    }

    /// Orders in comments, one after the other: who gave it is asked first.
    fn orders(
        &mut self,
        daemon: usize,
        project: &ProjectId,
        mut rest: VecDeque<CommentHeard>,
    ) -> Result<(), Dead> {
        while let Some(heard) = rest.pop_front() {
            let Some(order) = read_command(&heard.comment.body) else {
                self.daemons[daemon].last_comment.insert(project.clone(), heard.id);
                continue;
            };
            let login = heard.comment.login.clone();
            let first = (heard.id, heard.issue, login.clone(), order);
            let talk = Talk::Order { project: project.clone(), first, rest };
            return self.ask(daemon, project, talk, Ask::Call(Call::Permission(login)), None);
        }
        Ok(())
    }

    fn ordered(
        &mut self,
        daemon: usize,
        project: &ProjectId,
        (id, issue, login, order): (CommentId, IssueNumber, String, Order),
        permission: Permission,
        rest: VecDeque<CommentHeard>,
    ) -> Result<(), Dead> {
        let permission = if self.is(Mutant::AnybodyMayOrder) { Permission::Admin } else { permission };
        let by = By::Comment { id, login, permission };
        let happened = Happened::Ordered { order, by };
        self.tell(daemon, project, issue, Some(Input { happened, settles: None }))?;
        self.daemons[daemon].last_comment.insert(project.clone(), id);
        self.orders(daemon, project, rest)
    }
}

fn whose(intent: &Intent) -> String {
    intent.task.as_ref().map_or_else(|| intent.project.to_string(), ToString::to_string)
}

fn outcome(report: &Report) -> String {
    match report {
        Report::Task(happened) => pilot_core::words::happened(happened),
        Report::Project(happened) => pilot_core::words::project_happened(happened),
        Report::Tell { to, happened, .. } => format!("to {to}: {}", pilot_core::words::happened(happened)),
        Report::Failed(failure) => failure.to_string(),
    }
}

/// A call in a line.
pub(super) fn short(call: &Call) -> String {
    let text = format!("{call:?}");
    text.chars().take(90).collect()
}
