//! What a file needs before its first offloaded loop: includes, prototypes of the launchers, and the helper functions that
//! the blocks call. Each stands once where it is seen.

use base::Span;

use crate::device::args::args;
use crate::device::host_expr::Helpers;
use crate::device::places::{Place, Places};
use crate::device::site::line_end;
use crate::device::wrapped;
use crate::plan::{guard, Plan, HELPERS};
use crate::{HostEdit, HostHead};

/// Includes, helper functions that are called, prototypes of the launchers.
pub(super) fn head(plan: &Plan<'_>, helpers: &Helpers) -> HostHead {
    let p = &plan.prefix;
    let staged = plan.device_buffers().any(|b| b.staged);
    let wanted = [
        (plan.target.host.header, true),
        ("<stdint.h>", helpers.apart),
        ("<stdlib.h>", staged),
        ("<string.h>", staged),
    ];
    let prototypes = plan.kernels.iter().map(|k| {
        let declared: Vec<String> = args(plan, k).into_iter().map(|a| a.in_host).collect();
        let start = format!("extern int {}(", k.launcher);
        format!("{start}{});\n", wrapped(&declared, start.len(), "    "))
    });
    let two = "long long a, long long b";
    let parts = [
        (helpers.min, two, "long long", "a < b ? a : b"),
        (helpers.max, two, "long long", "a > b ? a : b"),
        (helpers.floor_div, two, "long long", "a / b - (a % b < 0)"),
        (
            helpers.apart,
            "const void *a, size_t a_bytes, const void *b, size_t b_bytes",
            "int",
            "(uintptr_t)a + a_bytes <= (uintptr_t)b || (uintptr_t)b + b_bytes <= (uintptr_t)a",
        ),
    ];
    let functions =
        HELPERS.iter().zip(parts).filter(|(_, f)| f.0).map(|(name, (_, parameters, result, value))| {
            let name = format!("{p}{name}");
            (guard(&name), format!("static {result} {name}({parameters})\n{{\n    return {value};\n}}\n"))
        });
    HostHead {
        target: plan.target,
        function_at: plan.site.base_offset,
        includes: wanted.iter().filter(|w| w.1).map(|w| w.0).collect(),
        prototypes: prototypes.collect(),
        functions: functions.collect(),
    }
}

/// The edits of all heads: one for each place between the file's declarations, each thing once where it is seen.
pub(crate) fn heads(file: &str, heads: &[&HostHead]) -> Vec<HostEdit> {
    let places = Places::of(file);
    let Some(target) = heads.first().map(|h| h.target) else { return Vec::new() };
    let off = target.host.off_switch;
    let mut at: Vec<(Place, Vec<&HostHead>)> = Vec::new();
    for h in heads {
        let place = places.prologue(h.function_at as usize);
        match at.iter_mut().find(|a| a.0 == place) {
            Some(a) => a.1.push(h),
            None => at.push((place, vec![h])),
        }
    }
    at.sort_by_key(|a| a.0.at);
    let eol = line_end(file);
    let mut done: Vec<(&str, &Place)> = Vec::new();
    let mut out = Vec::new();
    for (place, heads) in &at {
        let mut text = format!(
            "#ifndef {off} /* define {off} to build without {}: the original loops then run */\n",
            target.title
        );
        for name in heads.iter().flat_map(|h| &h.includes) {
            let before = done.iter().any(|d| d.0 == *name && d.1.is_seen_from(place));
            if !before && !places.includes(name, place) {
                text.push_str(&format!("#include {name}\n"));
                done.push((name, place));
            }
        }
        for p in heads.iter().flat_map(|h| &h.prototypes) {
            text.push_str(p);
        }
        for (guard, function) in heads.iter().flat_map(|h| &h.functions) {
            let before = done.iter().any(|d| d.0 == guard && d.1.is_seen_from(place));
            if !before && !places.defines(guard, place) {
                // one may stand further down already, from an offload before this one
                text.push_str(&format!("#ifndef {guard}\n#define {guard}\n{function}#endif\n"));
                done.push((guard, place));
            }
        }
        text.push_str("#endif\n");
        if place.at > 0 && !file[..place.at].ends_with(['\n', '\r']) {
            text.insert(0, '\n');
        }
        out.push(HostEdit { span: Span::new(place.at, place.at), text: text.replace('\n', eol) });
    }
    out
}
