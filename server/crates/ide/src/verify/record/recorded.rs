//! What a run of the host has shown, as a whole: its steps where they tell all, else the rewritten program.

use super::reading::read;
use super::{
    said, HostPiece, HostProgram, HostStep, NotRecorded, OriginalText, Recorded, Recorder, DECIDES, FILLS,
};
use crate::offload::Offloaded;
use crate::units::Unit;

impl Recorder<'_> {
    /// With all steps, or with the program where they do not tell all.
    pub(super) fn recorded(
        &self,
        unit: &Unit,
        done: &Offloaded,
        sizes: &[(String, i128)],
    ) -> Result<Recorded, NotRecorded> {
        let run = self.run(sizes, 0, &[])?;
        if run.launches.is_empty() {
            let why = format!("With {} no kernel is launched: the original loop runs.", said(sizes));
            return Err(NotRecorded::Known(why));
        }
        let (mut host, steps) = read(&run)?;
        // why steps are not all, a sentence
        let mut not_all = steps.as_ref().err().cloned();
        for fill in FILLS {
            let again = self.run(sizes, fill, &[]).and_then(|run| read(&run));
            match again {
                // nor is other memory sent
                Ok(others) if others.0 == host && others.1 == steps => {}
                Ok((pieces, _)) => {
                    // what is reached in any of them is there
                    for (piece, other) in host.iter_mut().zip(&pieces).take(run.stands.len()) {
                        piece.bytes = piece.bytes.max(other.bytes);
                    }
                    not_all.get_or_insert_with(|| DECIDES.to_owned());
                }
                Err(_) => {
                    not_all.get_or_insert_with(|| DECIDES.to_owned());
                }
            }
        }
        let steps = match &not_all {
            Some(_) => {
                host.truncate(run.stands.len());
                Vec::new()
            }
            None => steps?,
        };
        let wanted = steps.iter().any(|s| matches!(s, HostStep::FromDevice { wanted: true, .. }));
        let original = self.original(sizes, &run, &host);
        let unreturned = wanted && original.as_ref().is_ok_and(|o| o.returns.is_none());
        let because = match (&not_all, &run.wrote) {
            (Some(why), _) => Some(in_words(why)),
            (_, Some(name)) => Some(format!("the host's part of the function writes `{name}` itself")),
            _ if unreturned => {
                Some("the host puts the result together from what kernels leave, in memory".to_owned())
            }
            _ => None,
        };
        let (mut program, mut original) = (None, original);
        if let Some(because) = because {
            program = original.is_ok().then(|| self.program(done, because.clone())).flatten();
            match (&program, not_all) {
                (Some(_), _) => {}
                (None, Some(why)) => {
                    let also = original.err().map(|o| format!(" Its program was not taken along: {o}."));
                    return Err(format!("{why}{}", also.unwrap_or_default()).into());
                }
                (None, None) => original = original.and(Err(because)),
            }
        }
        let recorded = self.told(unit, done, sizes.to_vec(), host, original, program);
        Ok(Recorded { hash: hash_of(&recorded.source, &steps), returns_copied: wanted, steps, ..recorded })
    }

    /// Without steps.
    pub(super) fn told(
        &self,
        unit: &Unit,
        done: &Offloaded,
        sizes: Vec<(String, i128)>,
        host: Vec<HostPiece>,
        original: Result<OriginalText, String>,
        program: Option<HostProgram>,
    ) -> Recorded {
        let source: String = done.edit.create.iter().map(|f| f.text.as_str()).collect();
        let l = unit.first;
        Recorded {
            key: l.key.to_string(),
            line: l.line(),
            function: l.report().function.clone(),
            kernel_file: done.edit.create.first().map(|f| f.name.clone()).unwrap_or_default(),
            hash: hash_of(&source, &[]),
            sizes,
            unfused: done.build_flags.contains(&"-fmad=false"),
            regrouped: done.may_round,
            original,
            program,
            returns_copied: false,
            source,
            host,
            steps: Vec::new(),
        }
    }
}

/// Of kernels and of what the host does with them.
pub(crate) fn hash_of(source: &str, steps: &[HostStep]) -> String {
    let hash = text::ContentHash::of_chunks([source, &format!("{steps:?}")].into_iter());
    format!("{:032x}", hash.0)
}

/// A sentence as a phrase.
pub(super) fn in_words(sentence: &str) -> String {
    let phrase = sentence.trim_end_matches('.');
    let mut letters = phrase.chars();
    letters.next().map_or(String::new(), |first| first.to_lowercase().chain(letters).collect())
}
