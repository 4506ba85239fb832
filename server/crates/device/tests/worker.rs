//! The protocol and its accidents: dead, silent, late and babbling workers are values, and nothing hangs.

mod common;

use base::CancelToken;
use common::{client, script, WORKER};
use device::protocol::Reply;
use device::{Arch, Client, CompileOutcome, CompileRequest, DeviceError, Limits, WorkerCommand};
use std::io::Cursor;
use std::time::{Duration, Instant};

const HELLO: &str = r#"echo '{"type":"hello","id":1,"protocol":2,"worker":"script","capabilities":[]}'"#;

fn short() -> Limits {
    Limits {
        start: Duration::from_secs(5),
        request: Duration::from_millis(300),
        grace: Duration::from_millis(100),
        memory_bytes: None,
    }
}

fn request() -> CompileRequest {
    CompileRequest::new(common::SAXPY, "k.cu", Arch::sm(90))
}

fn machine(client: &mut Client) -> Result<device::protocol::Machine, DeviceError> {
    client.machine(Some("/nowhere".into()), &CancelToken::new())
}

/// Replies of the worker's loop to these lines.
fn talk(lines: &str) -> Vec<Reply> {
    let mut output = Vec::new();
    device::worker::serve(Cursor::new(lines.as_bytes().to_vec()), &mut output);
    let output = String::from_utf8(output).expect("UTF-8");
    output.lines().map(|l| serde_json::from_str(l).expect("a reply")).collect()
}

