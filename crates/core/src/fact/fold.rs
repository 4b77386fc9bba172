//! What is known after an event.

use std::collections::BTreeSet;

use super::{
    Claim, CommandSource, CommentFact, Fix, LabelsFact, Landed, LastCommand, Life, ONE_CLOSING, Pushed, Run,
    RunEnding, TaskEvent, TaskFacts, TaskMessage, TaskPr, Trouble, UserCommand,
};
use crate::ci::{CiFacts, Reading};
use crate::id::{Branch, CommentId, Generation, PrNumber, Sha, TaskKey};
use crate::observed::{Failure, Mergeable, Pr, PrState, Ticket};
use crate::policy::Policy;
use crate::task::{Key, Lane, is_stuck, ours};
use crate::time::Timestamp;

/// The lanes that a task whose work is done cannot continue without.
const NEEDED: [Lane; 6] = [Lane::Push, Lane::Pr, Lane::Merge, Lane::Fix, Lane::ClosePr, Lane::Message];

impl TaskFacts {
    /// Takes an event in. Total: an event that is late or doubled changes nothing.
    pub fn fold(&mut self, at: Timestamp, event: &TaskEvent) {
        self.seq = self.seq.saturating_add(1);
        match event {
            TaskEvent::TicketRead { ticket } => self.read_ticket(at, ticket),
            TaskEvent::TicketGone => self.gone = true,
            TaskEvent::TrustRead { login, trust } => {
                self.trust = Some((login.clone(), *trust));
            }
            TaskEvent::DependencyRead { ticket, state } => {
                self.dependencies.insert(ticket.clone(), *state);
            }
            TaskEvent::BranchChecked { branch, found } => {
                if *branch == self.branch() {
                    self.life.branch_found = Some(*found);
                }
            }
            TaskEvent::CommandReceived { command, by } => self.obey(*command, by),
            TaskEvent::Claimed { generation, instance, home: _ } => {
                self.generation = *generation;
                let (generation, instance) = (*generation, instance.clone());
                self.life.claim = Some(Claim {
                    generation,
                    instance,
                    at,
                    placed: false,
                    started: None,
                    without_comments: false,
                });
                self.life.elsewhere = None;
                self.life.short = None;
            }
            TaskEvent::ClaimPlaced { generation } => {
                self.claim_shown = true;
                if let Some(claim) = self.claim_of(*generation) {
                    claim.placed = true;
                }
            }
            TaskEvent::ClaimLost { generation, owner } => self.claim_lost(*generation, owner),
            TaskEvent::ClaimRead { owner } => {
                if self.life.elsewhere.is_some() {
                    self.life.elsewhere = owner.clone();
                }
            }
            TaskEvent::ClaimReleased => self.claim_shown = false,
            TaskEvent::RunStarted { generation, body, without_comments } => {
                if let Some(claim) = self.claim_of(*generation) {
                    claim.started = Some(body.clone());
                    claim.without_comments = *without_comments;
                    self.life.has_begun = true;
                }
            }
            TaskEvent::Unclaimed { generation } => {
                if self.claim_of(*generation).is_some() {
                    self.life.claim = None;
                }
            }
            TaskEvent::TurnGivenBack => self.life.has_begun = false,
            TaskEvent::RunEnded { generation, ending } => self.run_ended(at, *generation, ending),
            TaskEvent::BudgetFreed => self.life.short = None,
            TaskEvent::Abandoned { generation } => {
                if self.claim_of(*generation).is_some() {
                    self.life.claim = None;
                    self.life.abandoned = self.life.abandoned.saturating_add(1);
                }
            }
            TaskEvent::Pushed { branch, sha } => self.pushed(at, branch, sha),
            TaskEvent::PrOpened { pr } => self.pr_opened(at, pr),
            TaskEvent::NoPrFound { branch } => self.lost.retain(|lost| lost != branch),
            TaskEvent::PrRead { pr } => self.read_pr(at, pr),
            TaskEvent::PrClosed { pr } => self.pr_closed(*pr),
            TaskEvent::ReviewsRead { pr, requested_by } => {
                if let Some(known) = self.life.pr.as_mut().filter(|known| known.pr.number == *pr) {
                    known.changes_requested_by = requested_by.clone();
                }
            }
            TaskEvent::CiRead { reading } => self.read_ci(at, reading),
            TaskEvent::BaseChecked { commit, on_base } => self.base_checked(at, commit, *on_base),
            TaskEvent::FixOpened { ticket, iteration, pr } => self.fix_opened(ticket, *iteration, *pr),
            TaskEvent::MessageReceived { message } => self.receive_message(message),
            TaskEvent::MessageSent { to, about } => {
                self.messages_sent.insert((to.clone(), *about));
            }
            TaskEvent::Labelled { labels } => {
                let writes = self.labels.as_ref().map_or(0, |fact| fact.writes).saturating_add(1);
                self.labels = Some(LabelsFact { labels: labels.iter().cloned().collect(), at, writes });
            }
            TaskEvent::Commented { comment, fingerprint } => self.commented(comment, fingerprint),
            TaskEvent::Replied { to } => {
                self.questions.remove(to);
                // A pull request has one Pilot, so there is no second answer to look for.
                if self.asked_on.remove(to).is_none() {
                    self.answered.insert(to.clone(), at);
                }
            }
            TaskEvent::AnsweredOnce { to } => {
                self.answered.remove(to);
            }
            TaskEvent::TicketClosed => self.life.ticket_closed = true,
            TaskEvent::BranchDeleted { branch } | TaskEvent::BranchKept { branch, .. } => {
                if *branch == self.branch() {
                    self.life.branch_settled = true;
                }
            }
            TaskEvent::Failed { key, failure } => self.failed(at, key, failure),
            TaskEvent::Ended { ending } => {
                if self.life.ended.is_none() {
                    self.life.ended = Some((ending.clone(), at));
                }
            }
        }
    }

