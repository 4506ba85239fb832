//! A device's run time as C, for the simulator: device memory is memory of its own where the simulator keeps the sides apart,
//! copies are between the sides that their direction names, launches are synchronous, and one call can be made to fail.
//!
//! Put before generated text when it is read for a simulation, never into what users see. Values are those of CUDA's
//! `driver_types.h`.

/// Before host text. It calls the simulator's own functions by names that no program has.
const HOST: &str = "
enum {
    cudaSuccess = 0, cudaErrorInvalidValue = 1, cudaErrorMemoryAllocation = 2, cudaErrorInvalidConfiguration = 9,
    cudaMemcpyHostToHost = 0, cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2, cudaMemcpyDeviceToDevice = 3
};
void *__builtin_ww_device_malloc(unsigned long bytes);
void __builtin_ww_device_free(void *p);
void __builtin_ww_device_copy(void *to, const void *from, unsigned long bytes, unsigned long direction);
void __builtin_ww_device_set(void *to, unsigned long byte, unsigned long bytes);
unsigned long ww_calls;
unsigned long ww_fail_at;
static int ww_fails(void) { ww_calls += 1; return ww_calls == ww_fail_at; }
int cudaMalloc(void **p, unsigned long bytes) {
    if (ww_fails()) return cudaErrorMemoryAllocation;
    *p = __builtin_ww_device_malloc(bytes);
    return 0;
}
int cudaFree(void *p) { __builtin_ww_device_free(p); return 0; }
unsigned long ww_copies[4];
int cudaMemcpy(void *to, const void *from, unsigned long bytes, int kind) {
    if (ww_fails()) {
        __builtin_ww_device_copy(to, from, bytes / 2, kind);
        return cudaErrorInvalidValue;
    }
    __builtin_ww_device_copy(to, from, bytes, kind);
    if (kind == cudaMemcpyHostToDevice) { ww_copies[0] += 1; ww_copies[1] += bytes; }
    if (kind == cudaMemcpyDeviceToHost) { ww_copies[2] += 1; ww_copies[3] += bytes; }
    return 0;
}
int cudaMemset(void *to, int value, unsigned long bytes) {
    if (ww_fails()) return cudaErrorInvalidValue;
    __builtin_ww_device_set(to, value, bytes);
    return 0;
}
int cudaDeviceSynchronize(void) { return ww_fails() ? cudaErrorInvalidValue : 0; }
int ww_launch_error;
int cudaGetLastError(void) {
    int error = ww_launch_error;
    ww_launch_error = 0;
    if (error) return cudaErrorInvalidConfiguration;
    return ww_fails() ? cudaErrorInvalidValue : 0;
}
void abort(void) { *(volatile int *)0 = 0; }
";

/// The variable of [`HOST`] that counts copies: how many and of how many bytes to the device, and the same from it.
pub(super) const COPIES: &str = "ww_copies";

/// The variable of [`HOST`] that says which call fails (0: none), and the one that counts calls that could.
pub(super) const FAIL_AT: &str = "ww_fail_at";
pub(super) const CALLS: &str = "ww_calls";

/// The variable that is 1 after a launch that failed.
pub(super) const LAUNCH_ERROR: &str = "ww_launch_error";

/// Before kernel text, whose host functions call what [`HOST`] defines.
pub(super) const DEVICE: &str = "
enum {
    cudaSuccess = 0, cudaErrorInvalidValue = 1, cudaErrorMemoryAllocation = 2, cudaErrorInvalidConfiguration = 9,
    cudaMemcpyHostToHost = 0, cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2, cudaMemcpyDeviceToDevice = 3
};
extern \"C\" int cudaMalloc(void **p, unsigned long bytes);
extern \"C\" int cudaFree(void *p);
extern \"C\" int cudaMemcpy(void *to, const void *from, unsigned long bytes, int kind);
extern \"C\" int cudaMemset(void *to, int value, unsigned long bytes);
extern \"C\" int cudaDeviceSynchronize(void);
extern \"C\" int cudaGetLastError(void);
";

/// Before host text, and before kernel text, for a target.
pub(super) fn before(target: &gpu::Row) -> [String; 2] {
    [host(target), device(target)]
}

/// Before host text for a target.
pub(super) fn host(target: &gpu::Row) -> String {
    named(HOST, target)
}

/// Before kernel text for a target.
pub(super) fn device(target: &gpu::Row) -> String {
    named(DEVICE, target)
}

/// With the names of a target's run time in place of CUDA's. Longer names first: one may begin another.
fn named(text: &str, target: &gpu::Row) -> String {
    let mut names: Vec<_> = gpu::CUDA.host.names().into_iter().zip(target.host.names()).collect();
    names.sort_by_key(|n| std::cmp::Reverse(n.0.len()));
    names.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}

/// Types of numbers that CUB is asked for, with their least and their greatest.
const NUMBERS: [(&str, &str, &str); 5] = [
    ("int", "-2147483647 - 1", "2147483647"),
    ("unsigned int", "0", "4294967295u"),
    ("long long", "-9223372036854775807ll - 1", "9223372036854775807ll"),
    ("float", "-3.402823466e+38f", "3.402823466e+38f"),
    ("double", "-1.7976931348623157e+308", "1.7976931348623157e+308"),
];

/// Reductions of CUB, a loop each: called without memory, they say that they need some.
pub(super) fn cub() -> String {
    let mut out = String::new();
    for (number, least, most) in NUMBERS {
        let steps = [
            ("Sum", "0", "result += in[i]"),
            ("Min", most, "if (in[i] < result) result = in[i]"),
            ("Max", least, "if (in[i] > result) result = in[i]"),
        ];
        for (name, from, step) in steps {
            let of = number.replace(' ', "_");
            out += &format!(
                "int cub__DeviceReduce__{name}__{of}(void *temp, unsigned long *bytes, const {number} *in, {number} *out, int n) {{
    if (temp == 0) {{ *bytes = 1; return 0; }}
    {number} result = {from};
    for (int i = 0; i < n; i++) {{ {step}; }}
    *out = result;
    return 0;
}}
"
            );
        }
    }
    out
}

/// Whether a text may call the run time or CUB.
pub(super) fn is_called(text: &str) -> bool {
    text.contains("cuda") || text.contains("cub::")
}
