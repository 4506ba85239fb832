#!/usr/bin/env python3
"""Programs that time the thirty kernels on a GPU: `timed.py fixtures/c/polybench FOLDER`.

Of each fixture FOLDER/plain/NAME.c gets the kernel alone, sizes by parameters, and FOLDER/plain/NAME_main.c a program that runs the
original on one core and what `warpwright offload --worth --out FOLDER/gpu FOLDER/plain/NAME.c` made of it three times, each from
the same values, and compares what they leave. `timed.sh FOLDER` builds and runs all of them, where nvcc and a GPU are.
"""

import glob
import os
import re
import subprocess
import sys

# parameters of a kernel; `all`: those that are not named
SIZES = {
    "2mm": {"all": 1400}, "3mm": {"all": 1200}, "adi": {"n": 1000, "tsteps": 20}, "atax": {"all": 8000},
    "bicg": {"all": 8000}, "cholesky": {"n": 1600}, "correlation": {"all": 1300}, "covariance": {"all": 1300},
    "deriche": {"w": 6000, "h": 4000}, "doitgen": {"nr": 200, "nq": 200, "np": 220}, "durbin": {"n": 8000},
    "fdtd-2d": {"tmax": 100, "nx": 2000, "ny": 2400}, "floyd-warshall": {"n": 1400}, "gemm": {"all": 1500},
    "gemver": {"n": 7000}, "gesummv": {"n": 7000}, "gramschmidt": {"m": 1100, "n": 1000},
    "heat-3d": {"tsteps": 60, "n": 180}, "jacobi-1d": {"tsteps": 400, "n": 4000000},
    "jacobi-2d": {"tsteps": 100, "n": 2800}, "lu": {"n": 1400}, "ludcmp": {"n": 1400}, "mvt": {"n": 8000},
    "nussinov": {"n": 1800}, "seidel-2d": {"tsteps": 20, "n": 2000}, "symm": {"all": 1100}, "syr2k": {"all": 1200},
    "syrk": {"all": 1400}, "trisolv": {"n": 9000}, "trmm": {"all": 1300},
}
SIZE_MACRO = re.compile(r"^(\s*#\s*define (N|M|NI|NJ|NK|NL|NM|NQ|NR|NP|TSTEPS|TMAX|NX|NY|W|H)) \d+", re.M)

MAIN = r"""#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
{typedefs}{prototypes}void warm(void); /* the device's run time begins */
static double now(void) {{ struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + 1e-9 * t.tv_nsec; }}
/* well conditioned matrices */
static double mixed(unsigned q)
{{
    q ^= q >> 16; q *= 0x7feb352du; q ^= q >> 15; q *= 0x846ca68bu; q ^= q >> 16;
    return q / 4294967296.0;
}}
static double far(double a, double b, double near) {{ return !(fabs(a - b) <= near * (fabs(b) + 1e-3)); }}
int main(void)
{{
{sizes}
{arrays}
{values}
    double from = now();
    warm();
    double begins = now() - from, gpu[3];
{begin}    from = now();
    {name}_cpu({arguments});
    double cpu = now() - from;
{keep}    for (int k = 0; k < 3; k++) {{
{begin}        from = now();
        {name}({arguments});
        gpu[k] = now() - from;
    }}
    size_t bits = 0, differ = 0;
{compare}    double best = gpu[1] < gpu[2] ? gpu[1] : gpu[2];
    printf("{title}: begins %.3f cpu %.4f gpu %.4f %.4f %.4f ratio %.2f bits %zu far %zu\n", begins, cpu, gpu[0], gpu[1], gpu[2], cpu / best, bits, differ);
    return differ != 0;
}}
"""


