//! The graph as SMT-LIB 2: inputs are bits, floats are made of them, every node is a definition of its own.
//!
//! Deliberately absent: who answers.

use super::eval;
use super::graph::{Act, Graph, Id, Sort};
use crate::limits::rules_exact_smt::STEPS;

fn sort_text(sort: Sort) -> String {
    match sort {
        Sort::Truth => "Bool".to_owned(),
        Sort::Bits(w) => format!("(_ BitVec {w})"),
        Sort::F32 => "(_ FloatingPoint 8 24)".to_owned(),
        Sort::F64 => "(_ FloatingPoint 11 53)".to_owned(),
    }
}

fn float_params(sort: Sort) -> &'static str {
    if sort == Sort::F32 {
        "8 24"
    } else {
        "11 53"
    }
}

fn bits_text(v: u128, width: u32) -> String {
    if width.is_multiple_of(4) {
        format!("#x{:0w$x}", v & eval::mask(width), w = (width / 4) as usize)
    } else {
        format!("#b{:0w$b}", v & eval::mask(width), w = width as usize)
    }
}

/// Asks whether `what` can be true; if so, for the values of the inputs.
pub(super) fn script(g: &Graph, what: Id) -> String {
    let mut out = format!("(set-option :rlimit {STEPS})\n");
    let mut asked = String::new();
    let mut functions: Vec<String> = Vec::new();
    for id in g.below(&[what]) {
        let node = g.node(id);
        let name = format!("n{}", id.0);
        let args: Vec<String> = node.args.iter().map(|a| format!("n{}", a.0)).collect();
        let float = float_params(node.sort);
        let of = node.args.first().map(|a| g.sort(*a));
        let width = match of {
            Some(Sort::Bits(w)) => w,
            _ => 0,
        };
        let call = |f: &str| format!("({f} {})", args.join(" "));
        let to = match node.sort {
            Sort::Bits(w) => w,
            _ => 0,
        };
        let logic = node.sort == Sort::Truth;
        let text = match &node.act {
            Act::Input(k) => {
                let width = match node.sort {
                    Sort::Bits(w) => w,
                    Sort::F32 => 32,
                    Sort::F64 => 64,
                    Sort::Truth => 1,
                };
                out += &format!("(declare-const i{k} (_ BitVec {width}))\n");
                asked += &format!(" i{k}");
                match node.sort {
                    Sort::Bits(_) => format!("i{k}"),
                    Sort::Truth => format!("(= i{k} #b1)"),
                    _ => format!("((_ to_fp {float}) i{k})"),
                }
            }
            Act::Const(v) => match node.sort {
                Sort::Truth => (if *v == 1 { "true" } else { "false" }).to_owned(),
                Sort::Bits(w) => bits_text(*v, w),
                Sort::F32 => format!("((_ to_fp {float}) {})", bits_text(*v, 32)),
                Sort::F64 => format!("((_ to_fp {float}) {})", bits_text(*v, 64)),
            },
            Act::Add => call("bvadd"),
            Act::Mul => call("bvmul"),
            Act::Neg => call("bvneg"),
            Act::UDiv => call("bvudiv"),
            Act::SDiv => call("bvsdiv"),
            Act::URem => call("bvurem"),
            Act::SRem => call("bvsrem"),
            Act::And => call(if logic { "and" } else { "bvand" }),
            Act::Or => call(if logic { "or" } else { "bvor" }),
            Act::Xor => call("bvxor"),
            Act::Not => call(if logic { "not" } else { "bvnot" }),
            Act::Shl => call("bvshl"),
            Act::UShr => call("bvlshr"),
            Act::SShr => call("bvashr"),
            Act::Eq => call("="),
            Act::ULt => call("bvult"),
            Act::SLt => call("bvslt"),
            Act::MulLeaves => {
                format!("(not (and {} {}))", call("bvsmul_noovfl"), call("bvsmul_noudfl"))
            }
            Act::ZeroExt => call(&format!("(_ zero_extend {})", to.saturating_sub(width))),
            Act::SignExt => call(&format!("(_ sign_extend {})", to.saturating_sub(width))),
            Act::Low => call(&format!("(_ extract {} 0)", to.saturating_sub(1))),
            Act::If => call("ite"),
            Act::FAdd => call("fp.add RNE"),
            Act::FMul => call("fp.mul RNE"),
            Act::FDiv => call("fp.div RNE"),
            Act::FNeg => call("fp.neg"),
            Act::FAbs => call("fp.abs"),
            Act::FSqrt => call("fp.sqrt RNE"),
            Act::FFma => call("fp.fma RNE"),
            Act::FSum | Act::FProduct => {
                let op = if node.act == Act::FSum { "fp.add" } else { "fp.mul" };
                let mut all = args.iter().cloned();
                let first = all.next().unwrap_or_default();
                all.fold(first, |x, y| format!("({op} RNE {x} {y})"))
            }
            Act::FLt => call("fp.lt"),
            Act::FLe => call("fp.leq"),
            Act::FEq => call("fp.eq"),
            Act::FWhole(way) => call(match way {
                't' => "fp.roundToIntegral RTZ",
                'f' => "fp.roundToIntegral RTN",
                'c' => "fp.roundToIntegral RTP",
                _ => "fp.roundToIntegral RNE",
            }),
            Act::FFloat | Act::FSigned => call(&format!("(_ to_fp {float}) RNE")),
            Act::FUnsigned => call(&format!("(_ to_fp_unsigned {float}) RNE")),
            Act::ToSigned => call(&format!("(_ fp.to_sbv {to}) RTZ")),
            Act::ToUnsigned => call(&format!("(_ fp.to_ubv {to}) RTZ")),
            Act::Function(f) => {
                let sorts: Vec<String> = node.args.iter().map(|a| sort_text(g.sort(*a))).collect();
                let mark = node.args.iter().map(|a| sort_mark(g.sort(*a))).collect::<String>();
                let full = format!("f_{f}_{mark}_{}", sort_mark(node.sort));
                if !functions.contains(&full) {
                    out += &format!("(declare-fun {full} ({}) {})\n", sorts.join(" "), sort_text(node.sort));
                    functions.push(full.clone());
                }
                if args.is_empty() {
                    full
                } else {
                    call(&full)
                }
            }
        };
        out += &format!("(define-fun {name} () {} {text})\n", sort_text(node.sort));
    }
    out += &format!("(assert n{})\n(check-sat)\n", what.0);
    if !asked.is_empty() {
        out += &format!("(get-value ({}))\n", asked.trim_start());
    }
    out
}

