//! People: they write issues, change their minds, give orders with and without the right to, and do things by hand.

use std::time::Duration;

use pilot_core::fact::{By, Happened, Order, ProjectHappened};
use pilot_core::name::{HomeId, IssueNumber, PrNumber, ProjectId, TaskKey};
use pilot_core::perform::{Call, Thread};
use pilot_core::seen::{Author, AuthorKind, PrState};
use pilot_core::task::Key;
use pilot_core::turn::{Input, ProjectInput};

use super::world::{Dead, Event, World};

impl World {
    fn some_project(&mut self) -> ProjectId {
        let projects = self.projects();
        let place = self.random.below(projects.len());
        projects[place].clone()
    }

    fn some_issue(&mut self, project: &ProjectId) -> Option<IssueNumber> {
        let issues = self.issues(project);
        self.random.pick(&issues).copied()
    }

    fn some_pr(&mut self, project: &ProjectId) -> Option<PrNumber> {
        let prs = self.forge_of(project).now.prs.iter();
        let open: Vec<PrNumber> =
            prs.filter(|(_, pr)| pr.state == PrState::Open).map(|(number, _)| *number).collect();
        self.random.pick(&open).copied()
    }

    /// Somebody writes an issue.
    pub(super) fn new_issue(&mut self) {
        let project = self.some_project();
        let (login, kind) = match self.random.below(100) {
            0..=44 => ("ann", AuthorKind::Person),
            45..=74 => ("bob", AuthorKind::Person),
            75..=84 => ("eve", AuthorKind::Person),
            85..=91 => ("spam[bot]", AuthorKind::Bot),
            _ => ("helper[bot]", AuthorKind::Bot),
        };
        let mut body = match self.random.below(4) {
            0 => "Change src/auth/login.rs".to_owned(),
            1 => "Change web/page.ts and docs/guide.md".to_owned(),
            _ => "Make it better".to_owned(),
        };
        if let Some(before) = self.some_issue(&project).filter(|_| self.random.percent(25)) {
            body = format!("{body}\n\nDepends on: {before}");
        }
        let mut labels = std::collections::BTreeSet::new();
        if self.random.percent(85) {
            labels.insert("pilot".to_owned());
        }
        if self.random.percent(15) {
            labels.insert("p1".to_owned());
        }
        let author = Author { login: login.to_owned(), kind };
        let now = self.now;
        let issue = self.forge(&project).open_issue("Do something", &body, author, labels, now);
        self.say(format_args!("{login} writes {project} {issue}: {body:?}"));
        self.hint(&project, issue);
    }

    /// Three issues, a question, and another Pilot that has one of them for a quarter of an hour.
    pub(super) fn set_the_script(&mut self) {
        let Some((project, _)) = self.scene.projects.first().cloned() else { return };
        let now = self.now;
        let forge = self.forge(&project);
        forge.closes_issues = false;
        let issues = ["Change src/auth/login.rs", "Depends on: #1", "Change docs/guide.md"].map(|body| {
            let author = Author { login: "ann".to_owned(), kind: AuthorKind::Person };
            forge.open_issue("Do something", body, author, ["pilot".to_owned()].into(), now)
        });
        forge.comment(Thread::Issue(issues[0]), "bob", false, "/pilot why", now);
        let task = TaskKey::of_issue(issues[2]);
        let other = HomeId::parse("somebody").expect("a name");
        forge.change(now, |state| state.claims.insert(task.clone(), other));
        self.later(Duration::from_secs(15 * 60), Event::LetGo { project, task });
    }

    pub(super) fn let_go(&mut self, project: &ProjectId, task: &TaskKey) {
        let now = self.now;
        self.say(format_args!("another Pilot lets go of {project} {task}"));
        self.forge(project).change(now, |state| state.claims.remove(task));
    }

    /// A webhook about an issue, unless it is lost; sometimes twice.
    fn hint(&mut self, project: &ProjectId, issue: IssueNumber) {
        let labelled =
            self.forge_of(project).now.issues.get(&issue).is_some_and(|issue| issue.labels.contains("pilot"));
        for daemon in 0..self.daemons.len() {
            for _ in 0..self.random.between(1, 2) {
                if labelled && !self.random.percent(self.scene.weather.lost_webhooks) {
                    let wait = Duration::from_millis(self.random.between(100, 20_000));
                    self.later(wait, Event::Webhook { daemon, project: project.clone(), issue });
                }
            }
        }
    }

