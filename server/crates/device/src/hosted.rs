//! The host's part of a bundle as the program that it is: built by the C compiler of this machine, loaded into this process, called
//! as the user's function is; its calls of CUDA's run time are ours, so that everybody who looks on sees them.
//!
//! So nothing is asked of what the host does between kernels: it does it, with what kernels left. It is loaded anew for each run:
//! what it keeps in variables of its own begins anew, too. Its crash is this process's, as that of a driver is.
//!
//! Deliberately absent: what it should leave.

use crate::bundle::{Program, Word};
use crate::gpu::{Address, CallFailed};
use crate::native::{native_compiler, run_by};
use crate::running::{nanoseconds, stopped_in, Observer, Running, Stopped};
use crate::Unavailable;
use base::CancelToken;
use libloading::Library;
use std::ffi::{c_char, c_int, c_ulong, c_void, CStr};
use std::path::{Component, Path, PathBuf};
use std::time::Instant;

const HEADER: &str = include_str!("hosted.h");
const CALLS: &str = include_str!("hosted.cpp");
/// As the original is built.
const C: [&str; 6] =
    ["-O3", "-march=native", "-ffp-contract=off", "-w", "-fPIC", "-fno-semantic-interposition"];
/// Little of it runs: the host's functions that launch.
const CPP: [&str; 7] = ["-std=c++17", "-O1", "-ffp-contract=off", "-w", "-fPIC", "-x", "c++"];

/// A program that can be loaded.
pub(crate) struct Hosted {
    library: PathBuf,
    _folder: tempfile::TempDir,
}

impl Hosted {
    /// Builds it. `Err`: a phrase.
    pub fn build(program: &Program, cancel: &CancelToken) -> Result<Hosted, String> {
        let words = |e: std::io::Error| e.to_string();
        let temporary = tempfile::Builder::new().prefix("warpwright-").tempdir().map_err(words)?;
        let folder = temporary.path();
        let compiler = native_compiler(folder)
            .ok_or("there is no C compiler (gcc and g++, or clang and clang++, on the search path) there")?;
        for (name, text) in &program.headers {
            let is_plain = Path::new(name).components().all(|c| matches!(c, Component::Normal(_)));
            if !is_plain {
                return Err(format!("`{name}` is no name of a header"));
            }
            let path = folder.join(name);
            path.parent().map_or(Ok(()), std::fs::create_dir_all).map_err(words)?;
            std::fs::write(path, text).map_err(words)?;
        }
        std::fs::write(folder.join("ww_worker.h"), HEADER).map_err(words)?;
        let text = |p: &Path| p.to_string_lossy().into_owned();
        let [c, cpp] = compiler.programs().map(text);
        let here = format!("-I{}", text(folder));
        let before = format!("-DWW_BEFORE_KERNELS=\"{}\"", program.include);
        let mut objects = Vec::new();
        let mut object = |name: String, source: &str, mut argv: Vec<String>| -> Result<(), String> {
            if cancel.is_cancelled() {
                return Err("the request was cancelled".to_owned());
            }
            let (file, object) = (folder.join(&name), text(&folder.join(format!("{name}.o"))));
            std::fs::write(&file, source).map_err(words)?;
            argv.extend([here.clone(), "-c".to_owned(), "-o".to_owned(), object.clone(), text(&file)]);
            run_by(1, &argv, crate::limits::native::COMPILE)
                .map_err(|why| format!("{} says of the host's program: {why}", compiler.name))?;
            objects.push(object);
            Ok(())
        };
        for (n, (source, flags)) in program.texts.iter().enumerate() {
            let argv = [&c].into_iter().cloned().chain(C.map(str::to_owned)).chain(flags.iter().cloned());
            object(format!("{n}.c"), source, argv.collect())?;
        }
        let mut options = vec![cpp.clone()];
        options.extend(CPP.map(str::to_owned));
        if compiler.name.starts_with("gcc") {
            // what is unique in the process is never unloaded
            options.push("-fno-gnu-unique".to_owned());
        }
        options.push(before);
        for (n, source) in program.kernels.iter().enumerate() {
            let included = ["-include".to_owned(), "ww_worker.h".to_owned()];
            object(format!("{n}.cpp"), source, options.iter().cloned().chain(included).collect())?;
        }
        object("ww_worker.cpp".to_owned(), CALLS, options)?;
        let library = folder.join("host.so");
        // its own functions are meant before all others; what is in no file is found missing when it is called
        let linked = ["-shared", "-Wl,-Bsymbolic", "-Wl,-z,lazy"].map(str::to_owned);
        let mut argv = vec![cpp];
        argv.extend(linked);
        argv.extend(objects);
        argv.extend(["-o".to_owned(), text(&library), "-lm".to_owned()]);
        run_by(1, &argv, crate::limits::native::COMPILE)
            .map_err(|why| format!("the host's program is not linked: {why}"))?;
        Ok(Hosted { library, _folder: temporary })
    }

