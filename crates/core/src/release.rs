//! Tags after merges: when there is something new on the base branch and no task of the project is active.

use serde::{Deserialize, Serialize};

use crate::fact::ProjectFacts;
use crate::id::Sha;
use crate::policy::{Policy, ReleasePolicy};
use crate::task::{Action, Planned, is_stuck, retry_at};
use crate::time::Timestamp;

/// A tag to be made. Its version depends on the tags that are there when it is made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewTag {
    /// The commit, which was seen on the base branch.
    pub commit: Sha,
    /// How much of a change it is.
    pub bump: Bump,
    pub prefix: String,
    /// Our last tag, which a stale list of tags may lack.
    #[serde(default)]
    pub last: Option<String>,
}

/// How much of a change a release is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bump {
    Patch,
    Minor,
    /// Something old does not work any more.
    Major,
}

/// What is decided about a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectDecision {
    pub actions: Vec<Planned>,
    /// When time alone changes something.
    pub wake: Option<Timestamp>,
}

/// Decides what becomes of a project: whether its merges are tagged now.
pub fn decide(project: &ProjectFacts, policy: &Policy, now: Timestamp) -> ProjectDecision {
    let nothing = ProjectDecision { actions: Vec::new(), wake: None };
    let (Some(release), Some(first), Some(last)) =
        (&policy.release, project.unreleased.first(), project.unreleased.last())
    else {
        return nothing;
    };
    let at_the_latest = first.at.after(release.max_wait);
    let busy = project.active.values().map(|active| active.until).filter(|until| *until > now).min();
    if let Some(until) = busy.filter(|_| now < at_the_latest) {
        return ProjectDecision { wake: Some(until.min(at_the_latest)), ..nothing };
    }
    let action = Action::Tag(new_tag(project, release, &last.commit));
    let key = action.key();
    let not_before = project
        .trouble
        .get(&key.lane())
        .map_or(now, |trouble| retry_at(action.doubles(), trouble, is_stuck(trouble), policy).max(now));
    ProjectDecision { actions: vec![Planned { key, action, not_before }], wake: None }
}

fn new_tag(project: &ProjectFacts, release: &ReleasePolicy, commit: &Sha) -> NewTag {
    let bumps = project.unreleased.iter().map(|merge| Bump::of(&merge.title));
    NewTag {
        commit: commit.clone(),
        bump: bumps.max().unwrap_or(Bump::Patch),
        prefix: release.prefix.clone(),
        last: project.tag.as_ref().map(|(tag, _)| tag.clone()),
    }
}

impl Bump {
    /// What a title says, where it is a conventional one; else that something was fixed.
    pub fn of(title: &str) -> Bump {
        let Some((kind, _)) = title.split_once(':') else { return Bump::Patch };
        let breaking = kind.ends_with('!');
        let kind = kind.trim_end_matches('!');
        let kind = kind.split_once('(').map_or(kind, |(kind, _)| kind).trim().to_ascii_lowercase();
        let known = ["feat", "feature", "fix", "perf", "refactor", "docs", "chore", "test", "ci", "build"];
        match kind.as_str() {
            kind if breaking && known.contains(&kind) => Bump::Major,
            "feat" | "feature" => Bump::Minor,
            _ => Bump::Patch,
        }
    }
}

/// A version: three numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u64, pub u64, pub u64);

impl Version {
    /// The version a tag names; nothing for tags of other kinds, and for what comes before a release.
    pub fn read(tag: &str, prefix: &str) -> Option<Version> {
        let mut numbers = tag.strip_prefix(prefix)?.split('.').map(|number| {
            let digits = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
            digits.then(|| number.parse::<u64>().ok()).flatten()
        });
        let version = Version(numbers.next()??, numbers.next()??, numbers.next()??);
        numbers.next().is_none().then_some(version)
    }

    /// The version behind it.
    pub fn next(self, bump: Bump) -> Version {
        let Version(major, minor, patch) = self;
        match bump {
            Bump::Major => Version(major.saturating_add(1), 0, 0),
            Bump::Minor => Version(major, minor.saturating_add(1), 0),
            Bump::Patch => Version(major, minor, patch.saturating_add(1)),
        }
    }

    pub fn tag(self, prefix: &str) -> String {
        let Version(major, minor, patch) = self;
        format!("{prefix}{major}.{minor}.{patch}")
    }
}

impl NewTag {
    /// The tag's name, given every tag there is: behind the highest of them and our last one; the first release is 0.1.0.
    pub fn name<'t>(&'t self, tags: impl IntoIterator<Item = &'t str>) -> String {
        let highest = tags
            .into_iter()
            .chain(self.last.as_deref())
            .filter_map(|tag| Version::read(tag, &self.prefix))
            .max();
        highest.map_or(Version(0, 1, 0), |version| version.next(self.bump)).tag(&self.prefix)
    }
}

#[cfg(test)]
mod tests;