    /// Somebody does something.
    pub(super) fn somebody_acts(&mut self) {
        let project = self.some_project();
        match self.random.below(100) {
            0..=13 => self.new_issue(),
            14..=22 => self.toggle_label(&project),
            23..=29 => self.toggle_open(&project),
            30..=39 => self.edit(&project),
            40..=62 => self.command(&project),
            63..=67 => self.merge_by_hand(&project),
            68..=73 => self.close_by_hand(&project),
            74..=81 => self.push_by_hand(&project),
            82..=84 => self.make_conflict(&project),
            85..=89 => self.strip_label(&project),
            90..=93 => self.operator(&project),
            94..=96 => self.pause_project(&project),
            _ => self.spoof(&project),
        }
    }

    fn pardon(&mut self, project: &ProjectId, issue: IssueNumber) {
        self.laws.pardons.insert((project.clone(), issue));
    }

    fn toggle_label(&mut self, project: &ProjectId) {
        let Some(issue) = self.some_issue(project) else { return };
        let now = self.now;
        self.say(format_args!("somebody toggles the label of {project} {issue}"));
        self.pardon(project, issue);
        self.forge(project).change_issue(now, issue, |model| {
            if !model.labels.remove("pilot") {
                model.labels.insert("pilot".to_owned());
            }
        });
        self.hint(project, issue);
    }

    fn toggle_open(&mut self, project: &ProjectId) {
        let Some(issue) = self.some_issue(project) else { return };
        let now = self.now;
        self.say(format_args!("somebody opens or closes {project} {issue}"));
        self.pardon(project, issue);
        self.forge(project).change_issue(now, issue, |model| model.open = !model.open);
        self.hint(project, issue);
    }

    fn edit(&mut self, project: &ProjectId) {
        if let Some(issue) = self.some_issue(project) {
            self.edit_text(project, issue);
        }
    }

    fn edit_text(&mut self, project: &ProjectId, issue: IssueNumber) {
        let model = self.forge_of(project).now.issues.get(&issue);
        if model.is_none_or(|model| model.author.kind == AuthorKind::Me) {
            return;
        }
        let now = self.now;
        self.say(format_args!("somebody edits {project} {issue}"));
        let more = format!("\n\nMore at {}", now.0);
        self.forge(project).change_issue(now, issue, |model| model.body.push_str(&more));
        self.hint(project, issue);
    }

    fn command(&mut self, project: &ProjectId) {
        let Some(issue) = self.some_issue(project) else { return };
        let login = if self.random.percent(65) { "ann" } else { "eve" };
        let order = match self.random.below(10) {
            0..=2 => "cancel",
            3..=6 => "retry",
            7 => "pause",
            8 => "resume",
            _ => "why",
        };
        self.say(format_args!("{login} on {project} {issue}: /pilot {order}"));
        if login == "ann" {
            self.pardon(project, issue);
        }
        let now = self.now;
        self.forge(project).comment(Thread::Issue(issue), login, false, &format!("/pilot {order}"), now);
    }

    fn merge_by_hand(&mut self, project: &ProjectId) {
        let Some(pr) = self.some_pr(project) else { return };
        let now = self.now;
        self.say(format_args!("somebody merges {project} {pr}"));
        let _ = self.forge(project).merge(pr, None, now);
    }

    fn close_by_hand(&mut self, project: &ProjectId) {
        let Some(pr) = self.some_pr(project) else { return };
        let now = self.now;
        self.say(format_args!("somebody closes {project} {pr}"));
        self.forge(project).change_pr(now, pr, |model| model.state = PrState::Closed);
    }

    fn push_by_hand(&mut self, project: &ProjectId) {
        if let Some(pr) = self.some_pr(project) {
            self.push_to(project, pr);
        }
    }

    fn push_to(&mut self, project: &ProjectId, pr: PrNumber) {
        let now = self.now;
        let Some(model) = self.forge_of(project).now.prs.get(&pr).cloned() else { return };
        let sha = self.forge(project).new_sha();
        self.say(format_args!("somebody pushes to {project} {pr}"));
        let _ = self.forge(project).push(&model.branch, &sha, Some(&model.head), now);
        self.plan_ci(project, &sha);
    }

