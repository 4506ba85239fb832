/* Runs every case as it was written (orig_…) and offloaded, over awkward sizes, with every CUDA call failing in turn,
   and compares all memory: results, inputs, and what lies around them. */
#include "cuda_runtime.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct body { float x, v; double mass; int tag; };

#define BOTH(ret, name, params) ret name params; ret orig_##name params
BOTH(void, saxpy, (int, float, const float *, float *));
BOTH(void, copy_restrict, (int, const double *restrict, double *restrict));
BOTH(int, heat, (int n, int m, double a[n][m], double b[n][m]));
BOTH(void, triangle, (int n, float a[n][n]));
BOTH(void, lower, (int n, double a[n][n]));
BOTH(double, dot, (long, const double *, const double *));
BOTH(int, sum_int, (int, const int *));
BOTH(unsigned, hash, (int, const unsigned *));
BOTH(float, largest, (int, const float *, float));
BOTH(double, smallest, (int, const double *, double));
BOTH(int, all_positive, (int, const int *));
BOTH(double, scale_and_sum, (int, double *, double));
BOTH(int, spread, (int, const short *, int *));
BOTH(void, roots, (int, const float *, float *));
BOTH(void, move, (int, struct body *, float));
BOTH(int, backwards, (int, const int *, int *));
BOTH(void, product, (int n, int m, int l, double a[n][l], double b[l][m], double c[n][m]));
BOTH(void, keywords, (int, const int *, int *));
BOTH(void, cube, (int n, int a[n][n][n]));
BOTH(void, flat, (size_t, size_t, double *));
BOTH(void, branches, (int, const unsigned char *, int *));
BOTH(void, smooth, (int, const double *, double *));
BOTH(void, shifted, (int, int *));
BOTH(void, columns, (int n, int m, float a[n][m]));
BOTH(void, before, (int, int *));
struct plane { int n; double scale; };
BOTH(void, through_struct, (struct plane *, double *));
BOTH(void, first_of, (const int *, int *));
BOTH(void, by_value, (int, struct body *, struct body));
BOTH(double, peak, (int, const double *, double));
BOTH(int, positive_sum, (int, const int *));
BOTH(void, holes, (int n, int m, int a[n][m]));
BOTH(int, product_mod, (int, const int *));
BOTH(void, rows, (int, int, double *));
BOTH(void, offset, (int, int *, int));
BOTH(int, two_ends, (int, const int *, int *));
BOTH(int, names, (int, int *));

#define ROOM (1 << 20)
static unsigned char base[ROOM], ours[ROOM], theirs[ROOM];
static unsigned char *mem; /* the copy in use */
static double result;
static int approximate;
static unsigned seed = 1;
static unsigned rnd(void) { return seed = seed * 1103515245u + 12345u, seed >> 8; }

enum fill { BYTES, FLOATS, DOUBLES, INTS, BODIES };
static void fill(enum fill f)
{
    for (size_t k = 0; k < ROOM; k++) base[k] = (unsigned char)rnd();
    if (f == FLOATS) for (size_t k = 0; k < ROOM / 4; k++) ((float *)base)[k] = (float)(rnd() % 20001) / 128 - 50;
    if (f == DOUBLES) for (size_t k = 0; k < ROOM / 8; k++) ((double *)base)[k] = (double)(rnd() % 20001) / 128 - 50;
    if (f == INTS) for (size_t k = 0; k < ROOM / 4; k++) ((int *)base)[k] = (int)(rnd() % 20001) - 10000;
    if (f == BODIES)
        for (size_t k = 0; k < ROOM / sizeof(struct body); k++)
            ((struct body *)base)[k] = (struct body){(float)(rnd() % 100), (float)(rnd() % 100), rnd() % 7, 5};
}

/* Places in the copy in use, 4 KiB in so that reads and writes before an array show. */
#define AT(type, k) ((type *)(mem + 4096 + (k) * 262144))

typedef void (*run)(int which, int n);
#define CALL(name, args) do { if (which) name args; else orig_##name args; } while (0)
#define VALUE(name, args) do { result = which ? (double)name args : (double)orig_##name args; } while (0)

