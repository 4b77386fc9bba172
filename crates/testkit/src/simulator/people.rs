//! People: they write tickets, change their minds, give commands with and without being trusted, and do things by hand.

use std::collections::BTreeSet;
use std::time::Duration;

use pilot_core::fact::{CommandSource, ProjectEvent, TaskEvent, UserCommand};
use pilot_core::id::{HomeId, PrNumber, ProjectId, TaskKey};
use pilot_core::observed::{Author, AuthorKind, PrReview, PrState, ReviewDecision, Trust};
use pilot_core::port::{Call, ForgeCall, GitCall, Marker};
use pilot_core::schedule::{Record, RecordFor};
use pilot_core::task::{Key, Lane};
use pilot_core::turn::{Input, ProjectInput};

use super::forge::{CommentDraft, Thread, TicketDraft};
use super::laws::tickets_of;
use super::world::{Crashed, Event, World};

impl World {
    fn pick_project(&mut self) -> ProjectId {
        let projects = self.projects();
        let place = self.random.below(projects.len());
        projects[place].clone()
    }

    fn pick_ticket(&mut self, project: &ProjectId) -> Option<TaskKey> {
        let tickets = self.tickets(project);
        self.random.pick(&tickets).cloned()
    }

    fn pick_pr(&mut self, project: &ProjectId) -> Option<PrNumber> {
        let prs = self.forge_of(project).now.prs.iter();
        let open: Vec<PrNumber> = prs.filter(|(_, pr)| pr.is_open()).map(|(number, _)| *number).collect();
        self.random.pick(&open).copied()
    }

    pub(super) fn write_ticket(&mut self) {
        let project = self.pick_project();
        let (login, kind) = match self.random.below(100) {
            0..=44 => ("ann", AuthorKind::Person),
            45..=74 => ("bob", AuthorKind::Person),
            75..=81 => ("eve", AuthorKind::Person),
            82..=84 => ("dan", AuthorKind::Person),
            85..=91 => ("spam[bot]", AuthorKind::Bot),
            _ => ("helper[bot]", AuthorKind::Bot),
        };
        let mut text = match self.random.below(4) {
            0 => "Change src/auth/login.rs".to_owned(),
            1 => "Change web/page.ts and docs/guide.md".to_owned(),
            _ => "Make it better".to_owned(),
        };
        let mut depends_on = BTreeSet::new();
        if let Some(before) = self.pick_ticket(&project).filter(|_| self.random.percent(25)) {
            let written = self.forge_of(&project).write_key(&before);
            text = format!("{text}\n\nDepends on: {written}");
            depends_on.insert(before);
        }
        let mut labels = BTreeSet::new();
        if self.random.percent(85) {
            labels.insert("pilot".to_owned());
        }
        if self.random.percent(15) {
            labels.insert("p1".to_owned());
        }
        let author = Author { login: login.to_owned(), kind };
        let now = self.now;
        let title = "Do something";
        let draft = TicketDraft { title, text: &text, marker: None, depends_on, author, labels };
        let ticket = self.forge(&project).open_ticket(draft, now);
        self.trace_line(format_args!("{login} writes {project} {ticket}: {text:?}"));
        self.send_webhooks(&project, &ticket);
    }

    /// Three tickets, a question, and another Pilot that has claimed one of them for a quarter of an hour.
    pub(super) fn write_script(&mut self) {
        let Some((project, _)) = self.setup.projects.first().cloned() else { return };
        let now = self.now;
        let forge = self.forge(&project);
        forge.closes_tickets = false;
        let tickets = ["Change src/auth/login.rs", "Depends on: #1", "Change docs/guide.md"].map(|text| {
            let author = Author { login: "ann".to_owned(), kind: AuthorKind::Person };
            let labels = ["pilot".to_owned()].into();
            let (title, depends_on) = ("Do something", BTreeSet::new());
            forge.open_ticket(TicketDraft { title, text, marker: None, depends_on, author, labels }, now)
        });
        let on = Thread::Ticket(tickets[0].clone());
        let question = CommentDraft { on, login: "bob", is_own: false, text: "/pilot why", marker: None };
        forge.add_comment(question, now);
        let task = tickets[2].clone();
        let other = HomeId::parse("another-pilot").expect("a name");
        forge.change(now, |state| state.claims.insert(task.clone(), other));
        self.later(Duration::from_secs(15 * 60), Event::OtherReleases { project, task });
    }