fn show(replies: &[Reply]) -> String {
    let lines = replies.iter().map(|r| match r {
        Reply::Hello { id, protocol, .. } => format!("{id} hello {protocol}"),
        Reply::Progress { id, .. } => format!("{id} progress"),
        Reply::Report { id, .. } => format!("{id} report"),
        Reply::NotSupported { id, reason } => format!("{id} not supported: {reason}"),
        Reply::Error { id, kind, message } => format!("{id:?} {kind:?}: {message}"),
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn the_conversation() {
    let bundle = r#"{"name":"k","source":"","host":[],"steps":[{"do":"free","memory":0}]}"#;
    let profile = format!(r#"{{"type":"profile","id":7,"bundle":{bundle}}}"#);
    let lines = [
        r#"{"type":"machine","id":1,"library":"/nowhere"}"#,
        r#"{"type":"hello","id":2,"protocol":99}"#,
        r#"{"type":"hello","id":3,"protocol":2,"a field of the future":true}"#,
        "",
        "}{ garbage",
        r#"{"type":"compile","id":4,"request":{"source":"x"}}"#,
        r#"{"type":"teleport","id":5}"#,
        r#"{"type":"compile","id":6,"request":{"source":"x","name":"k","arch":"sm_90","library":"/nowhere"}}"#,
        &profile,
        r#"{"type":"cancel","id":77}"#,
    ];
    let replies = talk(&lines.join("\n"));
    expect_test::expect![[r#"
        Some(1) Protocol: The first request must be hello.
        Some(2) Protocol: This worker speaks protocol 2, not 99. Install the same version of warpwright on both machines.
        3 hello 2
        None Malformed: The line is not a request: expected value at line 1 column 1.
        Some(4) Malformed: The line is not a request: missing field `name`.
        5 not supported: it does not know the request "teleport". Install a newer warpwright there.
        6 report
        7 report"#]]
    .assert_eq(&show(&sorted(replies)));
}

/// Reports come when they are done: put them last.
fn sorted(mut replies: Vec<Reply>) -> Vec<Reply> {
    replies.sort_by_key(|r| matches!(r, Reply::Report { .. }));
    replies
}

#[test]
fn not_utf8_is_answered() {
    let mut output = Vec::new();
    device::worker::serve(
        Cursor::new(b"\xff\xfe\n{\"type\":\"hello\",\"id\":1,\"protocol\":2}\n".to_vec()),
        &mut output,
    );
    let output = String::from_utf8(output).expect("UTF-8");
    assert_eq!(output.lines().count(), 2);
    assert!(output.contains("not UTF-8"));
}

#[test]
fn a_machine_is_described() {
    let mut client = client(Limits::default());
    assert!(client.worker().starts_with("warpwright "));
    assert_eq!(client.capabilities(), ["compile", "machine", "profile", "prove"]);
    let machine = machine(&mut client).expect("answers");
    assert!(!machine.host.is_empty());
    assert!(machine.nvrtc.is_none());
    assert!(machine.nvrtc_reason.is_some_and(|r| r.reason.contains("/nowhere")));
    assert_eq!(machine.gpus.list.is_empty(), machine.gpus.reason.is_some());
}

#[test]
fn gpus_of_a_stand_in_driver() {
    let dir = tempfile::tempdir().expect("temporary folder");
    let source = dir.path().join("cuda.c");
    std::fs::write(
        &source,
        "#include <stdio.h>
         #include <string.h>
         int cuInit(unsigned f) { puts(\"noise on standard output\"); fflush(stdout); return 0; }
         int cuDriverGetVersion(int *v) { *v = 13000; return 0; }
         int cuDeviceGetCount(int *n) { *n = 2; return 0; }
         int cuDeviceGet(int *d, int i) { *d = i; return i == 1 ? 101 : 0; }
         int cuDeviceGetName(char *s, int n, int d) { strncpy(s, \"Paper GPU\", n); return 0; }
         int cuDeviceTotalMem_v2(size_t *b, int d) { *b = 6; *b <<= 30; return 0; }
         int cuDeviceGetAttribute(int *v, int a, int d) { *v = a == 75 ? 9 : a == 76 ? 0 : a == 16 ? 132 : -1; return 0; }",
    )
    .expect("file");
    let build = |output: &str, source: &std::path::Path| {
        std::process::Command::new("cc")
            .args(["-shared", "-fPIC", "-o"])
            .arg(dir.path().join(output))
            .arg(source)
            .status()
    };
    if !build("libcuda.so", &source).is_ok_and(|s| s.success()) {
        return common::skipped("cc (a C compiler)");
    }
    let command = WorkerCommand::new([WORKER]).with_env("LD_LIBRARY_PATH", dir.path().to_string_lossy());
    let mut client = Client::spawn(command.clone(), Limits::default()).expect("starts");
    let gpus = machine(&mut client).expect("answers").gpus;
    assert_eq!(gpus.driver, Some((13, 0)));
    assert_eq!(gpus.list.len(), 1);
    let gpu = &gpus.list[0];
    assert_eq!((gpu.name.as_str(), gpu.compute_capability, gpu.multiprocessors), ("Paper GPU", (9, 0), 132));
    assert_eq!(gpu.memory_bytes, 6 << 30);
    assert!(gpus.reason.is_some_and(|r| r.contains("GPU 1 did not answer")), "the second is not hidden");

    // a driver without the functions: cudarc panics, we do not
    let empty = dir.path().join("empty.c");
    std::fs::write(&empty, "int nothing;").expect("file");
    assert!(build("libcuda.so", &empty).is_ok_and(|s| s.success()));
    let mut client = Client::spawn(command, Limits::default()).expect("starts");
    let gpus = machine(&mut client).expect("answers").gpus;
    assert!(gpus.list.is_empty());
    assert!(gpus.reason.is_some_and(|r| r.contains("newer driver")));
}

#[test]
fn a_program_that_is_not_there() {
    let error = Client::spawn(WorkerCommand::new(["/nowhere/warpwright", "worker"]), short()).err();
    assert!(matches!(error, Some(DeviceError::Start { .. })), "{error:?}");
    let error = Client::spawn(WorkerCommand::default(), short()).err().expect("no command");
    assert!(error.to_string().contains("Check the worker's command"), "{error}");
    let outcome = Client::lazy(WorkerCommand::default(), short()).compile(request(), &CancelToken::new());
    let CompileOutcome::Unavailable(reason) = outcome else { panic!("{outcome:?}") };
    assert!(reason.next_step.starts_with("Check the worker's command"), "{reason:?}");
}

#[test]
fn a_worker_that_ends_says_why() {
    let error = Client::spawn(script("echo no such module: cuda >&2; exit 7"), short()).err();
    let Some(DeviceError::Died { status, stderr }) = error else { panic!("{error:?}") };
    assert!(status.contains('7'), "{status}");
    assert_eq!(stderr, "no such module: cuda");
}

#[test]
fn a_worker_that_is_killed_is_started_again() {
    let dir = tempfile::tempdir().expect("temporary folder");
    let mark = dir.path().join("once");
    // the first worker dies at its first request, the next ones are real
    let text = format!(
        "if [ -e '{mark}' ]; then exec '{WORKER}'; fi; touch '{mark}'; read hello; {HELLO}; read r; kill -9 $$",
        mark = mark.display()
    );
    let mut client = Client::spawn(script(&text), short()).expect("says hello");
    let error = machine(&mut client).expect_err("killed");
    assert!(matches!(&error, DeviceError::Died { status, .. } if status.contains('9')), "{error}");
    client = Client::spawn(script(&text), Limits::default()).expect("the real one");
    assert!(machine(&mut client).is_ok());

    // killed between two requests: nobody notices
    let idle = format!("read hello; {HELLO}; exit 0");
    std::fs::remove_file(&mark).expect("made above");
    let text = format!("if [ -e '{m}' ]; then exec '{WORKER}'; fi; touch '{m}'; {idle}", m = mark.display());
    let mut client = Client::spawn(script(&text), Limits::default()).expect("says hello");
    std::thread::sleep(Duration::from_millis(200));
    assert!(machine(&mut client).is_ok());
}

#[test]
fn silence_has_an_end() {
    let began = Instant::now();
    let limits = Limits { start: Duration::from_millis(300), ..short() };
    let error = Client::spawn(script("exec sleep 60"), limits).err();
    assert!(matches!(error, Some(DeviceError::NoHello { .. })), "{error:?}");
    let text = format!("read hello; {HELLO}; sleep 60; sleep 60");
    let mut client = Client::spawn(script(&text), short()).expect("says hello");
    assert!(matches!(machine(&mut client), Err(DeviceError::TimeLimit { limit_ms: 300 })));
    // one that does not read its input either, however much there is of it
    let mut big = request();
    big.source = "x".repeat(8 << 20);
    let outcome = client.compile(CompileRequest { limit_ms: Some(200), ..big }, &CancelToken::new());
    assert!(matches!(outcome, CompileOutcome::Unavailable(_)));
    assert!(began.elapsed() < Duration::from_secs(10), "took {:?}", began.elapsed());
}

#[test]
fn what_a_worker_started_ends_with_it() {
    let dir = tempfile::tempdir().expect("temporary folder");
    let mark = dir.path().join("pid");
    let text = format!("read hello; {HELLO}; sleep 61 & echo $! > '{}'; wait", mark.display());
    let mut client = Client::spawn(script(&text), short()).expect("says hello");
    assert!(matches!(machine(&mut client), Err(DeviceError::TimeLimit { .. })));
    let pid = std::fs::read_to_string(&mark).expect("written");
    // ended, or ended and not yet reaped by init
    let end = Instant::now() + Duration::from_secs(5);
    loop {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
        if stat.is_empty() || stat.contains(") Z ") {
            break;
        }
        assert!(Instant::now() < end, "still there: {stat}");
        std::thread::yield_now();
    }
}

#[test]
fn garbage_is_refused_and_banners_are_not() {
    let banner = format!("echo Welcome to the cluster; echo '{{\"motd\":1}}'; exec '{WORKER}'");
    let mut client = Client::spawn(script(&banner), Limits::default()).expect("a banner is skipped");
    assert!(machine(&mut client).is_ok());

    let babble = format!("read hello; {HELLO}; read r; echo 'Segmentation fault'; sleep 60");
    let mut client = Client::spawn(script(&babble), short()).expect("says hello");
    let error = machine(&mut client).expect_err("garbage");
    assert!(matches!(&error, DeviceError::Protocol { what } if what.contains("Segmentation")), "{error}");

    let endless = "yes";
    let error = Client::spawn(script(endless), short()).err();
    assert!(matches!(error, Some(DeviceError::NoHello { .. })), "{error:?}");
    let wrong =
        format!("read hello; {HELLO}; read r; yes '{{\"type\":\"progress\",\"id\":2,\"text\":\"x\"}}'");
    let mut client = Client::spawn(script(&wrong), short()).expect("says hello");
    assert!(
        matches!(machine(&mut client), Err(DeviceError::TimeLimit { .. })),
        "progress without end is no answer"
    );

    let old = r#"read hello; echo '{"type":"hello","id":1,"protocol":9}'; sleep 60"#;
    let error = Client::spawn(script(old), short()).err().expect("another version");
    assert_eq!(error, DeviceError::Version { ours: 2, theirs: 9 });
    assert!(error.to_string().contains("Install the same version"));
}

#[test]
fn a_closed_output_ends_the_worker() {
    struct Closed;
    impl std::io::Write for Closed {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let input = Cursor::new(b"{\"type\":\"hello\",\"id\":1,\"protocol\":2}\n".to_vec());
    assert_eq!(device::worker::serve(input, Closed), device::worker::ServeEnd::Output);
}
