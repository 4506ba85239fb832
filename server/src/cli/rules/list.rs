//! `warpwright rules list`: the systems there are.

use std::path::{Path, PathBuf};

use super::set;
use crate::cli::{print, Done, Format};
use crate::contract::{pretty, systems, VERSION};

pub fn run(paths: &[PathBuf], format: Format) -> anyhow::Result<Done> {
    let set = set(Path::new("."), paths)?;
    if format == Format::Json {
        let systems = systems(&set);
        return print(&pretty(&wire::RulesList { version: VERSION, systems })?).map(|()| Done::Ok);
    }
    let width = set.pages.iter().flat_map(|p| &p.systems).map(|s| s.name.len()).max().unwrap_or(0);
    let mut out = String::new();
    for p in &set.pages {
        for s in &p.systems {
            let trust = p.trust.as_ref().map_or(String::new(), |t| t.text());
            out += &format!("{:width$}  {} ({trust}; {})\n", s.name, p.title, s.strategy.text());
        }
    }
    print(&out)?;
    Ok(Done::Ok)
}
