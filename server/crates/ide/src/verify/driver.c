/* Runs a function natively on given inputs, each in a process of its own: reads `argv[1]`, writes `argv[2]`. Numbers are
   64 bits, as the machine stores them. Each buffer ends where memory that may not be touched begins. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

typedef unsigned long long word;
union ww_native_word { long long i; double d; void *p; };
void ww_native_call(union ww_native_word *arguments, union ww_native_word *result);
void *ww_native_global(int number, unsigned long *size);

#ifdef WW_NATIVE_DEVICE
/* a real device: its run time takes more address space than memory, is slow to start, and does not outlive a fork */
#define WW_FORK() 0
#define WW_SECONDS 120
#define WW_MEMORY RLIM_INFINITY
#else
#define WW_FORK() fork()
#define WW_SECONDS 10
#define WW_MEMORY (4ul << 30)
#endif

/* kernels launched; only where there are any */
extern unsigned long ww_launch_count __attribute__((weak));

static FILE *in;
static word number(void) { word w = 0; if (fread(&w, 8, 1, in) != 1) exit(9); return w; }
static char *room(word size) {
    word page = 4096, whole = (size + page) / page * page;
    char *p = (char *)mmap(0, whole + 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) exit(8);
    mprotect(p, page, PROT_NONE);
    mprotect(p + page + whole, page, PROT_NONE);
    return p + page + whole - (size + 15) / 16 * 16;
}

int main(int argc, char **argv) {
    static char *at[2][4096];
    static word size[2][4096];
    union ww_native_word arguments[64], result;
    struct rlimit memory = { WW_MEMORY, WW_MEMORY }, file = { 1ul << 30, 1ul << 30 };
    if (argc < 3 || !(in = fopen(argv[1], "rb"))) return 2;
    FILE *out = fopen(argv[2], "wb");
    if (!out) return 2;
    setrlimit(RLIMIT_AS, &memory);
    setrlimit(RLIMIT_FSIZE, &file);
    for (word cases = number(); cases > 0; cases--) {
        word bytes = number();
        long next = ftell(in) + (long)bytes;
        fflush(out);
        pid_t child = WW_FORK();
        if (child < 0) return 3;
        if (child == 0) {
            word kinds[64], buffer[64], offset[64], count = number();
            if (count > 64) exit(7);
            for (word k = 0; k < count; k++) { kinds[k] = number(); buffer[k] = number(); offset[k] = number(); }
            for (int side = 0; side < 2; side++) {
                word n = number();
                if (n > 4096) exit(7);
                size[side][4095] = n;
                for (word k = 0; k < n; k++) {
                    size[side][k] = number();
                    if (side == 0) at[side][k] = room(size[side][k]);
                    else {
                        unsigned long have = 0;
                        at[side][k] = (char *)ww_native_global((int)k, &have);
                        if (!at[side][k] || have != size[side][k]) exit(6);
                    }
                    if (size[side][k] && fread(at[side][k], size[side][k], 1, in) != 1) exit(9);
                }
            }
            for (word links = number(); links > 0; links--) {
                word side = number(), k = number(), where = number(), target = number(), into = number();
                char *p = at[0][target] + into;
                memcpy(at[side][k] + where, &p, 8);
            }
            for (word k = 0; k < count; k++) {
                arguments[k].i = 0;
                if (kinds[k] == 0) arguments[k].i = (long long)buffer[k];
                if (kinds[k] == 1) memcpy(&arguments[k].d, &buffer[k], 8);
                if (kinds[k] == 2) arguments[k].p = at[0][buffer[k]] + offset[k];
            }
            result.i = 0;
            word before = &ww_launch_count ? ww_launch_count : 0;
            alarm(WW_SECONDS);
            ww_native_call(arguments, &result);
            word status = 1, launches = &ww_launch_count ? ww_launch_count - before : 0;
            fwrite(&status, 8, 1, out);
            fwrite(&launches, 8, 1, out);
            fwrite(&result, 8, 1, out);
            for (int side = 0; side < 2; side++)
                for (word k = 0; k < size[side][4095]; k++) fwrite(at[side][k], 1, size[side][k], out);
            fflush(out);
#ifdef WW_NATIVE_DEVICE
            fseek(in, next, SEEK_SET);
            continue;
#endif
            _exit(0);
        }
        int how = 0;
        waitpid(child, &how, 0);
        if (!WIFEXITED(how) || WEXITSTATUS(how) != 0) {
            word status = WIFSIGNALED(how) ? 256 + (word)WTERMSIG(how) : 512 + (word)WEXITSTATUS(how);
            fseek(out, 0, SEEK_END);
            fwrite(&status, 8, 1, out);
        }
        fseek(in, next, SEEK_SET);
    }
    return fclose(out) != 0;
}
