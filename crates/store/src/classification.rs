//! What a small model said about how much work a task is.

use crate::error::StoreError;
use crate::open::Store;
use crate::time::Micros;

/// A longer answer is none.
const LONGEST: usize = 16 * 1024;

impl Store {
    /// The answer to a question that was asked before.
    pub async fn classification(&self, question: &str) -> Result<Option<String>, StoreError> {
        let answer: Option<(String,)> = sqlx::query_as(ANSWER)
            .bind(question)
            .fetch_optional(&self.read)
            .await
            .map_err(self.failing("look for an answer"))?;
        Ok(answer.map(|(answer,)| answer))
    }

    /// Keeps an answer; a later one takes its place.
    pub async fn keep_classification(
        &self,
        question: &str,
        answer: &str,
        at: Micros,
    ) -> Result<(), StoreError> {
        if answer.len() <= LONGEST {
            let query = sqlx::query(KEEP).bind(question).bind(answer).bind(at.0);
            query.execute(&self.write).await.map_err(self.failing("keep an answer"))?;
        }
        Ok(())
    }
}

const ANSWER: &str = "SELECT answer FROM classifications WHERE question = $1";

const KEEP: &str = "INSERT INTO classifications (question, answer, answered_at) VALUES ($1, $2, $3) \
     ON CONFLICT (question) DO UPDATE SET answer = excluded.answer, answered_at = excluded.answered_at";
