//! The interface to the database: statements with [`Value`]s in, [`Row`]s out. Tables and the rules about them are the
//! business of the other rooms; the driver, the file and its schema are `sqlite`'s. A second database is a second file
//! beside it, with the same [`Database`] and [`Transaction`].

mod sqlite;

use std::borrow::Cow;
use std::convert::Infallible;
use std::error::Error;
use std::fmt;
use std::path::{Path, PathBuf};

use pilot_core::time::Timestamp;

pub(crate) use sqlite::{Database, Transaction};
pub use sqlite::{Kept, LATEST};

pub(crate) type BoxError = Box<dyn Error + Send + Sync>;

/// Where a database is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    File(PathBuf),
}

impl From<&Path> for Location {
    fn from(path: &Path) -> Location {
        Location::File(path.to_owned())
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Location::File(path) => path.display().fmt(f),
        }
    }
}

/// A parameter of a statement, or what a column holds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value<'v> {
    Null,
    Integer(i64),
    Real(f64),
    Text(Cow<'v, str>),
    Blob(Cow<'v, [u8]>),
}

/// The parameters of a statement, `$1` first.
macro_rules! values {
    ($($value:expr),* $(,)?) => { &[$(crate::database::Value::from($value)),*] };
}
pub(crate) use values;

macro_rules! value_from {
    ($($type:ty: $read:expr;)+) => { $(
        impl<'v> From<$type> for Value<'v> {
            fn from(value: $type) -> Value<'v> {
                let read: fn($type) -> Value<'v> = $read;
                read(value)
            }
        }
    )+ };
}

value_from! {
    &'v str: |text| Value::Text(text.into());
    &'v String: |text| Value::Text(text.into());
    String: |text| Value::Text(text.into());
    &'v [u8]: |bytes| Value::Blob(bytes.into());
    i64: Value::Integer;
    u32: |number| Value::Integer(number.into());
    // A count beyond the databases' range is stored as the largest they have.
    u64: |count| Value::Integer(i64::try_from(count).unwrap_or(i64::MAX));
    f64: Value::Real;
    Timestamp: |at| Value::Integer(at.0);
    &'v Option<String>: |text| Value::from(text.as_deref());
}

impl<'v, T> From<Option<T>> for Value<'v>
where
    Value<'v>: From<T>,
{
    fn from(value: Option<T>) -> Value<'v> {
        value.map_or(Value::Null, Value::from)
    }
}

/// The statements of a room, and the list of them for the test that prepares each.
macro_rules! statements {
    ($($(#[$meta:meta])* $vis:vis $name:ident = $sql:literal;)+) => {
        $($(#[$meta])* $vis const $name: &str = $sql;)+

        #[cfg(test)]
        pub(crate) const STATEMENTS: &[&str] = &[$($name),+];
    };
}
pub(crate) use statements;

/// A row of an answer, with its columns' names.
#[derive(Debug)]
pub(crate) struct Row {
    columns: Vec<(String, Value<'static>)>,
}

impl Row {
    /// Takes the value of a column.
    pub(crate) fn take<T: Column>(&mut self, name: &str) -> Result<T, BadColumn> {
        let found = self.columns.iter().position(|(column, _)| column == name);
        self.take_at(found.ok_or_else(|| BadColumn::new(name, "the statement does not select it"))?)
    }

    /// # Panics
    /// When there are fewer columns.
    fn take_at<T: Column>(&mut self, index: usize) -> Result<T, BadColumn> {
        let (name, value) = &mut self.columns[index];
        T::read(std::mem::replace(value, Value::Null)).map_err(|source| BadColumn::new(name, source))
    }
}

/// A column that holds what it must not.
#[derive(Debug, thiserror::Error)]
#[error("column {name}: {source}")]
pub(crate) struct BadColumn {
    name: String,
    source: BoxError,
}

impl BadColumn {
    fn new(name: &str, source: impl Into<BoxError>) -> BadColumn {
        BadColumn { name: name.to_owned(), source: source.into() }
    }
}

/// A type that can be read from a column.
pub(crate) trait Column: Sized {
    fn read(value: Value<'static>) -> Result<Self, BoxError>;
}

impl<T: Column> Column for Option<T> {
    fn read(value: Value<'static>) -> Result<Option<T>, BoxError> {
        if value == Value::Null { Ok(None) } else { T::read(value).map(Some) }
    }
}

/// A type that can be read from a row.
pub(crate) trait FromRow: Sized {
    fn from_row(row: &mut Row) -> Result<Self, BadColumn>;
}

/// The only column of a row, whatever its name.
impl<T: Column> FromRow for (T,) {
    fn from_row(row: &mut Row) -> Result<(T,), BadColumn> {
        Ok((row.take_at(0)?,))
    }
}

/// Makes types columns: `$raw` is what the database gives, `$read` turns it into the type.
macro_rules! column {
    ($type:ty, $raw:ty, $read:expr) => {
        impl crate::database::Column for $type {
            fn read(value: crate::database::Value<'static>) -> Result<Self, crate::database::BoxError> {
                let raw = <$raw as crate::database::Column>::read(value)?;
                Ok($read(raw)?)
            }
        }
    };
}
pub(crate) use column;

/// Makes enums columns that hold their word; any other word is not `$what`.
macro_rules! word_column {
    ($type:ty, $what:literal) => {
        crate::database::column!($type, String, |raw: String| <$type>::parse(&raw)
            .ok_or_else(|| format!("{raw:?} is not {}", $what)));
    };
}
pub(crate) use word_column;

/// A struct whose fields are the columns of the same names.
macro_rules! row {
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident {
            $($(#[$field_meta:meta])* $field_vis:vis $field:ident: $type:ty,)*
        }
    ) => {
        $(#[$meta])*
        $vis struct $name {
            $($(#[$field_meta])* $field_vis $field: $type,)*
        }

        impl crate::database::FromRow for $name {
            fn from_row(row: &mut crate::database::Row) -> Result<Self, crate::database::BadColumn> {
                Ok($name { $($field: row.take(stringify!($field))?,)* })
            }
        }
    };
}
pub(crate) use row;

/// Reads the variants of [`Value`] that hold a type as it is.
macro_rules! plain_column {
    ($type:ty, $variant:ident) => {
        impl Column for $type {
            fn read(value: Value<'static>) -> Result<$type, BoxError> {
                match value {
                    Value::$variant(value) => Ok(value.into()),
                    other => Err(format!("{other:?} is not {}", stringify!($type)).into()),
                }
            }
        }
    };
}

plain_column!(i64, Integer);
plain_column!(f64, Real);
plain_column!(String, Text);
plain_column!(Vec<u8>, Blob);
column!(u64, i64, u64::try_from);
column!(u32, i64, u32::try_from);
column!(Timestamp, i64, |raw| Ok::<_, Infallible>(Timestamp(raw)));
