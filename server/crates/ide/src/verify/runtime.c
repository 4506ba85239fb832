/* What the simulator runs for the CUDA run time: device memory is memory, copies are copies, launches have ended when
   they return. Kinds of copies are not checked here; the shim that g++ compiles does that in tests. */
int cudaMalloc(void **pointer, unsigned long bytes)
{
    void *memory = malloc(bytes);
    if (!memory)
        return 2;
    *pointer = memory;
    return 0;
}
int cudaFree(void *pointer)
{
    free(pointer);
    return 0;
}
int cudaMemcpy(void *to, const void *from, unsigned long bytes, int kind)
{
    memcpy(to, from, bytes);
    return 0;
}
int cudaMemset(void *to, int value, unsigned long bytes)
{
    memset(to, value, bytes);
    return 0;
}
int cudaDeviceSynchronize(void)
{
    return 0;
}
int cudaGetLastError(void)
{
    return 0;
}
int cudaPeekAtLastError(void)
{
    return 0;
}
