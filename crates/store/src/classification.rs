//! What a small model answered about how much work a task is, so that the same question is asked once.

use pilot_core::time::Timestamp;

use crate::database::{statements, values};
use crate::error::Result;
use crate::store::Store;

/// Longer answers are not kept.
const LONGEST: usize = 16 * 1024;

impl Store {
    /// The answer to a question that was asked before.
    pub async fn classification(&self, question: &str) -> Result<Option<String>> {
        let answer = self.database.optional("look for an answer", ANSWER, values![question]).await?;
        Ok(answer.map(|(answer,)| answer))
    }

    /// Keeps an answer; a later one replaces it.
    pub async fn keep_classification(&self, question: &str, answer: &str, at: Timestamp) -> Result<()> {
        if answer.len() <= LONGEST {
            self.database.execute("keep an answer", KEEP, values![question, answer, at]).await?;
        }
        Ok(())
    }
}

statements! {
    ANSWER = "SELECT answer FROM classifications WHERE question = $1";
    KEEP = "INSERT INTO classifications (question, answer, answered_at) VALUES ($1, $2, $3) \
        ON CONFLICT (question) DO UPDATE SET answer = excluded.answer, answered_at = excluded.answered_at";
}
