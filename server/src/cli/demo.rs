//! `warpwright demo`: findings, kernel, compile check and verification of a small example, without any file of the
//! user's.

use base::CancelToken;

use super::analyze::as_text;
use super::reading::findings;
use super::writing::refusal;
use super::{print, verify, Done};
use crate::compile::compile;
use crate::contract::sentence;
use crate::files;
use crate::settings::Settings;

const EXAMPLE: &str = "\
void saxpy(int n, float a, const float *restrict x, float *restrict y)
{
    for (int i = 0; i < n; i++)
        y[i] = a * x[i] + y[i];
}

void prefix_sum(int n, float *a)
{
    for (int i = 1; i < n; i++)
        a[i] = a[i] + a[i - 1];
}
";

pub fn run() -> anyhow::Result<Done> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("example.c");
    files::write(&path, EXAMPLE, files::Existing::Keep)?;
    let input = files::Input { path: "example.c".into(), ..files::read(&path)? };
    let (memo, never, settings) = (ide::Memo::new(), CancelToken::new(), Settings::default());
    let doc = ide::Doc::open(input.language, &input.name, input.text, ide::Options::default());
    let one = findings(input.path, doc, &memo)?;
    let reports = [one];
    print(&format!("== $ warpwright analyze example.c\n\n{}", as_text(&reports, &[], false)))?;
    let [one] = &reports;
    for which in verify::chosen(&one.findings, &[], None) {
        let done = match ide::offload(&one.ask, &one.findings, &which) {
            Ok(done) => done,
            Err(refused) => {
                print(&refusal(&refused, &which, &one.findings))?;
                return Ok(Done::Found);
            }
        };
        print(&format!("== $ warpwright offload example.c\n\n// example.c, rewritten\n{}\n", done.host))?;
        for file in &done.edit.create {
            print(&format!("// {}, new\n{}\n", file.name, file.text))?;
            let outcome = compile(&file.name, &file.text, &done.build_flags, &settings, &never);
            let said = match outcome {
                Ok(device::CompileOutcome::Compiled(c)) => format!("{} compiles for {}.", file.name, c.arch),
                Ok(device::CompileOutcome::Failed(f)) => format!("{} does not compile: {}", file.name, f.log),
                Ok(device::CompileOutcome::Unavailable(why)) => format!("Not compiled: {why}"),
                Err(why) => format!("Not compiled: {why}"),
            };
            print(&format!("== compile check\n\n{said}\n\n"))?;
        }
        print("== $ warpwright verify example.c\n\n")?;
        let options = ide::VerifyOptions::default();
        for one in ide::verify(&one.ask, &one.findings, &which, &options) {
            print(&format!("{}\n", sentence(&one)))?;
        }
    }
    Ok(Done::Ok)
}
