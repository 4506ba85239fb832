//! The one state behind a lock, and how every call begins and ends.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};

use simulate::{Code, Heap, ObjectId};

use crate::codes::{Result, INVALID_CONTEXT, NOT_INITIALIZED, UNKNOWN};
use crate::watch::Watch;

/// A handle: never an address of this process.
pub type Handle = usize;

/// A context: what a kernel broke stays broken.
#[derive(Default)]
pub struct Context {
    /// What every call gives from now on.
    pub lost: Option<u32>,
    /// How often it was retained, of the primary one.
    pub retained: u32,
}

/// A loaded program.
pub struct Module {
    pub globals: rustc_hash::FxHashMap<Arc<str>, ObjectId>,
    pub kernels: BTreeMap<String, Arc<Code>>,
}

/// A kernel of a module.
#[derive(Clone)]
pub struct Function {
    pub module: Handle,
    pub code: Arc<Code>,
    /// Bytes of dynamic shared memory that may be asked for.
    pub dynamic: u64,
}

/// Everything.
pub struct State {
    pub heap: Heap,
    pub ready: bool,
    pub memory: u64,
    pub used: u64,
    next: Handle,
    pub contexts: BTreeMap<Handle, Context>,
    pub primary: Option<Handle>,
    pub modules: BTreeMap<Handle, Module>,
    pub functions: BTreeMap<Handle, Function>,
    /// Allocations by address: bytes, and whose they are.
    pub allocations: BTreeMap<u64, (u64, Handle)>,
    /// Host memory that was asked for, by address.
    pub host: BTreeMap<usize, Vec<u64>>,
    pub streams: std::collections::BTreeSet<Handle>,
    /// Events: when they were recorded, in steps.
    pub events: BTreeMap<Handle, Option<u64>>,
    /// Steps so far.
    pub clock: u64,
    pub programs: BTreeMap<Handle, crate::nvrtc::Program>,
    pub watch: Watch,
}

thread_local! {
    /// The contexts that this thread has pushed, the current one last.
    pub static STACK: std::cell::RefCell<Vec<Handle>> = const { std::cell::RefCell::new(Vec::new()) };
}

static STATE: Mutex<Option<State>> = Mutex::new(None);

/// A number that the environment gives.
pub fn setting(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|v| v.trim().parse().ok()).unwrap_or(otherwise)
}

impl State {
    fn new() -> State {
        let memory = setting("WARPWRIGHT_STANDIN_MEMORY", 1 << 30);
        crate::raw::at_exit(crate::watch::write_counts);
        State {
            // a kernel's own variables live there too
            heap: Heap::limited(memory.saturating_add(256 << 20)),
            ready: false,
            memory,
            used: 0,
            next: 0x5157_0000,
            contexts: BTreeMap::new(),
            primary: None,
            modules: BTreeMap::new(),
            functions: BTreeMap::new(),
            allocations: BTreeMap::new(),
            host: BTreeMap::new(),
            streams: Default::default(),
            events: BTreeMap::new(),
            clock: 0,
            programs: BTreeMap::new(),
            watch: Watch::from_environment(),
        }
    }
    /// A new handle.
    pub fn handle(&mut self) -> Handle {
        self.next += 16;
        self.next
    }
    /// The thread's context, which must be whole.
    pub fn current(&self) -> Result<Handle> {
        let c = STACK.with(|s| s.borrow().last().copied()).ok_or(INVALID_CONTEXT)?;
        match self.contexts.get(&c).ok_or(INVALID_CONTEXT)?.lost {
            Some(code) => Err(code),
            None => Ok(c),
        }
    }
}

/// With the state, whoever asks.
pub fn with<T>(f: impl FnOnce(&mut State) -> T) -> T {
    let mut state = STATE.lock().unwrap_or_else(PoisonError::into_inner);
    f(state.get_or_insert_with(State::new))
}

/// One call of C: counted, failed on demand, and never unwinding. `early` calls may come before `cuInit`.
pub fn call(name: &'static str, early: bool, f: impl FnOnce(&mut State) -> Result) -> u32 {
    let done = std::panic::catch_unwind(AssertUnwindSafe(|| {
        with(|s| {
            s.watch.count(name)?;
            if !early && !s.ready {
                return Err(NOT_INITIALIZED);
            }
            f(s)
        })
    }));
    match done {
        Ok(Ok(())) => 0,
        Ok(Err(code)) => code,
        Err(_) => UNKNOWN,
    }
}

/// Entry points: `early` before the name where it may be called before `cuInit`.
macro_rules! entries {
    ($($name:ident($($a:ident: $t:ty),*) |$s:ident| $body:block)*) => {$(
        #[no_mangle]
        #[allow(non_snake_case, clippy::too_many_arguments)]
        pub extern "C" fn $name($($a: $t),*) -> u32 {
            crate::state::call(stringify!($name), false, move |$s| $body)
        }
    )*};
}
macro_rules! early_entries {
    ($($name:ident($($a:ident: $t:ty),*) |$s:ident| $body:block)*) => {$(
        #[no_mangle]
        #[allow(non_snake_case, clippy::too_many_arguments)]
        pub extern "C" fn $name($($a: $t),*) -> u32 {
            crate::state::call(stringify!($name), true, move |$s| $body)
        }
    )*};
}
