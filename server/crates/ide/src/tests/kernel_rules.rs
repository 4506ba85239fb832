//! Rules for kernels that nobody launches: what is wrong is refused, with its reason, what is right is run.

use base::CancelToken;

use crate::{apply_rules, check as check_doc, Doc, Language, Memo, Options, Refused, RuleSet, RuleTarget};
use crate::{RulesApplied, Settings, Tier};

const ADD: &str = "__global__ void add(float *__restrict__ a, const float *__restrict__ b, int n) {\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n)\n        a[i] = a[i] + b[i];\n}\n";

const TREE: &str = "__global__ void tree(const int *__restrict__ in, int *__restrict__ out) {\n    __shared__ int s[128];\n    int t = threadIdx.x;\n    s[t] = in[blockIdx.x * blockDim.x + t];\n    __syncthreads();\n    for (int h = blockDim.x / 2; h > 0; h >>= 1) {\n        if (t < h)\n            s[t] += s[t + h];\n        __syncthreads();\n    }\n    if (t == 0)\n        out[blockIdx.x] = s[0];\n}\n";

const COUNT: &str = "__global__ void count(const int *__restrict__ in, int *__restrict__ bins, int n) {\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n)\n        atomicAdd(&bins[in[i] & 7], 1);\n}\n";

const SHUFFLE: &str = "__global__ void lanes(const int *__restrict__ in, int *__restrict__ out) {\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    int v = in[i];\n    v += __shfl_xor_sync(0xffffffff, v, 16);\n    out[i] = v;\n}\n";

const TURN: &str = "__global__ void turn(const float *__restrict__ in, float *__restrict__ out, int w, int h) {\n    int x = blockIdx.x * blockDim.x + threadIdx.x;\n    int y = blockIdx.y * blockDim.y + threadIdx.y;\n    if (x < w && y < h)\n        out[x * h + y] = in[y * w + x];\n}\n";

const NEIGHBOR: &str = "__device__ int next(int t) { return t + 1; }\n__global__ void neighbor(const int *__restrict__ in, int *__restrict__ out) {\n    __shared__ int s[65];\n    int t = threadIdx.x;\n    s[t] = in[blockIdx.x * blockDim.x + t];\n    if (t == 0)\n        s[blockDim.x] = 0;\n    __syncthreads();\n    out[blockIdx.x * blockDim.x + t] = s[next(t)];\n}\n";

/// A page of these rules.
fn page(rules: &str) -> String {
    format!("# T\n\nTrust: assumes what is said\n\n{rules}\n\n```c example\nint x;\n```\n```c result\nint x;\n```\n")
}

fn applied(page: Option<&str>, system: &str, program: &str) -> Result<RulesApplied, String> {
    let mut set = RuleSet::shipped();
    if let Some(page) = page {
        let found = set.add("t", page);
        assert!(set.find(system).is_some(), "{found:#?}");
    }
    let cancel = CancelToken::new();
    let text = text::Text::new(program).expect("a short text");
    let doc = Doc::open(Language::Cuda, "k.cu", text, Options::default());
    let findings = check_doc(&crate::Ask::new(&doc, &Memo::new(), Tier::Full, &cancel), &Settings::default())
        .expect("not cancelled");
    apply_rules(
        &crate::Ask::new(&doc, &crate::Memo::new(), crate::Tier::Full, &cancel),
        &findings,
        &set,
        system,
        &RuleTarget::File,
    )
    .map_err(|no| match no {
        Refused::Because(why) => why,
        other => format!("{other:?}"),
    })
}

fn one(rule: &str) -> String {
    page(&format!("```rules t once(TopDown)\n{rule}\n```"))
}

