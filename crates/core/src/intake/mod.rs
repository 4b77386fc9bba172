//! Which tickets become work, in which order, and what their texts say.
//!
//! Admission is a pure function with a typed answer. A ticket's text is data: it can name what it depends on and where the
//! work is, and nothing else it says has any effect here. Must never know how a ticket was found.

mod admit;
mod body;
mod command;
mod listing;
mod picture;
mod priority;

pub(crate) use admit::again;
pub use admit::{Admission, admit};
pub use body::read_body;
pub use command::read_command;
pub use listing::missing;
pub use picture::{Picture, PictureKind, Pictures, pictures};
pub use priority::{Priority, rank};
