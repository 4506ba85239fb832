//! What a compiler of this machine defines before the first line, asked once for each language and set of options.
//!
//! On the command line whoever reads a text waits for the answer; in an editor nobody does: a thread asks, texts are read
//! without an answer until it is there, and then once more. Deliberately absent: what the answer means (`front`), and how
//! compilers are found and run (`device`).

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use device::found;

use crate::limits::compiler::{LIMIT, MOST};

/// Which compiler is to be asked.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Wanted {
    #[default]
    None,
    /// The one on the search path.
    Found,
    Named(PathBuf),
}

impl Wanted {
    /// As the user says it: `off`, an absolute path, or nothing.
    pub fn read(text: &str) -> Wanted {
        match text.trim() {
            "" => Wanted::Found,
            "off" => Wanted::None,
            path => Wanted::Named(path.into()),
        }
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Question {
    language: ide::Language,
    /// `None`: the options of the text are not known.
    flags: Option<Vec<String>>,
}

type Answer = Option<Arc<ide::Predefined>>;

/// Compilers of this machine.
#[derive(Debug, Default)]
pub struct Compilers {
    state: Mutex<State>,
    /// Set where nobody waits.
    later: Option<Later>,
}

struct Later(Box<dyn Fn() + Send + Sync>);

impl std::fmt::Debug for Later {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Later")
    }
}

#[derive(Debug, Default)]
struct State {
    wanted: Wanted,
    /// Nothing in these folders is run.
    outside: Vec<PathBuf>,
    answers: HashMap<Question, Answer>,
    /// What the thread has still to ask, what it asks now, and whether it runs.
    waiting: Vec<Question>,
    now: Option<Question>,
    asking: bool,
    /// Counts the changes of what is wanted: an answer to an earlier question is dropped.
    epoch: u64,
}

impl Compilers {
    /// Whoever reads a text waits for the answer.
    pub fn now(wanted: Wanted, outside: Vec<PathBuf>) -> Compilers {
        let state = State { wanted, outside, ..State::default() };
        Compilers { state: Mutex::new(state), later: None }
    }

    /// Nobody waits; `tell` is called when texts are to be read once more. Nothing is asked until something is
    /// [wanted](Compilers::want).
    pub fn later(tell: impl Fn() + Send + Sync + 'static) -> Compilers {
        Compilers { state: Mutex::default(), later: Some(Later(Box::new(tell))) }
    }

    /// Says which compiler is asked from now on.
    pub fn want(self: &Arc<Compilers>, wanted: Wanted) {
        let mut state = self.lock();
        if state.wanted != wanted {
            state.wanted = wanted;
            self.again(&mut state);
        }
    }

    /// Nothing in this folder is run from now on.
    pub fn keep_out(self: &Arc<Compilers>, folder: &Path) {
        let mut state = self.lock();
        if !state.outside.iter().any(|f| f == folder) {
            state.outside.push(folder.to_owned());
            // who was asked before may lie in it
            let program = state.program();
            state.outside.pop();
            let before = state.program();
            state.outside.push(folder.to_owned());
            if program != before {
                self.again(&mut state);
            }
        }
    }

    /// All that was asked is asked again.
    fn again(self: &Arc<Compilers>, state: &mut State) {
        state.epoch += 1;
        let asked: Vec<Question> = state.answers.drain().map(|(q, _)| q).collect();
        if self.later.is_some() {
            state.waiting.extend(asked);
            self.start(state);
        }
    }

    /// What the compiler defines for texts of a language, as far as it was asked. `flags`: all options of the text that
    /// decide it, where they are known.
    pub fn predefined(self: &Arc<Compilers>, language: ide::Language, flags: Option<&[String]>) -> Answer {
        let mut state = self.lock();
        let mut question = Question { language, flags: flags.map(<[String]>::to_vec) };
        if state.answers.len() + state.waiting.len() >= MOST && !state.answers.contains_key(&question) {
            question.flags = None;
        }
        if let Some(answer) = state.answers.get(&question) {
            return answer.clone();
        }
        if self.later.is_some() {
            if !state.waiting.contains(&question) && state.now.as_ref() != Some(&question) {
                state.waiting.push(question);
                self.start(&mut state);
            }
            return None;
        }
        let answer = ask(state.program().as_deref(), &state.outside, &question);
        state.answers.insert(question, answer.clone());
        answer
    }