    /// An action succeeded: what went wrong with its like before is over.
    pub fn settled(&mut self, key: &Key) {
        self.trouble.remove(&key.lane());
    }

    /// Whether a look brought anything that was not known. What is no message is not written down: an idle Pilot writes nothing.
    pub fn is_news(&self, event: &TaskEvent, policy: &Policy) -> bool {
        match event {
            TaskEvent::TicketRead { ticket } => match &self.ticket {
                Some((known, read)) => {
                    let fresh = ticket.updated_at >= known.updated_at;
                    // A read soon after labels were written says nothing about them; the next one does.
                    let early =
                        self.labels.as_ref().is_some_and(|fact| *read <= fact.at.after(policy.settle));
                    let labels = self.labels.as_ref().is_some_and(|fact| fact.labels != ours(ticket));
                    self.gone || (fresh && (ticket.differs(known) || (early && labels)))
                }
                None => true,
            },
            TaskEvent::TicketGone => !self.gone,
            TaskEvent::TrustRead { login, trust } => self.trust.as_ref() != Some(&(login.clone(), *trust)),
            TaskEvent::DependencyRead { ticket, state } => self.dependencies.get(ticket) != Some(state),
            TaskEvent::BranchChecked { branch, found } => {
                *branch == self.branch() && self.life.branch_found != Some(*found)
            }
            TaskEvent::PrRead { pr } => {
                let known = self.life.pr.as_ref();
                known.is_some_and(|known| {
                    known.pr.number == pr.number && (known.pr != *pr || known.closed.is_some())
                })
            }
            TaskEvent::ReviewsRead { pr, requested_by } => {
                let known = self.life.pr.as_ref().filter(|known| known.pr.number == *pr);
                known.is_some_and(|known| known.changes_requested_by != *requested_by)
            }
            TaskEvent::CiRead { reading } => self.is_news_of_ci(reading, policy),
            TaskEvent::ClaimRead { owner } => self.life.elsewhere.is_some() && self.life.elsewhere != *owner,
            TaskEvent::BaseChecked { .. } => self.life.landed.is_none(),
            TaskEvent::CommandReceived { command, by } => self.obeys(*command, by),
            TaskEvent::BudgetFreed => self.life.short.is_some(),
            TaskEvent::Claimed { .. }
            | TaskEvent::ClaimPlaced { .. }
            | TaskEvent::ClaimLost { .. }
            | TaskEvent::ClaimReleased
            | TaskEvent::RunStarted { .. }
            | TaskEvent::Unclaimed { .. }
            | TaskEvent::TurnGivenBack
            | TaskEvent::RunEnded { .. }
            | TaskEvent::Abandoned { .. }
            | TaskEvent::Pushed { .. }
            | TaskEvent::PrOpened { .. }
            | TaskEvent::NoPrFound { .. }
            | TaskEvent::PrClosed { .. }
            | TaskEvent::FixOpened { .. }
            | TaskEvent::MessageReceived { .. }
            | TaskEvent::MessageSent { .. }
            | TaskEvent::Labelled { .. }
            | TaskEvent::Commented { .. }
            | TaskEvent::Replied { .. }
            | TaskEvent::AnsweredOnce { .. }
            | TaskEvent::TicketClosed
            | TaskEvent::BranchDeleted { .. }
            | TaskEvent::BranchKept { .. }
            | TaskEvent::Failed { .. }
            | TaskEvent::Ended { .. } => true,
        }
    }

