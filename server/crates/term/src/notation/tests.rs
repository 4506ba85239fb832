use expect_test::{expect, Expect};
use proptest::prelude::*;

use super::*;
use crate::{Body, BodyBuilder, FloatKind, IntKind, Op, RejectKind, Semantics, TermId, TypeKind, F64};

/// Reads, prints, reads and prints again: the prints agree.
fn check(text: &str, expect: Expect) {
    let shown = match read(text) {
        Ok(b) => {
            let once = print(&b, b.root);
            let again = read(&once).unwrap_or_else(|e| panic!("{once}: {e}"));
            assert_eq!(print(&again, again.root), once);
            once
        }
        Err(e) => format!("error: {e}"),
    };
    expect.assert_eq(&shown);
}

#[test]
fn the_terms_of_the_paper() {
    check(
        "For(Assignment(k,2), k<=ARR_SIZE, Assignment(k,k<<1), [For(Assignment(j,k>>1), j>0, Assignment(j,j>>1), [DeclarationAssignment(ixj,int,bit_xor(i,j)), If(ixj>i, [If(And(Equals(i&k,0), ArrayElement(toSort,i) > ArrayElement(toSort,ixj)), [MethodCall(swap,toSort,i,ixj)])])])], _MARK_CUDA(bitonic_kernel))",
        expect!["For(Assignment(k,2),k<=ARR_SIZE,Assignment(k,k<<1),[For(Assignment(j,k>>1),j>0,Assignment(j,j>>1),[DeclarationAssignment(ixj,int,bit_xor(i,j)),If(ixj>i,[If(And(Equals(i&k,0),ArrayElement(toSort,i)>ArrayElement(toSort,ixj)),[MethodCall(swap,toSort,i,ixj)])])])],_MARK_CUDA(bitonic_kernel))"],
    );
    check(
        "For($init, $condition, $step, $body, _MARK_CUDA(k))",
        expect!["For($init,$condition,$step,$body,_MARK_CUDA(k))"],
    );
    check("If(tid % (2*s) == 0, PlusAssignment(ArrayElement(localData,tid), ArrayElement(localData,tid+s)))", expect!["If(Equals(tid%(2*s),0),PlusAssignment(ArrayElement(localData,tid),ArrayElement(localData,tid+s)))"]);
    check("[_Unroll($x):_Unroll($y)]", expect!["[_Unroll($x):_Unroll($y)]"]);
    check(
        "DeclarationAssignment($coor,int,Dot(blockIdx,x)*Dot(blockDim,x)+Dot(threadIdx,x))",
        expect!["DeclarationAssignment($coor,int,Dot(blockIdx,x)*Dot(blockDim,x)+Dot(threadIdx,x))"],
    );
    check(
        "CallKernel(Shape(ARR_SIZE/BLOCK_SIZE,BLOCK_SIZE,Empty,Empty),parallelSum,[inData,outData])",
        expect!["CallKernel(Shape(ARR_SIZE/BLOCK_SIZE,BLOCK_SIZE,Empty,Empty),parallelSum,[inData,outData])"],
    );
    check("_InitCudaKernel(name)", expect!["_InitCudaKernel(name)"]);
    check("[]", expect!["NIL"]);
}

#[test]
fn variables_have_types_and_lists_have_tails() {
    check("$x:int + $y", expect!["($x:int)+$y"]);
    check("f($x:`unsigned int`)", expect!["f(($x:`unsigned int`))"]);
    check("[$x:int]", expect!["[$x:int]"]);
    check("[($x:int):f($y:float)]", expect!["[($x:int):f(($y:float))]"]);
    check("[a:$b:c($d)]", expect!["[a:[$b:c($d)]]"]);
    check("[a,b:$c]", expect!["[a:[b:$c]]"]);
    check("$x:", expect!["error: the variable's type is expected, as in `$x:int` (at byte 3)"]);
    let (body, end) = read_prefix("a -> $b", 5).expect("a variable");
    assert_eq!((print(&body, body.root).as_str(), end), ("$b", 7));
}