fn sort_mark(sort: Sort) -> String {
    match sort {
        Sort::Truth => "t".to_owned(),
        Sort::Bits(w) => format!("b{w}"),
        Sort::F32 => "f".to_owned(),
        Sort::F64 => "d".to_owned(),
    }
}

/// What the solver said.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Said {
    Never,
    /// With the inputs' bits, as far as they were needed.
    For(Vec<(u32, u128)>),
    Nothing,
}

/// Reads an answer.
pub(super) fn read(text: &str) -> Said {
    match text.split_whitespace().next() {
        Some("unsat") => Said::Never,
        Some("sat") => {
            let words = text.split(|c: char| c.is_whitespace() || c == '(' || c == ')');
            let words: Vec<&str> = words.filter(|w| !w.is_empty()).skip(1).collect();
            let mut out = Vec::new();
            for pair in words.chunks(2) {
                let [name, value] = pair else { continue };
                let Some(Ok(k)) = name.strip_prefix('i').map(str::parse) else { continue };
                let value = match (value.strip_prefix("#x"), value.strip_prefix("#b")) {
                    (Some(hex), _) => u128::from_str_radix(hex, 16).ok(),
                    (_, Some(bits)) => u128::from_str_radix(bits, 2).ok(),
                    _ => None,
                };
                out.extend(value.map(|v| (k, v)));
            }
            Said::For(out)
        }
        _ => Said::Nothing,
    }
}
