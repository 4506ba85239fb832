//! `warpwright worker`: kernels compiled and claims proved for another warpwright.

use std::process::ExitCode;

pub fn run() -> ExitCode {
    device::worker::main()
}
