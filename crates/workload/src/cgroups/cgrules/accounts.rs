//! Users, groups of users, and their members.

use std::collections::{HashMap, HashSet};

/// Number of a user.
pub(super) type Uid = u32;
/// Number of a group.
pub(super) type Gid = u32;

/// Users and groups of a machine, as in its `passwd` and `group` files. `root`, user and group 0,
/// always exists.
#[derive(Clone, Debug)]
pub struct Accounts {
    users: HashMap<String, (Uid, Gid)>,
    groups: HashMap<String, Gid>,
    group_names: HashMap<Gid, String>,
    members: HashSet<(Uid, Gid)>,
}

impl Default for Accounts {
    fn default() -> Accounts {
        let empty = Accounts {
            users: HashMap::new(),
            groups: HashMap::new(),
            group_names: HashMap::new(),
            members: HashSet::new(),
        };
        empty.with_group("root", 0).with_user("root", 0, 0)
    }
}

impl Accounts {
    /// Adds a user. Its processes are in the group `gid` by default.
    #[must_use]
    pub fn with_user(mut self, name: &str, uid: u32, gid: u32) -> Accounts {
        self.users.insert(name.into(), (uid, gid));
        self
    }

    /// Adds a group of users.
    #[must_use]
    pub fn with_group(mut self, name: &str, gid: u32) -> Accounts {
        self.groups.insert(name.into(), gid);
        self.group_names.entry(gid).or_insert_with(|| name.into());
        self
    }

    /// Adds a user to a further group.
    #[must_use]
    pub fn with_member(mut self, uid: u32, gid: u32) -> Accounts {
        self.members.insert((uid, gid));
        self
    }

    pub(super) fn user(&self, name: &str) -> Option<(Uid, Gid)> {
        self.users.get(name).copied()
    }

    pub(super) fn group(&self, name: &str) -> Option<Gid> {
        self.groups.get(name).copied()
    }

    pub(super) fn name_of(&self, gid: Gid) -> Option<&str> {
        self.group_names.get(&gid).map(String::as_str)
    }

    pub(super) fn is_member(&self, uid: Uid, gid: Gid) -> bool {
        self.members.contains(&(uid, gid))
    }
}
