#!/bin/bash
# Builds and runs trials that `cargo test --test native` wrote beside this file. `run.sh HEADERS [FOLDER]`: HEADERS has the headers
# of the fixtures, FOLDER (here) gets a line a trial in `said` and the files of those that are not the same byte for byte.
# ARCH: what nvcc compiles for (native); JOBS: folders at once; REVERSE=1: from the last one.
set -u
here=$(cd "$(dirname "$0")" && pwd)
headers=$(cd "$1" && pwd)
to=${2:-$here}
cuda=$(dirname "$(dirname "$(readlink -f "$(command -v nvcc)")")")
export here headers to cuda ARCH=${ARCH:-native}

one() {
    at=$1 name=$(basename "$1")
    cd "$at" || return
    flags="-O0 -w -ffp-contract=off -fno-strict-aliasing -fwrapv -I$headers -I$cuda/include $(cat flags)"
    gcc -c -O1 -w driver.c -o forks.o && gcc -c -O1 -w -DWW_NATIVE_DEVICE driver.c -o driver.o || { echo "$name: driver not built"; return; }
    for f in original_*.c rewritten_*.c; do
        gcc -c $flags "$f" -o "${f%.c}.o" 2>"$f.log" || { echo "$name: $f not built: $(head -c 300 "$f.log" | tr '\n' ' ')"; return; }
    done
    nvcc -c -std=c++17 -O1 -w -arch="$ARCH" -fmad=false -Xcompiler -ffp-contract=off,-fwrapv,-w -I"$headers" kernels.cu -o kernels.o 2>nvcc.log \
        || { echo "$name: kernels not built: $(grep -m1 error nvcc.log)"; return; }
    loose="-no-pie -Wl,--unresolved-symbols=ignore-all"
    gcc original_*.o forks.o $loose -o original -lm 2>link.log || { echo "$name: not linked: $(head -c 300 link.log)"; return; }
    nvcc -arch="$ARCH" rewritten_*.o driver.o kernels.o -Xcompiler -no-pie -Xlinker --unresolved-symbols=ignore-all -o rewritten -lm 2>link.log \
        || { echo "$name: not linked: $(head -c 300 link.log | tr '\n' ' ')"; return; }
    for input in input_*; do
        n=${input#input_}
        for what in original rewritten; do
            timeout 150 "./$what" "$input" "${what}_$n" 2>"$what.log" || echo "$name $n: $what ended with $? $(head -c 200 $what.log | tr '\n' ' ')"
        done
        python3 "$here/same.py" "$input" "original_$n" "rewritten_$n"
        case $? in
        0) echo "$name $n: same" ;;
        2) echo "$name $n: same, but no kernel ran" ;;
        *)
            echo "$name $n: other"
            mkdir -p "$to/$name" && cp "original_$n" "rewritten_$n" "$to/$name"
            ;;
        esac
    done
}
export -f one
ls -d${REVERSE:+r} "$here"/*/ | xargs -P "${JOBS:-16}" -I{} bash -c 'one {}' > "$to/said"
grep -c ': same$' "$to/said"
grep -v ': same$' "$to/said"
true
