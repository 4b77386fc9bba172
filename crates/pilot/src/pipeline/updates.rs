//! The files an attempt wants written: checked together, staged together, put into place once.

use std::fs;

use pilot_core::pipeline::{MarkKind, Refusal, STAGED, StepMark, UpdateRules, update_paths};
use pilot_exec::confined::Confined;
use serde::{Deserialize, Serialize};

use super::place::RunFolder;

/// The file beside the run that lists what is staged; `seq` is the number of the attempt's fact.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct StagedUpdates {
    seq: u64,
    files: Vec<(String, String)>,
}

/// Stages the updates of an attempt, all of them or none; how many there are.
pub(crate) fn stage(
    project: &Confined,
    folder: &RunFolder,
    (run, seq): (&str, u64),
    rules: &UpdateRules<'_>,
    marks: &[StepMark],
    texts: &[String],
) -> Result<u32, Refusal> {
    let wanted = marks.iter().filter(|mark| mark.kind == MarkKind::Update);
    let wanted: Vec<&str> = wanted.map(|mark| mark.path.as_deref().unwrap_or_default()).collect();
    if wanted.is_empty() {
        return Ok(0);
    }
    let paths = update_paths(wanted.iter().copied(), rules)
        .map_err(|(path, fault)| Refusal { path, why: fault.to_string() })?;
    let refused = |path: &str, why: String| Refusal { path: path.to_owned(), why };
    for path in &paths {
        project.check(path).map_err(|error| refused(path, format!("cannot {error}")))?;
    }
    let name = |index: usize| format!("{STAGED}{}-{seq}-{index}", run.get(..13).unwrap_or(run));
    let files: Vec<(String, String)> =
        paths.into_iter().enumerate().map(|(index, path)| (path, name(index))).collect();
    // Before anything is staged, so that nothing is forgotten if Pilot dies.
    let staging = StagedUpdates { seq, files };
    write(folder, &staging).map_err(|why| refused(wanted[0], why))?;
    for ((path, staged), text) in staging.files.iter().zip(texts) {
        if let Err(error) = project.stage(path, staged, text.as_bytes()) {
            discard(project, folder);
            return Err(refused(path, format!("cannot {error}")));
        }
    }
    Ok(u32::try_from(staging.files.len()).unwrap_or(u32::MAX))
}

/// Puts what is staged into place. Idempotent.
pub(crate) fn place(project: &Confined, folder: &RunFolder) -> Result<(), String> {
    let Some(staging) = read(folder) else { return Ok(()) };
    let placed = project.place(&staging.files).map(drop).map_err(|error| format!("cannot {error}"));
    if placed.is_err() {
        discard(project, folder);
    }
    placed
}

/// Called when everything is in place and stored.
pub(crate) fn forget(folder: &RunFolder) {
    let _ = fs::remove_file(folder.staging());
}

/// Removes what an attempt staged whose end was never stored.
pub(crate) fn discard(project: &Confined, folder: &RunFolder) {
    for (path, staged) in read(folder).unwrap_or_default().files {
        project.discard(&path, &staged);
    }
    forget(folder);
}

fn write(folder: &RunFolder, staging: &StagedUpdates) -> Result<(), String> {
    let file = folder.staging();
    let text = serde_json::to_string(staging).map_err(|error| error.to_string())?;
    fs::write(&file, text).map_err(|error| format!("write {}: {error}", file.display()))
}

fn read(folder: &RunFolder) -> Option<StagedUpdates> {
    serde_json::from_slice(&fs::read(folder.staging()).ok()?).ok()
}
