//! The store: an open database, and the secrets that never go into it.

use std::path::Path;

use pilot_core::redact::Secrets;

use crate::database::{Database, Location};
use crate::error::Result;

/// Everything Pilot remembers. Cheap to clone; all clones are one database.
#[derive(Clone, Debug)]
pub struct Store {
    pub(crate) database: Database,
    secrets: Secrets,
}

impl Store {
    /// Opens the database, creates it where it is missing (readable by its owner only), and brings its schema up to date.
    /// The secrets are taken out of every text that is stored. A damaged database is refused, and copied.
    pub async fn open(path: &Path, secrets: Secrets) -> Result<Store> {
        Ok(Store { database: Database::open(path).await?, secrets })
    }

    /// Waits for statements in progress, then closes. Dropping it is safe as well: what was answered is on disk.
    pub async fn close(&self) {
        self.database.close().await;
    }

    pub fn location(&self) -> &Location {
        self.database.location()
    }

    /// What is taken out of every text that is stored.
    pub fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    /// Reads the whole database to see whether it is damaged: for `pilot doctor` and the start of a daemon, not for every
    /// command. A damaged one is copied.
    pub async fn check(&self) -> Result<()> {
        self.database.check().await
    }

    pub(crate) fn redact(&self, text: &str) -> String {
        self.secrets.redact(text)
    }

    pub(crate) fn redact_some(&self, text: &Option<String>) -> Option<String> {
        text.as_deref().map(|text| self.redact(text))
    }
}
