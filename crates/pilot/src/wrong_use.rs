//! What a person can put right by calling Pilot differently: exit code 2, one sentence, nothing created.

use std::fmt;

/// A call that cannot be carried out as it is, and what to do instead.
#[derive(Debug)]
pub(crate) struct WrongUse(String);

impl WrongUse {
    /// `what` says what is wrong and what to do next.
    pub(crate) fn error(what: impl fmt::Display) -> anyhow::Error {
        anyhow::Error::new(WrongUse(what.to_string()))
    }
}

impl fmt::Display for WrongUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for WrongUse {}

/// Turns an error into a wrong use, with what to do next.
pub(crate) trait OrWrongUse<T> {
    /// The same value, or the error as a wrong use.
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
