/* Goes through the stand-in as a program on a machine with a GPU would: source, module, launch, copy back, compare. What
   each call gives is held against the driver's own number. Takes the library's path and the name of a case. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long dptr;
static void *lib;
static int (*call)();
#define AT(name) (*(void **)&call = dlsym(lib, #name), call ? call : (fprintf(stderr, "no %s\n", #name), exit(2), call))
#define WANT(code, name, ...) do { int got = AT(name)(__VA_ARGS__); \
    if (got != (code)) { fprintf(stderr, "line %d: %s gave %d, not %d\n", __LINE__, #name, got, (code)); exit(1); } } while (0)
#define MUST(x) do { if (!(x)) { fprintf(stderr, "line %d: %s\n", __LINE__, #x); exit(1); } } while (0)

static const char *SOURCE =
    "__device__ int offset = 7;\n"
    "extern \"C\" __global__ void add(const float *a, float *b, int n, double f) {\n"
    "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "  if (i < n) b[i] = (float)(a[i] * f) + STEP + offset;\n"
    "}\n"
    "extern \"C\" __global__ void wild(float *a) { a[1000000] = 1; }\n"
    "extern \"C\" __global__ void forever(volatile int *a) { while (a[0] != 12345) { a[1] = 0; } }\n"
    "extern \"C\" __global__ void bent(char *a) { *(int *)(a + 1) = 1; }\n";

static char *ptx(const char *source, const char *option) {
    void *p; size_t n; const char *options[] = {option};
    WANT(0, nvrtcCreateProgram, &p, source, "a.cu", 0, NULL, NULL);
    WANT(0, nvrtcCompileProgram, p, 1, options);
    WANT(0, nvrtcGetPTXSize, p, &n);
    char *text = malloc(n);
    WANT(0, nvrtcGetPTX, p, text);
    MUST(strlen(text) + 1 == n);
    WANT(0, nvrtcDestroyProgram, &p);
    return text;
}

static void *module, *add;

static void launch(int code, void *f, unsigned blocks, unsigned threads, unsigned shared, void **args) {
    WANT(code, cuLaunchKernel, f, blocks, 1u, 1u, threads, 1u, 1u, shared, NULL, args, NULL);
}

static void good(void) {
    float a[100], b[100]; int n = 100; double f = 2.0; dptr da, db, g; size_t size;
    for (int i = 0; i < n; i++) a[i] = (float)i;
    WANT(0, cuMemAlloc_v2, &da, sizeof a);
    WANT(0, cuMemAlloc_v2, &db, sizeof b);
    WANT(0, cuMemcpyHtoD_v2, da, a, sizeof a);
    void *start, *end; float ms;
    WANT(0, cuEventCreate, &start, 0u); WANT(0, cuEventCreate, &end, 0u);
    WANT(0, cuEventRecord, start, NULL);
    launch(0, add, 4, 32, 0, (void *[]){&da, &db, &n, &f});
    WANT(0, cuEventRecord, end, NULL);
    WANT(0, cuCtxSynchronize);
    WANT(0, cuEventElapsedTime, &ms, start, end);
    MUST(ms > 0);
    WANT(0, cuMemcpyDtoH_v2, b, db, sizeof b);
    for (int i = 0; i < n; i++) MUST(b[i] == 2.0f * i + 3 + 7);
    WANT(0, cuModuleGetGlobal_v2, &g, &size, module, "offset");
    MUST(size == 4);
    WANT(0, cuMemsetD32_v2, g, 9u, (size_t)1);
    launch(0, add, 4, 32, 0, (void *[]){&da, &db, &n, &f});
    WANT(0, cuMemcpyDtoH_v2, b, db, sizeof b);
    for (int i = 0; i < n; i++) MUST(b[i] == 2.0f * i + 3 + 9);
    WANT(0, cuMemcpyDtoD_v2, da, db, sizeof a);
    WANT(0, cuMemcpyDtoH_v2, a, da, sizeof a);
    MUST(!memcmp(a, b, sizeof a));
    WANT(0, cuMemFree_v2, da); WANT(0, cuMemFree_v2, db);
}

static void refused(void) {
    float a[4]; dptr d, e; void *p, *f; int n = 4; double x = 1;
    WANT(0, cuMemAlloc_v2, &d, sizeof a);
    MUST((void *)d != (void *)a);
    WANT(1, cuMemAlloc_v2, &e, (size_t)0);
    WANT(2, cuMemAlloc_v2, &e, (size_t)1 << 40);
    WANT(1, cuMemcpyHtoD_v2, d, a, sizeof a + 1);
    WANT(1, cuMemcpyDtoH_v2, a, d + 8, sizeof a);
    WANT(1, cuMemcpyHtoD_v2, (dptr)(uintptr_t)a, a, sizeof a);
    WANT(1, cuMemcpyDtoD_v2, d, (dptr)(uintptr_t)a, sizeof a);
    WANT(1, cuMemsetD32_v2, d + 1, 0u, (size_t)1);
    WANT(1, cuMemFree_v2, d + 4);
    void *args[] = {&d, &d, &n, &x};
    launch(1, add, 1, 1025, 0, args);
    launch(1, add, 0, 32, 0, args);
    launch(1, add, 1, 32, 60000, args);
    WANT(0, cuFuncSetAttribute, add, 8, 60000);
    launch(0, add, 1, 1, 60000, (void *[]){&d, &d, (int[]){0}, &x});
    launch(400, (void *)16, 1, 32, 0, args);
    launch(1, add, 1, 32, 0, NULL);
    WANT(0, cuMemFree_v2, d);
    WANT(1, cuMemFree_v2, d);
    WANT(1, cuMemcpyDtoH_v2, a, d, sizeof a);
    WANT(500, cuModuleGetFunction, &f, module, "nothing");
    WANT(218, cuModuleLoadData, &p, ".version 8.0\n.target sm_80\n");
    WANT(209, cuModuleLoadData, &p, "what");
    WANT(301, cuModuleLoad, &p, "/nowhere/at/all");
    WANT(400, cuModuleUnload, (void *)16);
    WANT(400, cuStreamSynchronize, (void *)4096);
    WANT(101, cuDeviceGet, &n, 1);
    WANT(0, nvrtcCreateProgram, &p, "extern \"C\" __global__ void k(int *a) { a[0] = ; }", "a.cu", 0, NULL, NULL);
    WANT(6, nvrtcCompileProgram, p, 0, NULL);
    size_t size;
    WANT(0, nvrtcGetProgramLogSize, p, &size);
    MUST(size > 1);
    WANT(5, nvrtcCompileProgram, p, 1, (const char *[]){"--made-up"});
    WANT(0, nvrtcDestroyProgram, &p);
}

/* A kernel that breaks: the launch itself succeeds, and every call after it fails until the context is reset. */
static void broken(const char *kernel, int code) {
    dptr d, e; void *f, *context;
    WANT(0, cuMemAlloc_v2, &d, (size_t)64);
    WANT(0, cuMemsetD8_v2, d, 0, (size_t)64);
    WANT(0, cuModuleGetFunction, &f, module, kernel);
    launch(0, f, 1, 1, 0, (void *[]){&d});
    WANT(code, cuCtxSynchronize);
    WANT(code, cuMemAlloc_v2, &e, (size_t)64);
    WANT(code, cuMemFree_v2, d);
    WANT(0, cuDevicePrimaryCtxReset_v2, 0);
    WANT(0, cuDevicePrimaryCtxRetain, &context, 0);
    WANT(0, cuCtxSetCurrent, context);
    WANT(0, cuMemAlloc_v2, &e, (size_t)64);
}