    /// An equal reading is message where it confirms one, and only there.
    fn is_news_of_ci(&self, reading: &Reading, policy: &Policy) -> bool {
        match (&self.life.pushed, &self.life.ci) {
            (Some(pushed), _) if pushed.sha != reading.sha => false,
            (Some(_), Some(known)) => known.reading != *reading || policy.ci.is_final(reading),
            (Some(_), None) => true,
            (None, _) => false,
        }
    }

    fn read_ticket(&mut self, at: Timestamp, ticket: &Ticket) {
        let stale = self.ticket().is_some_and(|known| ticket.updated_at < known.updated_at);
        if ticket.key == self.key && !stale {
            self.ticket = Some((ticket.clone(), at));
            self.gone = false;
            let named = &ticket.body.depends_on;
            self.dependencies.retain(|number, _| named.contains(number));
        }
    }

    fn obey(&mut self, command: UserCommand, by: &CommandSource) {
        if !self.obeys(command, by) {
            return;
        }
        let who = match by {
            CommandSource::Operator => "the operator".to_owned(),
            CommandSource::Comment { id, posted_at, login, .. } => {
                self.last_command = Some(LastCommand::with(self.last_command.take(), *posted_at, id));
                format!("@{login}")
            }
        };
        match command {
            UserCommand::Cancel => {
                self.life.cancelled.get_or_insert(who);
            }
            UserCommand::Pause => {
                self.life.paused.get_or_insert(who);
            }
            UserCommand::Resume => self.life.paused = None,
            UserCommand::Retry => self.retry(),
            UserCommand::Why => {
                if let CommandSource::Comment { id, pr, .. } = by {
                    self.questions.insert(id.clone());
                    self.asked_on.extend(pr.map(|pr| (id.clone(), pr)));
                }
            }
        }
    }

    /// What was refused is asked once more, with the work that is there. Else it is the one way back, a new life: not while
    /// something runs, not while the fix of CI is under way, and not for such a fix itself: its root is what can be begun again.
    fn retry(&mut self) {
        if self.life.paused.take().is_some() || self.ask_again() {
            return;
        }
        let life = &self.life;
        let open = life.ended.is_none();
        let under_way = open && (life.claim.is_some() || life.fix.is_some() || self.merged().is_some());
        if under_way || self.lineage.is_some() {
            return;
        }
        // That it reads closed is believed where the life ended with it.
        let is_left = |pr: &&TaskPr| pr.may_be_open() && (open || pr.pr.state == PrState::Open);
        if let Some(pr) = life.pr.as_ref().filter(is_left) {
            self.superseded.push(pr.pr.number);
        }
        if life.pr.is_none() && life.pushed.is_some() {
            self.lost.push(self.branch());
        }
        // A life that made nothing leaves the branch's name free.
        let life = &self.life;
        let used = self.work().is_some() || life.branch_found.is_some_and(|found| found.is_some());
        let number = life.number.saturating_add(u32::from(used));
        self.life = Life { number, ..Life::default() };
        self.trouble.retain(|_, trouble| trouble.may_have_happened);
    }

