//! CUDA as people write it: what C++ around kernels becomes, and that it is never a syntax error.

mod common;

use common::{show, unit_as};
use front::{ItemKind, Language, Unit};
use term::RejectKind;

fn cuda(text: &str) -> Unit {
    unit_as(Language::Cuda, text, &[])
}

/// What a function's statements are, and what was not understood.
#[track_caller]
fn check(text: &str, expected: &str) {
    let shown = show(text, &cuda(text));
    assert_eq!(shown.trim_end(), expected.trim_end(), "\n{shown}");
}

/// The text is understood without a gap.
#[track_caller]
fn whole(text: &str) {
    let unit = cuda(text);
    let gaps: Vec<String> = unit
        .items
        .iter()
        .flat_map(|i| i.body.rejects().map(|r| r.reason.to_string()))
        .chain(unit.rejects.iter().map(|r| r.reason.to_string()))
        .collect();
    assert!(gaps.is_empty(), "{gaps:?}\n{}", show(text, &unit));
}

#[test]
fn casts_and_auto_mean_what_c_can_say() {
    check(
        "__global__ void k(float *a, int n) {\n  auto i = blockIdx.x * blockDim.x + threadIdx.x;\n  const auto v = static_cast<float>(i) * float(n + 1);\n  if (i < n) a[i] = std::max(v, 0.0f);\n}",
        "k [Declaration(a,`float*`),Declaration(n,int)]
  DeclarationAssignment(i,`unsigned int`,Dot(blockIdx,x)*Dot(blockDim,x)+Dot(threadIdx,x))
  DeclarationAssignment(v,`const float`,Cast(float,i)*Cast(float,n+1))
  If(i<n,[Assignment(ArrayElement(a,i),MethodCall(max,v,0.0))])",
    );
    whole("__global__ void k(char *a) { int *p = reinterpret_cast<int *>(a); p[0] = static_cast<unsigned int>(p[1]) + static_cast<int>(float(p[2])); }");
    whole("using real = float;\n__global__ void k(real *a) { a[0] = (real)1 + a[1]; }");
    whole("int main() { dim3 block(16, 16), grid{4}; return 0; }");
}

#[test]
fn groups_become_the_intrinsics_they_are() {
    let text = "namespace cg = cooperative_groups;\n__global__ void k(int *a) {\n  cg::thread_block b = cg::this_thread_block();\n  auto w = cg::tiled_partition<32>(b);\n  a[b.thread_rank()] = w.shfl_down(a[0], 1);\n  w.sync();\n  b.sync();\n  cg::sync(b);\n}";
    let unit = cuda(text);
    let k = unit.items.iter().find(|i| &*i.name == "k").unwrap();
    assert_eq!(k.body.rejects().count(), 0, "{}", show(text, &unit));
    let printed = term::notation::print(&k.body, k.body.root);
    assert_eq!(printed.matches("__syncthreads").count(), 2, "{printed}");
    assert!(printed.contains("__syncwarp") && printed.contains("__shfl_down_sync"), "{printed}");
}

/// Their names may stand without `cg::`, a group may be used where it is made, and the grid has numbers.
#[test]
fn groups_without_their_namespace() {
    let text = "#include <cooperative_groups.h>\nusing namespace cooperative_groups;\n__global__ void k(int *a) {\n  thread_block t = this_thread_block();\n  thread_block_tile<32> w = tiled_partition<32>(t);\n  grid_group g = this_grid();\n  a[g.thread_rank()] = w.meta_group_rank() + t.thread_index().x + t.group_index().y;\n  t.sync();\n  sync(t);\n  synchronize(w);\n  this_thread_block().sync();\n  sync(this_thread_block());\n}";
    whole(text);
    let unit = cuda(text);
    let k = unit.items.iter().find(|i| &*i.name == "k").unwrap();
    let printed = term::notation::print(&k.body, k.body.root);
    assert_eq!(printed.matches("__syncthreads").count(), 4, "{printed}");
    assert_eq!(printed.matches("__syncwarp").count(), 1, "{printed}");
    // the grid's barrier is none of these
    let grid = text.replace("  t.sync();", "  g.sync();");
    let unit = cuda(&grid);
    let k = unit.items.iter().find(|i| &*i.name == "k").unwrap();
    let printed = term::notation::print(&k.body, k.body.root);
    assert_eq!(printed.matches("__syncthreads").count(), 3, "{printed}");
    assert!(printed.contains("sync"), "{printed}");
    // somebody's own names are left alone
    whole("__device__ void sync(int x) {}\n__global__ void k(int *a) { int t = 1; sync(t); a[0] = t; }");
    let own = "int this_grid(void);\nint f(void) { int g = this_grid(); return g; }";
    whole(own);
}

