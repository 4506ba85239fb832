//! Templates whose arguments the file says: an item for each set of them, at the template's own place.

use front::{lower, Item, Language, Memo, Options, Parsed};
use term::Op;

fn items(text: &str) -> Vec<Item> {
    let parsed = Parsed::parse(Language::Cuda, text);
    lower(&parsed, &Options::default(), &mut Memo::new()).items
}

fn names(text: &str) -> Vec<String> {
    items(text).iter().filter(|i| i.template().is_some()).map(|i| i.name.to_string()).collect()
}

const SCALE: &str = "template <int N, typename T = float>
__global__ void scale(T *a) {
    __shared__ T tile[N];
    tile[threadIdx.x] = a[threadIdx.x] * (T)N;
    __syncthreads();
    a[threadIdx.x] = tile[N - 1 - threadIdx.x];
}
";

#[test]
fn launches_with_constants_make_instances() {
    let of = |main: &str| names(&format!("#define W 32\n{SCALE}void run(float *a) {{ {main} }}"));
    assert_eq!(of("scale<256><<<1, 256>>>(a);"), ["scale<256, float>"]);
    assert_eq!(
        of("scale<2 * W, double><<<1, 64>>>((double *)a); scale<64, double><<<2, 64>>>((double *)a);"),
        ["scale<64, double>"]
    );
    assert_eq!(of("const int B = 128; scale<B><<<1, B>>>(a); scale<B / 2><<<1, 64>>>(a);").len(), 2);
    // what is not known: a variable, a pointer, arguments that are deduced, too many of them
    for quiet in [
        "int B = 128; scale<B><<<1, B>>>(a);",
        "scale<4, float *><<<1, 4>>>(&a);",
        "scale<<<1, 4>>>(a);",
        "scale<4, float, 2><<<1, 4>>>(a);",
        "",
    ] {
        assert!(of(quiet).is_empty(), "{quiet}: {:?}", of(quiet));
    }
}

#[test]
fn an_instance_means_what_its_arguments_say() {
    let list = items(&format!(
        "{SCALE}void run(float *a) {{ scale<32><<<1, 32>>>(a); scale<64, double><<<1, 64>>>((double *)a); }}"
    ));
    let kernels: Vec<&Item> = list.iter().filter(|i| i.is_kernel).collect();
    assert_eq!(kernels.len(), 2);
    for (k, (length, double)) in kernels.iter().zip([(32, false), (64, true)]) {
        assert_eq!(k.body.rejects().count(), 0);
        assert_eq!(k.template(), Some("scale"));
        assert_eq!((k.span.start, &SCALE[k.span.range()]), (0, SCALE.trim_end()));
        let tile = k.body.symbols.iter().find(|s| &*s.name == "tile").unwrap();
        let term::TypeKind::Array { of, len } = k.body.types.kind(tile.ty) else { panic!("{tile:?}") };
        assert_eq!(*len, term::Len::Const(length));
        assert_eq!(*k.body.types.kind(*of) == term::TypeKind::Float(term::FloatKind::F64), double);
    }
    let host = list.iter().find(|i| &*i.name == "run").unwrap();
    assert_eq!(host.body.walk(host.body.root).filter(|&t| *host.body.op(t) == Op::Launch).count(), 2);
}

#[test]
fn instances_name_further_instances() {
    let text = "template <unsigned int N> __device__ void last(volatile float *s, int t) { if (N >= 64) s[t] += s[t + 32]; }
template <unsigned int N> __global__ void reduce(float *a) { last<N>(a, threadIdx.x); last<N / 2>(a, 1); }
template <int M> void host(float *a) { reduce<2 * M><<<1, M>>>(a); }
void run(float *a) { host<32>(a); }
";
    assert_eq!(names(text), ["last<64>", "last<32>", "reduce<64>"]);
}

#[test]
fn what_may_be_another_template_is_left_alone() {
    let run = "void run(float *a) { k<2><<<1, 1>>>(a); }";
    for text in [
        // two of one name, a specialisation, a pack, a class, a reference in the header
        "template <int N> __global__ void k(float *a) { a[N] = 0; }\ntemplate <typename T> __global__ void k(T *a) { a[0] = 0; }\n",
        "template <int N> __global__ void k(float *a) { a[N] = 0; }\ntemplate <> __global__ void k<2>(float *a) { a[1] = 0; }\n",
        "template <int... N> __global__ void k(float *a) { a[0] = 0; }\n",
        "template <int N> __global__ void k(float *&a) { a[0] = 0; }\n",
        "template <int N> __global__ void k(float *a);\n",
    ] {
        assert!(names(&format!("{text}{run}")).is_empty(), "{text}");
    }
}