    /// Calls the function once. Gives what it took, and what it returned, as a word.
    pub fn run(&self, running: &mut Running<'_>, observer: &mut dyn Observer) -> Result<(u64, u64), Stopped> {
        let not_loaded = |e: libloading::Error| {
            let reason = format!("The host's program was not loaded there: {e}.");
            let next =
                "Look at what the program needs that no file of it has; --on simulator needs none of it.";
            Stopped::from(Unavailable::new(crate::UnavailableKind::NoCompiler, reason, next))
        };
        // SAFETY: the library is the user's program, which this process is there to run.
        let library = unsafe { Library::new(&self.library) }.map_err(not_loaded)?;
        // SAFETY: these are of hosted.h, hosted.cpp and what `ide` puts behind the program's text, with these types.
        let (worker, call, global) = unsafe {
            (
                *library.get::<*mut *mut Worker>(b"ww_worker\0").map_err(not_loaded)?,
                *library.get::<Call>(b"ww_native_call\0").map_err(not_loaded)?,
                *library.get::<Global>(b"ww_native_global\0").map_err(not_loaded)?,
            )
        };
        let original = running.bundle.original.as_ref();
        let (arguments, globals) = original.map_or((&[][..], &[][..]), |o| (&o.arguments, &o.globals));
        let mut memory = Memory::of(&running.host.memory, globals, global)?;
        for (n, m) in running.bundle.host.iter().enumerate() {
            for (at, to) in &m.links {
                memory.link(n, *at, to.memory as usize, to.offset);
            }
        }
        let mut words: Vec<u64> = arguments
            .iter()
            .map(|a| match a {
                Word::Whole { value } => *value as u64,
                Word::Floating { bits } => *bits,
                Word::Memory { place } => memory.at(place.memory as usize) as u64 + place.offset,
            })
            .collect();
        words.push(0);
        let mut state = State { running, observer, there: Vec::new(), stopped: None, launches: 0 };
        let mut table =
            Worker { of: std::ptr::from_mut(&mut state).cast(), allocate, release, copy, set, launch, wait };
        let mut result = 0u64;
        // SAFETY: the variable is the library's, and the table lives as long as the call.
        unsafe { *worker = &mut table };
        let began = Instant::now();
        // SAFETY: the function takes as many words as were given, each a long long, a double or an address; what it does
        // with memory is the user's program's business.
        unsafe { call(words.as_mut_ptr(), &mut result) };
        let ns = nanoseconds(began);
        let State { running, there, stopped, .. } = state;
        if let Some(stopped) = stopped {
            return Err(stopped);
        }
        running.device.wait().map_err(|e| stopped_in("last", "", &e))?;
        there.into_iter().try_for_each(|at| running.device.free(at))?;
        memory.back(&mut running.host.memory);
        for (n, m) in running.bundle.host.iter().enumerate() {
            for (at, _) in &m.links {
                memory.say(&mut running.host.memory[n], *at);
            }
        }
        Ok((ns, result))
    }
}

type Call = unsafe extern "C" fn(*mut u64, *mut u64);
type Global = unsafe extern "C" fn(c_int, *mut c_ulong) -> *mut c_void;

/// The host's memory where its program sees it: as aligned as anything is, or the program's own variables.
struct Memory {
    own: Vec<Vec<u128>>,
    /// Where each piece is, and how many bytes.
    at: Vec<(*mut u8, usize)>,
}

