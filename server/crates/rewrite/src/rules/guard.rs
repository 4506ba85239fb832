//! What a rule may ask before it is applied, and the names by which pages ask it.
//!
//! A closed set: every guard is a proof made in Rust (`prove`), pages use them and define none. Deliberately absent: any
//! guard that holds for lack of knowledge; `not` is for what is decided either way.

use std::sync::Arc;

use term::{BinOp, Op, UnOp};

use super::pattern::{Literal, Pattern, TypeTest};

/// A condition between brackets.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Guard {
    /// The iterations of the matched loop with this index (or of this loop) can run at once, without any condition.
    Independent(Pattern),
    /// Evaluating it reads no memory that is written elsewhere, writes nothing and always ends.
    Pure(Pattern),
    /// As `Pure`, but it may read memory.
    ReadOnly(Pattern),
    /// The two names are two pieces of memory.
    NoAlias(Pattern, Pattern),
    /// The operation can be regrouped without changing any result: integers, and what is computed modulo.
    Assoc(Pattern),
    /// The loops of these two indices, one directly around the other, may be swapped.
    Permutable(Pattern, Pattern),
    /// All threads of a block compute the same value.
    Uniform(Pattern),
    /// Linear in variables, with constant coefficients.
    Affine(Pattern),
    /// An integer constant.
    Const(Pattern),
    /// The statement does not write the variable or what it points to.
    Unwritten(Pattern, Pattern),
    /// The statement neither reads nor writes it.
    Unused(Pattern, Pattern),
    /// The statement uses the pointer only to read what it points to.
    OnlyRead(Pattern, Pattern),
    /// Nothing outside of what the source matched uses the variable.
    Inside(Pattern),
    /// Some item of the list, or part of the expression, is like the first and lets the conditions behind this one hold.
    In(Pattern, Pattern),
    /// Numbers compared; other terms with `==` and `!=`, by how they are written.
    Compare(BinOp, Pattern, Pattern),
    /// Binds the variable to the arithmetic type of the expression.
    TypeOf(Pattern, Arc<str>),
    /// `type($x,int)`
    Type(Pattern, TypeTest),
    /// `head($x,For)`: the term begins with this word.
    Head(Pattern, Arc<str>),
    /// Binds the variable to a name that nothing in the file has, like the one wished for: words and what variables
    /// stand for, joined by `_`.
    Fresh(Arc<str>, Vec<Pattern>),
    /// Control leaves the statement at its end and nowhere else.
    Straight(Pattern),
    /// Both are the same sum of products; what is not bound in the second is bound to what makes it so.
    Equals(Pattern, Pattern),
    /// The condition holds exactly where each index is from the low bound to below the high one, which are bound.
    Box(Pattern, Vec<Side>),
    /// The first part of the term that matches and of which the guards hold.
    Has(Pattern, Pattern, Vec<Guard>),
    /// Every launch in the file gives blocks of this shape; the variables are bound to it.
    Blocks(Vec<Arc<str>>),
    /// This run has rewritten the kernel.
    Applied(Pattern),
    /// Evaluating it is defined wherever it stands, and does nothing.
    Total(Pattern),
    /// It is the same all through the loop over the index.
    Invariant(Pattern, Pattern),
    /// The loop over the index runs at least once.
    NonEmpty(Pattern),
    Not(Box<Guard>),
    And(Vec<Guard>),
    Or(Vec<Guard>),
}

/// An index with the variables its bounds are bound to.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Side {
    pub index: Pattern,
    pub low: Arc<str>,
    pub high: Arc<str>,
}

