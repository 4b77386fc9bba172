//! Filling in templates: values the engine knows, and values from files and git.

use std::borrow::Cow;

use pilot_core::pipeline::{Card, Engine, Named, Pipeline, REMINDER, Start, StepPrompt, StepRole, relative};
use pilot_core::prompt::HEADER;
use pilot_exec::confined::Confined;

use super::load::{LARGEST, read_below};

/// The values that the engine does not know.
pub(crate) struct TemplateValues<'w> {
    pub(crate) files: &'w Confined,
    pub(crate) pipeline: &'w Pipeline,
    pub(crate) default_branch: Option<String>,
    pub(crate) diff: Option<String>,
    pub(crate) progress: String,
}

impl TemplateValues<'_> {
    /// A text with every name filled in, or why that cannot be.
    pub(crate) fn fill(&self, prompt: &StepPrompt, engine: &Engine<'_>) -> Result<String, String> {
        let names = engine.names();
        let known: Vec<&str> = names.iter().map(String::as_str).collect();
        fill_with(prompt, &known, |name| self.value(name, engine))
    }

    /// The value of a name; none when it has none.
    pub(crate) fn value(&self, name: &str, engine: &Engine<'_>) -> Result<Option<String>, String> {
        Ok(Some(match engine.named(name) {
            None => return Ok(None),
            Some(Named::Text(text)) => text.into_owned(),
            Some(Named::Item(path)) => self.file(path)?,
            Some(Named::File(path)) => self.named_file(path)?,
            Some(Named::Agent(name)) => self.agent(name),
            Some(Named::Project(name)) => self.project_value(name)?,
        }))
    }

    fn named_file(&self, path: &str) -> Result<String, String> {
        let path = relative(path).map_err(|fault| format!("{{{{file:{path}}}}}: {fault}"))?;
        let (_, bytes) = read_below(self.files, &path).map_err(|error| format!("cannot {error}"))?;
        text(&path, bytes)
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

    fn project_value(&self, name: &str) -> Result<String, String> {
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

/// Fills a prompt in; the first value that fails is the error.
pub(super) fn fill_with(
    prompt: &StepPrompt,
    known: &[&str],
    value: impl Fn(&str) -> Result<Option<String>, String>,
) -> Result<String, String> {
    let mut trouble = None;
    let text = prompt
        .template
        .render(known, |name| value(name).map_err(|why| trouble = Some(why)).ok().flatten().map(Cow::Owned));
    let text = trouble.map_or_else(|| text.map_err(|error| error.to_string()), Err);
    text.map_err(|why| format!("{}: {why}", prompt.origin))
}

fn text(path: &str, bytes: Vec<u8>) -> Result<String, String> {
    String::from_utf8(bytes).map_err(|_| format!("{path:?} is not UTF-8"))
}

pub(crate) fn prompt(filled: &str, start: &Start<'_>) -> String {
    let card = match start.role {
        StepRole::Review => Card::Review,
        StepRole::Work | StepRole::Alone | StepRole::Shell => Card::Work,
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
