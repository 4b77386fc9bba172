//! Who did something.

use serde::Deserialize;

/// A person, a bot, or nobody any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Actor {
    /// The login; `ghost` when the account is gone.
    pub login: String,
    /// Whether it is a bot.
    pub is_bot: bool,
}

impl Actor {
    /// Whether it is this login; GitHub does not tell upper from lower case.
    pub fn is(&self, login: &str) -> bool {
        self.login.eq_ignore_ascii_case(login)
    }
}

#[derive(Deserialize)]
pub(super) struct ActorWire {
    login: String,
    #[serde(rename = "type")]
    kind: Option<String>,
}

impl From<Option<ActorWire>> for Actor {
    fn from(wire: Option<ActorWire>) -> Self {
        // Accounts that were deleted are shown as null or as this one.
        let ActorWire { login, kind } =
            wire.unwrap_or_else(|| ActorWire { login: "ghost".to_owned(), kind: None });
        let is_bot = kind.as_deref() == Some("Bot") || login.ends_with("[bot]");
        Self { login, is_bot }
    }
}