/// Rules that change what a kernel does, each with a kernel that no function launches.
const WRONG: [(&str, &str); 27] = [
    ("cuda`$i < $n` -> cuda`$i <= $n`", ADD),
    ("cuda`$i < $n` -> cuda`$i < $n - 1`", ADD),
    ("cuda`$i < $n` -> cuda`$i < $n + 1`", ADD),
    ("cuda`$i < $n` -> cuda`$i < $n || $i == $n + 5`", ADD),
    ("cuda`if ($c) $s` -> cuda`$s`", ADD),
    ("cuda`blockIdx.x * blockDim.x + threadIdx.x` -> cuda`threadIdx.x`", ADD),
    ("cuda`blockIdx.x * blockDim.x + threadIdx.x` -> cuda`blockIdx.x * 256 + threadIdx.x`", ADD),
    ("cuda`blockIdx.x * blockDim.x + threadIdx.x` -> cuda`2 * blockIdx.x * blockDim.x + threadIdx.x`", ADD),
    ("cuda`blockIdx.x * blockDim.x + threadIdx.x` -> cuda`blockIdx.x * blockDim.x + threadIdx.x / 32 * 32`", ADD),
    ("cuda`$a[$i] = $x;` -> cuda`$a[$i + 1] = $x;`", ADD),
    ("SyncThreads -> NIL", TREE),
    ("SyncThreads -> SyncWarp", TREE),
    ("cuda`__syncthreads();` -> cuda`if (threadIdx.x < 32) __syncthreads();`", TREE),
    ("cuda`$h > 0` -> cuda`$h > 1`", TREE),
    ("cuda`if ($t < $h) $s` -> cuda`if ($t <= $h) $s`", TREE),
    ("cuda`$t == 0` -> cuda`$t < 2`", TREE),
    ("cuda`$h >>= 1` -> cuda`$h >>= 2`", TREE),
    ("cuda`atomicAdd(&$a[$i], $v);` -> cuda`$a[$i] += $v;`", COUNT),
    ("cuda`atomicAdd(&$a[$i], $v);` -> cuda`atomicMax(&$a[$i], $v);`", COUNT),
    ("cuda`atomicAdd(&$a[$i], $v);` -> cuda`if (threadIdx.x % 32 == 0) atomicAdd(&$a[$i], $v);`", COUNT),
    ("cuda`$x & 7` -> cuda`$x & 15`", COUNT),
    ("cuda`__shfl_xor_sync(0xffffffff, $v, 16)` -> cuda`__shfl_xor_sync(0xffff, $v, 16)`", SHUFFLE),
    ("cuda`__shfl_xor_sync(0xffffffff, $v, 16)` -> cuda`__shfl_down_sync(0xffffffff, $v, 16)`", SHUFFLE),
    ("cuda`blockIdx.y * blockDim.y` -> cuda`blockIdx.y * blockDim.x`", TURN),
    ("cuda`$y < $h` -> cuda`$y <= $h`", TURN),
    ("c`return $t + 1;` -> c`return $t + 2;`", NEIGHBOR),
    ("SyncThreads -> SyncWarp", NEIGHBOR),
];

/// Rules that change nothing.
const RIGHT: [(&str, &str); 7] = [
    ("cuda`$i < $n` [has($n,$m,type($m,int))] -> cuda`$n > $i`", ADD),
    ("cuda`blockIdx.x * blockDim.x + threadIdx.x` -> cuda`threadIdx.x + blockDim.x * blockIdx.x`", ADD),
    // the sum is there for all threads of the block
    ("cuda`$t == 0` -> cuda`$t == 1`", TREE),
    ("cuda`$t == 0` -> cuda`0 == $t`", TREE),
    ("cuda`$x & 7` -> cuda`7 & $x`", COUNT),
    ("cuda`blockIdx.y * blockDim.y` -> cuda`blockDim.y * blockIdx.y`", TURN),
    ("c`return $t + 1;` -> c`return 1 + $t;`", NEIGHBOR),
];