/// Name, what it takes, and what it means: for messages and documents.
pub const GUARDS: [(&str, &str, &str); 27] = [
    ("affine", "affine($e)", "linear in variables, with constant coefficients"),
    ("applied", "applied($f)", "this run has rewritten the kernel `$f` of the file"),
    ("assoc", "assoc($e)", "the operation of `$e` may be regrouped without changing its result: integers"),
    (
        "blocks",
        "blocks($x,$y)",
        "every launch in the file gives blocks of `$x` by `$y` threads: binds them",
    ),
    (
        "box",
        "box($p,$i,$low,$high)",
        "`$p` holds exactly where `$low <= $i && $i < $high`: binds the bounds; more indices may follow",
    ),
    ("const", "const($e)", "an integer constant"),
    (
        "equals",
        "equals($e,$f)",
        "the same sum of products of integers; variables in `$f` that nothing has bound become what makes it so",
    ),
    ("fresh", "fresh($x)", "binds `$x` to a name that nothing in the file has"),
    (
        "has",
        "has($t,place,guard…)",
        "some part of `$t` matches the place, and the guards hold of it: binds what is in it",
    ),
    ("head", "head($t,For)", "the term `$t` begins with this word"),
    (
        "in",
        "in($t,$list)",
        "some item of the list, or part of the expression, is like `$t` and lets the conditions behind this one hold; binds the variables in `$t`",
    ),
    (
        "independent",
        "independent($i)",
        "the iterations of the loop over `$i` can run at once, unconditionally",
    ),
    ("inside", "inside($x)", "nothing outside of what the source matched uses the variable `$x`"),
    ("invariant", "invariant($e,$i)", "nothing in the loop over `$i` changes what `$e`, which reads variables only, is"),
    ("noalias", "noalias($a,$b)", "the two are different memory"),
    ("nonempty", "nonempty($i)", "the loop over `$i` runs at least once: its bounds are constants"),
    (
        "onlyread",
        "onlyread($p,$s)",
        "the statement `$s` uses the pointer `$p` only as `$p[…]` and `*$p`, to read what is there",
    ),
    (
        "permutable",
        "permutable($i,$j)",
        "the loops over `$i` and `$j`, one directly in the other, may be swapped",
    ),
    ("pure", "pure($e)", "evaluating it writes nothing, reads only unchanging variables and always ends"),
    (
        "readonly",
        "readonly($e)",
        "evaluating it writes nothing and always ends; it may read memory, so it is the same where nothing writes that",
    ),
    ("straight", "straight($s)", "no jump leads into the statement `$s` or out of it"),
    (
        "total",
        "total($e)",
        "evaluating it does nothing and is defined wherever it stands: nothing in it divides, overflows or reads memory",
    ),
    ("type", "type($e,int)", "it has the type: a type, `integer`, `floating`, `arithmetic` or `pointer`"),
    ("typeof", "typeof($e,$T)", "the type of `$e` is arithmetic; binds `$T` to it"),
    ("uniform", "uniform($e)", "all threads of a block compute the same value"),
    ("unused", "unused($a,$s)", "the statement `$s` neither reads nor writes `$a`"),
    ("unwritten", "unwritten($a,$s)", "the statement `$s` does not write `$a`"),
];

impl Guard {
    /// The guard a term is. `Err`: what is wrong and what to write instead.
    pub(super) fn of(p: &Pattern) -> Result<Guard, String> {
        match p {
            Pattern::Term(Op::Binary(BinOp::And), args) => {
                Ok(Guard::And(args.iter().map(Guard::of).collect::<Result<_, _>>()?))
            }
            Pattern::Term(Op::Binary(BinOp::Or), args) => {
                Ok(Guard::Or(args.iter().map(Guard::of).collect::<Result<_, _>>()?))
            }
            Pattern::Term(Op::Unary(UnOp::Not), args) => {
                let inner = Guard::of(args.first().ok_or("`Not` takes one guard")?)?;
                match inner.is_decided() {
                    true => Ok(Guard::Not(Box::new(inner))),
                    false => Err(format!(
                        "`not {}` would take the lack of a proof for a proof. Negate only comparisons, `type` and `const`",
                        inner.text()
                    )),
                }
            }
            Pattern::Term(Op::Binary(op), args) if op.is_comparison() && args.len() == 2 => {
                Ok(Guard::Compare(*op, args[0].clone(), args[1].clone()))
            }
            Pattern::Term(Op::Apply(name), args) => Guard::named(name, args),
            other => Err(format!(
                "`{}` is no guard. There are comparisons, {}, joined by `&&`, `||` and `!`",
                other.text(),
                GUARDS.map(|g| format!("`{}`", g.1)).join(", ")
            )),
        }
    }

