//! Results one looks at: what they are made of, and how they come before the eyes of the user.
//!
//! An editor with panels of its own (VS Code) gets HTML, all of which is made in [`html`] and [`svg`]: no scripts, colors from the editor's
//! theme, links as commands. Others get a read-only Markdown file, which closes without asking ([`shown`]). Deliberately absent: what
//! the results mean; each command makes its report of what `ide` found.

mod at_lines;
mod html;
mod markdown;
mod reports;
mod shown;
mod svg;

pub use at_lines::{of_run, AtLines};
pub use html::command;
pub use reports::{dependences, profiled, simulated, verified};
pub use shown::{ended, forget, offer, show, working, Place};

/// A result: a title and what stands below it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    pub title: String,
    pub parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// The level, from 2, and words.
    Heading(usize, String),
    /// A paragraph. Code stands in backticks, here as in all words.
    Text(String),
    /// Each item with its depth.
    List(Vec<(usize, String)>),
    /// As it is.
    Code(String),
    Rule,
    Table(Table),
    Graph(Graph),
    /// Work that goes on, and the token that calls it off.
    Working(String, Option<String>),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    pub heads: Vec<&'static str>,
    pub rows: Vec<Vec<Cell>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell {
    Words(String),
    /// Whether it is as it should be, and words.
    Verdict(bool, String),
    Number(u64),
    /// How much of a whole, with words behind the bar.
    Bar {
        value: u64,
        of: u64,
        words: String,
    },
    /// A line of the document, from 1; words that are the link.
    Line(u32, String),
}

/// Nodes and arrows between them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Graph {
    /// Lines of words, and the line of the document (from 1).
    pub nodes: Vec<(Vec<String>, u32)>,
    pub edges: Vec<Edge>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    pub from: usize,
    pub to: usize,
    pub words: String,
    /// Not proved.
    pub dashed: bool,
}

impl Report {
    /// Of a page in Markdown, as `ide` writes it.
    pub fn of_markdown(title: &str, text: &str) -> Report {
        Report { title: title.to_owned(), parts: markdown::read(text) }
    }
}
