//! `anyshape FIRST COUNT`: what is said of random kernels' requests for every launch, held against counts with several. `anyshape
//! show SEED` prints one.

fn main() -> std::io::Result<std::process::ExitCode> {
    testkit::seeds::run(500, testkit::any_shape::text, testkit::any_shape::judge)
}
