//! `warpwright profile` and `hosts` as a user calls them, on the stand-in for a driver: here, and behind a real `sshd`.
#![cfg(target_os = "linux")]

#[path = "support/standin.rs"]
mod standin;
mod support;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;
use standin::StandIn;
use support::{full_caps, server, Client, SAXPY};
use tempfile::TempDir;

const DOT: &str = "\
double dot(int n, const double *x, const double *y) {
    double s = 0.5;
    for (int i = 0; i < n; i++)
        s += x[i] * y[i];
    return s;
}
";

/// A folder with a program in it, and the stand-in.
struct Here {
    folder: TempDir,
    standin: StandIn,
}

impl Here {
    fn new(program: &str) -> Here {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("program.c"), program).expect("program");
        Here { folder, standin: StandIn::new() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// With a GPU, or without one.
    fn command(&self, has_gpu: bool) -> Command {
        let mut command = server();
        command.current_dir(self.folder.path());
        if has_gpu {
            command
                .env("LD_LIBRARY_PATH", self.standin.folder())
                .env("WARPWRIGHT_NVRTC", self.standin.folder().join("libnvrtc.so"));
        }
        command
    }

    fn run(&self, has_gpu: bool, arguments: &[&str]) -> Output {
        self.command(has_gpu).args(arguments).output().expect("runs")
    }

    fn profiled(&self, has_gpu: bool, arguments: &[&str]) -> (wire::Profile, Option<i32>) {
        let all = [&["profile", "--format", "json", "program.c"], arguments].concat();
        let out = self.run(has_gpu, &all);
        let text = String::from_utf8_lossy(&out.stdout);
        let errors = String::from_utf8_lossy(&out.stderr).into_owned();
        (serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}{errors}")), out.status.code())
    }
}

fn has_gpu() -> bool {
    !device::gpus().list.is_empty()
}

#[test]
fn a_loop_on_a_gpu() {
    let here = Here::new(SAXPY);
    let (profile, code) = here.profiled(true, &["-s", "n=5000"]);
    let [run] = &profile.runs[..] else { panic!("{profile:#?}") };
    assert_eq!((run.line, run.function.as_str(), run.target.as_str()), (2, "saxpy", "local"));
    assert_eq!(run.kernel, ["saxpy_i_kernel"]);
    assert_eq!((run.launches, run.copied_bytes, run.bytes), (1, [40_000, 20_000], Some(60_000)));
    assert_eq!(run.checked, "same", "{}", run.said);
    assert!(run.said.contains("10000 numbers compared"), "{}", run.said);
    assert_eq!(code, Some(0));
    // steps of a simulator are no times
    assert_eq!(run.rung, "simulator");
    assert!(run.device.as_ref().is_some_and(|d| d.contains("stand-in")));
    assert_eq!((run.kernel_ns, run.copies_ns, run.call_ns, run.share_of_ceiling), (None, None, None, None));
    // the CPU is real
    assert!(run.cpu_ns.one.is_some_and(|t| t.median > 0 && t.runs > 0), "{run:#?}");
}

#[test]
fn a_sum_is_held_against_what_the_function_returns() {
    let here = Here::new(DOT);
    let (profile, code) = here.profiled(true, &["-s", "n=3000"]);
    assert_eq!((profile.runs[0].checked.as_str(), code), ("same", Some(0)), "{}", profile.runs[0].said);
    // a compiler that takes the original for another program
    let wrong = DOT.replace("s += x[i] * y[i];", "s += x[i] * y[i] * FACTOR;");
    let here = Here::new(&format!("#ifndef FACTOR\n#define FACTOR 1\n#endif\n{wrong}"));
    let bin = here.path("bin");
    std::fs::create_dir(&bin).expect("folder");
    for name in ["gcc", "g++"] {
        use std::os::unix::fs::PermissionsExt as _;
        let text = format!("#!/bin/sh\nexec /usr/bin/{name} -DFACTOR=2 \"$@\"\n");
        std::fs::write(bin.join(name), text).expect("script");
        std::fs::set_permissions(bin.join(name), std::fs::Permissions::from_mode(0o755)).expect("executable");
    }
    let mut command = here.command(true);
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{path}", bin.display()));
    command.args(["profile", "--format", "json", "--compiler", "off", "program.c", "-s", "n=3000"]);
    let out = command.output().expect("runs");
    let profile: wire::Profile = serde_json::from_slice(&out.stdout).expect("the contract");
    let run = &profile.runs[0];
    assert!(run.checked == "different" && run.said.contains("is returned in place of"), "{}", run.said);
    assert_eq!(out.status.code(), Some(1));
}

#[test]
fn without_a_gpu_it_says_what_is_true() {
    if has_gpu() {
        return;
    }
    let here = Here::new(SAXPY);
    let (profile, code) = here.profiled(false, &["-s", "n=5000"]);
    let run = &profile.runs[0];
    assert!(run.said.contains("no GPU here") && run.said.contains("--on simulator"), "{}", run.said);
    assert_eq!((run.rung.as_str(), run.checked.as_str(), code), ("simulator", "same", Some(1)));
    let (profile, code) = here.profiled(false, &["-s", "n=5000", "--on", "simulator"]);
    assert_eq!((profile.runs[0].checked.as_str(), code), ("same", Some(0)));
    let out = here.run(false, &["hosts", "local"]);
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    assert!(text.contains("libcuda") && out.status.code() == Some(1), "{text}");
}

#[test]
fn bench_runs_kernels_where_a_gpu_is() {
    let here = Here::new(SAXPY);
    let bench = |has_gpu: bool, wrong: &str, more: &[&str]| {
        let mut command = here.command(has_gpu);
        command.env("WARPWRIGHT_STANDIN_WRONG", wrong);
        command.args(
            [&["bench", "--no-verify", "-s", "n=3000", "--format", "json", "program.c"], more].concat(),
        );
        let out = command.output().expect("runs");
        let answer: wire::Bench =
            serde_json::from_slice(&out.stdout).unwrap_or_else(|e| panic!("{e}: {out:?}"));
        (answer, out.status.code())
    };
    let (answer, code) = bench(true, "", &[]);
    let [run] = &answer.files[0].offloads[0].runs[..] else { panic!("{answer:#?}") };
    assert_eq!((run.checked.as_str(), run.launches, answer.no_gpu.as_ref()), ("same", 1, None), "{run:#?}");
    // steps of a simulator are no times
    assert_eq!((answer.totals.measured, answer.totals.different, code), (0, 0, Some(0)));
    let (answer, code) = bench(true, "skips", &[]);
    assert_eq!((answer.totals.different, code), (1, Some(1)), "{answer:#?}");
    let (answer, code) = bench(true, "skips", &["--on", "simulator"]);
    assert_eq!((answer.totals.different, code), (0, Some(0)), "{answer:#?}");
    assert!(answer.files[0].offloads[0].runs.is_empty());
    if !has_gpu() {
        let (answer, code) = bench(false, "", &[]);
        let says = |why: &String| why.contains("CUDA driver") || why.contains("GPU");
        assert!(answer.no_gpu.as_ref().is_some_and(says), "{answer:#?}");
        assert_eq!((answer.files[0].offloads[0].runs.len(), code), (0, Some(0)));
    }
}

#[test]
fn names_that_are_none_start_nothing() {
    let here = Here::new(SAXPY);
    let mark = here.path("mark");
    for host in [format!("-oProxyCommand=touch {}", mark.display()), format!("$(touch {})", mark.display())] {
        let out = here.run(false, &["profile", "program.c", &format!("--on={host}")]);
        assert_eq!(out.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&out.stderr).contains("no name of a host"));
    }
    let out = here.run(false, &["profile", "program.c", "-s", "m=3", "--on", "simulator"]);
    assert!(String::from_utf8_lossy(&out.stderr).contains("`m` is no integer"), "{out:?}");
    assert!(!mark.exists());
}

