//! What is known after something happened.

use super::{
    By, Claim, CommentFact, Fix, Happened, LabelsFact, Landed, Life, News, ONE_CLOSING, Order, Pushed, Run,
    RunEnding, TaskFacts, TaskPr, Trouble,
};
use crate::ci::{CiFacts, Reading};
use crate::name::{Branch, CommentId, Generation, IssueNumber, PrNumber, Sha, TaskKey};
use crate::policy::Policy;
use crate::seen::{Failure, Issue, Mergeable, Pr, PrState};
use crate::task::{Key, is_stuck, ours};
use crate::time::Timestamp;

/// The lanes that a task whose work is done cannot go on without.
const NEEDED: [&str; 6] = ["push", "pr", "merge", "fix", "close-pr", "tell"];

impl TaskFacts {
    /// Takes in what happened. Total: what makes no sense here, because it is late or was told twice, changes nothing.
    pub fn fold(&mut self, at: Timestamp, happened: &Happened) {
        self.seq = self.seq.saturating_add(1);
        match happened {
            Happened::IssueSeen { issue } => self.issue_seen(at, issue),
            Happened::IssueGone => self.gone = true,
            Happened::PermissionSeen { login, permission } => {
                self.permission = Some((login.clone(), *permission));
            }
            Happened::DependencySeen { issue, state } => {
                self.dependencies.insert(*issue, *state);
            }
            Happened::BranchLookedAt { branch, found } => {
                if *branch == self.branch() {
                    self.life.branch_found = Some(*found);
                }
            }
            Happened::Ordered { order, by } => self.ordered(*order, by),
            Happened::Claimed { generation, instance, home: _ } => {
                self.generation = *generation;
                let (generation, instance) = (*generation, instance.clone());
                self.life.claim =
                    Some(Claim { generation, instance, at, placed: false, started: None, silent: false });
                self.life.elsewhere = None;
            }
            Happened::ClaimPlaced { generation } => {
                self.claim_shown = true;
                if let Some(claim) = self.claim_of(*generation) {
                    claim.placed = true;
                }
            }
            Happened::ClaimLost { generation, owner } => self.claim_lost(*generation, owner),
            Happened::ClaimSeen { owner } => {
                if self.life.elsewhere.is_some() {
                    self.life.elsewhere = owner.clone();
                }
            }
            Happened::ClaimReleased => self.claim_shown = false,
            Happened::RunStarted { generation, body, silent } => {
                if let Some(claim) = self.claim_of(*generation) {
                    claim.started = Some(body.clone());
                    claim.silent = *silent;
                }
            }
            Happened::Unclaimed { generation } => {
                if self.claim_of(*generation).is_some() {
                    self.life.claim = None;
                }
            }
            Happened::RunEnded { generation, ending } => self.run_ended(at, *generation, ending),
            Happened::Abandoned { generation } => {
                if self.claim_of(*generation).is_some() {
                    self.life.claim = None;
                    self.life.abandoned = self.life.abandoned.saturating_add(1);
                }
            }
            Happened::Pushed { branch, sha } => self.pushed(at, branch, sha),
            Happened::PrOpened { pr } => self.pr_opened(at, pr),
            Happened::NoPrFound { branch } => self.lost.retain(|lost| lost != branch),
            Happened::PrSeen { pr } => self.pr_seen(at, pr),
            Happened::PrClosed { pr } => self.pr_closed(*pr),
            Happened::CiRead { reading } => self.ci_read(at, reading),
            Happened::BaseLookedAt { commit, on_base } => self.base_looked_at(at, commit, *on_base),
            Happened::FixOpened { issue, iteration, pr } => self.fix_opened(*issue, *iteration, *pr),
            Happened::Heard { news } => self.heard(news),
            Happened::Told { to, about } => {
                self.told.insert((to.clone(), *about));
            }
            Happened::Labelled { labels } => {
                let writes = self.labels.as_ref().map_or(0, |fact| fact.writes).saturating_add(1);
                self.labels = Some(LabelsFact { labels: labels.iter().cloned().collect(), at, writes });
            }
            Happened::Commented { comment, fingerprint } => self.commented(*comment, fingerprint),
            Happened::Replied { to } => {
                self.questions.remove(to);
                self.answered.insert(*to, at);
            }
            Happened::AnsweredOnce { to } => {
                self.answered.remove(to);
            }
            Happened::IssueClosed => self.life.issue_closed = true,
            Happened::BranchDeleted { branch } | Happened::BranchKept { branch, .. } => {
                if *branch == self.branch() {
                    self.life.branch_settled = true;
                }
            }
            Happened::Failed { key, failure } => self.failed(at, key, failure),
            Happened::Ended { ending } => {
                if self.life.ended.is_none() {
                    self.life.ended = Some((ending.clone(), at));
                }
            }
        }
    }

