//! `shapeless FIRST COUNT`: what is said of random kernels for every launch, held against runs with several. `shapeless show SEED`
//! prints one.

fn main() -> std::io::Result<std::process::ExitCode> {
    testkit::seeds::run(500, testkit::shapeless::text, testkit::shapeless::judge)
}