static void r_saxpy(int which, int n) { CALL(saxpy, (n, 1.7f, AT(float, 0), AT(float, 1))); }
static void r_saxpy_overlap(int which, int n) { CALL(saxpy, (n, 1.7f, AT(float, 0), AT(float, 0) + 1)); }
static void r_saxpy_same(int which, int n) { CALL(saxpy, (n, 1.7f, AT(float, 0), AT(float, 0))); }
static void r_saxpy_touch(int which, int n) { CALL(saxpy, (n, 1.7f, AT(float, 0), AT(float, 0) + n)); }
static void r_copy(int which, int n) { CALL(copy_restrict, (n, AT(double, 0), AT(double, 1))); }
static void r_heat(int which, int n) { int s = n < 90 ? n : 90; VALUE(heat, (s, s + 3, (void *)AT(double, 0), (void *)AT(double, 1))); }
static void r_heat_in_place(int which, int n) { int s = n < 90 ? n : 90; VALUE(heat, (s, s, (void *)AT(double, 0), (void *)AT(double, 0))); }
static void r_triangle(int which, int n) { int s = n < 90 ? n : 90; CALL(triangle, (s, (void *)AT(float, 0))); }
static void r_lower(int which, int n) { int s = n < 90 ? n : 90; CALL(lower, (s, (void *)AT(double, 0))); }
static void r_dot(int which, int n) { VALUE(dot, (n, AT(double, 0), AT(double, 1))); }
static void r_sum_int(int which, int n) { VALUE(sum_int, (n, AT(int, 0))); }
static void r_hash(int which, int n) { VALUE(hash, (n, AT(unsigned, 0))); }
static void r_largest(int which, int n) { AT(float, 0)[5] = NAN; VALUE(largest, (n, AT(float, 0), -10)); }
static void r_largest_nan(int which, int n) { VALUE(largest, (n, AT(float, 0), NAN)); }
static void r_smallest(int which, int n) { AT(double, 0)[0] = NAN; VALUE(smallest, (n, AT(double, 0), NAN)); }
static void r_all(int which, int n) { for (int k = 0; k < 2000; k++) AT(int, 0)[k] = 1 + k % 2; VALUE(all_positive, (n, AT(int, 0))); }
static void r_not_all(int which, int n) { VALUE(all_positive, (n, AT(int, 0))); }
static void r_scale(int which, int n) { VALUE(scale_and_sum, (n, AT(double, 0), 0.5)); }
static void r_spread(int which, int n) { VALUE(spread, (n, AT(short, 0), AT(int, 1))); }
static void r_roots(int which, int n) { for (int k = 0; k < 2000; k++) AT(float, 0)[k] = fabsf(AT(float, 0)[k]); CALL(roots, (n, AT(float, 0), AT(float, 1))); }
static void r_move(int which, int n) { CALL(move, (n, (struct body *)(mem + 40 * sizeof(struct body)), 0.1f)); }
static void r_backwards(int which, int n) { VALUE(backwards, (n, AT(int, 0), AT(int, 1))); }
static void r_product(int which, int n) { int s = n < 40 ? n : 40; CALL(product, (s, s + 1, s + 2, (void *)AT(double, 0), (void *)AT(double, 1), (void *)AT(double, 2))); }
static void r_keywords(int which, int n) { CALL(keywords, (n, AT(int, 0), AT(int, 1))); }
static void r_cube(int which, int n) { int s = n < 20 ? n : 20; CALL(cube, (s, (void *)AT(int, 0))); }
static void r_flat(int which, int n) { size_t s = (size_t)(n < 60 ? n : 60); CALL(flat, (s, s + 1, AT(double, 0))); }
static void r_branches(int which, int n) { CALL(branches, (n, AT(unsigned char, 0), AT(int, 1))); }
static void r_smooth(int which, int n) { CALL(smooth, (n, AT(double, 0), AT(double, 1))); }
static void r_shifted(int which, int n) { CALL(shifted, (n, AT(int, 0))); }
static void r_columns(int which, int n) { int s = n < 90 ? n : 90; CALL(columns, (s, s / 2, (void *)AT(float, 0))); }
static void r_before(int which, int n) { CALL(before, (n, AT(int, 0) + 5000)); }

static void r_rows(int which, int n) { CALL(rows, (n < 90 ? n : 90, 3, AT(double, 0))); }
static void r_offset(int which, int n) { CALL(offset, (n, AT(int, 0), 17)); }
static void r_two_ends(int which, int n) { VALUE(two_ends, (n, AT(int, 0), AT(int, 1))); }
static void r_names(int which, int n) { VALUE(names, (n, AT(int, 0))); }
static void r_plane(int which, int n) { struct plane g = {n, 0.5}; CALL(through_struct, (&g, AT(double, 0))); }
static void r_first(int which, int n) { int d[2] = {n, 0}; CALL(first_of, (d, AT(int, 0))); }
static void r_first_overlap(int which, int n) { *AT(int, 0) = n; CALL(first_of, (AT(int, 0), AT(int, 0))); }
static void r_by_value(int which, int n) { struct body v = {2, 3, 4, 9}; CALL(by_value, (n, (struct body *)(mem + 40 * sizeof(struct body)), v)); }
static void r_peak(int which, int n) { VALUE(peak, (n, AT(double, 0), 1)); }
static void r_peak_start(int which, int n) { VALUE(peak, (n, AT(double, 0), NAN)); }
static void r_peak_nan(int which, int n) { AT(double, 0)[n / 2] = NAN, AT(double, 0)[0] = 1e9; VALUE(peak, (n, AT(double, 0), 1)); }
static void r_positive(int which, int n) { VALUE(positive_sum, (n, AT(int, 0))); }
static void r_holes(int which, int n) { int s = n < 90 ? n : 90; CALL(holes, (s, s + 1, (void *)AT(int, 0))); }
static void r_product_mod(int which, int n) { for (int k = 0; k < 2000; k++) AT(int, 0)[k] = k % 29 == 0 ? 2 : 0; VALUE(product_mod, (n, AT(int, 0))); }

