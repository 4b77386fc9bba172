//! Pipelines to begin with, as `pilot init --pipeline NAME` writes them.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::wrong_use::bail_wrong_use;

/// The names, the most usual first.
pub(crate) const NAMES: [&str; 3] = ["implement-and-review", "code-review", "plan-and-build"];

const REVIEWER: (&str, &str) = ("agents/reviewer.md", include_str!("templates/reviewer.md"));

/// The inputs that `pilot run` needs for this pipeline, as an example.
pub(crate) fn sample_inputs(name: &str) -> &'static str {
    match name {
        "implement-and-review" => " --input goal=\"Add a --json flag to the list command\"",
        "plan-and-build" => " --input goal=\"Let users log in\"",
        _ => "",
    }
}

/// Writes the pipeline of this name into the project in `dir`, and says which files it wrote. Nothing that is there is
/// overwritten: then nothing at all is written.
pub(crate) fn write_pipeline(name: &str, dir: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let (text, with_reviewer) = match name {
        "implement-and-review" => (include_str!("templates/implement-and-review.yaml"), true),
        "code-review" => (include_str!("templates/code-review.yaml"), false),
        "plan-and-build" => (include_str!("templates/plan-and-build.yaml"), true),
        _ => bail_wrong_use!("there is no pipeline {name:?}; there are {}", NAMES.join(", ")),
    };
    let files = [("pipeline.yaml", text)].into_iter().chain(with_reviewer.then_some(REVIEWER));
    let files: Vec<(&str, &str)> = files.collect();
    let folder = dir.join(super::load::FOLDER);
    let paths: Vec<PathBuf> = files.iter().map(|(file, _)| folder.join(file)).collect();
    if let Some(there) = paths.iter().find(|path| path.symlink_metadata().is_ok()) {
        bail_wrong_use!("{} exists already: move it away first", there.display());
    }
    for (path, (_, text)) in paths.iter().zip(files) {
        let parent = path.parent().unwrap_or(dir);
        fs::create_dir_all(parent).with_context(|| format!("make {}", parent.display()))?;
        let file = fs::OpenOptions::new().write(true).create_new(true).open(path);
        let mut file = match file {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                bail_wrong_use!("{} exists already: move it away first", path.display())
            }
            file => file.with_context(|| format!("write {}", path.display()))?,
        };
        file.write_all(text.as_bytes()).with_context(|| format!("write {}", path.display()))?;
    }
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use pilot_exec::confined::Confined;

    use super::{NAMES, sample_inputs, write_pipeline};
    use crate::pipeline::load::load;

    #[test]
    fn every_template_is_a_good_pipeline_and_overwrites_nothing() {
        for name in NAMES {
            let dir = tempfile::tempdir().unwrap();
            let written = write_pipeline(name, dir.path()).unwrap();
            assert!(written.iter().all(|file| file.is_file()), "{written:?}");
            let pipeline = load(&Confined::open(dir.path()).unwrap(), None);
            let pipeline = pipeline.unwrap_or_else(|wrong| panic!("{name}: {wrong}"));
            assert!(!pipeline.steps.is_empty());
            let needed = pipeline.inputs.iter().filter(|(_, value)| value.is_none());
            for (input, _) in needed {
                assert!(sample_inputs(name).contains(&format!("--input {input}=")), "{name} needs {input}");
            }
            let again = write_pipeline(name, dir.path()).unwrap_err().to_string();
            assert!(again.contains("exists already"), "{again}");
        }
        let unknown = write_pipeline("reviw", std::path::Path::new("/nowhere")).unwrap_err().to_string();
        assert!(unknown.contains("there are implement-and-review, code-review, plan-and-build"), "{unknown}");
    }
}
