//! Rows into types: each type of ours says how it is read from a column.
//!
//! By hand rather than by sqlx's derive, which would build sqlx and SQLite's driver a second time for the compiler.

use sqlx::error::BoxDynError;
use sqlx::{ColumnIndex, Decode, Row, Type};

/// A type that can be read from a column.
pub(crate) trait Column<R: Row>: Sized {
    /// Reads it.
    fn column(row: &R, name: &'static str) -> Result<Self, sqlx::Error>;
}

/// Makes a type a column, with and without NULL: `$raw` is what the database gives, `$read` turns it into the type.
macro_rules! column {
    ($type:ty, $raw:ty, $read:expr) => {
        impl<R: sqlx::Row> crate::column::Column<R> for $type
        where
            &'static str: sqlx::ColumnIndex<R>,
            $raw: for<'r> sqlx::Decode<'r, R::Database> + sqlx::Type<R::Database>,
        {
            fn column(row: &R, name: &'static str) -> Result<Self, sqlx::Error> {
                let raw: $raw = row.try_get(name)?;
                crate::column::read(name, raw, $read)
            }
        }

        impl<R: sqlx::Row> crate::column::Column<R> for Option<$type>
        where
            &'static str: sqlx::ColumnIndex<R>,
            $raw: for<'r> sqlx::Decode<'r, R::Database> + sqlx::Type<R::Database>,
        {
            fn column(row: &R, name: &'static str) -> Result<Self, sqlx::Error> {
                let raw: Option<$raw> = crate::column::nullable(row, name)?;
                raw.map(|raw| crate::column::read(name, raw, $read)).transpose()
            }
        }
    };
}
pub(crate) use column;

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

        impl<'r, R: sqlx::Row> sqlx::FromRow<'r, R> for $name
        where
            $($type: crate::column::Column<R>,)*
        {
            fn from_row(row: &'r R) -> Result<Self, sqlx::Error> {
                Ok($name { $($field: crate::column::Column::column(row, stringify!($field))?,)* })
            }
        }
    };
}
pub(crate) use row;

/// NULL or a value.
pub(crate) fn nullable<R: Row, T>(row: &R, name: &'static str) -> Result<Option<T>, sqlx::Error>
where
    &'static str: ColumnIndex<R>,
    T: for<'r> Decode<'r, R::Database> + Type<R::Database>,
{
    row.try_get(name)
}

/// Turns what the database gave into the type, or says which column held what it must not.
pub(crate) fn read<Raw, T, E: Into<BoxDynError>>(
    name: &'static str,
    raw: Raw,
    read: impl FnOnce(Raw) -> Result<T, E>,
) -> Result<T, sqlx::Error> {
    read(raw).map_err(|error| sqlx::Error::ColumnDecode { index: name.to_owned(), source: error.into() })
}

column!(String, String, Ok::<_, BoxDynError>);
column!(f64, f64, Ok::<_, BoxDynError>);
column!(Vec<u8>, Vec<u8>, Ok::<_, BoxDynError>);
column!(i64, i64, Ok::<_, BoxDynError>);
column!(u64, i64, u64::try_from);
column!(u32, i64, u32::try_from);
column!(crate::time::Micros, i64, |raw| Ok::<_, BoxDynError>(crate::time::Micros(raw)));

/// A count as the databases have it; a count beyond their range is as good as the largest.
pub(crate) fn count(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// The same where there may be none.
pub(crate) fn some_count(value: Option<u64>) -> Option<i64> {
    value.map(count)
}