static int failures;
static void compare(const char *name, int n, long fail_at, double expected)
{
    int same = !memcmp(ours, theirs, ROOM);
    double scale = approximate ? 1e-12 * (1 + fabs(expected)) : 0;
    int equal = result == expected || (isnan(result) && isnan(expected)) || fabs(result - expected) <= scale;
    if (same && equal && shim_live == 0) return;
    failures++;
    printf("FAIL %s n=%d failing call %ld: memory %s, result %.17g expected %.17g, %ld allocations left\n", name, n,
           fail_at, same ? "equal" : "differs", result, expected, shim_live);
}

/* launches: whether the kernel must run for n > least */
static void check(const char *name, run f, enum fill kind, int least, int close)
{
    static const int sizes[] = {0, 1, 2, 3, 31, 32, 33, 255, 256, 257, 1000};
    approximate = close;
    long launched = 0;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        int n = sizes[s];
        fill(kind);
        result = 0;
        memcpy(theirs, base, ROOM), mem = theirs, f(0, n);
        double expected = result;
        memcpy(ours, base, ROOM), mem = ours;
        shim_calls = 0, shim_fail_at = 0;
        long before = shim_launches;
        f(1, n);
        compare(name, n, 0, expected);
        launched += shim_launches - before;
        if (least >= 0 && (shim_launches > before) != (n > least)) {
            failures++;
            printf("FAIL %s n=%d: %s\n", name, n, shim_launches > before ? "launched" : "not launched");
        }
        double first = result;
        long calls = shim_calls;
        if (n != 33 && n != 256) continue;
        for (long k = 1; k <= calls; k++) {
            memcpy(ours, base, ROOM);
            shim_calls = 0, shim_fail_at = k;
            f(1, n);
            compare(name, n, k, expected);
        }
        shim_fail_at = 0;
        memcpy(ours, base, ROOM);
        f(1, n);
        if (memcmp(&first, &result, sizeof first)) failures++, printf("FAIL %s n=%d: not the same twice\n", name, n);
    }
    printf("%s: %ld launches\n", name, launched);
}

int main(void)
{
    check("saxpy", r_saxpy, FLOATS, 0, 0);
    check("saxpy_overlap", r_saxpy_overlap, FLOATS, -1, 0);
    check("saxpy_same", r_saxpy_same, FLOATS, 1 << 30, 0);
    check("saxpy_touch", r_saxpy_touch, FLOATS, 0, 0);
    check("copy_restrict", r_copy, DOUBLES, 0, 0);
    check("heat", r_heat, DOUBLES, 2, 0);
    check("heat_in_place", r_heat_in_place, DOUBLES, 1 << 30, 0);
    check("triangle", r_triangle, FLOATS, 1, 0);
    check("lower", r_lower, DOUBLES, 0, 0);
    check("dot", r_dot, DOUBLES, 0, 1);
    check("sum_int", r_sum_int, INTS, 0, 0);
    check("hash", r_hash, BYTES, 0, 0);
    check("largest", r_largest, FLOATS, 0, 0);
    check("largest_nan", r_largest_nan, FLOATS, 0, 0);
    check("smallest", r_smallest, DOUBLES, 0, 0);
    check("all_positive", r_all, INTS, 0, 0);
    check("not_all_positive", r_not_all, INTS, 0, 0);
    check("scale_and_sum", r_scale, DOUBLES, 0, 1);
    check("spread", r_spread, BYTES, 0, 0);
    check("roots", r_roots, FLOATS, 0, 0);
    check("move", r_move, BODIES, 0, 0);
    check("backwards", r_backwards, INTS, 0, 0);
    check("product", r_product, DOUBLES, 0, 0);
    check("keywords", r_keywords, INTS, 0, 0);
    check("cube", r_cube, INTS, 0, 0);
    check("flat", r_flat, DOUBLES, 0, 0);
    check("branches", r_branches, BYTES, 0, 0);
    check("smooth", r_smooth, DOUBLES, 2, 0);
    check("shifted", r_shifted, INTS, 0, 0);
    check("columns", r_columns, FLOATS, 1, 0);
    check("before", r_before, INTS, 0, 0);
    check("through_struct", r_plane, DOUBLES, 0, 0);
    check("first_of", r_first, INTS, 0, 0);
    check("first_of_overlap", r_first_overlap, INTS, 1 << 30, 0);
    check("by_value", r_by_value, BODIES, 0, 0);
    check("peak", r_peak, DOUBLES, 0, 0);
    check("peak_start", r_peak_start, DOUBLES, 0, 0);
    check("peak_nan", r_peak_nan, DOUBLES, 0, 0);
    check("positive_sum", r_positive, INTS, 0, 0);
    check("holes", r_holes, INTS, -1, 0);
    check("product_mod", r_product_mod, INTS, 0, 0);
    check("rows", r_rows, DOUBLES, 0, 0);
    check("offset", r_offset, INTS, -1, 0);
    check("two_ends", r_two_ends, INTS, 0, 0);
    check("names", r_names, INTS, 0, 0);
    printf(failures ? "%d failures\n" : "all equal%.0d\n", failures);
    return failures != 0;
}