int main(int argc, char **argv) {
    int n; char name[100]; void *context; const char *words;
    MUST(argc == 3 && (lib = dlopen(argv[1], RTLD_NOW)));
    WANT(3, cuDeviceGetCount, &n);
    WANT(0, cuInit, 0u);
    WANT(0, cuDeviceGetCount, &n);
    MUST(n == 1);
    WANT(0, cuDeviceGetName, name, 100, 0);
    MUST(!strcmp(name, "Warpwright stand-in (simulated)"));
    WANT(0, cuGetErrorName, 700, &words);
    MUST(!strcmp(words, "CUDA_ERROR_ILLEGAL_ADDRESS"));
    dptr early;
    WANT(201, cuMemAlloc_v2, &early, (size_t)4);
    WANT(0, cuDevicePrimaryCtxRetain, &context, 0);
    WANT(0, cuCtxSetCurrent, context);
    if (!strcmp(argv[2], "on demand")) {
        WANT(0, cuMemAlloc_v2, &early, (size_t)4);
        WANT(2, cuMemAlloc_v2, &early, (size_t)4);
        WANT(0, cuMemAlloc_v2, &early, (size_t)4);
        return 0;
    }
    WANT(0, cuModuleLoadData, &module, ptx(SOURCE, "-DSTEP=3"));
    WANT(0, cuModuleGetFunction, &add, module, "add");
    if (!strcmp(argv[2], "good")) good();
    else if (!strcmp(argv[2], "refused")) refused();
    else if (!strcmp(argv[2], "wild")) broken("wild", 700);
    else if (!strcmp(argv[2], "forever")) broken("forever", 702);
    else if (!strcmp(argv[2], "bent")) broken("bent", 716);
    else return 3;
    return 0;
}
