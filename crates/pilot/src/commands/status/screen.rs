//! The screen of `pilot status`: a snapshot in, text out. What needs a person comes first.

use pilot_core::snapshot::{BudgetSnapshot, Section, Snapshot, TaskSnapshot};
use pilot_core::words;

use crate::printable;
use crate::terminal::{Canvas, Ink, span};

/// How many tasks of a section are shown, unless all are asked for.
const SHOWN: usize = 20;

/// The cells of a progress bar.
const BAR: usize = 12;

pub(super) fn draw(snapshot: &Snapshot, is_all: bool, canvas: &Canvas) -> String {
    let mut screen = Screen { snapshot, canvas, is_all, text: String::new() };
    screen.head();
    screen.attention();
    screen.section("Running", Section::Running);
    screen.section("Pull requests", Section::PullRequest);
    screen.section("Queue", Section::Queue);
    if is_all {
        screen.section("Ended", Section::Ended);
    }
    if snapshot.tasks.is_empty() {
        let more = if is_all { "" } else { "; `pilot status --all` shows those that have ended" };
        screen.line("");
        screen.folded(0, &format!("There are no tasks{more}."));
    }
    screen.text
}

/// As much of a screen as a terminal has rows for.
pub(super) fn top(text: &str, rows: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    // The last row is the cursor's.
    let room = rows.saturating_sub(1).max(2);
    if lines.len() <= room {
        return text.to_owned();
    }
    let hidden = lines.len() - (room - 1);
    format!("{}\n… {hidden} more lines\n", lines[..room - 1].join("\n"))
}

struct Screen<'s> {
    snapshot: &'s Snapshot,
    canvas: &'s Canvas,
    is_all: bool,
    text: String,
}

impl<'s> Screen<'s> {
    fn line(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    fn folded(&mut self, indent: usize, text: &str) {
        for line in self.canvas.fold(text, indent) {
            self.line(&format!("{:indent$}{line}", ""));
        }
    }

    fn head(&mut self) {
        let daemon = match self.snapshot.daemon {
            Some(pid) => format!("The daemon is running, process {pid}."),
            None => "The daemon is not running; `pilot start` starts it.".to_owned(),
        };
        let budget = &self.snapshot.budget;
        let spent = if budget.is_enabled { format!(" {}", spent(budget)) } else { String::new() };
        self.folded(0, &format!("{daemon}{spent}"));
    }

    fn heading(&mut self, name: &str, count: usize, ink: Ink) {
        let (name, count) =
            (self.canvas.paint(ink, name), self.canvas.paint(Ink::Dim, &format!("({count})")));
        self.line("");
        self.line(&format!("{name} {count}"));
    }

    /// Projects and tasks that do not continue before a person does something.
    fn attention(&mut self) {
        let now = self.snapshot.at;
        let local = |at| self.canvas.local(at, now);
        let projects = self.snapshot.projects.iter();
        let notices: Vec<(String, String)> = projects
            .flat_map(|project| {
                let texts = words::project_attention(project, &local);
                texts.into_iter().map(|text| (project.project.path().to_owned(), text))
            })
            .collect();
        let tasks = self.tasks(Section::Attention);
        if notices.is_empty() && tasks.is_empty() {
            return;
        }
        self.heading("Needs you", notices.len() + tasks.len(), Ink::Red);
        for (project, text) in notices {
            let name = self.canvas.paint(Ink::Yellow, &printable::line(&project, 60));
            self.line(&format!("  {name}"));
            self.folded(6, &text);
        }
        self.list(&tasks);
    }

    fn section(&mut self, name: &str, section: Section) {
        let tasks = self.tasks(section);
        if !tasks.is_empty() {
            self.heading(name, tasks.len(), Ink::Bold);
            self.list(&tasks);
        }
    }

    /// The tasks of a section: the queue in its order, what ended and what needs a person with the newest first.
    fn tasks(&self, section: Section) -> Vec<&'s TaskSnapshot> {
        let mut tasks: Vec<&'s TaskSnapshot> =
            self.snapshot.tasks.iter().filter(|task| task.section == section).collect();
        match section {
            Section::Attention | Section::Ended => {
                tasks.sort_by_key(|task| std::cmp::Reverse(task.changed_at));
            }
            Section::Queue => {
                tasks.sort_by_key(|task| task.position.unwrap_or(usize::MAX));
            }
            Section::Running | Section::PullRequest => {}
        }
        tasks
    }

