//! Hovers in CUDA documents: accesses, branches, barriers, fences and kernels, and what they say of the documents' kernels.

use std::path::Path;

use super::{cursor, full, open_cuda};
use crate::{hover, Doc};

fn at(doc: &Doc, offset: u32) -> String {
    hover(&crate::Ask::thorough(doc), &full(doc), offset).map(|h| h.markdown).unwrap_or_default()
}

fn said(code: &str) -> String {
    let (code, offset) = cursor(code);
    at(&open_cuda(&code), offset)
}

fn holds(text: &str, words: &[&str]) {
    for w in words {
        assert!(text.contains(w), "{w}: {text}");
    }
}

#[test]
fn accesses_say_sectors_banks_and_reuse() {
    let k = "// warpwright: launch((2, 2), (32, 32), n = 64, a[4096], b[4096])\n__global__ void k(const float *__restrict__ a, float *__restrict__ b, int n) {\n    __shared__ float s[32][32];\n    int x = threadIdx.x, y = threadIdx.y;\n    s[y][x] = a[(blockIdx.y * 32 + y) * n + blockIdx.x * 32 + x];\n    __syncthreads();\n    b[(blockIdx.y * 32 + x) * n + blockIdx.x * 32 + y] = s[x][y] + a[x];\n}\n";
    holds(
        &said(&k.replace("= a[(", "= $0a[(")),
        &[
            "**Read of `a`**: global memory, 4 bytes a lane",
            "128 requests of warps, 32 active threads each",
            "512 sectors of 32 bytes where 512 would hold the data: coalesced",
            "no reuse",
            "memory_l2_theoretical_sectors_global",
        ],
    );
    holds(
        &said(&k.replace("b[(b", "$0b[(b")),
        &[
            "**Write of `b`**",
            "places 256 bytes apart",
            "4096 sectors of 32 bytes where 512 would hold the data: 12 % of the traffic is of use",
        ],
    );
    holds(
        &said(&k.replace("s[x][y]", "s$0[x][y]")),
        &[
            "**Read of `s`**: shared memory",
            "32-way bank conflict at worst: lanes 0 and 1 both ask bank 0",
            "3968 more passes than needed",
            "l1tex__data_bank_conflicts_pipe_lsu_mem_shared",
        ],
    );
    holds(
        &said(&k.replace("s[y][x] =", "s[y]$0[x] =")),
        &["no bank conflict", "neighbouring threads ask for neighbouring places"],
    );
    holds(
        &said(&k.replace("+ a[x]", "+ $0a[x]")),
        &["reuse: 32 different elements, each asked for 128 times"],
    );
    // no launch: what holds for every one
    let unknown = k.replace("// warpwright: launch((2, 2), (32, 32), n = 64, a[4096], b[4096])", "");
    holds(
        &said(&unknown.replace("s[x][y]", "s$0[x][y]")),
        &[
            "neighbouring threads ask for elements 32 apart",
            "a request takes 32 passes: with whatever launch of blocks a multiple of 32 threads wide",
        ],
    );
}

#[test]
fn branches_say_who_goes_where() {
    let k = "// warpwright: launch(2, 64, n = 100, a[128])\n__global__ void k(int *a, int n) {\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < $0n)\n        a[i] = 1;\n}\n";
    holds(
        &said(k),
        &[
            "**Condition**: divergent",
            "1 of 4 decisions of warps are divergent",
            "4 of 32 active lanes: 1 time",
            "25 of 32 threads of a warp are active",
            "smsp__sass_branch_targets_threads_divergent",
        ],
    );
    let k = "// warpwright: launch(2, 64, n = 3)\n__global__ void k(int *a, int n) {\n    for (int r = 0; r < $0n; r++)\n        a[threadIdx.x + 64 * blockIdx.x] += r;\n}\n";
    holds(&said(k), &["**Loop condition**: the same for all threads of the launch"]);
}

