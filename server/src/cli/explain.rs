//! `warpwright explain`: the page of a finding's code, or the list of all.

use std::fmt::Write;

use clap::Args;

use super::{print, Done};

#[derive(Args)]
pub struct ExplainArgs {
    /// A code such as `carried-dependence`; without one all codes are listed
    code: Option<String>,
}

pub fn run(args: &ExplainArgs) -> anyhow::Result<Done> {
    let Some(code) = &args.code else {
        let mut list = String::new();
        for code in ide::codes() {
            let _ = writeln!(list, "{:24} {}", code.code, code.summary);
        }
        return print(&list).map(|()| Done::Ok);
    };
    match crate::codes::explain(code) {
        Some(page) => print(&format!("{}\n", page.trim_end())).map(|()| Done::Ok),
        None => anyhow::bail!("there is no code \"{code}\". `warpwright explain` lists all codes."),
    }
}
