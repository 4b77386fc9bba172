//! Projects whose forge or tracker does not answer this daemon: a file below Pilot's directory, for `pilot status`. It is
//! about the daemon that runs, so nothing of it is in the store.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use pilot_core::id::ProjectId;
use pilot_core::snapshot::Outage;
use pilot_core::time::Timestamp;

use crate::clock;

#[derive(Debug)]
pub(crate) struct Outages {
    file: PathBuf,
    since: BTreeMap<ProjectId, (Timestamp, String)>,
}

fn path(home: &Path) -> PathBuf {
    home.join("daemon.outages")
}

/// Those of the daemon that runs.
pub(crate) fn read(home: &Path) -> BTreeMap<ProjectId, Outage> {
    let text = fs::read(path(home)).unwrap_or_default();
    let read: BTreeMap<ProjectId, (Timestamp, String)> = serde_json::from_slice(&text).unwrap_or_default();
    read.into_iter().map(|(project, (since, why))| (project, Outage { since, why })).collect()
}

impl Outages {
    /// For a daemon that has just started: what an earlier one wrote is over.
    pub(crate) fn new(home: &Path) -> Outages {
        let outages = Outages { file: path(home), since: BTreeMap::new() };
        outages.write();
        outages
    }

    pub(crate) fn begin(&mut self, project: ProjectId, why: &str) {
        let since = self.since.get(&project).map_or_else(clock::now, |(since, _)| *since);
        let outage = (since, why.to_owned());
        if self.since.insert(project, outage.clone()).as_ref() != Some(&outage) {
            self.write();
        }
    }

    pub(crate) fn end(&mut self, project: &ProjectId) {
        if self.since.remove(project).is_some() {
            self.write();
        }
    }

    /// A status that cannot be written holds nothing up.
    fn write(&self) {
        if self.since.is_empty() {
            let _ = fs::remove_file(&self.file);
            return;
        }
        let draft = self.file.with_extension("draft");
        let text = serde_json::to_vec(&self.since).unwrap_or_default();
        let _ = fs::write(&draft, text).and_then(|()| fs::rename(&draft, &self.file));
    }
}

#[cfg(test)]
mod tests {
    use pilot_core::id::ProjectId;

    use super::{Outages, read};

    #[test]
    fn an_outage_is_seen_until_it_ends_or_another_daemon_starts() {
        let home = tempfile::tempdir().unwrap();
        let project = ProjectId::parse("github:acme/app").unwrap();
        let mut outages = Outages::new(home.path());
        outages.begin(project.clone(), "no connection");
        let first = read(home.path())[&project].clone();
        outages.begin(project.clone(), "refused");
        let second = read(home.path())[&project].clone();
        assert_eq!((second.why.as_str(), second.since), ("refused", first.since));
        outages.end(&project);
        assert!(read(home.path()).is_empty());
        outages.begin(project, "no connection");
        drop(Outages::new(home.path()));
        assert!(read(home.path()).is_empty());
    }
}