    fn list(&mut self, tasks: &[&TaskSnapshot]) {
        let most = if self.is_all { usize::MAX } else { SHOWN };
        let names: Vec<String> = tasks.iter().map(|task| self.name(task)).collect();
        let width = names.iter().take(most).map(|name| name.chars().count()).max().unwrap_or(0).min(40);
        for (task, name) in tasks.iter().zip(&names).take(most) {
            self.task(task, name, width);
        }
        if tasks.len() > most {
            self.folded(2, &format!("… and {} more: `pilot status --all`", tasks.len() - most));
        }
    }

    /// The key as commands take it: with the project where there are several.
    fn name(&self, task: &TaskSnapshot) -> String {
        match self.snapshot.projects.len() {
            0 | 1 => task.task.to_string(),
            _ => format!("{}/{}", task.project.path(), task.task),
        }
    }

    fn task(&mut self, task: &TaskSnapshot, name: &str, width: usize) {
        let (indent, state) = (width + 4, self.state(task));
        let taken = indent + printable::columns(&state) + usize::from(!state.is_empty()) * 2;
        let room = self.canvas.width.map_or(usize::MAX / 8, |columns| columns.saturating_sub(taken).max(12));
        let title = printable::line(&task.title, room);
        let ink = match (task.section, task.stage) {
            (Section::Attention, "failed") => Ink::Red,
            (Section::Attention, _) => Ink::Yellow,
            (Section::Running, _) => Ink::Green,
            (Section::PullRequest, _) => Ink::Cyan,
            (Section::Queue | Section::Ended, _) => Ink::Dim,
        };
        let state = if state.is_empty() { state } else { format!("{}  ", self.canvas.paint(ink, &state)) };
        let name = self.canvas.paint(Ink::Bold, &format!("{name:<width$}"));
        self.line(&format!("  {name}  {state}{title}"));
        match task.section {
            Section::Running => self.run(task, indent),
            Section::Queue => match task.position.filter(|_| task.behind.is_none()) {
                Some(position) => self.folded(indent, &words::queued(position)),
                None => self.folded(indent, &task.why),
            },
            Section::Attention | Section::PullRequest | Section::Ended => self.folded(indent, &task.why),
        }
    }

    /// The word before the title: what it is, and since when.
    fn state(&self, task: &TaskSnapshot) -> String {
        let since = span(self.snapshot.at.since(task.changed_at).as_secs());
        match task.section {
            Section::Attention => format!("{} {since}", task.stage),
            Section::Ended => format!("{} {since} ago", task.stage),
            Section::Queue => task.position.map_or_else(String::new, |position| format!("{position}.")),
            Section::Running | Section::PullRequest => String::new(),
        }
    }

    /// How far the agent is, and what it said last.
    fn run(&mut self, task: &TaskSnapshot, indent: usize) {
        let elapsed = span(task.elapsed_seconds.unwrap_or(0));
        let (Some(phase), Some(percent)) = (&task.phase, task.percent) else {
            self.folded(indent, &format!("{} ({elapsed})", task.why));
            return;
        };
        let done = usize::from(percent.min(100)) * BAR / 100;
        let (full, rest) = ("━".repeat(done), "─".repeat(BAR - done));
        let bar = format!("{}{}", self.canvas.paint(Ink::Green, &full), self.canvas.paint(Ink::Dim, &rest));
        self.line(&format!("{:indent$}{phase} {bar} {percent} %, {elapsed}, ${:.2}", "", task.cost_usd));
        if let Some(message) = task.last_message.as_deref().filter(|message| !message.is_empty()) {
            let room = self.canvas.width.map_or(usize::MAX / 8, |width| width.saturating_sub(indent + 2));
            let message = format!("“{}”", printable::line(message, room));
            self.line(&format!("{:indent$}{}", "", self.canvas.paint(Ink::Dim, &message)));
        }
    }
}

fn spent(budget: &BudgetSnapshot) -> String {
    format!(
        "Spent ${:.2} of ${:.2} today, ${:.2} of ${:.2} this month.",
        budget.today_usd, budget.daily_limit_usd, budget.this_month_usd, budget.monthly_limit_usd
    )
}

#[cfg(test)]
mod tests;
