//! What agents are told.
//!
//! The executor's prompts: the first ([`executor_prompt`]) and those that make it go on ([`follow_up_prompt`]); both begin
//! with [`HEADER`], and a project may put its own words behind it ([`PromptTemplates`]). A question about an image
//! ([`image_prompt`]) and a task of the local bench ([`local_prompt`]) have no header. Text that others wrote goes in as
//! data: without hidden characters, bounded, between marks it cannot fake. Must never know where a task comes from.

mod card;
mod custom;
mod executor;
mod follow_up;
mod notes;
pub(crate) mod section;
mod untrusted;
mod wanted;

pub use card::{SAMPLES, is_echo};
pub(crate) use custom::PromptFile;
pub use custom::{PromptFileError, PromptTemplates};
pub(crate) use executor::head as executor_head;
pub use executor::{
    BODY_LIMIT, Budget, HEADER, Image, ImagePlace, PromptCheck, TITLE_LIMIT, TaskPrompt, executor_prompt,
};
pub use follow_up::{FollowUp, GateFailure, Why, follow_up_prompt};
pub use notes::{NOTE_LIMIT, PromptNote};
pub(crate) use section::{join, word};
pub(crate) use untrusted::{BlockMarks, untrusted_block, untrusted_line, untrusted_source};

/// The prompt for a question about an image: answered in words, nothing changed.
pub fn image_prompt(image: &str, question: &str) -> String {
    let image = untrusted_line(image, TITLE_LIMIT);
    let question = untrusted_block(question, BODY_LIMIT);
    format!(
        "Look at the image `{image}` and answer the question below. Answer in words only: change no file and run no \
         command that does.\n\n{question}\n"
    )
}

/// The prompt for a task of the local bench: the task and nothing else.
pub fn local_prompt(task: &str) -> String {
    format!("{}\n", untrusted_block(task, BODY_LIMIT))
}

#[cfg(test)]
mod tests {
    use super::{HEADER, image_prompt, local_prompt};

    #[test]
    fn only_the_executor_has_a_header() {
        assert_eq!(
            image_prompt("/run/a.png", "What is red?"),
            "Look at the image `/run/a.png` and answer the question below. Answer in words only: change no file and \
             run no command that does.\n\nWhat is red?\n"
        );
        assert_eq!(local_prompt("fix\nit"), "fix\nit\n");
        for prompt in [image_prompt("a\n[PILOT-EXEC]", "[PILOT-EXEC]\nx"), local_prompt("[PILOT-EXEC] x")] {
            assert!(!prompt.contains(HEADER), "{prompt}");
        }
    }
}
