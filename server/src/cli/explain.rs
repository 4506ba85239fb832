//! `warpwright explain`: the page of a finding's code, or the list of all.

use std::fmt::Write;

use clap::Args;

use super::{print, Done, Format};
use crate::contract::{codes, pretty, VERSION};

#[derive(Args)]
pub struct ExplainArgs {
    /// A code such as `carried-dependence`; without one all codes are listed
    code: Option<String>,
    /// How the answer is printed
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

pub fn run(args: &ExplainArgs) -> anyhow::Result<Done> {
    let is_json = args.format == Format::Json;
    let Some(code) = &args.code else {
        if is_json {
            return print(&pretty(&wire::Codes { version: VERSION, codes: codes() })?).map(|()| Done::Ok);
        }
        let mut list = String::new();
        for code in ide::codes() {
            let _ = writeln!(list, "{:24} {}", code.code, code.summary);
        }
        return print(&list).map(|()| Done::Ok);
    };
    match crate::codes::explain(code) {
        Some(page) if is_json => {
            let (code, markdown) = (code.clone(), page.to_owned());
            print(&pretty(&wire::Explanation { version: VERSION, code, markdown })?).map(|()| Done::Ok)
        }
        Some(page) => print(&format!("{}\n", page.trim_end())).map(|()| Done::Ok),
        None => anyhow::bail!("there is no code \"{code}\". `warpwright explain` lists all codes."),
    }
}
