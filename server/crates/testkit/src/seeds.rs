//! Random programs by their numbers, from the command line: `FIRST COUNT` judges that many, `show SEED` prints one.

use std::fmt::Debug;
use std::io::Write;
use std::process::ExitCode;

/// Judges `COUNT` programs (`default` where nothing is said) from `FIRST` on and writes what does not hold, then the tally. Fails if
/// anything did not hold.
pub fn run<T: Default + Debug>(
    default: u64,
    text: impl Fn(u64) -> String,
    judge: impl Fn(u64, &mut T) -> Result<(), String>,
) -> std::io::Result<ExitCode> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |k: usize, default: u64| match args.get(k) {
        None => Ok(default),
        Some(a) => a.parse().map_err(|_| std::io::Error::other(format!("`{a}` is not a whole number"))),
    };
    let mut out = std::io::stdout().lock();
    if args.first().is_some_and(|a| a == "show") {
        out.write_all(text(number(1, 1)?).as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    }
    let (first, count) = (number(0, 1)?, number(1, default)?);
    let (mut tally, mut wrong) = (T::default(), 0);
    for seed in first..first + count {
        if let Err(what) = judge(seed, &mut tally) {
            wrong += 1;
            writeln!(out, "{what}")?;
        }
    }
    writeln!(out, "{tally:?}, {wrong} wrong")?;
    Ok(if wrong > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
