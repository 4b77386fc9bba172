//! Errors that the user fixes by calling Pilot differently: exit code 2, one sentence, nothing created.

use std::fmt;

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct WrongUse(String);

impl WrongUse {
    pub(crate) fn error(what: impl fmt::Display) -> anyhow::Error {
        anyhow::Error::new(WrongUse(what.to_string()))
    }
}

/// Returns with a wrong use, formatted as by `format!`.
macro_rules! bail_wrong_use {
    ($($words:tt)*) => {
        return Err($crate::wrong_use::WrongUse::error(format_args!($($words)*)))
    };
}
pub(crate) use bail_wrong_use;

pub(crate) trait OrWrongUse<T> {
    fn or_wrong_use(self, next: &str) -> anyhow::Result<T>;

    /// The same for an error that says what was tried, as those of libraries do: they read after "cannot".
    fn or_cannot(self, next: &str) -> anyhow::Result<T>;
}

impl<T, E: fmt::Display> OrWrongUse<T> for Result<T, E> {
    fn or_wrong_use(self, next: &str) -> anyhow::Result<T> {
        self.map_err(|error| {
            let stop = if next.is_empty() { "" } else { "; " };
            WrongUse::error(format_args!("{error}{stop}{next}"))
        })
    }

    fn or_cannot(self, next: &str) -> anyhow::Result<T> {
        self.map_err(|error| format!("cannot {error}")).or_wrong_use(next)
    }
}