    /// Starts the thread that asks, unless it runs or nothing is to be asked.
    fn start(self: &Arc<Compilers>, state: &mut State) {
        if state.asking || state.waiting.is_empty() || state.wanted == Wanted::None {
            return;
        }
        let own = self.clone();
        let thread = std::thread::Builder::new().name("ww-compiler".to_owned());
        state.asking = thread.spawn(move || own.work()).is_ok();
    }

    fn work(&self) {
        let mut is_news = false;
        loop {
            let mut state = self.lock();
            let Some(question) = state.waiting.pop().filter(|_| state.wanted != Wanted::None) else {
                state.asking = false;
                break;
            };
            state.now = Some(question.clone());
            let (epoch, wanted, outside) = (state.epoch, state.wanted.clone(), state.outside.clone());
            drop(state);
            let looking = State { wanted, outside, ..State::default() };
            let answer = ask(looking.program().as_deref(), &looking.outside, &question);
            let mut state = self.lock();
            state.now = None;
            if state.epoch == epoch {
                is_news |= answer.is_some();
                state.answers.insert(question, answer);
            } else {
                state.waiting.push(question);
            }
        }
        if let Some(Later(tell)) = self.later.as_ref().filter(|_| is_news) {
            tell();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // every change is one insertion: after a panic elsewhere all is still right
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn program(&self) -> Option<PathBuf> {
        match &self.wanted {
            Wanted::None => None,
            Wanted::Found => found::compiler(None, &self.outside),
            Wanted::Named(path) => found::compiler(Some(path), &self.outside),
        }
    }
}

fn ask(program: Option<&Path>, outside: &[PathBuf], question: &Question) -> Answer {
    let program = program?;
    let of = match question.language.compiler.as_ref()?.standard {
        ide::Standard::C => found::Asked::C,
        ide::Standard::Cpp => found::Asked::Cpp,
    };
    let asked = |flags: Option<&[String]>| {
        let text = found::predefined(program, (of, flags.unwrap_or(&[])), outside, limit())?;
        ide::Predefined::read(question.language, &text, flags.is_some())
    };
    let flags = question.flags.as_deref();
    // options of another compiler may mean nothing to this one
    let answer = asked(flags).or_else(|why| if flags.is_some() { asked(None) } else { Err(why) });
    match answer {
        Ok(answer) => Some(Arc::new(answer)),
        Err(why) => {
            tracing::warn!("what {} defines is not used: {why}", program.display());
            None
        }
    }
}

/// How long an answer may take; tests on busy machines may wait longer, in builds for tests alone.
fn limit() -> Duration {
    let told = std::env::var("WARPWRIGHT_TEST_ASK_SECONDS").ok().filter(|_| cfg!(debug_assertions));
    told.and_then(|s| s.parse().ok()).map_or(LIMIT, Duration::from_secs)
}

/// The folder of the project that a file is of: the nearest above it that looks like one, else the one it is in. Nothing is
/// said of the root of the file system.
pub fn project_of(file: &Path) -> Option<PathBuf> {
    const SIGNS: [&str; 7] =
        [".git", ".hg", ".svn", ".vscode", ".warpwright", "compile_commands.json", "compile_flags.txt"];
    let file = std::path::absolute(file).ok()?;
    let folder = file.parent()?;
    let is_project = |f: &&Path| SIGNS.iter().any(|sign| f.join(sign).exists());
    let found = folder.ancestors().find(is_project).filter(|f| f.parent().is_some()).unwrap_or(folder);
    found.parent().map(|_| found.to_owned())
}
