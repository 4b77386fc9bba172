//! The table of keys: where each goes, who may set it, what it is for. Every section declares its own part with [`section!`].

use std::sync::LazyLock;

use serde_json::Value as Json;

use super::Config;
use super::field::Field;
use super::node::Node;
use super::secret::Secret;
use super::sections::Flaws;

#[derive(Clone, Copy, Debug)]
pub struct ConfigKey {
    /// Its name from the top, with dots.
    pub path: &'static str,
    pub(crate) field: Field<Config>,
    pub scope: Scope,
    /// What it is for: one sentence.
    pub about: &'static str,
    /// The value, of a key that is a secret.
    pub(crate) secret: Option<fn(&Config) -> Option<&Secret>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Only the user: it decides what runs, what it sees, or how long it may.
    User,
    /// The project's own file as well.
    Project,
}

pub(crate) enum Row {
    Key(ConfigKey),
    Section(&'static [Row]),
}

/// Declares a section: its struct, its defaults and its keys. Each line is `WHO name: Type = default;` after the sentence
/// that documents it. WHO is `user` or `project` (who may set the key), `secret` (the user, and never shown), `section`
/// (a section below), or `keys` (its keys are in the table named behind the default). A function behind the default of a
/// key reads it. A `#[cfg(…)]` before the sentence is that of the line.
macro_rules! section {
    (
        $(#[$meta:meta])*
        pub struct $section:ident at $at:tt {
            $(
                $(#[cfg($cfg:meta)])? $(#[doc = $doc:literal])*
                $who:ident $name:ident: $type:ty = $default:expr $(, $by:ident)?;
            )+
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $section {
            $($(#[cfg($cfg)])? $(#[doc = $doc])* pub $name: $type,)+
        }

        impl Default for $section {
            fn default() -> $section {
                $section { $($(#[cfg($cfg)])? $name: $default,)+ }
            }
        }

        impl $section {
            pub(crate) const ROWS: &'static [$crate::config::key::Row] = &[$(
                $(#[cfg($cfg)])?
                $crate::config::key::row!($who $at $name: $type, concat!("" $(, $doc)*).trim_ascii() $(, $by)?)
            ),+];
        }
    };
}

/// One line of a [`section!`].
macro_rules! row {
    (section $at:tt $name:ident: $type:ty, $about:expr) => {
        $crate::config::key::Row::Section(<$type>::ROWS)
    };
    (keys $at:tt $name:ident: $type:ty, $about:expr, $rows:ident) => {
        $crate::config::key::Row::Section($rows)
    };
    (secret ($($at:ident).+) $name:ident: $type:ty, $about:expr) => {
        $crate::config::key::Row::Key($crate::config::key::ConfigKey {
            path: concat!($(stringify!($at), ".",)+ stringify!($name)),
            field: $crate::config::field::Field {
                kind: $crate::config::field::FieldKind::Text,
                write: |config, node| {
                    config.$($at).+.$name = $crate::config::Secret::read(node)?;
                    Ok(())
                },
                show: |config| serde_json::json!(config.$($at).+.$name.as_deref()),
            },
            scope: $crate::config::Scope::User,
            about: $about,
            secret: Some(|config| config.$($at).+.$name.as_ref()),
        })
    };
    ($who:ident () $name:ident: $type:ty, $about:expr) => {
        $crate::config::key::key_row!($who stringify!($name), $name, $about)
    };
    ($who:ident ($($at:ident).+) $name:ident: $type:ty, $about:expr $(, $read:ident)?) => {
        $crate::config::key::key_row!(
            $who concat!($(stringify!($at), ".",)+ stringify!($name)), $($at).+.$name, $about $(, $read)?
        )
    };
}

/// `key_row!(user "a.b", c.d, "…")` is the key `a.b` that goes to `config.c.d`; a function behind that reads it.
macro_rules! key_row {
    (user $($rest:tt)+) => { $crate::config::key::key_row!(@ User, $($rest)+) };
    (project $($rest:tt)+) => { $crate::config::key::key_row!(@ Project, $($rest)+) };
    (@ $scope:ident, $path:expr, $($part:ident).+, $about:expr $(, $read:path)?) => {
        $crate::config::key::Row::Key($crate::config::key::ConfigKey {
            path: $path,
            field: $crate::config::field::field!($crate::config::Config, $($part).+ $(, $read)?),
            scope: $crate::config::Scope::$scope,
            about: $about,
            secret: None,
        })
    };
}

pub(crate) use {key_row, row, section};

/// Every key, in the order of the documentation.
pub static KEYS: LazyLock<Vec<ConfigKey>> = LazyLock::new(|| {
    let mut keys = Vec::new();
    collect(Config::ROWS, &mut keys);
    keys
});

fn collect(rows: &[Row], into: &mut Vec<ConfigKey>) {
    for row in rows {
        match row {
            Row::Key(key) => into.push(*key),
            Row::Section(below) => collect(below, into),
        }
    }
}

pub fn key(path: &str) -> Option<&'static ConfigKey> {
    KEYS.iter().find(|key| key.path == path)
}

impl ConfigKey {
    pub fn value(&self, config: &Config) -> Json {
        (self.field.show)(config)
    }

    pub fn kind(&self) -> &'static str {
        self.field.kind.name()
    }

    pub fn words(&self) -> Vec<&'static str> {
        self.field.kind.words()
    }

    /// Whether its value must never be shown, stored or quoted.
    pub fn is_secret(&self) -> bool {
        self.secret.is_some()
    }

    pub(crate) fn write(&self, config: &mut Config, node: &Node) -> Result<(), Flaws> {
        (self.field.write)(config, node)
    }
}

impl Config {
    pub fn secrets(&self) -> impl Iterator<Item = &str> {
        KEYS.iter().filter_map(|key| Some(&**key.secret?(self)?))
    }
}

#[cfg(test)]
mod tests {
    use super::super::variable_of;
    use super::KEYS;

    #[test]
    fn the_table_is_well_formed() {
        for (index, key) in KEYS.iter().enumerate() {
            assert!(key.about.ends_with('.'), "{}: a sentence", key.path);
            assert!(
                key.path.chars().all(|c| c.is_ascii_lowercase() || c == '_' || c == '.'),
                "{}: lower case, so that a variable can be made of it",
                key.path
            );
            for other in &KEYS[..index] {
                assert_ne!(variable_of(other), variable_of(key), "{}: two keys, one variable", key.path);
                let (a, b) = (format!("{}.", other.path), format!("{}.", key.path));
                assert!(!a.starts_with(&b) && !b.starts_with(&a), "{a} and {b}: a key is no section");
            }
        }
    }

    #[test]
    fn a_key_named_like_a_secret_is_marked_as_one() {
        let words = ["token", "key", "password", "passwd", "secret", "pat", "credentials"];
        for key in KEYS.iter() {
            let name = key.path.rsplit('.').next().unwrap();
            let is_named_so = name.split('_').any(|word| words.contains(&word));
            assert_eq!(key.is_secret(), is_named_so, "{}: write its row with secret!", key.path);
        }
    }
}
