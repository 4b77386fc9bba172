//! From configuration to ports: what is needed to make a project's tracker and forge.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use pilot_core::config::Adapters;

use crate::github::Github;
use crate::http::{Http, Pace, Settings};

/// Makes trackers and forges. Projects of one service share its client, and with it the rate limit and what was read.
#[derive(Debug)]
pub struct Connector {
    pub(crate) adapters: Adapters,
    /// The home of the user, for paths that begin with `~/`.
    pub(crate) user_home: Option<PathBuf>,
    settings: Settings,
    pace: Arc<dyn Pace>,
    pub(crate) github: OnceLock<Github>,
}

/// Why a service cannot be called at all, and what to change.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ConnectError(pub(crate) String);

impl Connector {
    pub fn new(
        adapters: &Adapters,
        user_home: Option<PathBuf>,
        settings: Settings,
        pace: Arc<dyn Pace>,
    ) -> Connector {
        Connector { adapters: adapters.clone(), user_home, settings, pace, github: OnceLock::new() }
    }

    /// A transport for one identity at one service.
    pub(crate) fn http(&self) -> Result<Http, ConnectError> {
        Http::new(self.settings.clone(), Arc::clone(&self.pace))
            .map_err(|error| ConnectError(format!("{error}; see `pilot doctor`")))
    }
}
