//! The list `projects`: what Pilot works on.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use super::adapters::{ProjectForge, ProjectTracker};
use super::gates::read_name;
use super::node::{MapEntry, Node, Place, Value, join_path};
use super::problem::Fault;
use super::scalar::{bad, line, path, text};
use super::sections::{self, Flaw, Flaws, item_draft};
use super::unbuilt;
use crate::id::{Branch, ProjectId};

/// More projects than this are a mistake.
const MOST: usize = 200;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    pub name: String,
    /// Where its checkout is: whole, or from `~/` on.
    pub path: String,
    /// The branch that everything is merged into; none is the forge's default branch.
    pub base: Option<String>,
    pub tracker: ProjectTracker,
    pub forge: ProjectForge,
}

item_draft! {
    /// A project, with what was read of it so far. Its keys are in the order of the documentation.
    struct ProjectDraft {
        /// What people call it; no two share it.
        "name" name: String, read_name;
        /// Where its checkout is; it begins with `/` or `~/`.
        "path" path: String, read_path;
        /// The branch that everything is merged into; unset is the forge's default branch.
        "default_branch" base: String, read_branch;
        /// The owner of its repository on GitHub; unset, with `github.repo`, is `adapters.github.repo`, else what the remote
        /// `origin` names.
        "github.owner" owner: String, read_part;
        /// The name of that repository.
        "github.repo" repo: String, read_part;
    }
}

pub(super) fn read(node: &Node) -> Result<Vec<Project>, Flaws> {
    let wanted = "a list of projects, each with a name and a path";
    let mut flaws = Vec::new();
    let mut seen = SeenProjects::default();
    let mut projects = Vec::new();
    for item in sections::items(node, wanted, MOST, "projects")? {
        let Some(project) = project(item, &mut flaws) else { continue };
        seen.check(&project, item.place, &mut flaws);
        projects.push(project);
    }
    if flaws.is_empty() { Ok(projects) } else { Err(Flaws(flaws)) }
}

fn project(item: &Node, flaws: &mut Vec<Flaw>) -> Option<Project> {
    let mut draft = ProjectDraft::default();
    let mut repository = true;
    let rest = sections::entries(item, "", "a project: a section of keys", flaws, |entry, flaws| {
        match (entry.key.as_str(), &entry.value.value) {
            ("github", Value::Null) => {}
            ("github", _) => repository = draft.github(&entry.value, flaws),
            _ => draft.take("", entry, flaws),
        }
    });
    if rest && repository { draft.finish(item.place, flaws) } else { None }
}

impl ProjectDraft {
    fn github(&mut self, section: &Node, flaws: &mut Vec<Flaw>) -> bool {
        sections::entries(section, "github", "a section of keys", flaws, |entry, flaws| {
            self.take("github", entry, flaws);
        })
    }

    fn take(&mut self, above: &str, entry: &MapEntry, flaws: &mut Vec<Flaw>) {
        if unbuilt::look_up(&format!("projects.[].{}", join_path(above, &entry.key))).is_none() {
            sections::read_key(("projects", ProjectDraft::KEYS), self, above, entry, flaws);
        }
    }

    /// The project, if everything it needs is there.
    fn finish(self, place: Place, flaws: &mut Vec<Flaw>) -> Option<Project> {
        let mut complain =
            |key: &str, why: &str| flaws.push(Flaw::of(key, place, Fault::Nonsense(why.to_owned())));
        let (Some(name), Some(path)) = (self.name, self.path) else {
            complain("", "a project needs a name and a path");
            return None;
        };
        let repo = match (self.owner, self.repo) {
            (Some(owner), Some(repo)) => Some(format!("{owner}/{repo}")),
            (None, None) => None,
            (Some(_), None) | (None, Some(_)) => {
                complain("github", "a repository has an owner and a repo; write both");
                return None;
            }
        };
        Some(Project {
            name,
            path,
            base: self.base,
            tracker: ProjectTracker::Github { repo: repo.clone() },
            forge: ProjectForge::Github { repo },
        })
    }
}

#[derive(Default)]
struct SeenProjects(BTreeMap<(&'static str, String), Place>);

impl SeenProjects {
    fn check(&mut self, project: &Project, place: Place, flaws: &mut Vec<Flaw>) {
        let path = project.path.trim_end_matches('/').to_owned();
        let github = project.forge.repo().map(|repo| ("github", repo.to_ascii_lowercase()));
        let both = [("name", project.name.to_lowercase()), ("path", path)];
        for (key, value) in both.into_iter().chain(github) {
            let shown = format!("{value:?}");
            if let Some(first) = self.0.insert((key, value), place) {
                let why = format!("{shown} is also that of the project in line {}", first.line);
                flaws.push(Flaw::of(key, place, Fault::Nonsense(why)));
            }
        }
    }
}

fn read_path(node: &Node) -> Result<Option<String>, Fault> {
    path(text(node, "a text")?).map(Some)
}

fn read_branch(node: &Node) -> Result<Option<String>, Fault> {
    let scalar = text(node, "a text")?;
    let branch =
        Branch::parse(&line(scalar)?).map_err(|_| bad(scalar, "that is no name of a branch".to_owned()))?;
    Ok(Some(branch.into()))
}

fn read_part(node: &Node) -> Result<Option<String>, Fault> {
    let scalar = text(node, "a text")?;
    let is_one_part = !scalar.text.contains('/');
    match ProjectId::parse(&format!("github:x/{}", scalar.text)) {
        Ok(_) if is_one_part => Ok(Some(scalar.text.clone())),
        Ok(_) | Err(_) => {
            Err(bad(scalar, "write the owner and the repo apart, as their address has them".to_owned()))
        }
    }
}

pub(super) fn value(projects: &[Project]) -> Json {
    let project = |project: &Project| {
        let github = project.forge.repo().and_then(|repo| repo.split_once('/'));
        json!({
            "name": project.name,
            "path": project.path,
            "default_branch": project.base,
            "github": github.map(|(owner, repo)| json!({"owner": owner, "repo": repo})),
        })
    };
    json!(projects.iter().map(project).collect::<Vec<_>>())
}

pub(super) fn schema() -> Json {
    let mut schema = sections::schema(ProjectDraft::KEYS, MOST, &["name", "path"]);
    for name in unbuilt::below("projects.[]") {
        schema["items"]["properties"][name] =
            json!({"description": "Not built yet: accepted, without effect."});
    }
    schema
}
