//! `warpwright settings-schema`: the settings as a JSON schema.

use super::{print, Done};

pub fn run() -> anyhow::Result<Done> {
    print(&format!("{:#}\n", crate::settings::schema())).map(|()| Done::Ok)
}