impl Memory {
    fn of(host: &[Vec<u8>], globals: &[u32], global: Global) -> Result<Memory, Stopped> {
        let mut memory = Memory { own: Vec::new(), at: Vec::new() };
        for (n, bytes) in host.iter().enumerate() {
            let at = match globals.iter().position(|g| *g as usize == n) {
                Some(number) => {
                    let mut size = 0;
                    // SAFETY: it gives the place and size of a variable, or null.
                    let at = unsafe { global(number as c_int, &mut size) };
                    if at.is_null() || size != bytes.len() as c_ulong {
                        let what = "a file-scope variable has another size for the compiler there".to_owned();
                        return Err(Stopped::Broken(format!("The host's program was not run: {what}.")));
                    }
                    at.cast::<u8>()
                }
                None => {
                    // and some room behind it
                    memory.own.push(vec![0u128; bytes.len().div_ceil(16) + 4]);
                    memory.own.last_mut().map_or(std::ptr::null_mut(), |own| own.as_mut_ptr().cast())
                }
            };
            // SAFETY: there are so many bytes: made above, or the variable's size.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), at, bytes.len()) };
            memory.at.push((at, bytes.len()));
        }
        Ok(memory)
    }

    fn at(&self, n: usize) -> *mut u8 {
        self.at.get(n).map_or(std::ptr::null_mut(), |a| a.0)
    }

    fn link(&mut self, n: usize, offset: u64, to: usize, to_offset: u64) {
        let (at, bytes) = self.at.get(n).copied().unwrap_or((std::ptr::null_mut(), 0));
        let address = self.at(to) as u64 + to_offset;
        if offset as usize + 8 <= bytes {
            // SAFETY: within the piece.
            unsafe { at.add(offset as usize).cast::<u64>().write_unaligned(address) };
        }
    }

    /// What is in it now.
    fn back(&self, host: &mut [Vec<u8>]) {
        for (bytes, (at, size)) in host.iter_mut().zip(&self.at) {
            // SAFETY: as many bytes as were brought there.
            unsafe {
                std::ptr::copy_nonoverlapping(at.cast_const(), bytes.as_mut_ptr(), (*size).min(bytes.len()))
            };
        }
    }
}

impl Memory {
    /// An address in what came back becomes the piece's number and the place in it, as original.c has it.
    fn say(&self, bytes: &mut [u8], at: u64) {
        let Some(cell) = bytes.get_mut(at as usize..).and_then(|b| b.first_chunk_mut::<8>()) else { return };
        let address = u64::from_le_bytes(*cell);
        let inside = |&(_, (from, size)): &(usize, &(*mut u8, usize))| {
            (*from as u64..=*from as u64 + *size as u64).contains(&address)
        };
        let found = self.at.iter().enumerate().find(inside);
        let said = found.map_or(u64::MAX, |(k, (from, _))| (k as u64) << 40 | (address - *from as u64));
        *cell = said.to_le_bytes();
    }
}

/// The struct of hosted.h.
#[repr(C)]
struct Worker {
    of: *mut c_void,
    allocate: extern "C" fn(*mut c_void, c_ulong, *mut c_ulong) -> c_int,
    release: extern "C" fn(*mut c_void, c_ulong) -> c_int,
    copy: extern "C" fn(*mut c_void, *mut c_void, *const c_void, c_ulong, c_int) -> c_int,
    set: extern "C" fn(*mut c_void, c_ulong, c_int, c_ulong) -> c_int,
    launch: extern "C" fn(
        *mut c_void,
        *const c_char,
        *const u32,
        *const u32,
        c_ulong,
        *const *const c_void,
        *const c_ulong,
        c_ulong,
    ) -> c_int,
    wait: extern "C" fn(*mut c_void) -> c_int,
}

/// What the calls work on.
struct State<'s, 'r> {
    running: &'s mut Running<'r>,
    observer: &'s mut dyn Observer,
    there: Vec<Address>,
    /// The first thing that went wrong: all calls after it fail, and the program comes to its end.
    stopped: Option<Stopped>,
    launches: u64,
}

/// `cudaErrorUnknown`
const FAILED: c_int = 999;

/// Does it, unless something went wrong before. No panic crosses the program.
fn doing(of: *mut c_void, what: impl FnOnce(&mut State<'_, '_>) -> Result<(), Stopped>) -> c_int {
    // SAFETY: `of` is the state that `run` put into the table, which lives through the call; there is one thread.
    let state = unsafe { &mut *of.cast::<State<'_, '_>>() };
    if state.stopped.is_some() {
        return FAILED;
    }
    let done = match state.running.cancel.is_cancelled() {
        true => Ok(Err(Unavailable::cancelled().into())),
        false => std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| what(state))),
    };
    let lacking = || Stopped::Broken("The CUDA driver there lacks a function that is needed.".to_owned());
    match done.unwrap_or_else(|_| Err(lacking())) {
        Ok(()) => 0,
        Err(stopped) => {
            state.stopped = Some(stopped);
            FAILED
        }
    }
}

