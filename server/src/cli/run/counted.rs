//! What the run time counted, read and put into words.

use std::fmt::Write;

use crate::limits::cli_run::SHOWN;

/// Reads what the run time wrote at the program's end; `None` where that is not whole.
pub fn read(text: &str) -> Option<wire::RanCounts> {
    let mut out = wire::RanCounts::default();
    let mut is_whole = false;
    for line in text.lines() {
        // the last word of a line may have blanks
        let parts = match line.split(' ').next() {
            Some("copy") => 6,
            Some("declined") => 4,
            _ => 5,
        };
        let mut words = line.splitn(parts, ' ');
        let mut word = || words.next();
        match word()? {
            "copy" => {
                let (way, count, bytes) = (word()?, word()?.parse().ok()?, word()?.parse().ok()?);
                let (way, sum) = match way {
                    "in" => ("to_device", &mut out.to_device),
                    "out" => ("from_device", &mut out.from_device),
                    _ => ("on_device", &mut out.on_device),
                };
                sum.count += count;
                sum.bytes += bytes;
                let (function, array) = (word()?.to_owned(), word()?.to_owned());
                out.copies.push(wire::RanCopies { function, array, way: way.to_owned(), count, bytes });
            }
            "launch" => {
                let (launches, blocks, threads) =
                    (word()?.parse().ok()?, word()?.parse().ok()?, word()?.parse().ok()?);
                out.launches += launches;
                out.kernels.push(wire::RanKernel { name: word()?.to_owned(), launches, blocks, threads });
            }
            "declined" => {
                let (count, function) = (word()?.parse().ok()?, word()?.to_owned());
                out.declined.push(wire::RanDeclined { function, why: word()?.to_owned(), count });
            }
            "leak" => {
                out.never_freed = wire::Copies { count: word()?.parse().ok()?, bytes: word()?.parse().ok()? };
            }
            "end" => is_whole = true,
            _ => return None,
        }
    }
    out.copies.sort_by_key(|c| std::cmp::Reverse(c.bytes));
    out.kernels.sort_by_key(|k| std::cmp::Reverse(k.threads));
    is_whole.then_some(out)
}

fn many(n: u64, one: &str, several: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { several })
}

fn copies(c: wire::Copies) -> String {
    if c.count == 0 {
        return "nothing".to_owned();
    }
    format!("{} ({})", many(c.count, "copy", "copies"), many(c.bytes, "byte", "bytes"))
}

/// For people, behind what the program says.
pub fn words(ran: &wire::Ran) -> String {
    let mut out = String::new();
    if let Some(signal) = ran.signal {
        let _ = writeln!(out, "warpwright: the program was ended by signal {signal}{}.", named(signal));
    }
    let Some(c) = &ran.counted else {
        let _ = writeln!(
            out,
            "warpwright: nothing is known of launches and copies: the program ended without telling. It tells when it ends by \
             `exit` or by returning from `main`."
        );
        return out;
    };
    if c.launches == 0 {
        let _ = writeln!(out, "warpwright: no kernel was launched; {}.", nothing_launched(c));
        say_declined(&mut out, c);
        return out;
    }
    let _ = writeln!(
        out,
        "warpwright: {} of {} on this machine's CPU ({}); {} to the device, {} back.",
        many(c.launches, "launch", "launches"),
        many(c.kernels.len() as u64, "kernel", "kernels"),
        ran.compiler,
        copies(c.to_device),
        copies(c.from_device),
    );
    if c.on_device.count > 0 {
        let _ = writeln!(out, "  {} from the device to the device", copies(c.on_device));
    }
    for k in c.kernels.iter().take(SHOWN) {
        let _ = writeln!(
            out,
            "  kernel {}: {}, {}, {}",
            k.name,
            many(k.launches, "launch", "launches"),
            many(k.blocks, "block", "blocks"),
            many(k.threads, "thread", "threads")
        );
    }
    for copy in c.copies.iter().take(SHOWN) {
        let way = match copy.way.as_str() {
            "to_device" => "to the device",
            "from_device" => "back",
            _ => "on the device",
        };
        let all = wire::Copies { count: copy.count, bytes: copy.bytes };
        let _ = writeln!(out, "  {way}, {}, in {}: {}", copy.array, copy.function, copies(all));
    }
    say_declined(&mut out, c);
    let hidden: usize =
        [c.kernels.len(), c.copies.len(), c.declined.len()].iter().map(|n| n.saturating_sub(SHOWN)).sum();
    if hidden > 0 {
        let _ = writeln!(out, "  and {hidden} more lines (--format json has them all)");
    }
    if c.never_freed.count > 0 {
        let arrays = many(c.never_freed.count, "array", "arrays");
        let _ = writeln!(
            out,
            "  never freed: {arrays} of {} on the device",
            many(c.never_freed.bytes, "byte", "bytes")
        );
    }
    out
}

/// Loops that ran on the host, and why.
fn say_declined(out: &mut String, c: &wire::RanCounts) {
    for d in c.declined.iter().take(SHOWN) {
        let times = many(d.count, "time", "times");
        let _ = writeln!(out, "  {}: {times} the program's own loop, {}", d.function, d.why);
    }
}

fn nothing_launched(c: &wire::RanCounts) -> &'static str {
    match c.to_device.count + c.from_device.count {
        0 if c.declined.is_empty() => "nothing that was offloaded was called",
        0 => "the program's own loops ran",
        _ => "arrays were copied all the same",
    }
}

fn named(signal: i32) -> &'static str {
    match signal {
        2 => " (interrupted)",
        4 => " (illegal instruction)",
        6 => " (aborted)",
        8 => " (arithmetic error, such as a division by zero)",
        9 => " (killed)",
        11 => " (memory that is not the program's)",
        15 => " (asked to end)",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_and_said() {
        let text = "copy in 3 24 f a + n\ncopy out 1 8 f b\nlaunch 2 4 512 k<int, 4>\nlaunch 1 1 32 last\ndeclined 3 f_on_gpu because n > 9\nleak 1 16\nend\n";
        let counted = read(text);
        let ran =
            wire::Ran { version: 1, compiler: "gcc 12".to_owned(), status: Some(0), signal: None, counted };
        assert_eq!(
            words(&ran),
            "warpwright: 3 launches of 2 kernels on this machine's CPU (gcc 12); 3 copies (24 bytes) to the device, 1 copy (8 \
             bytes) back.\n  kernel k<int, 4>: 2 launches, 4 blocks, 512 threads\n  kernel last: 1 launch, 1 block, 32 threads\n  \
             to the device, a + n, in f: 3 copies (24 bytes)\n  back, b, in f: 1 copy (8 bytes)\n  f_on_gpu: 3 times the program's own loop, because n > \
             9\n  never freed: 1 array of 16 \
             bytes on the device\n"
        );
        // cut off, or not ours
        assert_eq!(read("launch 1 1 1 k\n"), None);
        assert_eq!(read("hello\nend\n"), None);
        let crashed = wire::Ran { status: None, signal: Some(11), counted: None, ..ran };
        assert!(
            words(&crashed).contains("signal 11 (memory") && words(&crashed).contains("nothing is known")
        );
    }
}
