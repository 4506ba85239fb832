//! How long the analysis of a set of programs takes in one process: reading (front) and proving (analysis) at full
//! budget, every round from nothing.
//!
//! Deliberately absent: what is found. The markers of the same files are judged elsewhere.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use analysis::{Program, TestCounts};
use base::Budget;
use front::{Headers, Language, Memo, Options, Parsed, Unit};

/// One file, in the best of the rounds.
#[derive(Clone, Debug)]
pub struct FileTime {
    pub name: String,
    pub loops: usize,
    /// Text to bodies, and summaries of functions.
    pub front: Duration,
    /// Bodies to facts.
    pub analysis: Duration,
    /// The function that took longest, the time and the number of its loops.
    pub worst: (String, Duration, usize),
}

impl FileTime {
    pub fn total(&self) -> Duration {
        self.front + self.analysis
    }
}

/// What a measurement gives.
#[derive(Clone, Debug, Default)]
pub struct Times {
    pub files: Vec<FileTime>,
    /// One after the other, the best round by the clock.
    pub total: Duration,
    /// The same in processor time, where the system tells it: other work on the machine does not count.
    pub processor: Option<Duration>,
    /// On several threads, the best round by the clock.
    pub threads: usize,
    pub parallel: Duration,
    /// Who answered how many questions about dependences, in one round.
    pub tests: TestCounts,
}

/// Measures the C files of a folder, `rounds` times sequentially and as often on all cores.
pub fn measure(folder: &std::path::Path, rounds: usize) -> std::io::Result<Times> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)?
        .filter_map(|e| e.ok().map(|e| e.path()))
        .filter(|p| p.extension().is_some_and(|e| e == "c"))
        .collect();
    files.sort();
    let mut texts = Vec::new();
    for f in &files {
        let name = f.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        texts.push((name, std::fs::read_to_string(f)?));
    }
    let mut out = Times::default();
    for round in 0..rounds.max(1) {
        let (clock, processor) = (Instant::now(), processor_time());
        let headers = crate::headers::of_fixtures();
        let mut tests = TestCounts::default();
        let files: Vec<FileTime> =
            texts.iter().map(|(name, text)| one(name, text, &headers, &mut tests)).collect();
        let took = clock.elapsed();
        let used = processor_time().zip(processor).map(|(b, a)| b.saturating_sub(a));
        if round == 0 || took < out.total {
            (out.total, out.files, out.tests) = (took, files, tests);
        }
        out.processor = match (out.processor, used) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
    }
    out.threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    for round in 0..rounds.max(1) {
        let clock = Instant::now();
        on_all_cores(&texts, out.threads);
        if round == 0 || clock.elapsed() < out.parallel {
            out.parallel = clock.elapsed();
        }
    }
    Ok(out)
}

fn one(name: &str, text: &str, headers: &Headers, tests: &mut TestCounts) -> FileTime {
    let clock = Instant::now();
    let (unit, program) = read(text, headers);
    let front = clock.elapsed();
    let (mut worst, mut loops) = ((String::new(), Duration::ZERO, 0), 0);
    for i in &unit.items {
        let began = Instant::now();
        let facts = analysis::analyze(&i.body, &program, analysis::SAVE, &Budget::new(u64::MAX));
        let took = began.elapsed();
        loops += facts.loops.len();
        tests.add(&facts.tests);
        if took > worst.1 {
            worst = (i.name.to_string(), took, facts.loops.len());
        }
    }
    FileTime { name: name.to_owned(), loops, front, analysis: clock.elapsed() - front, worst }
}

fn read(text: &str, headers: &Headers) -> (Unit, Program) {
    let options = Options { headers: Some(headers.clone()), ..Options::default() };
    let unit = front::lower(&Parsed::parse(Language::C, text), &options, &mut Memo::new());
    let items = unit.items.iter().chain(unit.included.iter().map(|i| &i.item));
    let program = Program::of(items.map(|i| &i.body));
    (unit, program)
}

/// Every thread takes the next file that nobody has taken.
fn on_all_cores(texts: &[(String, String)], threads: usize) {
    let headers = crate::headers::of_fixtures();
    let next = AtomicUsize::new(0);
    let worker = || {
        while let Some((_, text)) = texts.get(next.fetch_add(1, Ordering::Relaxed)) {
            let (unit, program) = read(text, &headers);
            for i in &unit.items {
                let budget = Budget::new(u64::MAX);
                std::hint::black_box(analysis::analyze(&i.body, &program, analysis::SAVE, &budget));
            }
        }
    };
    std::thread::scope(|s| {
        for _ in 0..threads {
            s.spawn(worker);
        }
    });
}

/// What this thread has used of the processor (Linux: first number of `schedstat`, in nanoseconds).
fn processor_time() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(Duration::from_nanos(text.split_whitespace().next()?.parse().ok()?))
}
