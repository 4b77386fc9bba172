//! What agents are told.
//!
//! Three prompts: the executor's ([`executor_prompt`]), a question about an image ([`image_prompt`]), and a task of the
//! local bench ([`local_prompt`]). Only the first begins with [`HEADER`]. Text that others wrote goes in as data: cleaned
//! ([`clean`]), bounded, between marks it cannot fake. Must never know where a task comes from.

mod card;
mod clean;
mod executor;
mod untrusted;

pub use card::{SAMPLES, is_echo};
pub use clean::clean;
pub(crate) use clean::visible;
pub use executor::{BODY_LIMIT, HEADER, TITLE_LIMIT, TaskPrompt, executor_prompt};
pub(crate) use untrusted::{Marks, untrusted_block, untrusted_line};

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