    /// Somebody acts at the very worst moment: between the last look and the act that it is for.
    pub(super) fn meddle(&mut self, project: &ProjectId, call: &Call, key: Option<&Key>) {
        let lane = key.map_or("", Key::lane);
        if self.calm || !["merge", "claim"].contains(&lane) || !self.random.permille(30) {
            return;
        }
        if let Call::Ci(sha) = call {
            let prs = self.forge_of(project).now.prs.iter();
            let pr = prs.filter(|(_, pr)| pr.head == *sha).map(|(number, _)| *number).next();
            if let Some(pr) = pr {
                self.push_to(project, pr);
            }
        }
        if let Call::PlaceClaim { task } = call {
            self.edit_text(project, task.number());
        }
    }

    fn make_conflict(&mut self, project: &ProjectId) {
        let Some(pr) = self.some_pr(project) else { return };
        let now = self.now;
        self.say(format_args!("{project} {pr} conflicts from now on"));
        self.forge(project).change_pr(now, pr, |model| model.conflicts = true);
    }

    fn strip_label(&mut self, project: &ProjectId) {
        let Some(issue) = self.some_issue(project) else { return };
        let now = self.now;
        self.say(format_args!("somebody takes pilot-in-progress off {project} {issue}"));
        self.forge(project).change_issue(now, issue, |model| {
            model.labels.remove("pilot-in-progress");
        });
    }

    fn operator(&mut self, project: &ProjectId) {
        let Some(issue) = self.some_issue(project) else { return };
        let daemon = self.random.below(self.daemons.len());
        if !self.listens(daemon) {
            return;
        }
        let known = self.ledgers[self.daemons[daemon].ledger].load(project, issue).task_version > 0;
        if !known {
            return;
        }
        let order = if self.random.percent(50) { Order::Cancel } else { Order::Retry };
        self.pardon(project, issue);
        self.say(format_args!("the operator: {} {project} {issue}", order.as_str()));
        let happened = Happened::Ordered { order, by: By::Operator };
        if let Err(Dead) = self.tell(daemon, project, issue, Some(Input { happened, settles: None })) {
            self.die(daemon);
        }
    }

    fn listens(&self, daemon: usize) -> bool {
        self.daemons[daemon].alive && !self.is_frozen(daemon)
    }

    fn pause_project(&mut self, project: &ProjectId) {
        let daemon = self.random.below(self.daemons.len());
        if !self.listens(daemon) {
            return;
        }
        self.say(format_args!("the operator pauses {project}"));
        let happened = ProjectHappened::Paused { by: "the operator".to_owned() };
        if let Err(Dead) = self.tell_project(daemon, project, Some(&ProjectInput { happened, settles: None }))
        {
            self.die(daemon);
        }
    }

    /// In the end nothing is left paused: people go home.
    pub(super) fn resume_everything(&mut self, project: &ProjectId) {
        for daemon in 0..self.daemons.len() {
            let ledger = self.daemons[daemon].ledger;
            if self.ledgers[ledger].load_project(project).facts.paused.is_some() {
                let happened = ProjectHappened::Resumed { by: "the operator".to_owned() };
                let input = ProjectInput { happened, settles: None };
                let _ = self.tell_project(daemon, project, Some(&input));
            }
            for (task, _, _) in self.ledgers[ledger].tasks(project) {
                if task.life.paused.is_some() {
                    let happened = Happened::Ordered { order: Order::Resume, by: By::Operator };
                    let _ =
                        self.tell_now(daemon, project, task.number, Some(&Input { happened, settles: None }));
                }
            }
        }
    }

    /// Somebody writes our own marks.
    fn spoof(&mut self, project: &ProjectId) {
        let Some(issue) = self.some_issue(project) else { return };
        let now = self.now;
        self.say(format_args!("eve fakes a mark on {project} {issue}"));
        let body = format!("<!-- pilot-status GH-{} -->", issue.0);
        self.forge(project).comment(Thread::Issue(issue), "eve", false, &body, now);
    }
}
