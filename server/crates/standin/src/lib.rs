//! A stand-in for the CUDA driver and NVRTC: their C entry points over our simulator, so that programs that load
//! `libcuda.so.1` and `libnvrtc.so` run on a machine without a GPU. Made for tests; its times are counted, not measured,
//! and the device's name says so.
//!
//! | file | what |
//! |---|---|
//! | `raw` | what C hands over: all `unsafe` is there |
//! | `codes` | result codes and their names |
//! | `state` | the one lock, contexts, how every call begins and ends |
//! | `watch` | failures on demand, counters |
//! | `program` | from a source to kernels |
//! | `launch` | a launch, from C's arguments to the simulator and its faults to codes |
//! | `device`, `context`, `module`, `memory`, `stream`, `nvrtc` | the entry points |
//!
//! Deliberately absent: PTX, graphs, textures, several devices, peers, managed memory, C++ name mangling (a kernel is found
//! by its plain name). Streams run what they are given at once; a launch's fault is told by the calls after it.
//!
//! Environment: `WARPWRIGHT_STANDIN_MEMORY` (bytes), `WARPWRIGHT_STANDIN_STEPS` (of a launch),
//! `WARPWRIGHT_STANDIN_FAIL` (`n` or `name:n`, from 1), `WARPWRIGHT_STANDIN_COUNTS` (a file that gets JSON at exit),
//! `WARPWRIGHT_STANDIN_WRONG` (a GPU that lies: `skips` launches, answers `zeros`, or shifts `threads` by one).

#![allow(non_snake_case)] // entry points have the names that C calls

#[macro_use]
mod state;
mod codes;
mod context;
mod device;
mod launch;
mod memory;
mod module;
mod nvrtc;
mod program;
mod raw;
mod stream;
mod watch;
