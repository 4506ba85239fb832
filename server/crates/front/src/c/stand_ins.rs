//! Texts of ours for headers that programs are handed round without.
//!
//! One so far: `polybench.h`, whose documented macros decide how the arrays of the PolyBench/C kernels are declared. The
//! text is written from that documentation: arrays on the heap, bounds and dimensions by the constants, as the suite does
//! unless it is told otherwise (`POLYBENCH_STACK_ARRAYS`, `POLYBENCH_USE_SCALAR_LB` and `POLYBENCH_USE_C99_PROTO`, which
//! are followed). It is read only where no header of that name is found, and the verdict's configuration says so.

use std::sync::{Arc, OnceLock};

use crate::c::headers::{Header, HeaderId};

/// The stand-in for a header of this file name.
pub(crate) fn stand_in(file: &str) -> Option<Arc<Header>> {
    static POLYBENCH: OnceLock<Arc<Header>> = OnceLock::new();
    if file != "polybench.h" {
        return None;
    }
    let make = || Arc::new(Header::new(HeaderId(u32::MAX), "polybench.h", false, polybench()));
    Some(POLYBENCH.get_or_init(make).clone())
}

/// What one number of dimensions needs, in the order of the suite's names.
const NUMBERS: [&str; 5] = ["1", "2", "3", "4", "5"];

fn polybench() -> String {
    let mut out = String::from(
        "#ifndef POLYBENCH_H
#define POLYBENCH_H
#include <stdlib.h>
#ifndef POLYBENCH_PADDING_FACTOR
#define POLYBENCH_PADDING_FACTOR 0
#endif
#ifdef POLYBENCH_USE_SCALAR_LB
#define POLYBENCH_LOOP_BOUND(constant, parameter) parameter
#else
#define POLYBENCH_LOOP_BOUND(constant, parameter) constant
#endif
#ifdef POLYBENCH_USE_C99_PROTO
#define POLYBENCH_C99_SELECT(constant, parameter) parameter
#else
#define POLYBENCH_C99_SELECT(constant, parameter) (constant) + POLYBENCH_PADDING_FACTOR
#endif
#ifdef POLYBENCH_STACK_ARRAYS
#define POLYBENCH_ARRAY(array) array
#define POLYBENCH_FREE_ARRAY(array)
#else
#define POLYBENCH_ARRAY(array) *array
#define POLYBENCH_FREE_ARRAY(array) free((void *) array);
#endif
#define POLYBENCH_DECL_VAR(array) (*array)
#define POLYBENCH_DUMP_TARGET stderr
#define POLYBENCH_DUMP_START fprintf(POLYBENCH_DUMP_TARGET, \"begin\\n\")
#define POLYBENCH_DUMP_FINISH fprintf(POLYBENCH_DUMP_TARGET, \"end\\n\")
#define POLYBENCH_DUMP_BEGIN(text) fprintf(POLYBENCH_DUMP_TARGET, \"%s\", text)
#define POLYBENCH_DUMP_END(text) fprintf(POLYBENCH_DUMP_TARGET, \"%s\", text)
#ifdef POLYBENCH_DUMP_ARRAYS
#define polybench_prevent_dce(call) call
#else
#define polybench_prevent_dce(call)
#endif
#define polybench_start_instruments
#define polybench_stop_instruments
#define polybench_print_instruments
extern void *polybench_alloc_data(unsigned long long elements, int size);
extern void polybench_free_data(void *data);
extern void polybench_flush_cache(void);
extern void polybench_prepare_instruments(void);
",
    );
    for (k, n) in NUMBERS.iter().enumerate() {
        let names = |stem: &str| -> Vec<String> { (0..=k).map(|d| format!("{stem}{d}")).collect() };
        let (constants, parameters) = (names("n"), names("p"));
        let all = [constants.clone(), parameters.clone()].concat().join(", ");
        let pairs = || constants.iter().zip(&parameters);
        let selected: String = pairs().map(|(c, p)| format!("[POLYBENCH_C99_SELECT({c}, {p})]")).collect();
        let fixed: String = constants.iter().map(|c| format!("[{c} + POLYBENCH_PADDING_FACTOR]")).collect();
        let count: Vec<String> =
            constants.iter().map(|c| format!("({c} + POLYBENCH_PADDING_FACTOR)")).collect();
        let count = count.join(" * ");
        out += &format!("#define POLYBENCH_{n}D(array, {all}) array{selected}\n");
        out += &format!("#define POLYBENCH_{n}D_F(array, {all}) array{fixed}\n");
        out += &format!(
            "#define POLYBENCH_ALLOC_{n}D_ARRAY({}, type) polybench_alloc_data({count}, sizeof(type))\n",
            constants.join(", ")
        );
        out += &format!(
            "#ifdef POLYBENCH_STACK_ARRAYS\n#define POLYBENCH_{n}D_ARRAY_DECL(array, type, {all}) type array{fixed};\n\
             #else\n#define POLYBENCH_{n}D_ARRAY_DECL(array, type, {all}) type (*array){fixed} = \
             (type (*){fixed}) polybench_alloc_data({count}, sizeof(type));\n#endif\n"
        );
    }
    out += "#endif\n";
    out
}
