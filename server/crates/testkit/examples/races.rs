//! `races FIRST COUNT`: what is said of the races of random kernels, held against runs. `races show SEED` prints one.

fn main() -> std::io::Result<std::process::ExitCode> {
    testkit::seeds::run(1000, testkit::races::text, testkit::races::judge)
}
