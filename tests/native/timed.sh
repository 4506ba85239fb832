#!/bin/bash
# Builds and times what `timed.py` wrote and `warpwright offload` rewrote: `timed.sh FOLDER`, on a machine with nvcc and a GPU. A line a
# kernel: seconds until the device's run time has begun, of the original (gcc -O3 -march=native, one core), of the offload in three
# calls with all copies, the ratio of the original to the better of the last two, values whose bits differ, and values that are not near.
# ARCH: what nvcc compiles for (native); LIMIT: seconds a program.
set -u
cd "$1" || exit 2
export ARCH=${ARCH:-native}
mkdir -p built
echo 'extern "C" void warm(void) { cudaFree(0); }' > built/warm.cu
nvcc -arch="$ARCH" -c built/warm.cu -o built/warm.o || exit 2

one() {
    name=$1 function=$(grep -o 'void kernel_[a-z0-9_]*(' "plain/$1.c" | head -1 | sed 's/void //; s/(//')
    c="gcc -O3 -march=native -ffp-contract=off -w"
    objects=
    for cu in $(grep -oh '[A-Za-z0-9_]*\.cu;' "gpu/$name.c" | tr -d ';' | sort -u); do
        nvcc -O3 -arch="$ARCH" -fmad=false -c "gpu/$cu" -o "built/${cu%.cu}.o" 2>"built/$name.log" || { echo "$name: $cu not built"; return; }
        objects="$objects built/${cu%.cu}.o"
    done
    $c -D"$function=${function}_cpu" -c "plain/$name.c" -o "built/${name}_cpu.o" && $c -c "gpu/$name.c" -o "built/${name}_host.o" \
        && $c -c "plain/${name}_main.c" -o "built/${name}_main.o" \
        && nvcc -arch="$ARCH" "built/${name}_cpu.o" "built/${name}_main.o" "built/${name}_host.o" $objects built/warm.o -o "built/$name" -lm \
        || echo "$name: not built"
}
export -f one
for f in gpu/*.c; do basename "$f" .c; done | xargs -P "$(nproc)" -I{} bash -c 'one {}'
for f in gpu/*.c; do
    name=$(basename "$f" .c)
    [ -x "built/$name" ] && { timeout "${LIMIT:-60}" "built/$name" || echo "$name: ended with $?"; }
done
