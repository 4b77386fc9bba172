//! Rows as structs by column name, and SQL statements as functions.
//!
//! By hand rather than with sqlx's derive, which would build sqlx and SQLite's driver a second time for the compiler.

/// Defines a struct whose fields are columns of the same name.
macro_rules! row {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Debug)]
        pub(crate) struct $name { $($(#[$doc])* pub(crate) $field: $type,)* }

        impl sqlx::FromRow<'_, sqlx::sqlite::SqliteRow> for $name {
            fn from_row(row: &sqlx::sqlite::SqliteRow) -> Result<Self, sqlx::Error> {
                use sqlx::Row;
                Ok($name { $($field: row.try_get(stringify!($field))?,)* })
            }
        }
    };
}
pub(super) use row;

/// Defines an async function for each statement. Its first parameter is the connection; the others are bound to `$1`, `$2`, …
/// in order, or, where a list follows the statement, the values of that list.
///
/// The return type chooses how rows are read: `Option`, `Vec` or one row; `bool` is whether a row changed; none reads nothing.
/// `scalar fn` reads the first column alone.
macro_rules! statements {
    () => {};
    ($(#[$m:meta])* fn $name:ident($($p:ident: $t:ty),*) -> Option<$row:ty> = $sql:literal $([$($v:expr),*])?; $($rest:tt)*) => {
        statement! { [$(#[$m])*] $name($($p: $t),*) [Option<$row>] query_as fetch_optional []; $sql $([$($v),*])? }
        statements! { $($rest)* }
    };
    ($(#[$m:meta])* fn $name:ident($($p:ident: $t:ty),*) -> Vec<$row:ty> = $sql:literal $([$($v:expr),*])?; $($rest:tt)*) => {
        statement! { [$(#[$m])*] $name($($p: $t),*) [Vec<$row>] query_as fetch_all []; $sql $([$($v),*])? }
        statements! { $($rest)* }
    };
    ($(#[$m:meta])* fn $name:ident($($p:ident: $t:ty),*) -> bool = $sql:literal $([$($v:expr),*])?; $($rest:tt)*) => {
        statement! {
            [$(#[$m])*] $name($($p: $t),*) [bool] query execute [.map(|done| done.rows_affected() == 1)]; $sql $([$($v),*])?
        }
        statements! { $($rest)* }
    };
    ($(#[$m:meta])* fn $name:ident($($p:ident: $t:ty),*) -> $row:ty = $sql:literal $([$($v:expr),*])?; $($rest:tt)*) => {
        statement! { [$(#[$m])*] $name($($p: $t),*) [$row] query_as fetch_one []; $sql $([$($v),*])? }
        statements! { $($rest)* }
    };
    ($(#[$m:meta])* fn $name:ident($($p:ident: $t:ty),*) = $sql:literal $([$($v:expr),*])?; $($rest:tt)*) => {
        statement! { [$(#[$m])*] $name($($p: $t),*) [()] query execute [.map(drop)]; $sql $([$($v),*])? }
        statements! { $($rest)* }
    };
    ($(#[$m:meta])* scalar fn $name:ident($($p:ident: $t:ty),*) -> Option<$row:ty> = $sql:literal $([$($v:expr),*])?; $($rest:tt)*) => {
        statement! { [$(#[$m])*] $name($($p: $t),*) [Option<$row>] query_scalar fetch_optional []; $sql $([$($v),*])? }
        statements! { $($rest)* }
    };
    ($(#[$m:meta])* scalar fn $name:ident($($p:ident: $t:ty),*) -> Vec<$row:ty> = $sql:literal $([$($v:expr),*])?; $($rest:tt)*) => {
        statement! { [$(#[$m])*] $name($($p: $t),*) [Vec<$row>] query_scalar fetch_all []; $sql $([$($v),*])? }
        statements! { $($rest)* }
    };
    ($(#[$m:meta])* scalar fn $name:ident($($p:ident: $t:ty),*) -> $row:ty = $sql:literal $([$($v:expr),*])?; $($rest:tt)*) => {
        statement! { [$(#[$m])*] $name($($p: $t),*) [$row] query_scalar fetch_one []; $sql $([$($v),*])? }
        statements! { $($rest)* }
    };
}
pub(super) use statements;

/// One function of [`statements`].
macro_rules! statement {
    ([$($m:tt)*] $name:ident($($p:ident: $t:ty),*) [$out:ty] $query:ident $fetch:ident [$($then:tt)*]; $sql:literal) => {
        statement! { [$($m)*] $name($($p: $t),*) [$out] $query $fetch [$($then)*]; $sql [$($p),*] }
    };
    ([$($m:tt)*] $name:ident($($p:ident: $t:ty),*) [$out:ty] $query:ident $fetch:ident [$($then:tt)*]; $sql:literal [$($v:expr),*]) => {
        $($m)*
        pub(crate) async fn $name(db: &mut sqlx::SqliteConnection $(, $p: $t)*) -> Result<$out, sqlx::Error> {
            sqlx::$query($sql)$(.bind($v))*.$fetch(db).await $($then)*
        }
    };
}
pub(super) use statement;

/// Ids as the JSON array that `json_each` takes, so that one statement serves any number of them.
pub(crate) fn ids(ids: impl IntoIterator<Item = i64>) -> String {
    let ids: Vec<String> = ids.into_iter().map(|id| id.to_string()).collect();
    format!("[{}]", ids.join(","))
}