    pub(super) fn release_other_claim(&mut self, project: &ProjectId, task: &TaskKey) {
        let now = self.now;
        self.trace_line(format_args!("another Pilot releases its claim of {project} {task}"));
        self.forge(project).change(now, |state| state.claims.remove(task));
    }

    /// A webhook about a ticket, unless it is lost; sometimes twice.
    fn send_webhooks(&mut self, project: &ProjectId, ticket: &TaskKey) {
        let model = self.forge_of(project).now.tickets.get(ticket);
        let is_labelled = model.is_some_and(|model| model.labels.contains("pilot"));
        for daemon in 0..self.daemons.len() {
            for _ in 0..self.random.between(1, 2) {
                if is_labelled && !self.random.percent(self.setup.rates.lost_webhooks) {
                    let wait = Duration::from_millis(self.random.between(100, 20_000));
                    let (project, ticket) = (project.clone(), ticket.clone());
                    self.later(wait, Event::Webhook { daemon, project, ticket });
                }
            }
        }
    }

    pub(super) fn intervene(&mut self) {
        let project = self.pick_project();
        match self.random.below(100) {
            0..=13 => self.write_ticket(),
            14..=22 => self.toggle_label(&project),
            23..=29 => self.toggle_open(&project),
            30..=39 => self.edit_ticket(&project),
            40..=62 => self.write_command(&project),
            63..=65 => self.merge_by_hand(&project),
            66..=70 => self.review_by_hand(&project),
            71..=73 => self.close_by_hand(&project),
            74..=81 => self.push_by_hand(&project),
            82..=84 => self.make_conflict(&project),
            85..=89 => self.remove_own_label(&project),
            90..=93 => self.command_as_operator(&project),
            94..=95 => self.pause_project(&project),
            96 => self.remove_access(&project),
            _ => self.fake_marker(&project),
        }
    }

    fn note_intervention(&mut self, project: &ProjectId, ticket: &TaskKey, is_withdrawal: bool) {
        self.laws.interventions.insert((project.clone(), ticket.clone()));
        if is_withdrawal {
            self.laws.remember_withdrawal(project, ticket);
        }
    }

    fn toggle_label(&mut self, project: &ProjectId) {
        let Some(ticket) = self.pick_ticket(project) else { return };
        let now = self.now;
        self.trace_line(format_args!("a user toggles the label of {project} {ticket}"));
        self.note_intervention(project, &ticket, true);
        self.laws.begun.remove(&(project.clone(), ticket.clone()));
        self.forge(project).change_ticket(now, &ticket, |model| {
            if !model.labels.remove("pilot") {
                model.labels.insert("pilot".to_owned());
            }
        });
        self.send_webhooks(project, &ticket);
    }

    fn toggle_open(&mut self, project: &ProjectId) {
        let Some(ticket) = self.pick_ticket(project) else { return };
        let now = self.now;
        self.trace_line(format_args!("a user opens or closes {project} {ticket}"));
        self.note_intervention(project, &ticket, true);
        self.laws.begun.remove(&(project.clone(), ticket.clone()));
        self.forge(project).change_ticket(now, &ticket, |model| model.is_open = !model.is_open);
        self.send_webhooks(project, &ticket);
    }

    fn edit_ticket(&mut self, project: &ProjectId) {
        if let Some(ticket) = self.pick_ticket(project) {
            self.edit_text(project, &ticket);
        }
    }

    fn edit_text(&mut self, project: &ProjectId, ticket: &TaskKey) {
        let model = self.forge_of(project).now.tickets.get(ticket);
        if model.is_none_or(|model| model.is_own()) {
            return;
        }
        let now = self.now;
        self.trace_line(format_args!("a user edits {project} {ticket}"));
        let more = format!("\n\nMore at {}", now.0);
        self.forge(project).change_ticket(now, ticket, |model| model.text.push_str(&more));
        self.send_webhooks(project, ticket);
    }

    fn write_command(&mut self, project: &ProjectId) {
        let Some(ticket) = self.pick_ticket(project) else { return };
        let login = if self.random.percent(65) { "ann" } else { "eve" };
        let command = match self.random.below(12) {
            0..=2 => "cancel",
            3..=6 => "retry",
            7 => "pause",
            8 => "resume",
            _ => "why",
        };
        let pr = self.pick_pr(project).filter(|_| self.random.percent(30));
        let of_pr = pr.and_then(|pr| tickets_of(self.forge_of(project), pr).into_iter().next());
        let (on, ticket) = match (pr, of_pr) {
            (Some(pr), Some(ticket)) => (Thread::Pull(pr), ticket),
            (_, _) => (Thread::Ticket(ticket.clone()), ticket),
        };
        self.trace_line(format_args!("{login} on {project} {on:?}: /pilot {command}"));
        if login == "ann" {
            self.note_intervention(project, &ticket, ["cancel", "retry"].contains(&command));
        }
        let (now, text) = (self.now, format!("/pilot {command}"));
        let draft = CommentDraft { on, login, is_own: false, text: &text, marker: None };
        self.forge(project).add_comment(draft, now);
    }

