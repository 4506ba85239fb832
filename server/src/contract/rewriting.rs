//! Transformations and rule pages.

/// A transformation at a loop.
pub fn applicable(l: &ide::Listed) -> wire::Applicable {
    wire::Applicable {
        name: l.name.to_owned(),
        about: l.about.to_owned(),
        with: l.with.to_owned(),
        title: l.title.as_ref().ok().cloned(),
        refused: l.title.as_ref().err().cloned(),
        enables: l.enables,
    }
}

/// What checking a page came to.
pub fn checked_page(path: &str, done: &ide::PageCheck) -> wire::CheckedPage {
    let finding = |f: &ide::PageFinding| wire::PageFinding {
        severity: severity(f.severity).to_owned(),
        line: f.line,
        column: f.column,
        message: f.message.clone(),
    };
    wire::CheckedPage {
        path: path.to_owned(),
        rules: done.rules as u64,
        examples: done.examples as u64,
        findings: done.findings.iter().map(finding).collect(),
    }
}

pub fn severity(severity: ide::RuleSeverity) -> &'static str {
    match severity {
        ide::RuleSeverity::Error => "error",
        ide::RuleSeverity::Warning => "warning",
    }
}

/// The systems of pages.
pub fn systems(set: &ide::RuleSet) -> Vec<wire::RulesSystem> {
    let of = |p: &ide::RulePage| {
        let trust = p.trust.as_ref().map_or(String::new(), |t| t.text());
        let system = |name: &str, strategy: String| wire::RulesSystem {
            system: name.to_owned(),
            title: p.title.to_string(),
            trust: trust.clone(),
            strategy,
        };
        p.systems.iter().map(|s| system(&s.name, s.strategy.text())).collect::<Vec<_>>()
    };
    set.pages.iter().flat_map(|p| of(p)).collect()
}