/// A group that is handed to a function is the function's group; another thing of its name is none.
#[test]
fn groups_as_parameters() {
    let head = "#include <cooperative_groups.h>\nnamespace cg = cooperative_groups;\n";
    let made = "cg::thread_block b = cg::this_thread_block(); auto w = cg::tiled_partition<32>(b);";
    whole(&format!("{head}__device__ void all(cg::thread_block b, int *a) {{ cg::sync(b); a[b.thread_rank()] = 1; }}\n__global__ void k(int *a) {{ {made} all(b, a); }}"));
    whole(&format!("{head}__device__ float sum(const cg::thread_block_tile<32> &w, float v) {{ for (int i = w.size() / 2; i > 0; i /= 2) v += w.shfl_down(v, i); return v; }}\n__global__ void k(float *a) {{ {made} a[0] = sum(w, a[1]); }}"));
    whole("__global__ void k(int *a) { namespace cg = cooperative_groups; auto b = cg::this_thread_block(); b.sync(); a[0] = 1; }");
    let text = format!("{head}__device__ int f(int x);\n__global__ void k(int *a) {{ {made} {{ int b = 7; a[0] = f(b); }} {{ int *w = a; a[1] = f(*w); }} }}");
    let unit = cuda(&text);
    let k = unit.items.iter().find(|i| &*i.name == "k").unwrap();
    let printed = term::notation::print(&k.body, k.body.root);
    assert!(printed.contains("MethodCall(f,b)") && !printed.contains("MethodCall(f,0)"), "{printed}");
    // a tile of other sizes is no warp
    let small = format!("{head}__device__ void f(cg::thread_block_tile<16> w) {{ w.sync(); }}");
    assert!(
        cuda(&small).rejects.len()
            + cuda(&small).items.iter().map(|i| i.body.rejects().count()).sum::<usize>()
            > 0
    );
}

#[test]
fn assembly_is_a_gap_in_a_kernel() {
    let unit = cuda("__global__ void k(int *a) { asm volatile(\"st.global.u32 [%0], %1;\" :: \"l\"(a), \"r\"(threadIdx.x) : \"memory\"); a[0] = 1; }");
    let k = unit.items.iter().find(|i| &*i.name == "k").expect("the kernel");
    assert!(k.is_kernel);
    assert_eq!(k.body.rejects().count(), 1);
}

/// `int n = 3` among parameters is a parameter.
#[test]
fn default_arguments_are_no_part_of_the_type() {
    check(
        "__global__ void k(int *a, int *b = NULL, float v = f(1, 2), int n = sizeof(int)) { a[n] = 1; }",
        "k [Declaration(a,`int*`),Declaration(b,`int*`),Declaration(v,float),Declaration(n,int)]
  Assignment(ArrayElement(a,n),1)",
    );
    whole("int h(int (*g)(int x, int y) = 0) { return g(1, 2); }");
}

