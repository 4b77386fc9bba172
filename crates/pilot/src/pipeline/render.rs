//! Filling in templates: what the engine knows, and what only the world does.

use std::borrow::Cow;

use pilot_core::pipeline::{Card, Engine, Named, Pipeline, Prompt, REMINDER, Role, Start, relative};
use pilot_core::prompt::HEADER;
use pilot_core::template::Template;
use pilot_exec::confined::{Confined, ConfinedError};

use super::load::FOLDER;

/// The largest file that goes into a prompt.
const LARGEST: u64 = 1 << 20;

/// What names stand for that the engine does not know.
pub(crate) struct World<'w> {
    pub(crate) files: &'w Confined,
    pub(crate) pipeline: &'w Pipeline,
    pub(crate) default_branch: Option<String>,
    pub(crate) diff: Option<String>,
    pub(crate) progress: String,
}

impl World<'_> {
    /// A text with every name filled in, or why that cannot be.
    pub(crate) fn fill(&self, prompt: &Prompt, engine: &Engine<'_>) -> Result<String, String> {
        self.filled(&prompt.template, engine).map_err(|why| format!("{}: {why}", prompt.origin))
    }

    fn filled(&self, template: &Template, engine: &Engine<'_>) -> Result<String, String> {
        let names = engine.names();
        let known: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut trouble = None;
        let text = template.render(&known, |name| match self.value(name, engine) {
            Ok(value) => value.map(Cow::Owned),
            Err(why) => {
                trouble = Some(why);
                None
            }
        });
        match trouble {
            Some(why) => Err(why),
            None => text.map_err(|error| error.to_string()),
        }
    }

    /// What a name stands for; none when it stands for nothing.
    pub(crate) fn value(&self, name: &str, engine: &Engine<'_>) -> Result<Option<String>, String> {
        Ok(Some(match engine.named(name) {
            None => return Ok(None),
            Some(Named::Text(text)) => text.into_owned(),
            Some(Named::Item(path)) => self.file(path)?,
            Some(Named::File(path)) => self.named_file(path)?,
            Some(Named::Agent(name)) => self.agent(name),
            Some(Named::World(name)) => self.world(name)?,
        }))
    }

    /// A file below Pilot's folder, else below the project.
    fn named_file(&self, path: &str) -> Result<String, String> {
        let path = relative(path).map_err(|fault| format!("{{{{file:{path}}}}}: {fault}"))?;
        match self.files.read(&format!("{FOLDER}/{path}"), LARGEST) {
            Err(ConfinedError::Missing { .. }) => self.file(&path),
            Err(error) => Err(format!("cannot {error}")),
            Ok(bytes) => text(&path, bytes),
        }
    }

    fn file(&self, path: &str) -> Result<String, String> {
        text(path, self.files.read(path, LARGEST).map_err(|error| format!("cannot {error}"))?)
    }

    /// How an agent is asked to start another one.
    fn agent(&self, name: &str) -> String {
        let Some(agent) = self.pipeline.agents.get(name) else { return String::new() };
        let model = agent.worker.model.as_ref();
        let model = model.map_or_else(String::new, |model| format!(" with the model {model}"));
        format!(
            "Start a sub-agent{model}, give it the task between the two lines, and report its findings only.\n\
             --- {name} ---\n{}\n--- end of {name} ---",
            agent.prompt.text.trim_end()
        )
    }

    fn world(&self, name: &str) -> Result<String, String> {
        let value = match name {
            "default_branch" => self.default_branch.clone(),
            "diff" => self.diff.clone(),
            _ => Some(self.progress.clone()),
        };
        value.ok_or_else(|| {
            format!("{{{{{name}}}}} has no value: this folder is in no git repository with a commit")
        })
    }
}

fn text(path: &str, bytes: Vec<u8>) -> Result<String, String> {
    String::from_utf8(bytes).map_err(|_| format!("{path:?} is not UTF-8"))
}

/// The whole prompt of an agent step.
pub(crate) fn prompt(filled: &str, start: &Start<'_>) -> String {
    let card = match start.role {
        Role::Review => Card::Review,
        Role::Work | Role::Alone | Role::Shell => Card::Work,
    };
    let mut prompt = format!("{HEADER}\n{}\n\n", filled.trim_end());
    if let Some((asked, answer)) = start.answer {
        prompt.push_str(&format!(
            "## What a person answered\nYou were asked before and said that you need a person:\n\n{asked}\n\nThe answer:\n\n{answer}\n\n"
        ));
    }
    if start.reminded {
        prompt.push_str(&format!("## Once more\n{REMINDER}\n\n"));
    }
    prompt.push_str(&card.text());
    prompt
}
