//! The worker alone: what `warpwright worker` is, for tests and for machines that only compile or run kernels.

fn main() -> std::process::ExitCode {
    device::worker::main()
}
