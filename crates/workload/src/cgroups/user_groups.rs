//! A group for each user, as kernels from 2.6.24 to 2.6.33 could create them (`CONFIG_USER_SCHED`).
//!
//! There were no files of groups: a user's first task created a group of weight 1024, and root had
//! one of 2048 (`/sys/kernel/uids/UID/cpu_share`). All are children of the root group, which
//! contains no tasks itself.

use super::settings::{GroupSettings, Setting};
use super::users::Users;
use super::write::{Version, Write};
use crate::group_path::SHARES_DEFAULT;
use crate::model::Model;
use std::sync::Arc;

/// Weight of root's group.
const SHARES_ROOT: u64 = 2048;

/// Returns the groups of these users, in the order given. Tasks of a user belong in
/// [`user_group_path`].
pub fn by_user(uids: impl IntoIterator<Item = u32>) -> GroupSettings {
    let mut settings = GroupSettings::default();
    for uid in uids {
        let path: Arc<str> = user_group_path(uid).into();
        let shares = if uid == 0 { SHARES_ROOT } else { SHARES_DEFAULT };
        settings.set(
            &path,
            Setting {
                name: "cpu_share".into(),
                version: Some(Version::V1),
                write: Write::Shares(shares),
                spot: None,
            },
        );
    }
    settings
}

/// Assigns every task of `model` to the group of its user, and returns these groups.
pub fn place_by_user(model: &mut Model, users: &Users) -> GroupSettings {
    let mut uids = Vec::new();
    for task in &mut model.tasks {
        let uid = users.user_of(&task.key).uid;
        task.properties.taskgroup = Some(user_group_path(uid));
        if !uids.contains(&uid) {
            uids.push(uid);
        }
    }
    by_user(uids)
}

/// Returns the path of a user's group here: `/uid-1000`.
pub fn user_group_path(uid: u32) -> String {
    format!("/uid-{uid}")
}
