//! `warpwright rules list`: the systems there are.

use std::path::{Path, PathBuf};

use super::set;
use crate::cli::{print, Done};

pub fn run(paths: &[PathBuf]) -> anyhow::Result<Done> {
    let set = set(Path::new("."), paths)?;
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
