#!/bin/bash
# `warpwright profile` on a machine with a GPU, gcc and NVRTC (a CUDA toolkit), in one call: `profiled.sh WARPWRIGHT [FILE…]`. Writes
# `profiled/NAME.json` for each C file (those below, of fixtures/c, where none is named) with one line a loop on the standard output;
# then the same saxpy by a hand-written event loop that nvcc builds, to be held against the first. LIMIT: seconds a file.
set -u
here=$(cd "$(dirname "$0")/../.." && pwd)
tool=$(readlink -f "$1") || exit 2
shift
files=("$@")
if [ ${#files[@]} = 0 ]; then
    for name in saxpy heat2d matmul matvec jacobi reductions convolution minmax histogram life; do
        files+=("$here/fixtures/c/$name.c")
    done
fi
mkdir -p profiled && cd profiled || exit 2
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
"$tool" hosts local
for file in "${files[@]}"; do
    name=$(basename "$file" .c)
    timeout "${LIMIT:-40}" "$tool" profile --format json "$file" >"$name.json" 2>"$name.log"
    code=$?
    python3 - "$name" "$code" <<'PY'
import json, sys
name, code = sys.argv[1:]
try:
    runs = json.load(open(name + ".json"))["runs"]
except ValueError:
    runs = []
ms = lambda t: "-" if t is None else "%.4f" % (t["median"] / 1e6)
for r in runs:
    share = "-" if r["share_of_ceiling"] is None else "%.0f%%" % (100 * r["share_of_ceiling"])
    print(name, r["line"], r["function"], r["sizes"], "checked:", r["checked"], "by:", r["rung"], "kernels_ms:", ms(r["kernel_ns"]),
          "copies_ms:", ms(r["copies_ns"]), "call_ms:", ms(r["call_ns"]), "cpu_ms:", ms(r["cpu_ns"]["one"]), "ceiling:", share)
    if r["checked"] != "same" or r["kernel_ns"] is None:
        print("   ", r["said"])
for line in open(name + ".log"):
    if not line.startswith("note:"):
        print("   ", line.rstrip())
print(name, "exit:", code)
PY
done
command -v nvcc >/dev/null || exit 0
"$tool" offload --worth --out by_hand "$here/fixtures/c/saxpy.c" >/dev/null 2>&1
kernel=by_hand/saxpy_i.cu
[ -f "$kernel" ] || exit 0
sed '/#ifndef __CUDACC_RTC__/,$d' "$kernel" >by_hand/kernel.cuh && echo '#endif' >>by_hand/kernel.cuh
name=$(grep -o '[a-z_0-9]*_kernel' by_hand/kernel.cuh | head -1)
cat >by_hand/by_hand.cu <<CU
#include <algorithm>
#include <cstdio>
#include <vector>
#include "kernel.cuh"
int main() {
    const int n = 1 << 24;
    float *x, *y;
    cudaMalloc(&x, n * sizeof(float)), cudaMalloc(&y, n * sizeof(float));
    cudaMemset(x, 0, n * sizeof(float)), cudaMemset(y, 0, n * sizeof(float));
    cudaEvent_t a, b;
    cudaEventCreate(&a), cudaEventCreate(&b);
    std::vector<float> ms;
    for (int k = 0; k < 60; k++) {
        float t;
        cudaEventRecord(a);
        $name<<<(n + 255) / 256, 256>>>(n, 0.625f, x, y);
        cudaEventRecord(b), cudaEventSynchronize(b), cudaEventElapsedTime(&t, a, b);
        if (k >= 10) ms.push_back(t);
    }
    std::sort(ms.begin(), ms.end());
    printf("by hand: %s, n=%d: %.4f ms (median of %zu), %s\\n", "$name", n, ms[ms.size() / 2], ms.size(), cudaGetErrorString(cudaGetLastError()));
}
CU
nvcc -O3 -arch=native -fmad=false -o by_hand/by_hand by_hand/by_hand.cu && by_hand/by_hand
