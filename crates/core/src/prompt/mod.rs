//! What agents are told.
