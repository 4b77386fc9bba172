//! The list `projects`: what Pilot works on.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json, json};

use super::adapters::{AdapterDrafts, NamedServices};
use super::gates::read_name;
use super::node::{MapEntry, Node, Place, Value, join_path};
use super::problem::Fault;
use super::scalar::{bad, line, path, text};
use super::sections::{self, Flaw, Flaws, ItemKey, item_draft};
use super::unbuilt;
use crate::id::Branch;

/// More projects than this are a mistake.
const MOST: usize = 200;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    pub name: String,
    /// Where its checkout is: whole, or from `~/` on.
    pub path: String,
    /// The branch that everything is merged into; none is the forge's default branch.
    pub base: Option<String>,
    pub services: NamedServices,
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
    let (mut draft, mut adapters) = (ProjectDraft::default(), AdapterDrafts::default());
    let mut are_sections_whole = true;
    let is_rest_whole = sections::entries(item, "", "a project: a section of keys", flaws, |entry, flaws| {
        match adapters.read(entry, flaws) {
            Some(is_whole) => are_sections_whole &= is_whole,
            None => draft.take(entry, flaws),
        }
    });
    if is_rest_whole && are_sections_whole { draft.finish(adapters, item.place, flaws) } else { None }
}

/// Reads what a project says in a section below it; true when all of it could be read.
pub(super) fn read_section<T>(
    (name, keys): (&str, &[ItemKey<T>]),
    draft: &mut T,
    section: &Node,
    flaws: &mut Vec<Flaw>,
) -> bool {
    section.value == Value::Null
        || sections::entries(section, name, "a section of keys", flaws, |entry, flaws| {
            if !is_unbuilt(name, entry) {
                sections::read_key(("projects", keys), draft, name, entry, flaws);
            }
        })
}

fn is_unbuilt(above: &str, entry: &MapEntry) -> bool {
    unbuilt::look_up(&format!("projects.[].{}", join_path(above, &entry.key))).is_some()
}

impl ProjectDraft {
    fn take(&mut self, entry: &MapEntry, flaws: &mut Vec<Flaw>) {
        if is_unbuilt("", entry) {
            return;
        }
        if ProjectDraft::KEYS.iter().any(|key| key.name == entry.key) {
            sections::read_key(("projects", ProjectDraft::KEYS), self, "", entry, flaws);
            return;
        }
        let mut names = sections::names_below("", ProjectDraft::KEYS);
        names.extend(AdapterDrafts::NAMES);
        flaws.push(sections::unknown("projects", "", entry, &names));
    }

    /// The project, if everything it needs is there.
    fn finish(self, adapters: AdapterDrafts, place: Place, flaws: &mut Vec<Flaw>) -> Option<Project> {
        let mut complain =
            |key: &str, why: &str| flaws.push(Flaw::of(key, place, Fault::Nonsense(why.to_owned())));
        let (Some(name), Some(path)) = (self.name, self.path) else {
            complain("", "a project needs a name and a path");
            return None;
        };
        let services = adapters.finish().map_err(|(section, why)| complain(section, why)).ok()?;
        Some(Project { name, path, base: self.base, services })
    }
}

#[derive(Default)]
struct SeenProjects(BTreeMap<(&'static str, String), Place>);

impl SeenProjects {
    fn check(&mut self, project: &Project, place: Place, flaws: &mut Vec<Flaw>) {
        let path = project.path.trim_end_matches('/').to_owned();
        let both = [("name", project.name.to_lowercase()), ("path", path)];
        for (key, value) in both.into_iter().chain(project.services.identities()) {
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

pub(super) fn value(projects: &[Project]) -> Json {
    let project = |project: &Project| {
        let mut shown = Map::new();
        shown.insert("name".to_owned(), json!(project.name));
        shown.insert("path".to_owned(), json!(project.path));
        shown.insert("default_branch".to_owned(), json!(project.base));
        project.services.show(&mut shown);
        Json::Object(shown)
    };
    json!(projects.iter().map(project).collect::<Vec<_>>())
}

pub(super) fn schema() -> Json {
    let mut schema = sections::schema(ProjectDraft::KEYS, MOST, &["name", "path"]);
    AdapterDrafts::describe(&mut schema["items"]);
    for name in unbuilt::below("projects.[]") {
        schema["items"]["properties"][name] =
            json!({"description": "Not built yet: accepted, without effect."});
    }
    schema
}
