//! The task or run that a command names: `KEY`, `PROJECT/KEY`, or `KEY --project PROJECT`. A key that several projects have
//! is refused with their names, never guessed.

use clap::Args;
use pilot_core::id::TaskKey;
use pilot_store::{Execution, Store, TaskRow};

use super::logs::UnknownKey;
use crate::wrong_use::{WrongUse, bail_wrong_use};

/// `--project`, for commands that take a key.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ProjectArg {
    /// The project of the task, such as acme/app, where several have a task of this key
    #[arg(long, value_name = "PROJECT")]
    pub(crate) project: Option<String>,
}

/// A key, and the project it is said to be of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) key: String,
    pub(crate) project: Option<String>,
}

impl Target {
    pub(crate) fn parse(text: &str, project: Option<&str>) -> anyhow::Result<Target> {
        let (before, key) = match text.rsplit_once('/') {
            Some((before, key)) => (Some(before), key),
            None => (None, text),
        };
        if let (Some(one), Some(other)) = (before, project)
            && one != other
        {
            bail_wrong_use!("{text} names the project {one}, and --project names {other}: name one");
        }
        Ok(Target { key: key.to_owned(), project: before.or(project).map(str::to_owned) })
    }

    /// The key of a ticket's task; none for a run in the foreground or the id of a run.
    pub(crate) fn task_key(&self) -> Option<TaskKey> {
        TaskKey::parse(&self.key).ok()
    }

    /// The task that is meant; none where the store has no task of this key.
    pub(crate) async fn find_task(&self, store: &Store) -> anyhow::Result<Option<TaskRow>> {
        let Some(key) = self.task_key() else { return Ok(None) };
        let found = store.find_tasks(&key).await?;
        if found.is_empty() {
            return Ok(None);
        }
        let names: Vec<String> = found.iter().map(|row| row.facts.project.to_string()).collect();
        let mut meant = found.into_iter().filter(|row| self.is_project(row.facts.project.as_str()));
        match (meant.next(), meant.next()) {
            (Some(only), None) => Ok(Some(only)),
            (_, _) => Err(self.ambiguous(&names)),
        }
    }

    /// The last run of the task that is meant, or the run whose id begins with the key.
    pub(crate) async fn find_run(&self, store: &Store) -> anyhow::Result<Execution> {
        let unknown = || UnknownKey(self.key.clone());
        if self.project.is_none() {
            // Also where one of the tasks has no run yet.
            self.find_task(store).await?;
        }
        let runs = store.last_by_project(&self.key).await?;
        match (&runs[..], &self.project) {
            ([], None) => Ok(store.last_for(&self.key).await?.ok_or_else(unknown)?),
            ([only], None) => Ok(only.clone()),
            (_, None) => {
                let names: Vec<String> = runs.iter().map(|run| run.project_path.clone()).collect();
                Err(self.ambiguous(&names))
            }
            (_, Some(_)) => {
                for run in &runs {
                    if self.is_project(&run.project_path) {
                        return Ok(run.clone());
                    }
                    for project in store.projects_at(&run.project_path).await? {
                        if self.is_project(project.as_str()) {
                            return Ok(run.clone());
                        }
                    }
                }
                Err(unknown().into())
            }
        }
    }

    /// Whether a project, or the directory of its checkout, is the one that is named.
    fn is_project(&self, name: &str) -> bool {
        let path = name.split_once(':').map_or(name, |(_, path)| path);
        self.project.as_deref().is_none_or(|project| {
            name == project || path == project || path.rsplit('/').next() == Some(project)
        })
    }

    fn ambiguous(&self, names: &[String]) -> anyhow::Error {
        let key = &self.key;
        let of = names.join(" and of ");
        let example = names.first().map_or("", |name| name.split_once(':').map_or(&**name, |(_, path)| path));
        WrongUse::error(format_args!("{key} is a task of {of}: name its project, as in --project {example}"))
    }
}

#[cfg(test)]
mod tests {
    use super::Target;

    #[test]
    fn a_key_may_name_its_project() {
        for (text, flag, key, project) in [
            ("GH-12", None, "GH-12", None),
            ("GH-12", Some("acme/app"), "GH-12", Some("acme/app")),
            ("acme/app/GH-12", None, "GH-12", Some("acme/app")),
            ("app/GH-12", Some("app"), "GH-12", Some("app")),
        ] {
            let target = Target::parse(text, flag).unwrap();
            assert_eq!((&*target.key, target.project.as_deref()), (key, project), "{text}");
        }
        assert!(Target::parse("app/GH-12", Some("site")).unwrap_err().to_string().contains("name one"));
    }

    #[test]
    fn a_project_is_known_by_its_id_its_path_and_its_last_name() {
        let target = |project: &str| Target::parse("GH-1", Some(project)).unwrap();
        for project in ["github:acme/app", "acme/app", "app"] {
            assert!(target(project).is_project("github:acme/app"), "{project}");
        }
        assert!(!target("pp").is_project("github:acme/app"));
        assert!(target("/srv/app").is_project("/srv/app") && target("app").is_project("/srv/app"));
    }
}
