enum {
    cudaSuccess = 0, cudaErrorInvalidValue = 1, cudaErrorMemoryAllocation = 2, cudaErrorInvalidConfiguration = 9,
    cudaMemcpyHostToHost = 0, cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2, cudaMemcpyDeviceToDevice = 3
};
void *malloc(unsigned long bytes);
void free(void *p);
void *memcpy(void *to, const void *from, unsigned long bytes);
void *memset(void *to, int byte, unsigned long bytes);
void *__builtin_ww_device_malloc(unsigned long bytes);
extern unsigned long ww_steps[200000], ww_settings[10], ww_hollow[256];
extern unsigned char ww_answers[8388609], ww_saved[1048576];
static void ww_end(void) { *(volatile int *)0 = 0; }
static int ww_is_hollow(const void *p) {
    unsigned long object = (unsigned long)p >> 32;
    for (unsigned long k = 0; k < ww_settings[1]; k++) if (ww_hollow[k] == object) return 1;
    return 0;
}
static void ww_step(unsigned long what, const void *to, const void *from, unsigned long bytes, unsigned long more) {
    unsigned long at = ww_settings[0] * 5;
    if (ww_settings[0] >= ww_settings[2]) ww_end();
    ww_steps[at] = what; ww_steps[at + 1] = (unsigned long)to; ww_steps[at + 2] = (unsigned long)from;
    ww_steps[at + 3] = bytes; ww_steps[at + 4] = more;
    ww_settings[0] += 1;
}
int cudaMalloc(void **p, unsigned long bytes) {
    *p = __builtin_ww_device_malloc(1);
    ww_step(1, *p, 0, bytes, 0);
    return 0;
}
int cudaFree(void *p) { if (p) ww_step(2, p, 0, 0, 0); return 0; }
/* Bytes that only the host has go along: where they are, from 1, or that there is no room. */
static unsigned long ww_save(const void *from, unsigned long bytes) {
    unsigned long at = ww_settings[3];
    if (at + bytes > ww_settings[4]) return ~0ul;
    memcpy(ww_saved + at, from, bytes);
    ww_settings[3] += bytes;
    return at + 1;
}
int cudaMemcpy(void *to, const void *from, unsigned long bytes, int kind) {
    unsigned long more = 0;
    if (bytes == 0) return 0;
    if (kind == cudaMemcpyHostToDevice && !ww_is_hollow(from)) more = ww_save(from, bytes);
    if (kind == cudaMemcpyDeviceToHost && !ww_is_hollow(to)) {
        more = 1;
        if (ww_settings[5] + bytes <= ww_settings[6]) {
            memcpy(to, ww_answers + ww_settings[5], bytes);
            ww_settings[5] += bytes;
        } else memset(to, (int)ww_settings[7], bytes);
    }
    ww_step(3 + kind, to, from, bytes, more);
    return 0;
}
int cudaMemset(void *to, int value, unsigned long bytes) { if (bytes) ww_step(7, to, 0, bytes, (unsigned char)value); return 0; }
int cudaDeviceSynchronize(void) { return 0; }
int cudaGetLastError(void) { return 0; }
void *ww_malloc(unsigned long bytes) {
    if (bytes <= ww_settings[8]) return malloc(bytes);
    void *p = malloc(1);
    if (ww_settings[1] >= ww_settings[9]) ww_end();
    ww_hollow[ww_settings[1]++] = (unsigned long)p >> 32;
    return p;
}
void *ww_memcpy(void *to, const void *from, unsigned long bytes) {
    int is_told = ww_is_hollow(to), is_unknown = ww_is_hollow(from);
    if (bytes == 0) return to;
    if (!is_told && !is_unknown) memcpy(to, from, bytes);
    if (!is_told && is_unknown) memset(to, (int)ww_settings[7], bytes);
    if (is_told || is_unknown) ww_step(8, to, from, bytes, is_unknown ? 0 : ww_save(from, bytes));
    return to;
}
void ww_free(void *p) { free(p); }
void abort(void) { ww_end(); }