extern "C" fn allocate(of: *mut c_void, bytes: c_ulong, address: *mut c_ulong) -> c_int {
    doing(of, |s| {
        let at = s.running.device.allocate(bytes)?;
        s.there.push(at);
        s.observer.allocated(s.running.device, at, bytes)?;
        // SAFETY: a variable of the caller in hosted.cpp.
        unsafe { *address = at.0 };
        Ok(())
    })
}

extern "C" fn release(of: *mut c_void, address: c_ulong) -> c_int {
    doing(of, |s| {
        s.there.retain(|a| a.0 != address);
        Ok(s.running.device.free(Address(address))?)
    })
}

extern "C" fn copy(
    of: *mut c_void,
    to: *mut c_void,
    from: *const c_void,
    bytes: c_ulong,
    kind: c_int,
) -> c_int {
    doing(of, |s| {
        let device = s.running.device;
        let (there, size) = (Address(to as u64), bytes as usize);
        match kind {
            1 => {
                // SAFETY: the program says that it has so much there; it could read it itself.
                let from = unsafe { std::slice::from_raw_parts(from.cast::<u8>(), size) };
                let began = Instant::now();
                device.bring(there, from)?;
                s.observer.copied(true, from, false, nanoseconds(began));
            }
            2 => {
                // SAFETY: likewise, to write.
                let to = unsafe { std::slice::from_raw_parts_mut(to.cast::<u8>(), size) };
                device.wait()?;
                let began = Instant::now();
                device.fetch(to, Address(from as u64))?;
                s.observer.copied(false, to, false, nanoseconds(began));
            }
            3 => device.on_device(there, Address(from as u64), bytes)?,
            // SAFETY: likewise, from one to the other.
            0 => unsafe { std::ptr::copy(from.cast::<u8>(), to.cast::<u8>(), size) },
            _ => return Err(Stopped::Broken("The host's program copies in no known direction.".to_owned())),
        }
        Ok(())
    })
}

extern "C" fn set(of: *mut c_void, address: c_ulong, byte: c_int, bytes: c_ulong) -> c_int {
    doing(of, |s| Ok(s.running.device.set(Address(address), byte as u8, bytes)?))
}

extern "C" fn launch(
    of: *mut c_void,
    kernel: *const c_char,
    grid: *const u32,
    block: *const u32,
    shared_bytes: c_ulong,
    arguments: *const *const c_void,
    sizes: *const c_ulong,
    count: c_ulong,
) -> c_int {
    doing(of, |s| {
        // SAFETY: `ww_launch_there` gives a text, three numbers each, and as many arguments as it says, each with its size.
        let (name, grid, block, arguments) = unsafe {
            let arguments: Vec<Vec<u8>> = (0..count as usize)
                .map(|k| {
                    let (at, size) = (*arguments.add(k), *sizes.add(k) as usize);
                    std::slice::from_raw_parts(at.cast::<u8>(), size).to_vec()
                })
                .collect();
            (
                CStr::from_ptr(kernel).to_string_lossy().into_owned(),
                *grid.cast::<[u32; 3]>(),
                *block.cast::<[u32; 3]>(),
                arguments,
            )
        };
        s.launches += 1;
        let shared_bytes = u32::try_from(shared_bytes).unwrap_or(u32::MAX);
        let k = s.running.kernel(&name, shared_bytes)?;
        let device = s.running.device;
        s.observer.before_launch(device)?;
        let launched: Result<(), CallFailed> = device
            .launch(k, (grid, block), shared_bytes, &arguments)
            .and_then(|()| s.observer.after_launch(device, &name));
        launched.map_err(|e| stopped_in(&name, &format!(" (launch {})", s.launches), &e))
    })
}

extern "C" fn wait(of: *mut c_void) -> c_int {
    doing(of, |s| {
        let waited = s.running.device.wait();
        waited.map_err(|e| Stopped::Broken(format!("A kernel failed on the GPU: {} ({}).", e.words, e.name)))
    })
}