    fn named(name: &str, args: &[Pattern]) -> Result<Guard, String> {
        let Some((_, usage, _)) = GUARDS.iter().find(|g| g.0 == name) else {
            let near = super::near::nearest(name, GUARDS.iter().map(|g| g.0));
            let all = GUARDS.map(|g| g.0).join(", ");
            return Err(match near {
                Some(n) => format!("there is no guard `{name}`. Is `{n}` meant?"),
                None => format!("there is no guard `{name}`. There are: {all}, and comparisons"),
            });
        };
        let takes = format!("`{name}` is used as `{usage}`");
        let one = || match args {
            [a] => Ok(a.clone()),
            _ => Err(takes.clone()),
        };
        let two = || match args {
            [a, b] => Ok((a.clone(), b.clone())),
            _ => Err(takes.clone()),
        };
        Ok(match name {
            "independent" => Guard::Independent(one()?),
            "pure" => Guard::Pure(one()?),
            "readonly" => Guard::ReadOnly(one()?),
            "noalias" => two().map(|(a, b)| Guard::NoAlias(a, b))?,
            "assoc" => Guard::Assoc(one()?),
            "permutable" => two().map(|(a, b)| Guard::Permutable(a, b))?,
            "uniform" => Guard::Uniform(one()?),
            "affine" => Guard::Affine(one()?),
            "const" => Guard::Const(one()?),
            "unwritten" => two().map(|(a, b)| Guard::Unwritten(a, b))?,
            "unused" => two().map(|(a, b)| Guard::Unused(a, b))?,
            "onlyread" => two().map(|(a, b)| Guard::OnlyRead(a, b))?,
            "inside" => Guard::Inside(one()?),
            "typeof" => match two()? {
                (a, Pattern::Variable { name, .. }) => Guard::TypeOf(a, name),
                _ => return Err(takes),
            },
            "in" => two().map(|(a, b)| Guard::In(a, b))?,
            "type" => match two()? {
                (a, Pattern::Literal(Literal::Word(w))) => Guard::Type(a, TypeTest::of(&w)),
                _ => return Err(takes),
            },
            "head" => match two()? {
                (a, Pattern::Literal(Literal::Word(w))) => Guard::Head(a, w),
                _ => return Err(takes),
            },
            "straight" => Guard::Straight(one()?),
            "equals" => two().map(|(a, b)| Guard::Equals(a, b))?,
            "applied" => Guard::Applied(one()?),
            "total" => Guard::Total(one()?),
            "nonempty" => Guard::NonEmpty(one()?),
            "invariant" => two().map(|(a, b)| Guard::Invariant(a, b))?,
            "blocks" if (1..=3).contains(&args.len()) => {
                Guard::Blocks(args.iter().map(|a| a.as_variable().ok_or(&takes)).collect::<Result<_, _>>()?)
            }
            "box" if args.len() > 3 && args.len() % 3 == 1 => {
                let side = |s: &[Pattern]| {
                    let name = |p: &Pattern| p.as_variable().ok_or(&takes);
                    Ok::<_, &String>(Side { index: s[0].clone(), low: name(&s[1])?, high: name(&s[2])? })
                };
                Guard::Box(args[0].clone(), args[1..].chunks(3).map(side).collect::<Result<_, _>>()?)
            }
            "has" => match args {
                [of, place, guards @ ..] => Guard::Has(
                    of.clone(),
                    place.clone(),
                    guards.iter().map(Guard::of).collect::<Result<_, _>>()?,
                ),
                _ => return Err(takes),
            },
            "box" | "blocks" => return Err(takes),
            _ => match args {
                [Pattern::Variable { name, .. }] => Guard::Fresh(name.clone(), vec![Pattern::word(name)]),
                [Pattern::Variable { name, .. }, like @ ..] if like.iter().all(is_word) => {
                    Guard::Fresh(name.clone(), like.to_vec())
                }
                _ => return Err(takes),
            },
        })
    }