#[test]
fn constants_that_may_be_others_are_not_taken() {
    let kernel = "template <int N> __global__ void k(float *a) { a[N] = 0; }\n";
    // declared twice, or as a parameter
    for main in [
        "void f(float *a) { const int B = 1; k<B><<<1, 1>>>(a); }\nvoid g(float *a) { const int B = 2; k<B><<<1, 1>>>(a); }",
        "const int B = 1;\nvoid f(float *a, int B) { k<B><<<1, 1>>>(a); }",
        "#define B 1\n#undef B\n#define B 2\nvoid f(float *a) { k<B><<<1, 1>>>(a); }",
    ] {
        assert!(names(&format!("{kernel}{main}")).is_empty(), "{main}");
    }
}

#[test]
fn edits_of_a_launch_change_the_instances() {
    let mut memo = Memo::new();
    let mut at = |n: u32| {
        let text = format!("{SCALE}void run(float *a) {{ scale<{n}><<<1, {n}>>>(a); }}");
        let unit = lower(&Parsed::parse(Language::Cuda, text.as_str()), &Options::default(), &mut memo);
        unit.items.iter().filter(|i| i.is_kernel).map(|i| i.name.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(at(8), ["scale<8, float>"]);
    assert_eq!(at(16), ["scale<16, float>"]);
    assert_eq!(at(8), ["scale<8, float>"]);
}

fn unit(text: &str) -> front::Unit {
    lower(&Parsed::parse(Language::Cuda, text), &Options::default(), &mut Memo::new())
}

fn launches(item: &Item) -> usize {
    item.body.walk(item.body.root).filter(|&t| matches!(item.body.op(t), Op::Launch)).count()
}

/// Functions of the host that C cannot say are read for their launches, and are no functions of the document.
#[test]
fn hosts_of_cpp_lend_their_launches() {
    let kernel = "template <typename T> __global__ void k(T *a) { a[threadIdx.x] = 1; }\n";
    let of = |host: &str| {
        let unit = unit(&format!("{kernel}{host}"));
        let plain = unit.items.iter().map(launches).sum::<usize>();
        let lent: Vec<String> = unit.lenders.iter().map(|i| format!("{} {}", i.name, launches(i))).collect();
        let kernels: Vec<String> =
            unit.items.iter().filter(|i| i.is_kernel).map(|i| i.name.to_string()).collect();
        (plain, lent, kernels)
    };
    let one = |name: &str, kernel: &str| (0, vec![format!("{name} 1")], vec![kernel.to_owned()]);
    // a reference, a class's member, a template that others instantiate; `float` where nobody does
    assert_eq!(of("void run(Big &b) { k<int><<<1, 32>>>(b.p); }"), one("run", "k<int>"));
    assert_eq!(
        of("template <typename D> void Layer<D>::go(const std::vector<D *> &v) { k<D><<<1, 32>>>(v[0]); }"),
        one("go", "k<float>")
    );
    let host =
        "template <typename D> void go(D *a) { k<D><<<1, 32>>>(a); }\nvoid f(double *a) { go<double>(a); }";
    let (plain, lent, kernels) = of(host);
    assert_eq!((plain + lent.len(), kernels), (1, vec!["k<double>".to_owned()]));
    // plain functions are the document's, and functions without launches nobody's
    assert_eq!(of("void run(float *a) { k<float><<<1, 32>>>(a); }").1, Vec::<String>::new());
    assert_eq!(of("template <typename D> void go(Big<D> &a) { a.go(); }").1, Vec::<String>::new());
    // nothing is known of the name by which others call it
    let unit = unit(&format!("{kernel}void run(Big &b) {{ k<int><<<1, 32>>>(b.p); }}\nvoid f(Big &b);\nvoid g(int n) {{ run(n); }}"));
    let g = unit.items.iter().find(|i| &*i.name == "g").expect("g");
    assert!(g.body.walk(g.body.root).any(|t| matches!(g.body.op(t), Op::Reject(_))));
}