    /// An action succeeded: what went wrong with its like before is over.
    pub fn settled(&mut self, key: &Key) {
        self.trouble.remove(key.lane());
    }

    /// Whether a look brought anything that was not known. What is no news is not written down: an idle Pilot writes nothing.
    pub fn is_news(&self, happened: &Happened, policy: &Policy) -> bool {
        match happened {
            Happened::IssueSeen { issue } => match &self.issue {
                Some((known, read)) => {
                    let fresh = issue.updated_at >= known.updated_at;
                    // A read soon after labels were written says nothing about them; the next one does.
                    let early =
                        self.labels.as_ref().is_some_and(|fact| *read <= fact.at.after(policy.settle));
                    let labels = self.labels.as_ref().is_some_and(|fact| fact.labels != ours(issue));
                    self.gone || (fresh && (issue.differs(known) || (early && labels)))
                }
                None => true,
            },
            Happened::IssueGone => !self.gone,
            Happened::PermissionSeen { login, permission } => {
                self.permission.as_ref() != Some(&(login.clone(), *permission))
            }
            Happened::DependencySeen { issue, state } => self.dependencies.get(issue) != Some(state),
            Happened::BranchLookedAt { branch, found } => {
                *branch == self.branch() && self.life.branch_found != Some(*found)
            }
            Happened::PrSeen { pr } => {
                let known = self.life.pr.as_ref();
                known.is_some_and(|known| {
                    known.pr.number == pr.number && (known.pr != *pr || known.closed.is_some())
                })
            }
            Happened::CiRead { reading } => self.is_news_of_ci(reading, policy),
            Happened::ClaimSeen { owner } => self.life.elsewhere.is_some() && self.life.elsewhere != *owner,
            Happened::BaseLookedAt { .. } => self.life.landed.is_none(),
            Happened::Ordered { order, by } => self.obeys(*order, by),
            Happened::Claimed { .. }
            | Happened::ClaimPlaced { .. }
            | Happened::ClaimLost { .. }
            | Happened::ClaimReleased
            | Happened::RunStarted { .. }
            | Happened::Unclaimed { .. }
            | Happened::RunEnded { .. }
            | Happened::Abandoned { .. }
            | Happened::Pushed { .. }
            | Happened::PrOpened { .. }
            | Happened::NoPrFound { .. }
            | Happened::PrClosed { .. }
            | Happened::FixOpened { .. }
            | Happened::Heard { .. }
            | Happened::Told { .. }
            | Happened::Labelled { .. }
            | Happened::Commented { .. }
            | Happened::Replied { .. }
            | Happened::AnsweredOnce { .. }
            | Happened::IssueClosed
            | Happened::BranchDeleted { .. }
            | Happened::BranchKept { .. }
            | Happened::Failed { .. }
            | Happened::Ended { .. } => true,
        }
    }

    /// An equal reading is news where it confirms one, and only there.
    fn is_news_of_ci(&self, reading: &Reading, policy: &Policy) -> bool {
        match (&self.life.pushed, &self.life.ci) {
            (Some(pushed), _) if pushed.sha != reading.sha => false,
            (Some(_), Some(known)) => known.reading != *reading || policy.ci.is_final(reading),
            (Some(_), None) => true,
            (None, _) => false,
        }
    }

    fn issue_seen(&mut self, at: Timestamp, issue: &Issue) {
        let stale = self.seen().is_some_and(|known| issue.updated_at < known.updated_at);
        if issue.number == self.number && !stale {
            self.issue = Some((issue.clone(), at));
            self.gone = false;
            let named = &issue.body.depends_on;
            self.dependencies.retain(|number, _| named.contains(number));
        }
    }