#[test]
fn statements_of_cpp_are_one_gap_each_and_their_names_are_unknown() {
    check(
        "void h(int n) {\n  std::vector<int> v(n);\n  for (auto &x : v) x = 1;\n  n = n + 1;\n  { auto &n = v[0]; n = 2; }\n  n = 3;\n}",
        "h [Declaration(n,int)]
  Reject(Foreign,\"templates of C++ are not followed\")
  Reject(Foreign,\"a loop over a range of C++ is not followed\")
  Assignment(n,n+1)
  [DeclarationAssignment(n,`?*`,AddressOf(ArrayElement(Reject(Unsupported,\"the declaration of `v` was not understood\"),0))),Assignment(Deref(n),2)]
  Assignment(n,3)
! Foreign at `std::vector<int> v(n);`: templates of C++ are not followed
! Foreign at `for (auto &x : v) x = 1;`: a loop over a range of C++ is not followed
! Unsupported at `v`: the declaration of `v` was not understood",
    );
}

#[test]
fn a_name_that_a_template_or_a_namespace_declares_is_not_taken_for_the_librarys() {
    // `max` is not CUDA's here
    let text = "template <typename T> __device__ T max(T a, T b) { return a < b ? a : b; }\n__global__ void k(int *a) { a[0] = max(a[1], a[2]); }";
    let unit = cuda(text);
    assert_eq!(unit.items[1].body.rejects().count(), 1, "{}", show(text, &unit));
    let text = "namespace mine { __device__ float sqrt(float x) { return x; } }\n__global__ void k(float *a) { a[0] = sqrt(a[1]); }";
    let unit = cuda(text);
    let k = unit.items.iter().find(|i| &*i.name == "k").unwrap();
    assert_eq!(k.body.rejects().count(), 1, "{}", show(text, &unit));
}

#[test]
fn kernels_in_namespaces_and_between_classes_are_kernels() {
    let text = include_str!("cuda_program.txt");
    let unit = cuda(text);
    let kernels: Vec<&str> =
        unit.items.iter().filter(|i| i.is_kernel && i.kind == ItemKind::Function).map(|i| &*i.name).collect();
    assert_eq!(
        kernels,
        ["inside", "outside", "over", "tile", "after", "tmpl<128>", "scale<float>", "plain", "coop", "vec"]
    );
}

/// Nothing that a CUDA compiler takes is called a syntax error.
#[test]
fn cpp_is_no_syntax_error() {
    let text = include_str!("cuda_program.txt");
    let unit = cuda(text);
    for i in &unit.items {
        for r in i.body.rejects() {
            let at = text.get(r.span.shifted(i.span.start).range());
            assert!(r.kind != RejectKind::Syntax, "{} at {at:?}", r.reason);
        }
    }
    assert!(unit.rejects.is_empty(), "{:?}", unit.rejects);
}

/// A reduction of CUB is a call whose second argument is a reference; in other forms it is a gap.
#[test]
fn reductions_of_cub_are_calls() {
    check(
        "void f(void *t, size_t b, int *in, int *out, int n) {\n  cub::DeviceReduce::Sum(t, b, in + 1, out, n);\n  cub::DeviceReduce::Max((void *)0, b, in, &out[1], n - 1);\n}",
        "f [Declaration(t,`void*`),Declaration(b,`unsigned long`),Declaration(in,`int*`),Declaration(out,`int*`),Declaration(n,int)]
  MethodCall(cub__DeviceReduce__Sum,t,AddressOf(b),in+1,out,n)
  MethodCall(cub__DeviceReduce__Max,Cast(`void*`,0),AddressOf(b),in,AddressOf(ArrayElement(out,1)),n-1)",
    );
    for call in
        ["Sum(t, b, in, out, n, stream)", "Sum(t, *b, in, out, n)", "ArgMin(t, b, in, out, n)", "Sum(t)"]
    {
        let text =
            format!("void f(void *t, size_t *b, int *in, int *out, int n) {{ cub::DeviceReduce::{call}; }}");
        let unit = cuda(&text);
        let f = unit.items.iter().find(|i| &*i.name == "f").unwrap();
        assert_eq!(f.body.rejects().count(), 1, "{call}: {}", show(&text, &unit));
    }
}

/// Loads and stores that only say how long caches keep what they touch are loads and stores; half types have their size.
#[test]
fn loads_with_hints_and_halves() {
    let text = "__global__ void k(__half *a, const __half *b, float *c) { a[threadIdx.x] = __ldcs(&b[threadIdx.x]); __stcs(c + 1, 2.0f); }";
    let parsed = front::Parsed::parse(front::Language::Cuda, text);
    let unit = front::lower(&parsed, &front::Options::default(), &mut front::Memo::new());
    let body = &unit.items[0].body;
    let count = |f: &dyn Fn(&term::Op) -> bool| body.walk(body.root).filter(|&t| f(body.op(t))).count();
    assert_eq!(count(&|op| matches!(op, term::Op::Call | term::Op::Reject(_))), 0);
    assert_eq!(count(&|op| matches!(op, term::Op::Deref)), 2);
    assert_eq!(count(&|op| matches!(op, term::Op::Assign)), 2);
    let element = body.walk(body.root).find(|&t| matches!(body.op(t), term::Op::Index)).expect("a[…]");
    assert_eq!(body.types.size_align(body.ty(element)), Some((2, 2)));
}

/// What a program leaves in for devices is there in a document for devices, and is told; the program's own word comes first.
#[test]
fn macros_that_switch_devices_on() {
    let items = |text: &str| {
        let parsed = front::Parsed::parse(front::Language::Cuda, text);
        let unit = front::lower(&parsed, &front::Options::default(), &mut front::Memo::new());
        let told: Vec<String> =
            unit.configuration.iter().map(|c| format!("{}: {:?}", c.name, c.taken)).collect();
        (unit.items.iter().map(|i| i.name.to_string()).collect::<Vec<_>>(), told.join(", "))
    };
    let text = "#ifdef GPU\nvoid f(void) { }\n#endif\n#ifndef CPU_ONLY\nvoid g(void) { }\n#endif\n";
    let (names, told) = items(text);
    assert_eq!(names, ["f", "g"]);
    assert_eq!(told, "GPU: Given(\"1\"), CPU_ONLY: NotDefined");
    assert_eq!(items(&format!("#define CPU_ONLY\n#undef GPU\n{text}")).0, Vec::<String>::new());
    // it is no macro that stands for anything
    assert_eq!(items("enum { CPU, GPU };\nint f(void) { return GPU; }").0.last().map(|s| &**s), Some("f"));
}

/// What a launch or a call gives says what a template's types are, unless a function of that name may be meant.
#[test]
fn arguments_that_are_left_out_are_deduced() {
    let kernels = |text: &str| -> Vec<String> {
        let unit = cuda(text);
        unit.items.iter().filter(|i| i.kind == ItemKind::Function).map(|i| i.name.to_string()).collect()
    };
    let scale = "template <typename T> __global__ void scale(T *a, T by, int n) { int i = threadIdx.x; if (i < n) a[i] *= by; }\n";
    let with = |rest: &str| kernels(&format!("{scale}{rest}"));
    // a variable, a list of variables, an element's address, a cast, a field
    for (host, ty) in [
        ("void f(double *a, int n) { scale<<<1, 32>>>(a, 2.0, n); }", "double"),
        ("void f(int n) { float *b, *a; scale<<<1, 32>>>(a + 1, 2.0f, n); }", "float"),
        ("void f(int n) { static unsigned int a[64]; scale<<<1, 32>>>(&a[1], 2u, n); }", "unsigned int"),
        ("void f(void *a, int n) { scale<<<1, 32>>>((short *)a, 2, n); }", "short"),
        ("typedef struct { long *a; } S;\nvoid f(S *s, int n) { scale<<<1, 32>>>(s->a, 2l, n); }", "long"),
        ("using real = double;\nvoid f(real *a, int n) { scale<<<1, 32>>>(a, (real)2, n); }", "real"),
    ] {
        assert!(with(host).contains(&format!("scale<{ty}>")), "{host}: {:?}", with(host));
    }
    // what the text does not say is taken for `float`; so is a kernel that nobody launches
    assert!(with("void f(int n) { scale<<<1, 32>>>(data(n), 2, n); }").contains(&"scale<int>".to_owned()));
    assert_eq!(with(""), ["scale<float>"]);
    // some are written
    let sized = "template <int B, typename T> __global__ void k(const T *__restrict__ a, T *b) { b[threadIdx.x % B] = a[threadIdx.x]; }\n";
    let text = format!("{sized}void f(int *a, int *b) {{ k<64><<<1, 64>>>(a, b); }}");
    assert!(kernels(&text).contains(&"k<64, int>".to_owned()), "{:?}", kernels(&text));
    // through a template of the host, once for each of its instances
    let text = format!(
        "{scale}template <typename T> void host(T *a, int n) {{ scale<<<1, 32>>>(a, T(2), n); }}\nvoid f(double *a) {{ host<double>(a, 3); }}"
    );
    assert!(kernels(&text).contains(&"scale<double>".to_owned()), "{:?}", kernels(&text));
    // a kernel that is no template goes first
    let text = format!("{scale}__global__ void scale(int *a, int by, int n) {{ a[0] = by; }}\nvoid f(int *a) {{ scale<<<1, 32>>>(a, 2, 3); }}");
    assert!(!kernels(&text).contains(&"scale<int>".to_owned()), "{:?}", kernels(&text));
    // an object whose functions the kernel calls
    let each = "struct Twice { __device__ float operator()(float x) const { return 2 * x; } };\ntemplate <typename F> __global__ void each(float *a, F f) { a[threadIdx.x] = f(a[threadIdx.x]); }\nvoid f(float *a) { each<<<1, 32>>>(a, Twice()); each<<<1, 64>>>(a, [] __device__(float x) { return x; }); }";
    let all = kernels(each);
    assert!(all.contains(&"each<Twice>".to_owned()) && all.contains(&"each<F>".to_owned()), "{all:?}");
}

/// A type that is not sure to be the argument's is none: another instance would be judged than the one that runs.
#[test]
fn what_may_be_another_type_is_not_deduced() {
    let fill = "template <typename I> __global__ void fill(float *a, I n) { I i = threadIdx.x; a[i] = n; }\n";
    let instances = |rest: &str| -> Vec<String> {
        let unit = cuda(&format!("{fill}{rest}"));
        unit.items.iter().filter(|i| i.name.starts_with("fill<")).map(|i| i.name.to_string()).collect()
    };
    assert_eq!(
        instances("void f(float *a, unsigned char n) { fill<<<1, 512>>>(a, n); }"),
        ["fill<unsigned char>"]
    );
    for rest in [
        // types that are not read, an older name that is the same
        "void h(unsigned char n); void f(float *a, std::size_t n) { fill<<<1, 512>>>(a, n); }",
        "void h(unsigned char n); void f(float *a, index_t n) { fill<<<1, 512>>>(a, n); }",
        "void h(unsigned char m) { } void f(float *a) { auto m = other(); fill<<<1, 512>>>(a, m); }",
        "unsigned char x, n; void f(float *a) { auto [x, n] = both(); fill<<<1, 512>>>(a, n); }",
        "unsigned char n; void f(float *a, int m) { int n(m); fill<<<1, 512>>>(a, n); }",
        "unsigned char n; void f(float *a) { for (auto n : list) fill<<<1, 512>>>(a, n); }",
        "unsigned char n; void f(float *a, std::vector<int> n) { fill<<<1, 512>>>(a, n[0]); }",
        "unsigned char n; void f(float *a, vec<vec<int>> n) { fill<<<1, 512>>>(a, n); }",
        // scopes that ended
        "void f(float *a, int p) { { unsigned char p = 3; a[0] = p; } fill<<<1, 512>>>(a, p); }",
        "void f(float *a, int p) { auto g = [](unsigned char p) { return p; }; fill<<<1, 512>>>(a, p); }",
        // fields of other classes
        "struct A { int n; }; struct B { unsigned char n; }; void f(float *a, A *s) { fill<<<1, 512>>>(a, s->n); }",
        // operators, and numbers that are long
        "void f(float *a, int k) { fill<<<1, 512>>>(a, (unsigned char)k * 4); }",
        "void f(float *a, int k) { fill<<<1, 512>>>(a, static_cast<unsigned char>(k) * 3); }",
        "void f(float *a, unsigned char p) { fill<<<1, 512>>>(a, -p); }",
        "void f(float *a, unsigned char *p) { fill<<<1, 512>>>(a, *p + 1); }",
        "void f(float *a) { fill<<<1, 512>>>(a, 5000000000); }",
        // macros that are defined twice
        "#ifdef WIDE\n#define T unsigned\n#else\n#define T unsigned char\n#endif\nvoid f(float *a, T n) { fill<<<1, 512>>>(a, n); }",
    ] {
        assert_eq!(instances(rest), ["fill<I>"], "{rest}");
    }
    // another function may be meant
    for rest in [
        "void f(float *a, unsigned char n) { lib::fill<<<1, 512>>>(a, n); }",
        "template <typename I> __global__ void fill(double *a, I n);\nvoid f(double *a, unsigned char n) { fill<<<1, 512>>>(a, n); }",
    ] {
        assert!(!instances(rest).contains(&"fill<unsigned char>".to_owned()), "{rest}: {:?}", instances(rest));
    }
    // what stands for a type of its own name
    let own = "typedef unsigned char T;\ntemplate <typename T> __global__ void put(float *a, T n) { a[n] = 1; }\nvoid f(float *a) { put<<<1, 32>>>(a, make()); }";
    assert!(cuda(own).items.iter().all(|i| &*i.name != "put<T>"));
    // the text says none of these
    assert_eq!(cuda(&format!("{fill}void f(float *a) {{ fill<<<1, 32>>>(a, make()); }}")).guessed.len(), 1);
    assert!(cuda(&format!("{fill}void f(float *a, int n) {{ fill<<<1, 32>>>(a, n); }}")).guessed.is_empty());
}

/// Functions that CUDA has and C has not: their types, and two results of one call.
#[test]
fn functions_of_the_device_have_their_types() {
    let of = |call: &str| {
        let text = format!(
            "__global__ void k(float *a, double *d, int *p, unsigned u) {{ auto v = {call}; a[0] = v; }}"
        );
        let unit = cuda(&text);
        let k = unit.items.iter().find(|i| &*i.name == "k").unwrap();
        assert_eq!(k.body.rejects().count(), 0, "{}", show(&text, &unit));
        let printed = term::notation::print(&k.body, k.body.root);
        let (_, rest) = printed.split_once("DeclarationAssignment(v,").unwrap();
        rest.split(',').next().unwrap().trim_matches('`').to_owned()
    };
    for (call, ty) in [
        ("rsqrtf(a[0])", "float"),
        ("rsqrt(d[0])", "double"),
        ("rsqrt(a[0])", "float"),
        ("normcdf(d[0])", "double"),
        ("__fdividef(a[0], a[1])", "float"),
        ("__drcp_rn(d[0])", "double"),
        ("__float_as_int(a[0])", "int"),
        ("__double_as_longlong(d[0])", "long long"),
        ("__umulhi(u, u)", "unsigned int"),
        ("__clzll(p[0])", "int"),
        ("__reduce_add_sync(0xffffffff, u)", "unsigned int"),
        ("__match_any_sync(0xffffffff, p[0])", "unsigned int"),
        ("clock64()", "long long"),
    ] {
        assert_eq!(of(call), ty, "{call}");
    }
    let printed = |body: &str| {
        let text = format!("__global__ void k(float *a, float x, int n) {{ {body} }}");
        let unit = cuda(&text);
        let k = unit.items.iter().find(|i| &*i.name == "k").unwrap();
        term::notation::print(&k.body, k.body.root)
    };
    let both = printed("float s, c; sincosf(x * 2.0f, &s, &c); a[0] = s + c;");
    assert!(both.contains("MethodCall(sinf,x*2.0)") && both.contains("MethodCall(cosf,x*2.0)"), "{both}");
    let both = printed("sincosf(x, a, a + n);");
    assert!(both.contains("sinf") && both.contains("cosf"), "{both}");
    // what the first result changes is not read again
    for kept in ["float c; sincosf(x, &x, &c); a[0] = x;", "float c; sincosf(a[0], a, &c); a[1] = c;"] {
        assert!(printed(kept).contains("sincosf"), "{kept}");
    }
    whole("#include <cufft.h>\n__device__ cufftReal f(cufftComplex *a, int i) { return a[i].x * a[i].y; }");
}

/// What a function takes by reference it is given by address, where the argument is a variable of the type.
#[test]
fn references_of_parameters_are_given_addresses() {
    let swap = "__device__ void order(unsigned &a, unsigned &b, bool up) { if ((a > b) == up) { unsigned t = a; a = b; b = t; } }\n";
    let text = format!("{swap}__global__ void k(unsigned *p) {{ __shared__ unsigned s[64]; int t = threadIdx.x; s[t] = p[t]; unsigned v = p[0]; order(s[t], s[t + 1], true); order(v, p[1], false); p[t] = s[t] + v; }}");
    whole(&text);
    let unit = cuda(&text);
    let k = unit.items.iter().find(|i| &*i.name == "k").unwrap();
    let printed = term::notation::print(&k.body, k.body.root);
    assert_eq!(printed.matches("MethodCall(order,").count(), 2, "{printed}");
    whole("__device__ float4 sum(const float4 &a, const float4 &b) { return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w); }\n__global__ void k(float4 *p) { p[0] = sum(p[1], p[2]); }");
    let reasons = |text: &str| {
        let unit = cuda(text);
        let all = unit
            .items
            .iter()
            .flat_map(|i| i.body.rejects().map(|r| r.reason.to_string()).collect::<Vec<_>>());
        all.collect::<Vec<_>>().join("; ")
    };
    let of = |call: &str| {
        reasons(&format!(
            "{swap}__global__ void k(unsigned *p, int *q, const unsigned n) {{ unsigned v = 0; {call}; }}"
        ))
    };
    assert_eq!(of("order(v, p[0], true)"), "");
    // a value, and a variable of another type, are copied first
    for copied in ["order(v, v + 1, true)", "order(q[0], v, true)", "order(v, 3, true)"] {
        assert!(of(copied).contains("reference"), "{copied}: {}", of(copied));
    }
    // of two functions by one name nothing is said
    let two = format!("{swap}__device__ void order(float &a, float &b, bool up) {{ a = b; }}\n__global__ void k(unsigned *p) {{ order(p[0], p[1], true); }}");
    assert!(!reasons(&two).is_empty());
}