    /// Whether "does not hold" is as much an answer as "holds".
    fn is_decided(&self) -> bool {
        match self {
            Guard::Compare(..) | Guard::Type(..) | Guard::Const(_) | Guard::Head(..) => true,
            Guard::Has(_, _, gs) => gs.iter().all(Guard::is_decided),
            Guard::Not(g) => g.is_decided(),
            Guard::And(gs) | Guard::Or(gs) => gs.iter().all(Guard::is_decided),
            _ => false,
        }
    }

    /// The variables it needs bound.
    pub fn needs<'a>(&'a self, out: &mut Vec<&'a Arc<str>>) {
        match self {
            Guard::Independent(a)
            | Guard::Pure(a)
            | Guard::ReadOnly(a)
            | Guard::Assoc(a)
            | Guard::Uniform(a)
            | Guard::Affine(a)
            | Guard::Const(a)
            | Guard::Inside(a)
            | Guard::Straight(a)
            | Guard::TypeOf(a, _)
            | Guard::Head(a, _)
            | Guard::Type(a, _) => a.variables(out),
            Guard::NoAlias(a, b)
            | Guard::Permutable(a, b)
            | Guard::Unwritten(a, b)
            | Guard::Unused(a, b)
            | Guard::OnlyRead(a, b)
            | Guard::Compare(_, a, b) => {
                a.variables(out);
                b.variables(out);
            }
            Guard::Fresh(_, like) => like.iter().for_each(|p| p.variables(out)),
            Guard::Blocks(_) => {}
            Guard::In(_, list) => list.variables(out),
            Guard::Applied(a) | Guard::Equals(a, _) | Guard::Total(a) | Guard::NonEmpty(a) => {
                a.variables(out)
            }
            Guard::Invariant(a, b) => {
                a.variables(out);
                b.variables(out);
            }
            Guard::Box(p, sides) => {
                p.variables(out);
                sides.iter().for_each(|s| s.index.variables(out));
            }
            // what its guards need, the place may bind
            Guard::Has(a, place, gs) => {
                a.variables(out);
                let mut bound = Vec::new();
                place.variables(&mut bound);
                needs_of(gs, bound, out);
            }
            Guard::Not(g) => g.needs(out),
            Guard::And(gs) => needs_of(gs, Vec::new(), out),
            Guard::Or(gs) => gs.iter().for_each(|g| g.needs(out)),
        }
    }
    /// The variables it binds wherever it holds.
    pub fn binds<'a>(&'a self, out: &mut Vec<&'a Arc<str>>) {
        match self {
            Guard::Fresh(name, _) | Guard::TypeOf(_, name) => out.push(name),
            Guard::In(item, _) => item.variables(out),
            Guard::Equals(_, b) => b.variables(out),
            Guard::Box(_, sides) => sides.iter().for_each(|s| out.extend([&s.low, &s.high])),
            Guard::Has(_, place, gs) => {
                place.variables(out);
                gs.iter().for_each(|g| g.binds(out));
            }
            Guard::Blocks(names) => out.extend(names),
            Guard::And(gs) => gs.iter().for_each(|g| g.binds(out)),
            // what all of them bind, whichever holds
            Guard::Or(gs) => {
                let each: Vec<Vec<&Arc<str>>> = (gs.iter())
                    .map(|g| {
                        let mut bound = Vec::new();
                        g.binds(&mut bound);
                        bound
                    })
                    .collect();
                let first = each.first().into_iter().flatten();
                out.extend(first.filter(|v| each.iter().all(|bound| bound.contains(v))));
            }
            _ => {}
        }
    }

    pub fn text(&self) -> String {
        let joined = |gs: &[Guard], by: &str| gs.iter().map(Guard::text).collect::<Vec<_>>().join(by);
        match self {
            Guard::Independent(a) => format!("independent({})", a.text()),
            Guard::Pure(a) => format!("pure({})", a.text()),
            Guard::ReadOnly(a) => format!("readonly({})", a.text()),
            Guard::NoAlias(a, b) => format!("noalias({},{})", a.text(), b.text()),
            Guard::Assoc(a) => format!("assoc({})", a.text()),
            Guard::Permutable(a, b) => format!("permutable({},{})", a.text(), b.text()),
            Guard::Uniform(a) => format!("uniform({})", a.text()),
            Guard::Affine(a) => format!("affine({})", a.text()),
            Guard::Const(a) => format!("const({})", a.text()),
            Guard::Unwritten(a, b) => format!("unwritten({},{})", a.text(), b.text()),
            Guard::Unused(a, b) => format!("unused({},{})", a.text(), b.text()),
            Guard::OnlyRead(a, b) => format!("onlyread({},{})", a.text(), b.text()),
            Guard::TypeOf(a, t) => format!("typeof({},${t})", a.text()),
            Guard::Inside(a) => format!("inside({})", a.text()),
            Guard::In(a, b) => format!("in({},{})", a.text(), b.text()),
            Guard::Compare(op, a, b) => format!("{} {} {}", a.text(), op.symbol(), b.text()),
            Guard::Type(a, t) => format!("type({},{})", a.text(), t.word()),
            Guard::Head(a, w) => format!("head({},{w})", a.text()),
            Guard::Fresh(n, like) if *like == [Pattern::word(n)] => format!("fresh(${n})"),
            Guard::Fresh(n, like) => {
                format!("fresh(${n},{})", like.iter().map(Pattern::text).collect::<Vec<_>>().join(","))
            }
            Guard::Straight(a) => format!("straight({})", a.text()),
            Guard::Equals(a, b) => format!("equals({},{})", a.text(), b.text()),
            Guard::Box(p, sides) => {
                let sides: String =
                    (sides.iter()).map(|s| format!(",{},${},${}", s.index.text(), s.low, s.high)).collect();
                format!("box({}{sides})", p.text())
            }
            Guard::Has(a, place, gs) => {
                let gs: String = gs.iter().map(|g| format!(",{}", g.text())).collect();
                format!("has({},{}{gs})", a.text(), place.text())
            }
            Guard::Blocks(names) => {
                format!("blocks({})", names.iter().map(|n| format!("${n}")).collect::<Vec<_>>().join(","))
            }
            Guard::Applied(f) => format!("applied({})", f.text()),
            Guard::Total(a) => format!("total({})", a.text()),
            Guard::NonEmpty(a) => format!("nonempty({})", a.text()),
            Guard::Invariant(a, b) => format!("invariant({},{})", a.text(), b.text()),
            Guard::Not(g) => format!("!({})", g.text()),
            Guard::And(gs) => joined(gs, " && "),
            Guard::Or(gs) => format!("({})", joined(gs, " || ")),
        }
    }
}

/// What guards one after the other need that neither `bound` nor one of them before binds.
pub(super) fn needs_of<'a>(gs: &'a [Guard], mut bound: Vec<&'a Arc<str>>, out: &mut Vec<&'a Arc<str>>) {
    for g in gs {
        let mut needs = Vec::new();
        g.needs(&mut needs);
        out.extend(needs.into_iter().filter(|n| !bound.contains(n)));
        g.binds(&mut bound);
    }
}

fn is_word(p: &Pattern) -> bool {
    matches!(p, Pattern::Variable { .. } | Pattern::Literal(Literal::Word(_)))
}
