/* Between the host's program and the worker that it is loaded into: every call of the run time is one of the worker's. */
#ifndef WW_WORKER_H
#define WW_WORKER_H
#include WW_BEFORE_KERNELS

struct ww_worker {
    void *of;
    int (*allocate)(void *of, unsigned long bytes, unsigned long *address);
    int (*release)(void *of, unsigned long address);
    int (*copy)(void *of, void *to, const void *from, unsigned long bytes, int kind);
    int (*set)(void *of, unsigned long address, int byte, unsigned long bytes);
    int (*launch)(void *of, const char *kernel, const unsigned *grid, const unsigned *block, unsigned long shared_bytes,
                  const void *const *arguments, const unsigned long *sizes, unsigned long count);
    int (*wait)(void *of);
};
extern "C" struct ww_worker *ww_worker;
extern "C" int ww_failed;

/* the arguments become what the kernel's parameters are, as a launch makes them */
template <class... P, class... A>
static inline void ww_launch_there(const char *name, dim3 grid, dim3 block, size_t shared_bytes, cudaStream_t, void (*)(P...),
                                   A... given) {
    auto launch = [&](P... a) {
        const void *arguments[] = {(const void *)&a..., 0};
        const unsigned long sizes[] = {sizeof a..., 0};
        const unsigned g[] = {grid.x, grid.y, grid.z}, b[] = {block.x, block.y, block.z};
        ww_failed |= ww_worker->launch(ww_worker->of, name, g, b, shared_bytes, arguments, sizes, sizeof...(P));
    };
    launch(P(given)...);
}
#endif