#[test]
fn verified_on_a_gpu() {
    let here = Here::new(SAXPY);
    let run = |has_gpu: bool, wrong: &str| {
        let mut command = here.command(has_gpu);
        command.env("WARPWRIGHT_STANDIN_WRONG", wrong);
        command.args(["verify", "--format", "json", "--on", "local", "--given", "n=3000", "program.c"]);
        let out = command.output().expect("runs");
        let answer: wire::Verification =
            serde_json::from_slice(&out.stdout).unwrap_or_else(|e| panic!("{e}: {out:?}"));
        (answer.loops[0].clone(), out.status.code())
    };
    let (check, code) = run(true, "");
    assert_eq!((check.outcome.as_str(), code), ("same", Some(0)), "{check:#?}");
    assert!(
        check.checked.iter().any(|c| c.starts_with("on local (Warpwright stand-in")),
        "{:?}",
        check.checked
    );
    let (check, code) = run(true, "skips");
    assert_eq!((check.outcome.as_str(), code), ("different", Some(1)), "{check:#?}");
    if !has_gpu() {
        let (check, code) = run(false, "");
        assert_eq!((check.outcome.as_str(), code), ("not tried", Some(1)), "{check:#?}");
        assert!(check.summary.contains("no GPU here"), "{}", check.summary);
    }
}

