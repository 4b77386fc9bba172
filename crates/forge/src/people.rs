//! Everybody the forge knows, in memory: they are few and named everywhere.

use std::collections::HashMap;
use std::sync::{Arc, RwLock};

use crate::store::User;

/// Users by number and by name.
#[derive(Debug, Default)]
pub(crate) struct People(RwLock<Known>);

#[derive(Debug, Default)]
struct Known {
    by_id: HashMap<i64, Arc<User>>,
    by_login: HashMap<String, Arc<User>>,
}

impl People {
    /// Adds somebody who is in the database.
    pub(crate) fn add(&self, user: User) -> Arc<User> {
        let user = Arc::new(user);
        let mut known = self.0.write().unwrap_or_else(std::sync::PoisonError::into_inner);
        known.by_id.insert(user.id, Arc::clone(&user));
        known.by_login.insert(user.login.to_ascii_lowercase(), Arc::clone(&user));
        user
    }

    /// Somebody by number.
    pub(crate) fn by_id(&self, id: i64) -> Option<Arc<User>> {
        let known = self.0.read().unwrap_or_else(std::sync::PoisonError::into_inner);
        known.by_id.get(&id).cloned()
    }

    /// Somebody by name, in any case.
    pub(crate) fn by_login(&self, login: &str) -> Option<Arc<User>> {
        let known = self.0.read().unwrap_or_else(std::sync::PoisonError::into_inner);
        known.by_login.get(&login.to_ascii_lowercase()).cloned()
    }

    /// Whose address this is: the one that the forge gives everybody.
    pub(crate) fn by_email(&self, email: &str) -> Option<Arc<User>> {
        let (name, _) = email.strip_suffix(User::MAIL_HOST)?.split_once('@').unwrap_or_default();
        let login = name.split_once('+').map_or(name, |(_, login)| login);
        self.by_login(login)
    }
}