    /// A user requests changes, approves, or a maintainer dismisses what was requested.
    fn review_by_hand(&mut self, project: &ProjectId) {
        let Some(pr) = self.pick_pr(project) else { return };
        let login = match self.random.below(10) {
            0..=4 => "ann",
            5..=6 => "bob",
            7 => "dan",
            _ => "eve",
        };
        match self.random.below(10) {
            0..=5 => self.review(project, pr, login, ReviewDecision::RequestChanges),
            6..=7 => self.review(project, pr, login, ReviewDecision::Approve),
            _ => {
                let now = self.now;
                self.trace_line(format_args!("the reviews of {login} on {project} {} are dismissed", pr.0));
                self.forge(project).change_pr(now, pr, |model| {
                    model.reviews.retain(|(review, _)| review.login != login);
                });
            }
        }
    }

    /// Some pull requests are reviewed as soon as they are open, and some of the reviewers approve later. In the script it is a
    /// stranger, whose review does not count.
    pub(super) fn review_new(&mut self, project: &ProjectId, pr: PrNumber) {
        if self.setup.is_scripted {
            return self.review(project, pr, "eve", ReviewDecision::RequestChanges);
        }
        if self.are_faults_over || !self.random.percent(12) {
            return;
        }
        let login = self.random.pick(&["ann", "bob", "dan", "eve"]).copied().unwrap_or("ann");
        self.review(project, pr, login, ReviewDecision::RequestChanges);
        if self.random.percent(70) {
            let wait = Duration::from_secs(self.random.between(60, 1800));
            self.later(wait, Event::Approval { project: project.clone(), pr, login });
        }
    }

    pub(super) fn review(
        &mut self,
        project: &ProjectId,
        pr: PrNumber,
        login: &str,
        decision: ReviewDecision,
    ) {
        let now = self.now;
        self.trace_line(format_args!("{login} reviews {project} {}: {decision:?}", pr.0));
        let review = PrReview { login: login.to_owned(), decision };
        self.forge(project).change_pr(now, pr, |model| model.reviews.push((review, now)));
    }

    fn merge_by_hand(&mut self, project: &ProjectId) {
        let Some(pr) = self.pick_pr(project) else { return };
        let now = self.now;
        self.trace_line(format_args!("a user merges {project} {}", pr.0));
        let _ = self.forge(project).merge(pr, None, now);
    }

    fn close_by_hand(&mut self, project: &ProjectId) {
        let Some(pr) = self.pick_pr(project) else { return };
        let now = self.now;
        self.trace_line(format_args!("a user closes {project} {}", pr.0));
        self.forge(project).change_pr(now, pr, |model| model.state = PrState::Closed);
    }

    fn push_by_hand(&mut self, project: &ProjectId) {
        if let Some(pr) = self.pick_pr(project) {
            self.push_to(project, pr);
        }
    }

    fn push_to(&mut self, project: &ProjectId, pr: PrNumber) {
        let now = self.now;
        let Some(model) = self.forge_of(project).now.prs.get(&pr).cloned() else { return };
        let sha = self.forge(project).new_sha();
        self.trace_line(format_args!("a user pushes to {project} {}", pr.0));
        let _ = self.forge(project).push(&model.branch, &sha, Some(&model.head), now);
        self.plan_ci(project, &sha);
    }

    /// A user acts at the worst moment: between the last read and the write that it is for.
    pub(super) fn interfere(&mut self, project: &ProjectId, call: &Call, key: Option<&Key>) {
        let matters = key.is_some_and(|key| matches!(key.lane(), Lane::Merge | Lane::Claim));
        if self.are_faults_over || !matters || !self.random.permille(30) {
            return;
        }
        if let Call::Forge(ForgeCall::Checks(sha)) = call {
            let prs = self.forge_of(project).now.prs.iter();
            let pr = prs.filter(|(_, pr)| pr.head == *sha).map(|(number, _)| *number).next();
            if let Some(pr) = pr {
                self.push_to(project, pr);
            }
        }
        if let Call::Git(GitCall::PlaceClaim(task)) = call {
            self.edit_text(project, task);
        }
    }

