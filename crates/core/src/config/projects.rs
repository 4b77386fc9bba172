//! The list `projects`: what Pilot works on.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use super::gates::name;
use super::node::{Entry, Node, Place, Scalar, Value};
use super::problem::Fault;
use super::scalar::{bad, line, path, text};
use super::sections::{self, Flaw, Flaws};
use super::unbuilt;
use crate::name::{Branch, ProjectId};

/// More projects than this are nobody's.
const MOST: usize = 200;

/// One repository that Pilot works on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    /// What people call it.
    pub name: String,
    /// Where its checkout is: whole, or from `~/` on.
    pub path: String,
    /// The repository on GitHub, as in `owner/name`; none is `adapters.github.repo`, else where `origin` leads.
    pub github: Option<String>,
    /// The branch that everything is merged into; none is the one the forge says.
    pub default_branch: Option<String>,
}

/// One key of a project.
#[derive(Clone, Copy)]
struct Field {
    name: &'static str,
    about: &'static str,
    read: fn(&mut Draft, &Scalar) -> Result<(), Fault>,
}

/// Every key of a project, in the order of the documentation.
const FIELDS: [Field; 5] = [
    Field {
        name: "name",
        about: "What people call it; no two share it.",
        read: |draft, scalar| {
            draft.name = Some(name(scalar)?);
            Ok(())
        },
    },
    Field {
        name: "path",
        about: "Where its checkout is; it begins with `/` or `~/`.",
        read: |draft, scalar| {
            draft.path = Some(path(scalar)?);
            Ok(())
        },
    },
    Field {
        name: "default_branch",
        about: "The branch that everything is merged into; unset is the one that the forge says.",
        read: |draft, scalar| {
            let branch = Branch::parse(&line(scalar)?)
                .map_err(|_| bad(scalar, "that is no name of a branch".to_owned()))?;
            draft.default_branch = Some(branch.into());
            Ok(())
        },
    },
    Field {
        name: "github.owner",
        about: "Whose repository on GitHub it is; unset, with the next, is `adapters.github.repo`, else where `origin` leads.",
        read: |draft, scalar| {
            draft.owner = Some(part(scalar)?);
            Ok(())
        },
    },
    Field {
        name: "github.repo",
        about: "What it is called there.",
        read: |draft, scalar| {
            draft.repo = Some(part(scalar)?);
            Ok(())
        },
    },
];

/// A project as far as it is read.
#[derive(Default)]
struct Draft {
    name: Option<String>,
    path: Option<String>,
    default_branch: Option<String>,
    owner: Option<String>,
    repo: Option<String>,
}

/// Reads the list.
pub(super) fn read(node: &Node) -> Result<Vec<Project>, Flaws> {
    let wanted = "a list of projects, each with a name and a path";
    let mut flaws = Vec::new();
    let mut seen = Seen::default();
    let mut projects = Vec::new();
    for item in sections::items(node, wanted, MOST, "projects")? {
        let Some(project) = project(item, &mut flaws) else { continue };
        seen.check(&project, item.place, &mut flaws);
        projects.push(project);
    }
    if flaws.is_empty() { Ok(projects) } else { Err(Flaws(flaws)) }
}

fn project(item: &Node, flaws: &mut Vec<Flaw>) -> Option<Project> {
    let mut draft = Draft::default();
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

impl Draft {
    fn github(&mut self, section: &Node, flaws: &mut Vec<Flaw>) -> bool {
        sections::entries(section, "github", "a section of keys", flaws, |entry, flaws| {
            self.take("github.", entry, flaws);
        })
    }

    fn take(&mut self, above: &str, entry: &Entry, flaws: &mut Vec<Flaw>) {
        let key = format!("{above}{}", entry.key);
        if unbuilt::look_up(&format!("projects.[].{key}")).is_some() {
            return;
        }
        let Some(field) = FIELDS.iter().find(|field| field.name == key) else {
            flaws.push(unknown(above, entry));
            return;
        };
        if matches!(entry.value.value, Value::Null | Value::Bad) {
            return;
        }
        if let Err(fault) = text(&entry.value, "a text").and_then(|scalar| (field.read)(self, scalar)) {
            flaws.push(Flaw::of(field.name, entry.value.place, fault));
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
        let github = match (self.owner, self.repo) {
            (Some(owner), Some(repo)) => Some(format!("{owner}/{repo}")),
            (None, None) => None,
            (Some(_), None) | (None, Some(_)) => {
                complain("github", "a repository has an owner and a repo; write both");
                return None;
            }
        };
        Some(Project { name, path, github, default_branch: self.default_branch })
    }
}

/// What no two projects share, and where each stands.
#[derive(Default)]
struct Seen(BTreeMap<(&'static str, String), Place>);

impl Seen {
    fn check(&mut self, project: &Project, place: Place, flaws: &mut Vec<Flaw>) {
        let path = project.path.trim_end_matches('/').to_owned();
        let github = project.github.as_ref().map(|repo| ("github", repo.to_ascii_lowercase()));
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

fn unknown(above: &str, entry: &Entry) -> Flaw {
    let section = above.trim_end_matches('.');
    let names = FIELDS.iter().filter_map(|field| match field.name.strip_prefix(above)?.split_once('.') {
        Some((section, _)) => Some(section),
        None => field.name.strip_prefix(above),
    });
    let mut names: Vec<&str> = names.collect();
    names.dedup();
    sections::unknown("projects", section, entry, &names)
}

/// An owner or the name of a repository.
fn part(scalar: &Scalar) -> Result<String, Fault> {
    match ProjectId::parse(&format!("github:x/{}", scalar.text)) {
        Ok(_) => Ok(scalar.text.clone()),
        Err(_) => {
            Err(bad(scalar, "write the owner and the repo apart, as their address has them".to_owned()))
        }
    }
}

/// The list as it would be written, with everything that holds.
pub(super) fn value(projects: &[Project]) -> Json {
    let project = |project: &Project| {
        let github = project.github.as_deref().and_then(|repo| repo.split_once('/'));
        json!({
            "name": project.name,
            "path": project.path,
            "default_branch": project.default_branch,
            "github": github.map(|(owner, repo)| json!({"owner": owner, "repo": repo})),
        })
    };
    json!(projects.iter().map(project).collect::<Vec<_>>())
}

/// What the schema says of the list.
pub(super) fn schema() -> Json {
    let section = || json!({"type": "object", "additionalProperties": false, "properties": {}});
    let mut item = section();
    item["required"] = json!(["name", "path"]);
    item["properties"]["github"] = section();
    for field in &FIELDS {
        let property = json!({"type": "string", "description": field.about, "x-field": "text"});
        match field.name.split_once('.') {
            Some((above, name)) => item["properties"][above]["properties"][name] = property,
            None => item["properties"][field.name] = property,
        }
    }
    for name in unbuilt::below("projects.[]") {
        item["properties"][name] = json!({"description": "Not built yet: accepted, without effect."});
    }
    json!({"type": "array", "maxItems": MOST, "items": item})
}