def kernel(path):
    """Typedefs, head and text of the function, without macros."""
    text = SIZE_MACRO.sub(lambda m: f"{m[1]} {m[2].lower()}", open(path).read())
    flags = ["-E", "-P", "-DPOLYBENCH_USE_C99_PROTO", "-DPOLYBENCH_USE_SCALAR_LB", "-xc", "-"]
    around = ["-I", os.path.join(os.path.dirname(path), "..")]
    text = subprocess.run(["gcc", *flags, *around], input=text, capture_output=True, text=True, check=True).stdout
    head = re.search(r"(?:static\s+)?void (kernel_\w+)\(([^)]*)\)\s*\{", text)
    depth = 0
    for end in range(head.end() - 1, len(text)):
        depth += {"{": 1, "}": -1}.get(text[end], 0)
        if depth == 0:
            break
    body = re.sub(r"^static\s+", "", text[head.start():end + 1])
    typedefs = "".join(t + "\n" for t in re.findall(r"typedef char base;", text))
    includes = "#include <math.h>\n" if re.search(r"\b(sqrt|exp|pow)\w*\(", body) else ""
    return includes + typedefs + body + "\n", typedefs, head[1], re.sub(r"\s+", " ", head[2])


def value(title, type_, dims):
    """Of element q_ of an array."""
    row, column = f"q_ / ({dims[-1]})", f"q_ % ({dims[-1]})"
    if type_ == "base":
        return "(char)((q_ * 7 + 3) % 4)"
    if type_ == "int":
        return "0" if title == "nussinov" else f"(int)(({row} * 7 + {column} * 13) % 97 + 1)"
    if title == "gramschmidt":
        return "mixed(q_)"
    if title == "durbin":
        return "0.3 / (q_ + 2)"
    plain = f"({type_})((({row} + {column}) * ({row} * 3 + {column} * 3 + 7) % 97) / 97.0 * 0.5 + 0.01)"
    square = len(dims) == 2 and dims[0] == dims[1]
    return plain + (f" + ({row} == {column} ? {dims[-1]} : 0)" if square else "")


def program(title, typedefs, name, parameters):
    sizes, arrays, values, arguments, all_ = [], [], [], [], []
    for p in re.split(r",(?![^\[]*\])", parameters):
        type_, own, dims = re.match(r"\s*(\w+) (\w+)", p)[1], re.match(r"\s*(\w+) (\w+)", p)[2], re.findall(r"\[([^\]]*)\]", p)
        if dims:
            cells = " * ".join(f"(size_t)({d})" for d in dims)
            room = f"malloc({cells} * sizeof({type_}))"
            arrays.append(f"    {type_} *{own}_0 = {room}, *{own} = {room}, *{own}_w = {room};")
            values.append(f"    for (size_t q_ = 0; q_ < {cells}; q_++) {own}_0[q_] = {value(title, type_, dims)};")
            all_.append((own, type_, cells))
            arguments.append(f"(void *){own}")
        else:
            given = SIZES[title].get(own, SIZES[title].get("all")) if type_ == "int" else {"float_n": "n", "alpha": "0.25"}.get(own, "1.2")
            sizes.append(f"    {type_} {own} = {given};")
            arguments.append(own)
    def copies(to, from_):
        return "".join(f"    memcpy({n}{to}, {n}{from_}, {c} * sizeof({t}));\n" for n, t, c in all_)

    near = {"float": "1e-3"}
    compare = "".join(
        f"    for (size_t q_ = 0; q_ < {c}; q_++) bits += {n}[q_] != {n}_w[q_], differ += far({n}[q_], {n}_w[q_], {near.get(t, '1e-6')});\n"
        for n, t, c in all_
    )
    prototype = f"void {name}({parameters});\n"
    return MAIN.format(
        typedefs=typedefs, prototypes=prototype + prototype.replace(name, name + "_cpu", 1), sizes="\n".join(sizes),
        arrays="\n".join(arrays), values="\n".join(values), begin=copies("", "_0"),
        keep=copies("_w", ""), compare=compare, name=name, title=title, arguments=", ".join(arguments),
    )


def main():
    fixtures, folder = sys.argv[1:3]
    plain = os.path.join(folder, "plain")
    os.makedirs(plain, exist_ok=True)
    for path in sorted(glob.glob(os.path.join(fixtures, "*.c"))):
        title = os.path.basename(path)[:-2]
        text, typedefs, name, parameters = kernel(path)
        open(os.path.join(plain, f"{title}.c"), "w").write(text)
        open(os.path.join(plain, f"{title}_main.c"), "w").write(program(title, typedefs, name, parameters))


main()