    fn make_conflict(&mut self, project: &ProjectId) {
        let Some(pr) = self.pick_pr(project) else { return };
        let now = self.now;
        self.trace_line(format_args!("{project} {} conflicts from now on", pr.0));
        self.forge(project).change_pr(now, pr, |model| model.conflicts = true);
    }

    fn remove_own_label(&mut self, project: &ProjectId) {
        let Some(ticket) = self.pick_ticket(project) else { return };
        let now = self.now;
        self.trace_line(format_args!("a user takes pilot-in-progress off {project} {ticket}"));
        self.forge(project).change_ticket(now, &ticket, |model| {
            model.labels.remove("pilot-in-progress");
        });
    }

    fn command_as_operator(&mut self, project: &ProjectId) {
        let Some(ticket) = self.pick_ticket(project) else { return };
        let daemon = self.random.below(self.daemons.len());
        if !self.is_listening(daemon) {
            return;
        }
        let is_known = self.stores[self.daemons[daemon].store].load(project, &ticket).task_version > 0;
        if !is_known {
            return;
        }
        let command = if self.random.percent(50) { UserCommand::Cancel } else { UserCommand::Retry };
        self.note_intervention(project, &ticket, true);
        self.trace_line(format_args!("the operator: {} {project} {ticket}", command.as_str()));
        let id = format!("{} {project} {ticket}", self.now.0);
        self.daemons[daemon].schedule.receive_command(id, command, Some((project.clone(), ticket)));
        self.run_round_or_crash(daemon);
    }

    fn is_listening(&self, daemon: usize) -> bool {
        self.daemons[daemon].is_alive && !self.is_frozen(daemon)
    }

    /// A user who wrote tickets may not write to the repository any more.
    fn remove_access(&mut self, project: &ProjectId) {
        let now = self.now;
        self.trace_line(format_args!("bob loses write access to {project}"));
        // What he wrote is not worked on any more, as if a user had withdrawn it.
        let tickets = self.forge_of(project).now.tickets.iter();
        let written: Vec<TaskKey> =
            tickets.filter(|(_, ticket)| ticket.author.login == "bob").map(|(key, _)| key.clone()).collect();
        for ticket in written {
            self.note_intervention(project, &ticket, true);
        }
        let forge = self.forge(project);
        forge.people.insert("bob".to_owned(), Trust::Untrusted);
        forge.lost_access.entry("bob".to_owned()).or_insert(now);
    }

    fn pause_project(&mut self, project: &ProjectId) {
        let daemon = self.random.below(self.daemons.len());
        if !self.is_listening(daemon) {
            return;
        }
        self.trace_line(format_args!("the operator pauses {project}"));
        let event = ProjectEvent::Paused { by: "the operator".to_owned() };
        let input = ProjectInput { event, settles: None };
        if let Err(Crashed) = self.record_project(daemon, project, Some(&input)) {
            self.crash(daemon);
        }
    }

    /// In the end nothing is left paused.
    pub(super) fn resume_all(&mut self, project: &ProjectId) {
        for daemon in 0..self.daemons.len() {
            let store = self.daemons[daemon].store;
            if self.stores[store].load_project(project).facts.paused.is_some() {
                self.laws.forget_failures(project);
                let event = ProjectEvent::Resumed { by: "the operator".to_owned() };
                let input = ProjectInput { event, settles: None };
                let _ = self.record_project(daemon, project, Some(&input));
            }
            for (task, _, _) in self.stores[store].tasks(project) {
                if task.life.paused.is_some() {
                    let (command, by) = (UserCommand::Resume, CommandSource::Operator);
                    let event = TaskEvent::CommandReceived { command, by };
                    let input = Some(Input { event, settles: None });
                    let task = (project.clone(), task.key);
                    let _ = self.record_now(daemon, &Record { task, input, purpose: RecordFor::Event });
                }
            }
        }
    }

    /// A user writes a comment with one of our own markers.
    fn fake_marker(&mut self, project: &ProjectId) {
        let Some(ticket) = self.pick_ticket(project) else { return };
        let now = self.now;
        self.trace_line(format_args!("eve fakes a marker on {project} {ticket}"));
        let marker = Marker::Status(ticket.clone());
        let text = format!("<!-- {marker} -->");
        let on = Thread::Ticket(ticket);
        let draft = CommentDraft { on, login: "eve", is_own: false, text: &text, marker: Some(marker) };
        self.forge(project).add_comment(draft, now);
    }
}
