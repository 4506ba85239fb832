//! Compilers of the machine: where one is on the search path, and what it says it defines.
//!
//! Only absolute entries of the search path count, and a program that lies in a folder named by the caller, or is reached
//! through one, does not: a workspace cannot bring a compiler along. Deliberately absent: what the answer means.

use std::path::{Component, Path, PathBuf};
use std::time::{Duration, Instant};

use crate::limits::found::{ANSWER_BYTES, LINE_BYTES, MAX_LINKS};
use crate::process::{Ends, Heard, Process};

/// A language that a compiler is asked about.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Asked {
    C,
    Cpp,
}

/// The program of this name on the search path. `outside`: nothing in these folders is taken.
pub fn on_path(name: &str, outside: &[PathBuf]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let entries = std::env::split_paths(&path).filter(|p| p.is_absolute()).map(|p| p.join(name));
    entries.into_iter().find(|p| is_program(p, outside))
}

/// The compiler that is asked: `named` by its absolute path, else `cc`, `gcc` or `clang` of the search path.
pub fn compiler(named: Option<&Path>, outside: &[PathBuf]) -> Option<PathBuf> {
    match named {
        Some(named) => Some(named.to_owned()).filter(|p| p.is_absolute() && is_program(p, outside)),
        None => ["cc", "gcc", "clang"].into_iter().find_map(|name| on_path(name, outside)),
    }
}

/// Whether a file can be run, and neither lies in one of the folders nor is reached through one.
fn is_program(path: &Path, outside: &[PathBuf]) -> bool {
    let outside: Vec<PathBuf> =
        outside.iter().flat_map(|f| [f.canonicalize().ok(), Some(f.clone())]).flatten().collect();
    let ways = path.is_file().then(|| ways(path)).flatten();
    let is_free = ways.is_some_and(|ways| ways.iter().all(|w| !outside.iter().any(|f| w.starts_with(f))));
    is_free && may_run(path)
}