    fn ordered(&mut self, order: Order, by: &By) {
        if !self.obeys(order, by) {
            return;
        }
        let who = match by {
            By::Operator => "the operator".to_owned(),
            By::Comment { id, login, .. } => {
                self.last_order = Some(*id);
                format!("@{login}")
            }
        };
        match order {
            Order::Cancel => {
                self.life.cancelled.get_or_insert(who);
            }
            Order::Pause => {
                self.life.paused.get_or_insert(who);
            }
            Order::Resume => self.life.paused = None,
            Order::Retry => self.retry(),
            Order::Why => {
                if let By::Comment { id, .. } = by {
                    self.questions.insert(*id);
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
    /// somebody else did to the pull request is not undone by asking again.
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
            if let Some(trouble) = self.trouble.get_mut(lane).filter(|trouble| is_stuck(trouble)) {
                // It still may have happened: only the counting begins anew.
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
        let run = Run { generation, at, ending: ending.clone() };
        self.life.attempts = self.life.attempts.saturating_add(u32::from(run.counts()));
        self.life.run = Some(run);
        self.life.claim = None;
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
            self.life.pr = Some(TaskPr { pr: pr.clone(), opened: at, closed: None, closed_by_us: false });
        }
        self.pr_seen(at, pr);
    }

    /// What is merged stays merged and what Pilot closed stays closed, whatever a stale read says.
    fn pr_seen(&mut self, at: Timestamp, pr: &Pr) {
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

    fn ci_read(&mut self, at: Timestamp, reading: &Reading) {
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

    fn base_looked_at(&mut self, at: Timestamp, commit: &Sha, on_base: bool) {
        let Some((merged, pr)) = self.merged().filter(|(merged, _)| *merged == commit) else { return };
        if on_base {
            self.life.landed = Some(Landed::seen(merged.clone(), pr));
        } else {
            let since = self.life.not_on_base.map_or(at, |(since, _)| since);
            self.life.not_on_base = Some((since, at));
        }
    }

    fn fix_opened(&mut self, issue: IssueNumber, iteration: u32, pr: PrNumber) {
        let ours = self.life.pr.as_ref().is_some_and(|known| known.pr.number == pr);
        if ours && self.life.fix.is_none() {
            self.life.fix = Some(Fix { issue, iteration, gave_up: false });
        }
    }

    fn heard(&mut self, news: &News) {
        match news {
            News::Adopted(lineage) => {
                if self.lineage.is_none() && self.life.claim.is_none() && self.life.run.is_none() {
                    self.lineage = Some(lineage.clone());
                    self.life.branch_found = None;
                }
            }
            News::LetGo => {
                self.life.cancelled.get_or_insert_with(|| "the issue it belongs to".to_owned());
            }
            News::Landed(landed) => {
                if self.life.fix.is_some() {
                    self.life.landed.get_or_insert_with(|| landed.clone());
                }
            }
            News::GaveUp { issue } => {
                if let Some(fix) = self.life.fix.as_mut().filter(|fix| fix.issue == *issue) {
                    fix.gave_up = true;
                }
            }
        }
    }

    fn commented(&mut self, id: CommentId, fingerprint: &str) {
        let writes = self.comment.as_ref().map_or(0, |fact| fact.writes).saturating_add(1);
        self.comment = Some(CommentFact { id, fingerprint: fingerprint.to_owned(), writes });
    }

    fn failed(&mut self, at: Timestamp, key: &Key, failure: &Failure) {
        let before = self.trouble.get(key.lane());
        let count = before.map_or(0, |trouble| trouble.count).saturating_add(1);
        let may_have_happened =
            before.is_some_and(|trouble| trouble.may_have_happened) || failure.kind.may_have_happened();
        let trouble = Trouble { count, at, failure: failure.clone(), may_have_happened };
        self.trouble.insert(key.lane().to_owned(), trouble);
    }

    /// Everybody up the line of fixes, the nearest first.
    pub fn parents(&self) -> impl Iterator<Item = TaskKey> + '_ {
        let parents = self.lineage.iter().flat_map(|lineage| lineage.parents.iter().rev());
        parents.map(|number| TaskKey::of_issue(*number))
    }
}

#[cfg(test)]
mod tests;
