//! The one integration test binary of this package.

mod signals;