#[cfg(unix)]
fn may_run(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).is_ok_and(|m| m.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn may_run(_: &Path) -> bool {
    true
}

/// Every place that is passed on the way to a file, link by link, and the file; `None` where it cannot be told.
fn ways(path: &Path) -> Option<Vec<PathBuf>> {
    let mut out = vec![path.to_owned()];
    let mut links = 0;
    let mut here = PathBuf::new();
    let mut rest: Vec<PathBuf> = parts(path);
    while let Some(part) = rest.pop() {
        match part.components().next()? {
            Component::ParentDir => drop(here.pop()),
            Component::CurDir => {}
            _ => here.push(&part),
        }
        out.push(here.clone());
        if let Ok(target) = std::fs::read_link(&here) {
            links += 1;
            if links > MAX_LINKS {
                return None;
            }
            here.pop();
            // an absolute target begins anew at the root, its first part
            rest.extend(parts(&target));
        }
    }
    Some(out)
}

/// The parts of a path, the last one first.
fn parts(path: &Path) -> Vec<PathBuf> {
    path.components().rev().map(|c| PathBuf::from(c.as_os_str())).collect()
}

/// What a compiler defines before the first line of a text: `#define` lines. It runs up to the limit, in the root folder and with the absolute entries of the search path alone, so that no file of a workspace takes part. `flags` come
/// from its caller, who lets none pass that reads or writes a file. The error is in words.
pub fn predefined(
    compiler: &Path,
    (of, flags): (Asked, &[String]),
    outside: &[PathBuf],
    limit: Duration,
) -> Result<String, String> {
    let mut argv = vec![text(compiler)];
    argv.extend(flags.iter().cloned());
    let language = match of {
        Asked::C => "c",
        Asked::Cpp => "c++",
    };
    let nothing = if cfg!(windows) { "NUL" } else { "/dev/null" };
    argv.extend(["-dM", "-E", "-x", language, nothing].map(str::to_owned));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_inside =
        |p: &Path| ways(p).is_none_or(|w| w.iter().any(|w| outside.iter().any(|f| w.starts_with(f))));
    let entries = std::env::split_paths(&path).filter(|p| p.is_absolute() && !is_inside(p));
    let path = std::env::join_paths(entries).map_err(|e| e.to_string())?.to_string_lossy().into_owned();
    run_in(Path::new("/"), &argv, &[("PATH".to_owned(), path)], (limit, ANSWER_BYTES, LINE_BYTES))
}

pub(crate) fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// Runs a command to its end and gives its output; the error is in words. The limits: time, and the bytes of the output and of
/// a line of it.
pub(crate) fn run_in(
    folder: &Path,
    argv: &[String],
    env: &[(String, String)],
    (limit, bytes, line): (Duration, usize, usize),
) -> Result<String, String> {
    let mut env = env.to_vec();
    env.push(("LC_ALL".to_owned(), "C".to_owned()));
    let mut child =
        Process::start_in(Some(folder), argv, &env, line, Ends::Within).map_err(|e| e.to_string())?;
    let (end, mut out) = (Instant::now() + limit, String::new());
    loop {
        if Instant::now() > end {
            child.kill();
            return Err(format!("it took more than {} seconds", limit.as_secs()));
        }
        match child.hear(Duration::from_millis(20)) {
            Heard::Line(line) if out.len() + line.len() < bytes => out += &(line + "\n"),
            Heard::Line(_) | Heard::Garbage(_) => {
                child.kill();
                return Err("it wrote what no compiler writes".to_owned());
            }
            Heard::Closed => break,
            Heard::Nothing => {}
        }
    }
    let how = child.end(end.saturating_duration_since(Instant::now()));
    match how == "exit status: 0" {
        true => Ok(out),
        false => Err(child.stderr().lines().next().map_or(how, str::to_owned)),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::{symlink, PermissionsExt};

    fn script(path: &Path, text: &str) {
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, text).expect("written");
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("may run");
    }

    #[test]
    fn no_way_leads_through_the_workspace() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("it is there");
        let (inside, beside) = (root.join("workspace"), root.join("beside"));
        script(&inside.join("bin/cc"), "#!/bin/sh\n");
        script(&beside.join("bin/cc"), "#!/bin/sh\n");
        let outside = [inside.clone()];
        assert!(is_program(&beside.join("bin/cc"), &outside));
        assert!(!is_program(&inside.join("bin/cc"), &outside));
        assert!(!is_program(&beside.join("../workspace/bin/cc"), &outside), "by `..`");
        // a link into the workspace, a folder that is one, and one that only passes through
        symlink(inside.join("bin/cc"), beside.join("bin/gcc")).expect("a link");
        symlink(&inside, beside.join("w")).expect("a link");
        symlink(&beside, inside.join("out")).expect("a link");
        symlink(inside.join("out"), beside.join("round")).expect("a link");
        assert!(!is_program(&beside.join("bin/gcc"), &outside));
        assert!(!is_program(&beside.join("w/bin/cc"), &outside));
        assert!(!is_program(&beside.join("round/bin/cc"), &outside), "the workspace says where that leads");
        assert!(!is_program(&inside.join("out/bin/cc"), &outside));
        // links elsewhere are as good as files, circles are nothing
        symlink("cc", beside.join("bin/clang")).expect("a link");
        symlink("me", beside.join("bin/me")).expect("a link");
        assert!(is_program(&beside.join("bin/clang"), &outside));
        assert!(!is_program(&beside.join("bin/me"), &outside));
        std::fs::write(beside.join("bin/text"), "").expect("written");
        assert!(!is_program(&beside.join("bin/text"), &outside), "it cannot be run");
        // a workspace that is itself known by a link
        symlink(&inside, root.join("known")).expect("a link");
        assert!(!is_program(&inside.join("bin/cc"), &[root.join("known")]));
        assert_eq!(compiler(Some(Path::new("bin/cc")), &[]), None, "a relative name is none");
        assert_eq!(compiler(Some(&inside.join("bin/cc")), &outside), None);
    }

    #[test]
    fn what_answers_late_too_much_or_wrongly_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let ask = |name: &str, text: &str| {
            let program = folder.path().join(name);
            script(&program, text);
            let started = Instant::now();
            let answer = predefined(&program, (Asked::C, &[]), &[], Duration::from_secs(2));
            assert!(started.elapsed() < Duration::from_secs(10), "{name}");
            answer
        };
        assert_eq!(ask("good", "#!/bin/sh\necho '#define A 1'\n").as_deref(), Ok("#define A 1\n"));
        assert!(ask("slow", "#!/bin/sh\nsleep 50\n").is_err_and(|e| e.contains("seconds")));
        assert!(
            ask("holds", "#!/bin/sh\nsleep 50 &\necho '#define A 1'\n").is_err_and(|e| e.contains("seconds"))
        );
        assert!(ask("endless", "#!/bin/sh\nwhile :; do echo '#define A 1'; done\n").is_err());
        assert!(ask("long", "#!/bin/sh\nhead -c 9000000 /dev/zero | tr '\\0' x\n").is_err());
        assert!(ask("bytes", "#!/bin/sh\nprintf '\\377\\376\\n'\n").is_err());
        assert_eq!(ask("fails", "#!/bin/sh\necho no >&2\nexit 4\n"), Err("no".to_owned()));
        // it is told where it runs, and what it is asked
        let seen = ask("tells", "#!/bin/sh\npwd\necho \"$@\"\n").expect("it answers");
        assert_eq!(seen, "/\n-dM -E -x c /dev/null\n");
    }
}
