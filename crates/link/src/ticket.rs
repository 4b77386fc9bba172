//! What every tracker's tickets have in common.

use std::collections::BTreeSet;

use pilot_core::id::{BodyHash, KeyStyle, NotAName, TaskKey};
use pilot_core::intake::read_body;
use pilot_core::observed::{Author, Ticket, TicketState};
use pilot_core::text::truncate;
use pilot_core::time::Timestamp;
use ring::digest::{SHA256, digest};

/// The longest title that is kept, in bytes.
const LONGEST_TITLE: usize = 300;

/// A ticket as an adapter read it.
#[derive(Clone, Debug)]
pub struct RawTicket<'a> {
    pub key: TaskKey,
    pub title: &'a str,
    pub text: &'a str,
    pub author: Author,
    pub labels: BTreeSet<String>,
    pub state: TicketState,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl RawTicket<'_> {
    /// Hashes the title and the text, and reads what the text names.
    pub fn into_ticket(self, keys: &KeyStyle) -> Result<Ticket, NotAName> {
        let hash = digest(&SHA256, format!("{}\n{}", self.title, self.text).as_bytes());
        let hash: String = hash.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        let title = self.title.split_whitespace().collect::<Vec<_>>().join(" ");
        Ok(Ticket {
            key: self.key,
            title: truncate(&title, LONGEST_TITLE).to_owned(),
            author: self.author,
            labels: self.labels,
            state: self.state,
            body: read_body(self.text, BodyHash::parse(&hash)?, keys),
            created_at: self.created_at,
            updated_at: self.updated_at,
        })
    }
}