    /// Makes everything due that was refused until a person was told, of a task whose work is done; true when there was any. What
    /// others did to the pull request is not undone by a retry.
    fn ask_again(&mut self) -> bool {
        let life = &self.life;
        let is_over = life.ended.is_some() || life.cancelled.is_some() || self.work().is_none();
        let is_taken = life.pr.as_ref().is_some_and(|known| {
            let ours = life.pushed.as_ref().is_some_and(|pushed| pushed.sha == known.pr.head);
            !ours || known.pr.state != PrState::Open || known.pr.mergeable == Mergeable::No
        });
        if is_over || is_taken {
            return false;
        }
        let mut any = false;
        for lane in NEEDED {
            if let Some(trouble) = self.trouble.get_mut(&lane).filter(|trouble| is_stuck(trouble)) {
                // It still may have happened: only the counting starts over.
                trouble.count = 0;
                any = true;
            }
        }
        any
    }

    fn claim_of(&mut self, generation: Generation) -> Option<&mut Claim> {
        self.life.claim.as_mut().filter(|claim| claim.generation == generation)
    }

    fn claim_lost(&mut self, generation: Generation, owner: &str) {
        if self.claim_of(generation).is_some() {
            self.life.claim = None;
            self.life.elsewhere = Some(owner.to_owned());
            self.claim_shown = false;
        }
    }

    fn run_ended(&mut self, at: Timestamp, generation: Generation, ending: &RunEnding) {
        if self.claim_of(generation).is_none() {
            return;
        }
        self.life.claim = None;
        if let RunEnding::OverBudget { shortage } = ending {
            self.life.short = Some(shortage.clone());
            return;
        }
        let run = Run { generation, at, ending: ending.clone() };
        self.life.attempts = self.life.attempts.saturating_add(u32::from(run.counts()));
        self.life.run = Some(run);
    }

    fn pushed(&mut self, at: Timestamp, branch: &Branch, sha: &Sha) {
        if *branch == self.branch() && self.life.pushed.as_ref().is_none_or(|pushed| pushed.sha != *sha) {
            self.life.pushed = Some(Pushed { branch: branch.clone(), sha: sha.clone(), at });
            self.life.ci = None;
        }
    }

    fn pr_opened(&mut self, at: Timestamp, pr: &Pr) {
        if let Some(place) = self.lost.iter().position(|lost| *lost == pr.branch) {
            self.lost.remove(place);
            self.superseded.push(pr.number);
            return;
        }
        if self.life.pr.is_none() && pr.branch == self.branch() {
            self.life.pr = Some(TaskPr {
                pr: pr.clone(),
                opened: at,
                closed: None,
                closed_by_us: false,
                changes_requested_by: BTreeSet::new(),
            });
        }
        self.read_pr(at, pr);
    }

    /// What is merged stays merged and what Pilot closed stays closed, whatever a stale read says.
    fn read_pr(&mut self, at: Timestamp, pr: &Pr) {
        if let PrState::Merged { .. } = pr.state {
            self.superseded.retain(|old| *old != pr.number);
        }
        let Some(known) = self.life.pr.as_mut().filter(|known| known.pr.number == pr.number) else { return };
        match (&known.pr.state, &pr.state) {
            (PrState::Merged { .. }, _) => {}
            (_, PrState::Merged { .. }) => known.pr = pr.clone(),
            (_, _) if known.closed_by_us => {}
            (_, PrState::Open) => {
                known.pr = pr.clone();
                known.closed = None;
            }
            (_, PrState::Closed) => {
                let lasting = known.closed.filter(|(_, last)| at.since(*last) <= ONE_CLOSING);
                let since = lasting.map_or(at, |(since, _)| since);
                known.pr = pr.clone();
                known.closed = Some((since, at));
            }
        }
    }

