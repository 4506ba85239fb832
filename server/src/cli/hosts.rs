//! `warpwright hosts`: which machines answer, and what they have.

use base::CancelToken;
use clap::Args;

use super::profile::ThereArgs;
use super::{print, Done, Format};
use crate::contract::{pretty, VERSION};
use crate::limits::profile::LIMIT;
use crate::profile::client;

#[derive(Args)]
pub struct HostsArgs {
    #[command(flatten)]
    there: ThereArgs,
    /// How the answer is printed
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// `local`, names of hosts as `ssh` takes them, or `slurm:PARTITION`
    #[arg(value_name = "HOST", default_value = "local")]
    hosts: Vec<String>,
}

pub fn run(args: &HostsArgs) -> anyhow::Result<Done> {
    let hosts: Vec<wire::HostMachine> = args.hosts.iter().map(|on| asked(args, on)).collect();
    let all_good = hosts.iter().all(|h| h.missing.is_none());
    match args.format {
        Format::Json => print(&pretty(&wire::Hosts { version: VERSION, hosts })?)?,
        Format::Text => hosts.iter().try_for_each(|h| print(&text(h)))?,
    }
    Ok(if all_good { Done::Ok } else { Done::Found })
}

fn asked(args: &HostsArgs, on: &str) -> wire::HostMachine {
    let nothing = |why: String| wire::HostMachine {
        target: on.to_owned(),
        host: None,
        gpus: Vec::new(),
        driver: None,
        nvrtc: None,
        missing: Some(why),
    };
    let command = match args.there.worker(on) {
        Ok(command) => command,
        Err(why) => return nothing(format!("{why:#}")),
    };
    match client(command, LIMIT).machine(None, &CancelToken::new()) {
        Ok(m) => {
            let missing: Vec<String> =
                m.gpus.reason.into_iter().chain(m.nvrtc_reason.map(|r| r.to_string())).collect();
            wire::HostMachine {
                host: Some(m.host),
                gpus: m.gpus.list.into_iter().map(|g| g.name).collect(),
                driver: m.gpus.driver.map(|(a, b)| [a, b]),
                nvrtc: m.nvrtc.map(|n| [n.version.0, n.version.1]),
                missing: (!missing.is_empty()).then(|| missing.join(" ")),
                ..nothing(String::new())
            }
        }
        Err(e) => nothing(e.to_string()),
    }
}

fn text(h: &wire::HostMachine) -> String {
    let version = |v: [String; 2]| v.join(".");
    let mut has = h.gpus.clone();
    has.extend(h.driver.map(|d| format!("driver for CUDA {}", version(d.map(|n| n.to_string())))));
    has.extend(h.nvrtc.map(|n| format!("NVRTC {}", version(n.map(|n| n.to_string())))));
    let host = h.host.as_ref().map(|n| format!(" ({n})")).unwrap_or_default();
    let missing = h.missing.as_ref().map(|m| format!(" {m}")).unwrap_or_default();
    let has = if has.is_empty() { String::new() } else { format!(" {}.", has.join(", ")) };
    format!("{}{host}:{has}{missing}\n", h.target)
}
