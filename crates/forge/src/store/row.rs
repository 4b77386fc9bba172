//! Rows into structs, by name of the column.
//!
//! By hand rather than by sqlx's derive, which would build sqlx and SQLite's driver a second time for the compiler.

/// A struct whose fields are columns of the same name.
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
pub(crate) use row;

/// Ids as the JSON array that `json_each` takes, so that `IN` needs no text of its own for each length.
pub(crate) fn ids(ids: impl IntoIterator<Item = i64>) -> String {
    let ids: Vec<String> = ids.into_iter().map(|id| id.to_string()).collect();
    format!("[{}]", ids.join(","))
}