    fn pr_closed(&mut self, number: PrNumber) {
        self.superseded.retain(|old| *old != number);
        if let Some(known) = self.life.pr.as_mut().filter(|known| known.pr.number == number) {
            known.closed_by_us = true;
            if known.pr.state == PrState::Open {
                known.pr.state = PrState::Closed;
            }
        }
    }

    fn read_ci(&mut self, at: Timestamp, reading: &Reading) {
        if self.life.pushed.as_ref().is_some_and(|pushed| pushed.sha == reading.sha) {
            self.life.ci = Some(CiFacts::with(self.life.ci.as_ref(), reading.clone(), at));
        }
    }

    /// The merge the forge tells of, with the pull request.
    pub fn merged(&self) -> Option<(&Sha, PrNumber)> {
        let pr = &self.life.pr.as_ref()?.pr;
        match &pr.state {
            PrState::Merged { commit } => Some((commit, pr.number)),
            PrState::Open | PrState::Closed => None,
        }
    }

    fn base_checked(&mut self, at: Timestamp, commit: &Sha, on_base: bool) {
        let Some((merged, pr)) = self.merged().filter(|(merged, _)| *merged == commit) else { return };
        if on_base {
            self.life.landed = Some(Landed::checked(merged.clone(), pr));
        } else {
            let since = self.life.not_on_base.map_or(at, |(since, _)| since);
            self.life.not_on_base = Some((since, at));
        }
    }

    fn fix_opened(&mut self, ticket: &TaskKey, iteration: u32, pr: PrNumber) {
        let ours = self.life.pr.as_ref().is_some_and(|known| known.pr.number == pr);
        if ours && self.life.fix.is_none() {
            self.life.fix = Some(Fix { ticket: ticket.clone(), iteration, gave_up: false });
        }
    }

    fn receive_message(&mut self, message: &TaskMessage) {
        match message {
            TaskMessage::Adopted(lineage) => {
                if self.lineage.is_none() && self.life.claim.is_none() && self.life.run.is_none() {
                    self.lineage = Some(lineage.clone());
                    self.life.branch_found = None;
                }
            }
            TaskMessage::LetGo => {
                self.life.cancelled.get_or_insert_with(|| "the issue it belongs to".to_owned());
            }
            TaskMessage::Landed(landed) => {
                if self.life.fix.is_some() {
                    self.life.landed.get_or_insert_with(|| landed.clone());
                }
            }
            TaskMessage::GaveUp { ticket } => {
                if let Some(fix) = self.life.fix.as_mut().filter(|fix| fix.ticket == *ticket) {
                    fix.gave_up = true;
                }
            }
        }
    }

    fn commented(&mut self, id: &CommentId, fingerprint: &str) {
        let writes = self.comment.as_ref().map_or(0, |fact| fact.writes).saturating_add(1);
        self.comment = Some(CommentFact { id: id.clone(), fingerprint: fingerprint.to_owned(), writes });
    }

    fn failed(&mut self, at: Timestamp, key: &Key, failure: &Failure) {
        let before = self.trouble.get(&key.lane());
        let count = before.map_or(0, |trouble| trouble.count).saturating_add(1);
        let may_have_happened =
            before.is_some_and(|trouble| trouble.may_have_happened) || failure.kind.may_have_happened();
        let trouble = Trouble { count, at, failure: failure.clone(), may_have_happened };
        self.trouble.insert(key.lane(), trouble);
    }

    /// The tasks whose CI this chain of fixes is for, the nearest first.
    pub fn parents(&self) -> impl Iterator<Item = &TaskKey> + '_ {
        self.lineage.iter().flat_map(|lineage| lineage.parents.iter().rev())
    }
}

#[cfg(test)]
mod tests;
