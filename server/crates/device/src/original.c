/* Runs the original of a bundle on the CPU, again and again on the same memory: reads `argv[1]`, writes `argv[2]`. Numbers are
   64 bits, as the machine stores them. `argv[3]`: runs at most, `argv[4]`: nanoseconds for all of them. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef unsigned long long word;
union ww_native_word { long long i; double d; void *p; };
void ww_native_call(union ww_native_word *arguments, union ww_native_word *result);
void *ww_native_global(int number, unsigned long *size);

static FILE *in, *out;
static word number(void) { word w = 0; if (fread(&w, 8, 1, in) != 1) exit(9); return w; }
static void put(word w) { if (fwrite(&w, 8, 1, out) != 1) exit(8); }
static word now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (word)t.tv_sec * 1000000000u + (word)t.tv_nsec;
}

int main(int argc, char **argv) {
    if (argc < 5 || !(in = fopen(argv[1], "rb")) || !(out = fopen(argv[2], "wb"))) return 2;
    word most = strtoull(argv[3], 0, 10), limit = strtoull(argv[4], 0, 10);
    word count = number();
    char **at = calloc(count + 1, sizeof *at), **first = calloc(count + 1, sizeof *first);
    char **left = calloc(count + 1, sizeof *left);
    word *size = calloc(count + 1, sizeof *size);
    if (!at || !first || !left || !size) return 7;
    for (word k = 0; k < count; k++) {
        word global = number();
        size[k] = number();
        if (global) {
            unsigned long have = 0;
            at[k] = ww_native_global((int)global - 1, &have);
            if (!at[k] || have != size[k]) return 6;
        } else if (posix_memalign((void **)&at[k], 4096, size[k] + 64)) return 7;
        if (!(first[k] = malloc(size[k] + 1)) || !(left[k] = malloc(size[k] + 1))) return 7;
        if (size[k] && fread(first[k], size[k], 1, in) != 1) return 9;
    }
    word links = number();
    word (*link)[2] = calloc(links + 1, sizeof *link);
    if (!link) return 7;
    for (word l = 0; l < links; l++) {
        word k = number(), offset = number(), to = number(), from_there = number();
        if (k >= count || to >= count || offset + 8 > size[k]) return 9;
        char *address = at[to] + from_there;
        memcpy(first[k] + offset, &address, sizeof address);
        link[l][0] = k, link[l][1] = offset;
    }
    union ww_native_word arguments[64], result;
    word given = number();
    if (given > 64) return 7;
    for (word k = 0; k < given; k++) {
        word kind = number(), value = number(), offset = number();
        arguments[k].i = (long long)value;
        if (kind == 2) arguments[k].p = value < count ? at[value] + offset : 0;
    }
    word began = now(), runs = 0, took[256], value = 0;
    while (runs < 256 && runs < most && (runs == 0 || now() - began < limit)) {
        for (word k = 0; k < count; k++) memcpy(at[k], first[k], size[k]);
        result.i = 0;
        word from = now();
        ww_native_call(arguments, &result);
        took[runs++] = now() - from;
        if (runs > 1) continue;
        /* what the program keeps in variables of its own is another in later runs */
        value = (word)result.i;
        for (word k = 0; k < count; k++) memcpy(left[k], at[k], size[k]);
        /* an address is the piece's number and the place in it */
        for (word l = 0; l < links; l++) {
            char *address, *cell = left[link[l][0]] + link[l][1];
            memcpy(&address, cell, sizeof address);
            word said = ~0ull;
            for (word k = 0; k < count; k++)
                if (address >= at[k] && address <= at[k] + size[k]) { said = k << 40 | (word)(address - at[k]); break; }
            memcpy(cell, &said, sizeof said);
        }
    }
    put(runs);
    for (word k = 0; k < runs; k++) put(took[k]);
    put(value);
    for (word k = 0; k < count; k++) if (size[k] && fwrite(left[k], size[k], 1, out) != 1) return 8;
    return fclose(out) != 0;
}
