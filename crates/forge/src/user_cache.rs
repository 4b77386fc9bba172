//! All users in memory: they are few, and every reply names some.

use std::collections::HashMap;
use std::sync::{Arc, RwLock};

use crate::store::User;

#[derive(Debug, Default)]
pub(crate) struct UserCache(RwLock<UserIndex>);

#[derive(Debug, Default)]
struct UserIndex {
    by_id: HashMap<i64, Arc<User>>,
    by_login: HashMap<String, Arc<User>>,
}

impl UserCache {
    /// Adds a user who is in the database.
    pub(crate) fn add(&self, user: User) -> Arc<User> {
        let user = Arc::new(user);
        let mut index = self.0.write().unwrap_or_else(std::sync::PoisonError::into_inner);
        index.by_id.insert(user.id, Arc::clone(&user));
        index.by_login.insert(user.login.to_ascii_lowercase(), Arc::clone(&user));
        user
    }

    pub(crate) fn by_id(&self, id: i64) -> Option<Arc<User>> {
        let index = self.0.read().unwrap_or_else(std::sync::PoisonError::into_inner);
        index.by_id.get(&id).cloned()
    }

    /// The user with this login, in any case.
    pub(crate) fn by_login(&self, login: &str) -> Option<Arc<User>> {
        let index = self.0.read().unwrap_or_else(std::sync::PoisonError::into_inner);
        index.by_login.get(&login.to_ascii_lowercase()).cloned()
    }

    /// The user of an email address that the forge assigned.
    pub(crate) fn by_email(&self, email: &str) -> Option<Arc<User>> {
        let (name, _) = email.strip_suffix(User::MAIL_HOST)?.split_once('@').unwrap_or_default();
        let login = name.split_once('+').map_or(name, |(_, login)| login);
        self.by_login(login)
    }
}