#[test]
fn wrong_pages_are_refused_though_nobody_launches_the_kernel() {
    let (mut wrong, mut judged) = (Vec::new(), 0);
    for (rule, kernel) in WRONG {
        match applied(Some(&one(rule)), "t", kernel) {
            Ok(done) => wrong.push(format!("{rule}: {}\n{}", done.checked, done.text)),
            Err(why) if why.contains("has a fault that the program has not") => judged += 1,
            Err(why) if why.contains("computes something else than the program") => judged += 1,
            // some are refused before anything is run
            Err(why) if why.contains("is not checked") || why.contains("other conditions than before") => {}
            Err(why) => wrong.push(format!("{rule}: {why}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(judged >= 20, "{judged}");
}

#[test]
fn right_pages_run_with_launches_made_up() {
    for (rule, kernel) in RIGHT {
        match applied(Some(&one(rule)), "t", kernel) {
            Ok(done) => assert!(done.ran, "{rule}: {}", done.checked),
            Err(why) => panic!("{rule}: {why}"),
        }
    }
}

/// A last warp without its barriers, and steps of the shipped ladder where they do not fit.
#[test]
fn a_kernel_keeps_to_the_launches_it_is_made_for() {
    let (_, last) = RuleSet::shipped_pages().iter().find(|p| p.0 == "reduction-last-warp").expect("a page");
    let rules: Vec<&str> = last.split("```rules ").skip(1).filter_map(|r| r.split("```").next()).collect();
    let rules = rules.iter().map(|r| format!("```rules {r}```\n\n")).collect::<String>();
    let rules =
        rules.replace("reduction-last-warp", "unstepped").replace("reduction-rounds", "rounds-unstepped");
    let unstepped = page(&rules.replace("[SyncWarp,If", "[If"));
    let unstepped = unstepped.replace(
        "Trust: assumes what is said",
        "Trust: assumes blocks of 64 threads at least, a power of two",
    );
    let why = applied(Some(&unstepped), "unstepped", TREE).expect_err("a warp is not in step");
    assert!(why.contains("race"), "{why}");

    // half as many blocks are needed, and nobody is seen to launch it
    let first_add = "#define BLOCK_SIZE 128\nextern \"C\" __global__ void parallelAdd(int *inData, int *outData) {\n    int tid = threadIdx.x;\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    __shared__ int data[BLOCK_SIZE];\n    data[tid] = inData[i];\n    __syncthreads();\n    for (int s = blockDim.x / 2; s > 0; s >>= 1) {\n        if (tid < s)\n            data[tid] += data[tid + s];\n        __syncthreads();\n    }\n    if (tid == 0)\n        outData[blockIdx.x] = data[0];\n}\n";
    let why = applied(None, "reduction-first-add", first_add).expect_err("no launch is rewritten with it");
    assert!(why.contains("no launch in the file says how many threads"), "{why}");

    // blocks of one warp are too small for a last warp that begins with 64 numbers
    let small = first_add.replace("BLOCK_SIZE 128", "BLOCK_SIZE 32");
    let why = applied(None, "reduction-last-warp", &small).expect_err("blocks of 32");
    assert!(why.contains("is not offered"), "{why}");
    let why = applied(None, "reduction", &small).expect_err("blocks of 32");
    assert!(why.contains("is not offered"), "{why}");
    // with the blocks the page assumes it is right
    let done = applied(None, "reduction-last-warp", first_add).expect("blocks of 128");
    assert!(done.ran && done.checked.contains("kernel"), "{}", done.checked);
}

/// A comment says with which blocks the kernel is meant to run.
#[test]
fn what_a_comment_says_of_the_launch_is_what_it_is_run_with() {
    let said = format!("// warpwright: launch(2, 128)\n{TREE}");
    let rule = one("cuda`blockDim.x / 2` -> cuda`64`");
    assert!(applied(Some(&rule), "t", &said).expect("blocks of 128").ran);
    let why = applied(Some(&rule), "t", TREE).expect_err("blocks may have other sizes");
    assert!(why.contains("is not offered"), "{why}");
}

/// What cannot be run is said, and not called checked.
#[test]
fn what_cannot_be_run_is_said() {
    let kernel = "struct Node { Node *next; int v; };\n__global__ void walk(Node *list, int n) {\n    int i = threadIdx.x;\n    if (i < n)\n        list[i].v = 2 * i;\n}\n";
    let done = applied(Some(&one("cuda`2 * $i` -> cuda`$i * 2`")), "t", kernel).expect("it is offered");
    assert!(!done.ran && done.checked.contains("Not run"), "{}", done.checked);
}

/// A kernel that is wrong with the target's lanes, or has a word the target lacks, is not rewritten for it.
#[test]
fn what_is_not_for_the_target_is_not_rewritten() {
    const FIRSTS: &str = "// warpwright: launch(1, 128)\n__global__ void firsts(const int *in, int *out) {\n    __shared__ int part[4];\n    int t = threadIdx.x;\n    if (t % warpSize == 0)\n        part[t / warpSize] = in[t] + 0;\n    __syncthreads();\n    if (t < COUNT)\n        out[t] = part[t];\n}\n";
    const SHUFFLE: &str = "// warpwright: launch(1, 64)\n__global__ void lanes(int *a) {\n    a[threadIdx.x] = __shfl_down_sync(0xffffffffu, a[threadIdx.x] + 0, 1);\n}\n";
    let applied = |target: &str, program: &str| {
        let doc = super::open_for(target, program);
        let ask = crate::Ask::thorough(&doc);
        let findings = check_doc(&ask, &Settings::default()).expect("not cancelled");
        let done = apply_rules(&ask, &findings, &RuleSet::shipped(), "neutral-elements", &RuleTarget::File);
        done.map(|d| d.text).map_err(|no| match no {
            Refused::Because(why) => why,
            other => format!("{other:?}"),
        })
    };
    let (wrong, right) = (FIRSTS.replace("COUNT", "4"), FIRSTS.replace("COUNT", "blockDim.x / warpSize"));
    for program in [&wrong, &right, SHUFFLE] {
        assert_eq!(applied("cuda", program).as_deref(), Ok(&*program.replace(" + 0", "")));
    }
    assert_eq!(applied("hip", &right).as_deref(), Ok(&*right.replace(" + 0", "")));
    for (program, said) in [
        (&*wrong, "the kernel is right for warps of 32 threads only (line 9): with HIP's 64 lanes thread 2 of block 0 reads `part[2]`"),
        (SHUFFLE, "HIP has no `__shfl_down_sync` (line 3)"),
    ] {
        let why = applied("hip", program).expect_err("it is refused");
        assert!(why.starts_with(&format!("neutral-elements: what it makes is not for this target: {said}")), "{why}");
    }
}