/// A server for this user alone, with throwaway keys, that gives its sessions the stand-in.
struct Sshd {
    child: Child,
    folder: TempDir,
}

impl Sshd {
    /// `None`: there is none here.
    fn start(here: &Here) -> Option<Sshd> {
        Sshd::start_with(here, "", "")
    }

    /// Whose sessions begin with a command, and have more in their environment.
    fn start_with(here: &Here, before: &str, env: &str) -> Option<Sshd> {
        let sshd = Path::new("/usr/sbin/sshd");
        if !sshd.is_file() || !Path::new("/usr/bin/ssh").is_file() {
            assert!(std::env::var_os("CI").is_none_or(|v| v != "true"), "missing tool: sshd");
            eprintln!("SKIPPED: openssh-server was not found; `cargo xtask test` installs it");
            return None;
        }
        // the server separates its privileges there
        let _ = std::fs::create_dir_all("/run/sshd");
        let folder = tempfile::tempdir().expect("temporary folder");
        let at = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
        for key in ["host", "user"] {
            let made =
                Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f", &at(key)]).status();
            assert!(made.is_ok_and(|s| s.success()));
        }
        std::fs::copy(at("user.pub"), at("authorized")).expect("key");
        std::fs::create_dir(at("home")).expect("folder");
        let port =
            std::net::TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a port").port();
        let lib = here.standin.folder().display().to_string();
        let config = format!(
            "Port {port}\nListenAddress 127.0.0.1\nHostKey {}\nAuthorizedKeysFile {}\nPidFile none\nUsePAM no\nStrictModes no\n\
             PasswordAuthentication no\nPermitRootLogin yes\nPrintMotd no\nBanner {}\n\
             SetEnv LD_LIBRARY_PATH={lib} WARPWRIGHT_NVRTC={lib}/libnvrtc.so HOME={} {env}\nForceCommand {before} cd {} && sh -c \"$SSH_ORIGINAL_COMMAND\"\n",
            at("host"), at("authorized"), at("banner"), at("home"), at("home"),
        );
        std::fs::write(at("banner"), "Welcome. Everything is logged.\n").expect("banner");
        std::fs::write(at("sshd_config"), config).expect("configuration");
        let client = format!(
            "Host gpu\n  HostName 127.0.0.1\n  Port {port}\n  IdentityFile {}\n  IdentitiesOnly yes\n  UserKnownHostsFile /dev/null\n  \
             StrictHostKeyChecking no\n  LogLevel ERROR\n  ControlMaster auto\n  ControlPath {}\n  ControlPersist 5\nHost gone\n  HostName 127.0.0.1\n  Port 1\n",
            at("user"), at("c"),
        );
        std::fs::write(at("ssh_config"), client).expect("configuration");
        let child =
            Command::new(sshd).args(["-D", "-e", "-f", &at("sshd_config")]).stderr(Stdio::null()).spawn();
        let sshd = Sshd { child: child.expect("starts"), folder };
        let end = Instant::now() + Duration::from_secs(20);
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(Instant::now() < end, "sshd does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
        Some(sshd)
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Ends all its sessions, and it goes on.
    fn cut(&self) {
        let own = self.child.id().to_string();
        let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let is_session = |stat: &str| {
            let behind = stat.rsplit_once(") ").map_or("", |s| s.1);
            stat.contains("(sshd") && behind.split(' ').nth(1) == Some(own.as_str())
        };
        for process in all {
            let stat = std::fs::read_to_string(process.path().join("stat")).unwrap_or_default();
            if is_session(&stat) {
                let id = process.file_name().to_string_lossy().into_owned();
                let _ = Command::new("kill").args(["-9", &id]).status();
            }
        }
    }

    /// Files below the worker's folder there.
    fn workers(&self) -> Vec<String> {
        let all = std::fs::read_dir(self.at("home/.cache/warpwright")).into_iter().flatten().flatten();
        all.map(|e| e.file_name().to_string_lossy().into_owned()).collect()
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn on_a_host_behind_ssh() {
    let here = Here::new(SAXPY);
    let Some(sshd) = Sshd::start(&here) else { return };
    let config = sshd.at("ssh_config").display().to_string();
    let there = |arguments: &[&str]| {
        let all = [
            &["profile", "--format", "json", "program.c", "-s", "n=4000", "--ssh-config", &config],
            arguments,
        ]
        .concat();
        here.run(false, &all)
    };
    let out = there(&["--on", "gpu"]);
    let errors = String::from_utf8_lossy(&out.stderr).into_owned();
    let profile: wire::Profile =
        serde_json::from_slice(&out.stdout).unwrap_or_else(|e| panic!("{e}: {errors}"));
    let run = &profile.runs[0];
    assert_eq!((run.target.as_str(), run.checked.as_str()), ("gpu", "same"), "{}", run.said);
    assert!(run.device.as_ref().is_some_and(|d| d.contains("stand-in")));
    assert!(errors.contains("bringing the worker to gpu"), "{errors}");
    // once, whole, and nothing beside it
    assert_eq!(sshd.workers().len(), 1, "{:?}", sshd.workers());
    let again = there(&["--on", "gpu"]);
    assert!(!String::from_utf8_lossy(&again.stderr).contains("bringing"), "{again:?}");
    assert_eq!(again.status.code(), Some(0));
    // a host that is not there
    let out = there(&["--on", "gone"]);
    let errors = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(errors.contains("gone was not reached by ssh") && out.status.code() == Some(2), "{errors}");
    // no room: the folder is a file
    std::fs::remove_dir_all(sshd.at("home/.cache")).expect("made above");
    std::fs::write(sshd.at("home/.cache"), "").expect("a file");
    let out = there(&["--on", "gpu"]);
    let errors = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(errors.contains("did not get to gpu") && out.status.code() == Some(2), "{errors}");
    let hosts = here.run(false, &["hosts", "--ssh-config", &config, "gone"]);
    assert!(String::from_utf8_lossy(&hosts.stdout).contains("was not reached"), "{hosts:?}");
}

/// Processes that were started with this in their environment.
fn processes(mark: &str) -> usize {
    let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let has = |p: PathBuf| std::fs::read(p).is_ok_and(|e| String::from_utf8_lossy(&e).contains(mark));
    all.filter(|e| has(e.path().join("environ"))).count()
}

/// Waits until none is left.
fn none_left(mark: &str) {
    let end = Instant::now() + Duration::from_secs(20);
    while processes(mark) > 0 {
        assert!(Instant::now() < end, "{} processes are left", processes(mark));
        std::thread::sleep(Duration::from_millis(20));
    }
}

const FOREVER: &str = "\
float x[500];

void spin(void) {
    for (int i = 0; i < 500; i++)
        for (long k = 0; k < 4000000000000; k++)
            x[i] = x[i] * 0.5f + 1;
}
";

/// Steps of a launch: none is too many.
const ENDLESS: &str = "WARPWRIGHT_STANDIN_STEPS=18446744073709551615";

#[test]
fn hosts_with_something_to_say_and_of_another_version() {
    let here = Here::new(SAXPY);
    let Some(sshd) = Sshd::start_with(&here, "echo Hello from a login script.;", "") else { return };
    let config = sshd.at("ssh_config").display().to_string();
    let there = || {
        let all = [
            "profile",
            "--format",
            "json",
            "program.c",
            "-s",
            "n=4000",
            "--ssh-config",
            &config,
            "--on",
            "gpu",
        ];
        let out = here.run(false, &all);
        let profile: wire::Profile =
            serde_json::from_slice(&out.stdout).unwrap_or_else(|e| panic!("{e}: {out:?}"));
        profile.runs[0].clone()
    };
    let run = there();
    assert_eq!((run.checked.as_str(), run.device.is_some()), ("same", true), "{}", run.said);
    // the worker there is another one now
    let workers = sshd.workers();
    let place = sshd.at("home/.cache/warpwright").join(&workers[0]);
    let hello = r#"{"type":"hello","id":1,"protocol":1,"worker":"warpwright 0.0.1","capabilities":[]}"#;
    let replace = |text: String| {
        use std::os::unix::fs::PermissionsExt as _;
        // the one before may still be on its way out
        std::fs::remove_file(&place).expect("there");
        std::fs::write(&place, text).expect("script");
        std::fs::set_permissions(&place, std::fs::Permissions::from_mode(0o755)).expect("executable");
    };
    replace(format!("#!/bin/sh\nread line\necho '{hello}'\nread line\n"));
    let run = there();
    assert!(run.device.is_none(), "{run:#?}");
    assert!(
        run.said.contains("speaks protocol 1") && run.said.contains("Install the same version"),
        "{}",
        run.said
    );
    // one that ends at once
    replace("#!/bin/sh\necho no room for me >&2\nexit 3\n".to_owned());
    let run = there();
    assert!(run.said.contains("The worker ended") && run.said.contains("no room for me"), "{}", run.said);
}

#[test]
fn a_host_that_vanishes_leaves_nothing_behind() {
    let here = Here::new(FOREVER);
    let mark = format!("vanishes-{}", std::process::id());
    let Some(sshd) = Sshd::start_with(&here, "", &format!("{ENDLESS} WW_MARK={mark}")) else { return };
    let config = sshd.at("ssh_config").display().to_string();
    let start = || {
        let mut command = here.command(false);
        command.args(["profile", "--format", "json", "program.c", "--ssh-config", &config, "--on", "gpu"]);
        let child = command.env("WW_HERE", &mark).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut child = child.expect("starts");
        let mut errors = std::io::BufReader::new(child.stderr.take().expect("piped"));
        let mut said = String::new();
        while !said.contains("running it once") {
            let read = std::io::BufRead::read_line(&mut errors, &mut said).expect("a pipe");
            assert!(read > 0, "{said}");
        }
        std::thread::spawn(move || std::io::copy(&mut errors, &mut std::io::sink()));
        child
    };
    // its end of the connection
    let child = start();
    sshd.cut();
    let out = child.wait_with_output().expect("ends");
    let profile: wire::Profile = serde_json::from_slice(&out.stdout).expect("the contract");
    let run = &profile.runs[0];
    assert!(run.device.is_none() && run.said.contains("The worker ended"), "{}", run.said);
    assert_eq!(out.status.code(), Some(1));
    none_left(&mark);
    // our end, with no time to say anything
    let mut child = start();
    assert!(processes(&mark) > 1);
    child.kill().expect("ours");
    child.wait().expect("ours");
    none_left(&mark);
}

#[test]
fn no_room_and_no_time() {
    let here = Here::new(FOREVER);
    if let Some(sshd) = Sshd::start_with(&here, "ulimit -f 1000;", "") {
        let config = sshd.at("ssh_config").display().to_string();
        let out = here.run(false, &["profile", "program.c", "--ssh-config", &config, "--on", "gpu"]);
        let errors = String::from_utf8_lossy(&out.stderr).into_owned();
        assert!(errors.contains("did not get to gpu") && errors.contains("Is there room"), "{errors}");
        assert!(sshd.workers().iter().all(|w| w.contains('.')), "{:?}", sshd.workers());
    }
    let mut command = here.command(true);
    let (name, steps) = ENDLESS.split_once('=').expect("a setting");
    command.env(name, steps).args(["profile", "--format", "json", "program.c", "--limit", "2"]);
    let out = command.output().expect("runs");
    let profile: wire::Profile = serde_json::from_slice(&out.stdout).expect("the contract");
    let run = &profile.runs[0];
    assert!(run.said.contains("longer than 2 s") && run.said.contains("does not end"), "{}", run.said);
    assert_eq!((run.device.as_ref(), run.kernel_ns), (None, None));
}

#[test]
fn without_a_c_compiler_it_is_measured_and_not_compared() {
    let here = Here::new(SAXPY);
    std::fs::create_dir(here.path("bin")).expect("folder");
    let mut command = here.command(true);
    command.env("PATH", here.path("bin")).args(["profile", "--format", "json", "--compiler", "off"]);
    let out = command.args(["program.c", "-s", "n=500"]).output().expect("runs");
    let profile: wire::Profile =
        serde_json::from_slice(&out.stdout).unwrap_or_else(|e| panic!("{e}: {out:?}"));
    let run = &profile.runs[0];
    assert_eq!((run.checked.as_str(), run.launches, run.cpu_ns.one), ("not tried", 1, None), "{}", run.said);
    assert!(run.device.is_some() && run.said.contains("there is no C compiler"), "{}", run.said);
    assert_eq!(out.status.code(), Some(1));
}

#[test]
fn an_editor_runs_things_where_the_user_says_and_nowhere_else() {
    let here = Here::new(SAXPY);
    let mark = format!("editor-{}", std::process::id());
    let Some(sshd) = Sshd::start_with(&here, "", &format!("WW_MARK={mark}")) else { return };
    // the user's own configuration
    let bin = here.path("bin");
    std::fs::create_dir(&bin).expect("folder");
    let text = format!("#!/bin/sh\nexec /usr/bin/ssh -F {} \"$@\"\n", sshd.at("ssh_config").display());
    std::fs::write(bin.join("ssh"), text).expect("script");
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(bin.join("ssh"), executable).expect("executable");
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default());
    let state = here.path("state").display().to_string();
    let mut client = Client::spawn(&[("PATH", &path), ("XDG_STATE_HOME", &state)]);
    // what a workspace would like: a host of its own, and a command as the name of one
    let folder = |name: &str| {
        let path = here.path(name);
        std::fs::create_dir(&path).expect("folder");
        let file = path.join("it's $(touch evil) & `touch evil`.c");
        std::fs::write(&file, SAXPY).expect("program");
        (format!("file://{}", path.display()), file)
    };
    let (evil, file) = folder("evil");
    let (other, _) = folder("other");
    let wish = format!("-oProxyCommand=touch {}", here.path("evil/touched").display());
    let mut configuration = json!({"hosts": ["gpu"]});
    configuration[&evil] = json!({"hosts": [wish, "gone"]});
    configuration[&other] = json!({"hosts": ["gone"]});
    client.configuration = configuration;
    let mut caps = full_caps();
    caps["workspace"]["configuration"] = json!(true);
    let folders: Vec<_> = [&evil, &other].iter().map(|uri| json!({"uri": uri, "name": "f"})).collect();
    client.init = client.request("initialize", json!({"processId": std::process::id(), "rootUri": null, "capabilities": caps, "workspaceFolders": folders}));
    client.notify("initialized", json!({}));
    let encoded: String = file
        .to_string_lossy()
        .bytes()
        .map(|b| match b {
            b'/' | b'.' | b'-' | b'_' => char::from(b).to_string(),
            b if b.is_ascii_alphanumeric() => char::from(b).to_string(),
            b => format!("%{b:02X}"),
        })
        .collect();
    let uri = format!("file://{encoded}");
    client.open(&uri, SAXPY);
    client.wait("settings of folders", |m| {
        m["method"] == "workspace/configuration"
            && m["params"]["items"].as_array().is_some_and(|i| i.len() == 2)
    });
    let profile = |on: Option<&str>| {
        let mut target = json!({"uri": uri, "line": 1, "sizes": {"n": 4000}});
        if let Some(on) = on {
            target["on"] = json!(on);
        }
        json!({"command": "warpwright.profile", "arguments": [target]})
    };
    for on in [wish.as_str(), "gone"] {
        let no = client.refused("workspace/executeCommand", profile(Some(on)));
        assert!(no["message"].as_str().is_some_and(|m| m.contains("none of your hosts")), "{no:#}");
    }
    // asked, and the answer is no
    let no = client.refused("workspace/executeCommand", profile(None));
    assert!(no["message"].as_str().is_some_and(|m| m.contains("was not allowed")), "{no:#}");
    let asked = client.wait("the question", |m| m["method"] == "window/showMessageRequest");
    assert!(asked["params"]["message"].as_str().is_some_and(|m| m.contains("on gpu?")), "{asked:#}");
    assert!(sshd.workers().is_empty() && processes(&mark) == 0);
    // yes; and not asked again
    client.message_answer = json!({"title": "Run there"});
    let done = client.request("workspace/executeCommand", profile(None));
    assert_eq!(
        (&done["runs"][0]["target"], &done["runs"][0]["checked"]),
        (&json!("gpu"), &json!("same")),
        "{done:#}"
    );
    assert_eq!(done["runs"][0]["sizes"], json!({"n": 4000}));
    client.wait("the question", |m| m["method"] == "window/showMessageRequest");
    client.request("workspace/executeCommand", profile(Some("gpu")));
    assert!(!client.inbox.iter().any(|m| m["method"] == "window/showMessageRequest"));
    let left: Vec<String> = std::fs::read_dir(here.path("evil"))
        .expect("folder")
        .flatten()
        .map(|e| e.file_name().to_string_lossy().into_owned())
        .collect();
    assert_eq!(left.len(), 1, "{left:?}");
    assert_eq!(client.finish(), Some(0));
    none_left(&mark);
}
