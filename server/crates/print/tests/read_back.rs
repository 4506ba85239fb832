//! What is printed is read by the C front end as the tree that it was printed from.

use print::Source;
use term::{strength, BinOp, Body, Op, TermId, UnOp};

#[derive(Clone, Debug)]
struct Node {
    op: Op,
    args: Vec<Node>,
}

fn node(op: Op, args: Vec<Node>) -> Node {
    Node { op, args }
}

fn name(n: &str) -> Node {
    node(Op::Name(n.into()), Vec::new())
}

struct Tree<'t>(std::marker::PhantomData<&'t Node>);

impl<'t> Source for Tree<'t> {
    type Node = &'t Node;
    type Error = String;
    fn op(&self, n: &'t Node) -> Op {
        n.op.clone()
    }
    fn len(&self, n: &'t Node) -> usize {
        n.args.len()
    }
    fn part(&self, n: &'t Node, k: usize) -> &'t Node {
        &n.args[k]
    }
    fn own(&self, n: &'t Node) -> Result<Option<(String, u8)>, String> {
        Ok(match &n.op {
            Op::Name(word) => Some((word.to_string(), strength::ATOM)),
            Op::Int(v) => Some(print::integer(&print::C, *v, term::IntKind::Int)),
            _ => None,
        })
    }
    fn cast(&self, _: &'t Node) -> Result<Option<String>, String> {
        Ok(Some("long".into()))
    }
    fn no_text(&self, n: &'t Node) -> String {
        format!("{:?}", n.op)
    }
}

fn printed(n: &Node) -> String {
    print::expression(&Tree(Default::default()), n, strength::NONE).unwrap()
}

/// Expressions over `int a, b, c`, `int *p`.
fn random(seed: &mut u64, depth: u32) -> Node {
    let mut next = |n: u64| {
        *seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (*seed >> 33) % n
    };
    let place = |k: u64| name(["a", "b", "c"][k as usize % 3]);
    if depth == 0 {
        return match next(5) {
            k @ 0..=2 => place(k),
            3 => node(Op::Int(i128::from(next(100))), Vec::new()),
            _ => node(Op::Deref, vec![name("p")]),
        };
    }
    match next(24) {
        0..=11 => {
            let op = BinOp::ALL[next(18) as usize];
            node(Op::Binary(op), vec![random(seed, depth - 1), random(seed, depth - 1)])
        }
        12..=14 => {
            let op = [UnOp::Plus, UnOp::Neg, UnOp::BitNot, UnOp::Not][next(4) as usize];
            node(Op::Unary(op), vec![random(seed, depth - 1)])
        }
        15 | 16 => {
            let parts = (0..3).map(|_| random(seed, depth - 1)).collect();
            node(Op::Select, parts)
        }
        // `a, b, c` is the same either way; it is read from the right
        17 => node(Op::Comma, vec![random(seed, 0), random(seed, depth - 1)]),
        18 => node(Op::Cast, vec![random(seed, depth - 1)]),
        19 => {
            let to = place(next(3));
            node(Op::Assign, vec![to, random(seed, depth - 1)])
        }
        20 => {
            let (op, to) = (BinOp::ALL[next(10) as usize], place(next(3)));
            node(Op::Compound(op), vec![to, random(seed, depth - 1)])
        }
        21 => {
            let (delta, prefix) = (if next(2) == 0 { 1 } else { -1 }, next(2) == 0);
            node(Op::Step { delta, prefix }, vec![place(next(3))])
        }
        22 => node(Op::Index, vec![name("p"), random(seed, depth - 1)]),
        _ => {
            let at = node(Op::Binary(BinOp::Add), vec![name("p"), random(seed, depth - 1)]);
            node(Op::Deref, vec![at])
        }
    }
}

fn same(body: &Body, t: TermId, n: &Node) -> bool {
    let head = match (body.op(t), &n.op) {
        (Op::Sym(s), Op::Name(word)) => body.symbols[*s].name == *word,
        (a, b) => a == b,
    };
    let args = body.args(t);
    head && args.len() == n.args.len() && args.iter().zip(&n.args).all(|(&t, n)| same(body, t, n))
}

#[test]
fn front_reads_the_tree_that_was_printed() {
    let mut seed = 7;
    for k in 0..1500 {
        let n = random(&mut seed, 1 + k % 5);
        let text = printed(&n);
        let function = format!("long f(int a, int b, int c, int *p) {{ return {text}; }}");
        let parsed = front::Parsed::parse(front::Language::C, function.as_str());
        let unit = front::lower(&parsed, &front::Options::default(), &mut front::Memo::new());
        let body = &unit.items[0].body;
        let returned = body.walk(body.root).find(|&t| *body.op(t) == Op::Return).map(|t| body.args(t)[0]);
        let read = returned.map(|t| term::notation::print(body, t));
        assert!(returned.is_some_and(|t| same(body, t, &n)), "{text}\nwas read as {read:?}");
    }
}

/// Parentheses that the grammar does not need, but readers do, and none besides.
#[test]
fn parentheses_are_for_readers_too() {
    let (a, b, c) = (|| name("a"), || name("b"), || name("c"));
    let bin = |op, l, r| node(Op::Binary(op), vec![l, r]);
    let not = |op, x| node(Op::Unary(op), vec![x]);
    let select = |x, y, z| node(Op::Select, vec![x, y, z]);
    let all = [
        (bin(BinOp::Add, bin(BinOp::Sub, a(), b()), c()), "a - b + c"),
        (bin(BinOp::Sub, a(), bin(BinOp::Sub, b(), c())), "a - (b - c)"),
        (bin(BinOp::BitAnd, bin(BinOp::Add, a(), b()), c()), "(a + b) & c"),
        (bin(BinOp::Lt, bin(BinOp::Shl, a(), b()), c()), "(a << b) < c"),
        (bin(BinOp::Or, bin(BinOp::And, a(), b()), c()), "(a && b) || c"),
        (bin(BinOp::And, bin(BinOp::BitAnd, a(), b()), c()), "a & b && c"),
        (bin(BinOp::Eq, bin(BinOp::Lt, a(), b()), c()), "(a < b) == c"),
        (not(UnOp::Neg, not(UnOp::Neg, a())), "-(-a)"),
        (not(UnOp::Not, not(UnOp::Neg, a())), "!-a"),
        (bin(BinOp::Sub, a(), not(UnOp::Neg, b())), "a - (-b)"),
        (bin(BinOp::Mul, a(), not(UnOp::Neg, b())), "a * -b"),
        (select(a(), b(), select(b(), c(), a())), "a ? b : b ? c : a"),
        (select(a(), select(b(), c(), a()), b()), "a ? (b ? c : a) : b"),
        (node(Op::Deref, vec![node(Op::Step { delta: 1, prefix: false }, vec![name("p")])]), "*p++"),
    ];
    for (n, text) in all {
        assert_eq!(printed(&n), text);
    }
}
