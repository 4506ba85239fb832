//! What can be started, as data: files from templates, and the lists that get a line.

use super::lists;

/// Something that can be started.
pub struct Kind {
    /// As the command names it.
    pub name: &'static str,
    /// Paths and templates, with names in them as [`super::filled`] knows them.
    pub files: &'static [(&'static str, &'static str)],
    /// Paths, and what puts the lines in.
    pub lists: &'static [(&'static str, Insert)],
    /// The path to the test that fails until it is filled in, below its crate; empty: it has none in Rust.
    #[cfg_attr(not(test), allow(dead_code))]
    pub test: &'static str,
    /// What is to be done next.
    pub next: &'static str,
}

/// A text with the lines of a name; `None`: it has no such list.
pub type Insert = fn(&str, &str) -> Option<String>;

/// Everything that can be started.
pub const KINDS: &[Kind] = &[
    Kind {
        name: "lint",
        files: &[
            ("server/crates/ide/src/lints/loops/@stem.rs", include_str!("templates/lint.rs.txt")),
            ("docs/codes/@code.md", include_str!("templates/page.md.txt")),
        ],
        lists: &[("server/crates/ide/src/lints/loops/mod.rs", lists::lint)],
        test: "lints::loops::@stem::tests",
        next: "find it from facts, say what, why and what now, repair it if you can; then write its page, whose example is run.",
    },
    Kind {
        name: "cuda-lint",
        files: &[
            ("server/crates/ide/src/lints/kernels/@stem.rs", include_str!("templates/cuda_lint.rs.txt")),
            ("docs/codes/@code.md", include_str!("templates/cuda_page.md.txt")),
            ("fixtures/cuda/defects_@stem.cu", include_str!("templates/pair.cu.txt")),
        ],
        lists: &[("server/crates/ide/src/lints/kernels/mod.rs", lists::lint)],
        test: "lints::kernels::@stem::tests",
        next: "write the pair of kernels, the defect and its repair; find it from the facts of kernels; then write its page.",
    },
    Kind {
        name: "action",
        files: &[
            ("server/crates/ide/src/actions/@stem.rs", include_str!("templates/action.rs.txt")),
        ],
        lists: &[("server/crates/ide/src/actions/mod.rs", lists::action)],
        test: "actions::@stem::tests",
        next: "offer it from facts alone in `offer`; make and check the edit in `edit`.",
    },
    Kind {
        name: "transformation",
        files: &[
            ("server/crates/rewrite/src/transform/@stem.rs", include_str!("templates/transformation.rs.txt")),
            ("server/crates/ide/src/tests/@stem.rs", include_str!("templates/transformation_test.rs.txt")),
        ],
        lists: &[("server/crates/rewrite/src/transform/mod.rs", lists::transformation), ("server/crates/ide/src/tests/mod.rs", lists::module)],
        test: "tests::@stem",
        next: "write what it makes of a loop into the test; legality is asked of the dependence graph; describe it in docs/transformations.md.",
    },
    Kind {
        name: "rule",
        files: &[
            ("rules/@code.md", include_str!("templates/rule.md.txt")),
        ],
        lists: &[],
        test: "",
        next: "write the example and its result first, then the rules; `warpwright rules check rules/NAME.md` runs them, docs/rules.md says how.",
    },
    Kind {
        name: "language",
        files: &[
            ("server/crates/front/src/@stem/mod.rs", include_str!("templates/language.rs.txt")),
        ],
        lists: &[("server/crates/front/src/lib.rs", lists::module), ("server/crates/front/src/language.rs", lists::language)],
        test: "@stem::tests",
        next: "read and lower a function with a loop; its semantics are a row in server/crates/term/src/semantics.rs.",
    },
    Kind {
        name: "target",
        files: &[
            ("server/crates/gpu/src/@stem.rs", include_str!("templates/vendor.rs.txt")),
        ],
        lists: &[("server/crates/gpu/src/lib.rs", lists::vendor)],
        test: "@stem::tests",
        next: "write spellings and limits with the manual beside you; what the vendor lacks is left out; then its row of printers in server/crates/codegen/src/device.",
    },
    Kind {
        name: "request",
        files: &[
            ("server/src/lsp/requests/@stem.rs", include_str!("templates/request.rs.txt")),
        ],
        lists: &[("server/src/lsp/requests/mod.rs", lists::public_module), ("server/src/lsp/backend.rs", lists::handler), ("server/src/lsp/mod.rs", lists::route)],
        test: "lsp::requests::@stem::tests",
        next: "make its answer a type of server/crates/wire, list it in its page.rs and test it in tests/contract.rs.",
    },
    Kind {
        name: "editor-command",
        files: &[
            ("server/src/lsp/commands/@stem.rs", include_str!("templates/editor_command.rs.txt")),
        ],
        lists: &[("server/src/lsp/commands/mod.rs", lists::editor_command)],
        test: "lsp::commands::@stem::tests",
        next: "make its answer a type of server/crates/wire, list it in its page.rs and test it in tests/contract.rs.",
    },
    Kind {
        name: "command",
        files: &[
            ("server/src/cli/@stem.rs", include_str!("templates/command.rs.txt")),
        ],
        lists: &[("server/src/cli/mod.rs", lists::command)],
        test: "cli::@stem::tests",
        next: "make its answer a type of server/crates/wire with `--format json`, list it in its page.rs and test it in tests/contract.rs.",
    },
];
