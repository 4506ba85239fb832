//! `warpwright contract`: what other programs are told, as a page or a schema.

use super::{print, Done};

pub fn run(schema: bool) -> anyhow::Result<Done> {
    let text = if schema { format!("{:#}\n", wire::schema()) } else { wire::page() };
    print(&text).map(|()| Done::Ok)
}