#[test]
fn operators_and_leaves() {
    check("a+b*c-(d-e)", expect!["a+b*c-(d-e)"]);
    check("(a+b)*c<<2>>1", expect!["(a+b)*c<<2>>1"]);
    check("a - -5 - -b", expect!["a-(-5)-(-b)"]);
    check("- -1", expect!["-(-1)"]);
    check("-1", expect!["-1"]);
    check("~-a", expect!["~(-a)"]);
    check("!a && b || c == d != e ^ f", expect!["Or(And(Not(a),b),bit_xor(NotEquals(Equals(c,d),e),f))"]);
    check("1.5e300 + 2.0", expect!["1.5e300+2.0"]);
    check("\"a\\\"b\\nc\"", expect![[r#""a\"b\nc""#]]);
    check("`odd name`(`If`, Break)", expect!["`odd name`(`If`,Break)"]);
    check("Cast(`const double*`,a)", expect!["Cast(`const double*`,a)"]);
    check("Return", expect!["Return"]);
    check("Return(a->b)", expect!["error: `,` is expected (at byte 8)"]);
    check("Reject(Syntax,\"why\",a)", expect![[r#"Reject(Syntax,"why",a)"#]]);
    check("Select(a<b,a,b)", expect!["Select(a<b,a,b)"]);
    check("If(a)", expect!["`If`(a)"]);
    check("Cons(a,b)", expect!["Cons(a,b)"]);
}

#[test]
fn errors_say_where() {
    check("", expect!["error: the text ends where a term is expected (at byte 0)"]);
    check("f(a", expect!["error: `,` is expected (at byte 3)"]);
    check("f(a))", expect!["error: one term ends and something else begins (at byte 4)"]);
    check("$", expect!["error: a variable's name is expected (at byte 1)"]);
    check("\"abc", expect!["error: a quotation is not closed (at byte 0)"]);
    check("a + ", expect!["error: the text ends where a term is expected (at byte 4)"]);
    check("1.2.3", expect!["error: this number cannot be read (at byte 0)"]);
    check("é(ß)", expect!["é(ß)"]);
    check("a @ b", expect!["error: one term ends and something else begins (at byte 2)"]);
}

#[test]
fn depth_costs_no_stack() {
    for text in [
        "(".repeat(100_000),
        "-".repeat(100_000),
        "f(".repeat(100_000),
        "[".repeat(100_000),
        format!("a{}", "+(a".repeat(100_000)),
        "Function(".repeat(100_000),
    ] {
        assert!(read(&text).is_err());
    }
    let chain = format!("a{}", "-a".repeat(20_000));
    let b = read(&chain).expect("a chain is no nesting");
    assert_eq!(print(&b, b.root), chain);
}

/// A random term, built as the front ends build them.
#[derive(Clone, Debug)]
enum Shape {
    Leaf(u8, i64),
    Node(u8, Vec<Shape>),
}

fn shapes() -> impl Strategy<Value = Shape> {
    let leaf = (any::<u8>(), any::<i64>()).prop_map(|(k, v)| Shape::Leaf(k, v));
    leaf.prop_recursive(6, 60, 4, |inner| {
        (any::<u8>(), prop::collection::vec(inner, 0..5)).prop_map(|(k, a)| Shape::Node(k, a))
    })
}

fn build(b: &mut BodyBuilder, s: &Shape) -> TermId {
    let ty = b.types.plain(TypeKind::Opaque("?".into()));
    let none = base::Span::default();
    match s {
        Shape::Leaf(k, v) => {
            let symbol = crate::SymbolId((*v as u32) % 3);
            let names = ["a", "If", "odd name", "`", "", "NIL", "x1", "BitAndAssignment", "$"];
            let name = names[(*v as usize) % names.len()];
            let op = match k % 13 {
                0 => Op::Int(i128::from(*v)),
                1 => Op::Float(F64::new(f64::from_bits(*v as u64))),
                2 => Op::Str(format!("{name}\n\"\\{v}").into()),
                3 => Op::Sym(symbol),
                4 => Op::Name(name.into()),
                5 => Op::Var("v".into()),
                6 => Op::Empty,
                7 => Op::Break,
                8 => Op::Goto(name.into()),
                9 => Op::Declare(symbol),
                10 => Op::Return,
                11 => {
                    let t = b.types.int(IntKind::ULong);
                    Op::SizeOfType(b.types.pointer(t))
                }
                _ => Op::Mark(name.into()),
            };
            b.term(op, [], ty, none)
        }
        Shape::Node(k, args) => {
            let args: Vec<TermId> = args.iter().map(|a| build(b, a)).collect();
            let n = args.len();
            let bin = crate::BinOp::ALL[*k as usize % 18];
            let (op, want) = match k % 24 {
                0..=5 => (Op::Binary(bin), 2),
                6 => (Op::Unary(UNARY[*k as usize % 4]), 1),
                7 => (Op::Assign, 2),
                8 => (Op::Compound(bin), 2),
                9 => (Op::Step { delta: 1 - 2 * ((k / 24) % 2) as i8, prefix: k / 48 % 2 == 0 }, 1),
                10 => (Op::Select, 3),
                11 => (Op::Index, 2),
                12 => (Op::Member { field: "If".into(), arrow: k / 24 % 2 == 0 }, 1),
                13 => (Op::Call, n.max(1)),
                14 => (Op::If, 2 + n % 2),
                15 => (Op::For, n.max(4)),
                16 => (Op::Cons, 2),
                17 => (Op::Cast, 1),
                18 => (Op::Launch, n.max(5)),
                19 => (Op::InitList, n),
                20 => (Op::Apply("Unknown head".into()), n),
                21 => (Op::Declare(crate::SymbolId(1)), 1),
                22 => (Op::Mark("m".into()), n),
                _ => (Op::List, n),
            };
            let mut args = args;
            while args.len() < want {
                args.push(b.term(Op::Name("pad".into()), [], ty, none));
            }
            args.truncate(want);
            let ty = if op == Op::Cast { b.types.float(FloatKind::F32) } else { ty };
            if k % 31 == 0 {
                return b.reject(RejectKind::Macro, "why \"so\"", none, args);
            }
            b.term(op, args, ty, none)
        }
    }
}

fn random_body(shape: &Shape) -> Body {
    let mut b = BodyBuilder::new("f", Semantics::C);
    let ty = b.types.int(IntKind::Int);
    for name in ["a", "i", "Return"] {
        b.local(name, ty);
    }
    let root = build(&mut b, shape);
    b.finish(root)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_printed_reads_back(shape in shapes()) {
        let body = random_body(&shape);
        let printed = print(&body, body.root);
        let back = read(&printed);
        prop_assert!(back.is_ok(), "{printed}: {:?}", back.err());
        if let Ok(back) = back {
            prop_assert_eq!(print(&back, back.root), printed);
        }
    }

    #[test]
    fn any_text_is_a_term_or_an_error(text in "[a-z0-9$`\"(),:+*<>=!~. \\[\\]\\\\-]{0,60}|\\PC{0,40}") {
        if let Ok(b) = read(&text) {
            let once = print(&b, b.root);
            let again = read(&once);
            prop_assert!(again.is_ok(), "{once}: {:?}", again.err());
        }
    }
}