#[test]
fn barriers_and_fences_say_what_they_order_and_whether_they_are_needed() {
    let k = "// warpwright: launch(2, 64)\n__global__ void k(int *a) {\n    __shared__ int s[64];\n    int t = threadIdx.x;\n    s[t] = a[t + 64 * blockIdx.x];\n    __sync$0threads();\n    a[t + 64 * blockIdx.x] = s[63 - t];\n}\n";
    holds(
        &said(k),
        &[
            "all threads of the block wait for one another",
            "nothing between blocks",
            "equally often",
            "opens 2 times for 128 threads in all; 0 of them touched no memory",
            "needed: without it `s[",
            "thread 0 of block 0",
        ],
    );
    holds(&said(&k.replace("63 - t", "t")), &["not needed: it orders nothing"]);
    holds(&said(&k.replace("    __sync", "    if (t < 40) __sync")), &["not all threads reach it"]);
    let k = "// warpwright: launch(1, 32)\n__global__ void k(int *a) {\n    __shared__ int s[32];\n    int t = threadIdx.x;\n    s[t] = a[t];\n    __sync$0warp();\n    a[t] = s[31 - t];\n}\n";
    holds(&said(k), &["the lanes of the warp", "nothing between warps", "needed: without it `s["]);
    let k = "__device__ unsigned int done = 0;\n// warpwright: launch(2, 64, p[2])\n__global__ void k(const int *a, int *p, int *total) {\n    if (threadIdx.x == 0) {\n        p[blockIdx.x] = a[blockIdx.x];\n        __threadf$0ence();\n        if (atomicInc(&done, gridDim.x - 1) == gridDim.x - 1)\n            *total = p[0] + p[1];\n    }\n}\n";
    holds(
        &said(k),
        &["seen by all threads of the device", "waits for nobody", "needed: the block that the counter on line 7 lets on reads on line 8 what others wrote on line 5"],
    );
    holds(&said(&k.replace("p[0] + p[1]", "1")), &["no reader in this kernel"]);
    assert!(said(&k.replace("__threadf$0ence()", "__threadf$0ence_block()")).contains("threads of its block"));
}

fn fixture(name: &str) -> Doc {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../fixtures/cuda").join(name);
    open_cuda(&std::fs::read_to_string(path).expect("a fixture"))
}

/// The hover at the first `here` behind the kernel's name.
fn of(doc: &Doc, kernel: &str, here: &str) -> String {
    let text = doc.text().to_string();
    let start = text.find(&format!("void {kernel}(")).expect("the kernel");
    let place = start + text[start..].find(here).expect("the place");
    at(doc, place as u32 + 1)
}

/// F1.10: what each stage mends is said on the kernel, its branch, its accesses and its barriers.
#[test]
fn the_stages_of_the_tree_sum_say_what_they_are_for() {
    let doc = fixture("reduction.cu");
    let kernel = |name: &str| of(&doc, name, name);
    // blocks of 128: 127 additions, 769 threads that wait for nothing in seven rounds
    holds(
        &kernel("tree_global"),
        &["2548 elements moved", "barriers: 3076 of 4096 waiting threads were idle"],
    );
    let moved = "516 elements moved, 516 if each were moved once";
    // 1: every second lane, every fourth …
    holds(&kernel("tree_shared"), &[moved, "96 of 256 decisions of warps are divergent", "0 bank conflicts"]);
    let branch = of(&doc, "tree_shared", "tid % (2 * s)");
    holds(&branch, &["divergent: threads of a warp go both ways", "5.5 of 32 threads of a warp are active"]);
    // 2: whole warps stop, and lanes meet at banks
    let undivided = kernel("tree_undivided");
    holds(&undivided, &[moved, "24 of 256 decisions of warps are divergent"]);
    holds(&of(&doc, "tree_undivided", "data[index]"), &["4-way bank conflict at worst"]);
    // 3: no conflicts
    let halving = kernel("tree_halving");
    holds(&halving, &[moved, "0 bank conflicts", "barriers: 3076 of 4096 waiting threads were idle"]);
    holds(&of(&doc, "tree_halving", "data[tid] += "), &["no bank conflict"]);
    // 4: half the threads
    holds(
        &kernel("tree_two_loads"),
        &["514 elements moved", "barriers: 1538 of 2048 waiting threads were idle"],
    );
    // 5: one round of the block is left, and as it was printed it is a race
    holds(
        &kernel("tree_last_warp"),
        &["514 elements moved", "barriers: 128 of 512 waiting threads were idle", "no race"],
    );
    holds(&kernel("tree_last_warp_printed"), &["a race"]);
}

/// F2.6 and F2.7: 6 n_x n_y numbers a step without tiles, about 2 n_x n_y with them.
#[test]
fn the_heat_stencils_say_what_the_lecture_does() {
    let doc = fixture("heat.cu");
    let kernel = |name: &str| of(&doc, name, name);
    let inner = 64 * 32;
    let plain = kernel("heat_global");
    holds(
        &plain,
        &[
            &format!("{} elements moved", 6 * inner),
            "tiling can save at most 2.9×",
            "`t` 10240 read, 2240 different",
        ],
    );
    holds(&kernel("heat_border_threads"), &[&format!("{} elements moved", 4 * (34 * 18 + 32 * 16))]);
    let branches = kernel("heat_border_branches");
    holds(&branches, &[&format!("{} elements moved", 4 * (2 * 32 * 16 + 2 * 32 + 2 * 16)), "128 of"]);
    holds(
        &of(&doc, "heat_border_branches", "tx == 1)"),
        &["divergent: threads of a warp go both ways", "1 of 32 threads"],
    );
    holds(
        &kernel("heat_strip"),
        &[&format!("{} elements moved", 2 * 18 * 66 + inner), "0 bank conflicts", "no race"],
    );
    // on the reads themselves
    holds(&of(&doc, "heat_global", "t[j * nx + i - 1]"), &["**Read of `t`**", "neighbouring places"]);
}
