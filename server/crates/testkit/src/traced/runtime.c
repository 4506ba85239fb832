/* The judge's own eyes: a program built with `gcc -fsanitize=thread` calls these functions at every load and store, and
 * marks inserted into its text say which iteration of which loop that happens in. No part of the sanitizer's library is
 * linked. For every byte and every open loop we keep the first and the last iteration that read and wrote it; that
 * decides exactly whether two iterations of one execution of a loop met in it.
 *
 * The program's own data is put back before each call; ours lies outside of it, at a fixed address. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>
#include "runtime.h"

enum { LEVELS = 12, CELLS = 1 << 21, VARS = 1 << 16, CONTEXTS = 1 << 21, ALLOCS = 1 << 16, REDUCTIONS = 12, PENDING = 1 << 16, ENTRIES = 256, TOUCHED = 1 << 14 };
#define ARENA ((char *)0x200000000000)
#define ARENA_SIZE (8ul << 30)
#define GUARD (192ul << 10)
#define NONE (-1)

/* iterations that touched a byte, first and last; and for reductions' updates apart */
typedef struct {
    unsigned long key;
    unsigned serial, epoch;
    int wf, wl, rf, rl, kwf, kwl, krf, krl, k;
    unsigned flags;
    void *wpc, *rpc;
} Cell;
enum { EXPOSED = 1, QUERY = 256 };

typedef struct { char *at; unsigned long size; int kept; } Object;
typedef struct {
    int loop, iteration, holds, asked;
    unsigned serial, matched;
    Object objects[REDUCTIONS];
    long long index, step;
    int context;
} Level;
typedef struct { int parent, loop; unsigned serial; int level, holds; } Context;
typedef struct { char *at; unsigned long size; char *frame; int is_static, is_of_call; } Var;
typedef struct { char *at; unsigned long size, skip; } Alloc;   /* skip: nobody made up what stands before */
typedef struct { char *at; unsigned size; int write; void *pc; } Access;
/* a scalar that a call begins with; see `begin_with` */
typedef struct { long owner, index, offset, size, kind, into; unsigned long bits; char *at; } Entry;

typedef struct {
    int on, depth, context, contexts;
    unsigned serial, epoch;
    unsigned long events, limit;
    char *stack_top, *stack_low;
    Level levels[LEVELS];
    Cell cells[CELLS];
    Context context_of[CONTEXTS];
    Var vars[VARS];
    int live[VARS], lives;           /* variables on the stack, in the order of their births */
    int statics[VARS], static_count, of_calls;
    Alloc allocs[ALLOCS];
    int alloc_count;
    char *top, *pointers[64];
    unsigned long elements[64];
    int pointer_count;
    int update, updates, update_depth;   /* the update that is running, and how deep */
    char *update_frame;
    Access pending[PENDING];
    int pendings;
    sigjmp_buf back, filled;
    FILE *out;
    unsigned long rng;
    long long size, args[64];
    int arg_known[64], overlap;
    unsigned long said[1 << 16];
    unsigned said_epoch[1 << 16];
    char *given[64];
    Entry entries[ENTRIES];
    int entry_count;
    double reals[64];
    int real_known[64];
    /* of a run that is told byte by byte: the program's memory as it was, and what was touched */
    int trace;
    char *before, *data_before;
    unsigned long before_size;
    char *touched[TOUCHED];
    int touched_count;

    unsigned long cells_used;
} State;
#define S ((State *)0x100000000000)

extern const ww_query ww_queries[];
extern const int ww_first_query[];   /* by loop */
extern const ww_member ww_members[];
extern const int ww_member_count;
extern const int ww_header_vars[];     /* pairs: loop, variable; ordered by loop, ended by -1 */
extern const int ww_header_count;
extern const int ww_var_count;
extern const ww_case ww_cases[];
extern const int ww_case_count;
extern char __data_start, _end;
int ww_filling;

/* ---- what is said, once per call */

static unsigned long mix(unsigned long x) {
    x ^= x >> 31; x *= 0x9E3779B97F4A7C15ul; x ^= x >> 29; x *= 0xBF58476D1CE4E5B9ul; return x ^ (x >> 32);
}
static int first_time(unsigned long what) {
    for (unsigned long h = mix(what), n = 0; n < 64; n++, h++) {
        unsigned at = h & 0xFFFF;
        if (S->said_epoch[at] != S->epoch) {
            S->said_epoch[at] = S->epoch;
            S->said[at] = what;
            return 1;
        }
        if (S->said[at] == what) return 0;
    }
    return 0;
}

/* ---- what an address belongs to */

static int is_stack(const char *p) { return p < S->stack_top && p > S->stack_top - (8l << 20); }

/* the variable, or -1; allocations: -2 - number; -1000000: neither */
static int owner(const char *p) {
    if (p >= ARENA && p < ARENA + ARENA_SIZE) {
        int lo = 0, hi = S->alloc_count;
        while (lo < hi) {
            int m = (lo + hi) / 2;
            if (S->allocs[m].at <= p) lo = m + 1; else hi = m;
        }
        return lo && p < S->allocs[lo - 1].at + S->allocs[lo - 1].size ? -2 - (lo - 1) : -1000000;
    }
    if (is_stack(p)) {
        for (int n = S->lives; n-- > 0;) {
            Var *v = &S->vars[S->live[n]];
            if (p >= v->at && p < v->at + v->size) return S->live[n];
        }
        return -1;
    }
    for (int n = 0; n < S->static_count; n++) {
        Var *v = &S->vars[S->statics[n]];
        if (p >= v->at && p < v->at + v->size) return S->statics[n];
    }
    return -1000000;
}

/* conditions: 0 no, 1 yes, 2 not known */
int ww_and(int a, int b) { return a == 0 || b == 0 ? 0 : a == 1 && b == 1 ? 1 : 2; }

static void fault(const char *why);

static int whole(const char *p, Object *o) {
    int w = owner(p);
    if (w <= -2 && w != -1000000) { o->at = S->allocs[-2 - w].at; o->size = S->allocs[-2 - w].size; return 1; }
    if (w >= 0) { o->at = S->vars[w].at; o->size = S->vars[w].size; return 1; }
    return 0;
}

int ww_apart(const void *a, const void *b) {
    int x = owner(a), y = owner(b);
    if (x == -1 || y == -1 || x == -1000000 || y == -1000000) return a && b ? 2 : 1;
    return x != y;
}

/* ---- bytes */

/* eight neighbours stand side by side */
static unsigned long first_slot(const char *p, unsigned level) {
    return (mix((unsigned long)p >> 3 << 4 | level) << 3) + ((unsigned long)p & 7);
}

static Cell *cell(const char *p, int level) {
    unsigned long key = ((unsigned long)p << 4) | (unsigned)level;
    for (unsigned long h = first_slot(p, (unsigned)level);; h += 8) {
        Cell *c = &S->cells[h & (CELLS - 1)];
        if (c->epoch != S->epoch) {
            if (++S->cells_used > CELLS * 3ul / 4) fault("too many cells");
            c->epoch = S->epoch; c->key = key; c->serial = 0;
            return c;
        }
        if (c->key == key) return c;
    }
}
static void forget(char *from, char *to) {
    for (char *p = from; p < to; p++)
        for (int l = 0; l <= S->depth; l++) {
            unsigned long key = ((unsigned long)p << 4) | (l == S->depth ? 15u : (unsigned)l);
            for (unsigned long h = first_slot(p, (unsigned)(key & 15));; h += 8) {
                Cell *c = &S->cells[h & (CELLS - 1)];
                if (c->epoch != S->epoch) break;
                if (c->key != key) continue;
                c->serial = 0;
                break;
            }
        }
}

static void say(const char *what, Level *l, const char *p, int kind, int a, int b, void *pa, void *pb) {
    int who = owner(p);
    unsigned long id = (unsigned long)l->loop << 40 | (unsigned long)(who & 0xFFFFFFFF) << 8 | (unsigned long)kind << 5 | (unsigned long)l->holds << 2;
    if (!first_time(id | (what[0] == 'X' ? 0 : what[0] == 'E' ? 1 : 2))) return;
    long off = 0;
    Object o;
    if (whole(p, &o)) off = p - o.at;
    fprintf(S->out, "%s %d %d %d %d %ld %d %d %lx %lx\n", what, l->loop, l->holds, kind, who, off, a, b, (long)pa, (long)pb);
}

/* the reduction of the running update that a byte belongs to at a level, or -1 */
static int reduction(Level *l, const char *p) {
    int low = 0, high = ww_member_count;
    while (low < high) {
        int middle = (low + high) / 2;
        if (ww_members[middle].update < S->update) low = middle + 1; else high = middle;
    }
    for (int n = low; n < ww_member_count && ww_members[n].update == S->update; n++) {
        const ww_member *m = &ww_members[n];
        if (m->loop != l->loop) continue;
        Object *o = &l->objects[m->reduction];
        if (p >= o->at && p < o->at + o->size) return m->reduction;
    }
    return -1;
}

static void byte(char *p, int write, int in_update, void *pc, int from, int to) {
    for (int n = from; n < to; n++) {
        Level *l = &S->levels[n];
        int it = l->iteration;
        if (it < 0 || l->holds == 0) continue;
        Cell *c = cell(p, n);
        if (c->serial != l->serial) {
            c->serial = l->serial;
            c->wf = c->wl = c->rf = c->rl = c->kwf = c->kwl = c->krf = c->krl = c->k = NONE;
            c->flags = 0;
            c->wpc = c->rpc = 0;
        }
        for (unsigned q = 0; l->matched >> q; q++)
            if (l->matched >> q & 1) {
                /* kinds: 0 flow, 1 anti, 2 output */
                const ww_query *w = &ww_queries[ww_first_query[l->loop] + (int)q];
                int first = w->kind != 1, second = w->kind != 0;
                if (it == w->sink && write == second && (c->flags & (QUERY << q)) && first_time((0xAul << 56) + (unsigned)l->loop * 16u + q))
                    fprintf(S->out, "S %d %d %d\n", l->loop, (int)q, owner(p));
                if (it == w->source && write == first) c->flags |= QUERY << q;
            }
        int k = in_update ? reduction(l, p) : -1;
        if (k >= 0) {
            /* against accesses that are not of this reduction */
            if (c->k != NONE && c->k != k) say("X", l, p, 3, c->kwf, it, c->wpc, pc);
            if (write ? (c->rf != NONE && (c->rf != it || c->rl != it)) || (c->wf != NONE && (c->wf != it || c->wl != it))
                      : c->wf != NONE && (c->wf != it || c->wl != it))
                say("X", l, p, 4, c->wf != NONE ? c->wf : c->rf, it, c->wpc ? c->wpc : c->rpc, pc);
            c->k = k;
            if (write) { if (c->kwf == NONE) c->kwf = it; c->kwl = it; c->wpc = pc; }
            else { if (c->krf == NONE) c->krf = it; c->krl = it; c->rpc = pc; }
            continue;
        }
        if (c->kwf != NONE && (c->kwf != it || c->kwl != it)) say("X", l, p, 5, c->kwf != it ? c->kwf : c->kwl, it, c->wpc, pc);
        if (write && c->krf != NONE && (c->krf != it || c->krl != it)) say("X", l, p, 5, c->krf != it ? c->krf : c->krl, it, c->rpc, pc);
        if (write) {
            if (c->wf != NONE && c->wf != it) say("X", l, p, 2, c->wf, it, c->wpc, pc);
            if (c->rf != NONE && c->rf != it) say("X", l, p, 1, c->rf, it, c->rpc, pc);
            if (c->flags & EXPOSED) say("E", l, p, 0, c->rl, it, c->rpc, pc);
            if (c->wf == NONE) c->wf = it;
            c->wl = it;
            c->wpc = pc;
        } else {
            if (c->wf != NONE && c->wf != it) say("X", l, p, 0, c->wf, it, c->wpc, pc);
            if (c->wl != it) {
                c->flags |= EXPOSED;
                if (c->wf != NONE) say("E", l, p, 1, c->wl, it, c->wpc, pc);
            }
            if (c->rf == NONE) c->rf = it;
            c->rl = it;
            c->rpc = pc;
        }
    }
}

/* who wrote it last: a loop that has ended by now? */
static void last(char *p, int write, void *pc) {
    Cell *c = cell(p, 15);
    if (write) {
        c->serial = 1;
        c->k = S->context;
        c->wpc = pc;
    } else if (c->serial) {
        for (int x = c->k; x > 0; x = S->context_of[x].parent) {
            Context *k = &S->context_of[x];
            if (k->level < S->depth && S->levels[k->level].serial == k->serial) break;
            Level l = { .loop = k->loop, .holds = k->holds };
            say("O", &l, p, 0, 0, 0, c->wpc, pc);
        }
    }
}

/* a static that was said to begin anew in each call: one that is read first holds what another call left */
static void of_call(char *p, unsigned long size, int write) {
    int w = owner(p);
    if (w < 0 || !S->vars[w].is_of_call) return;
    for (unsigned long n = 0; n < size; n++) {
        Cell *c = cell(p + n, 13);
        if (write) c->serial = 2;
        else if (c->serial == 1) fault("another call's value");
    }
}

static void access_(char *p, unsigned long size, int write, void *pc) {
    if (S->on <= 0 || p == (char *)&ww_filling) return;
    if (++S->events > S->limit) fault("budget");
    if (is_stack(p)) { if (p < S->stack_low) S->stack_low = p; }
    else if (p >= ARENA && p < ARENA + ARENA_SIZE && owner(p) == -1000000) fault("out of bounds");
    S->events += size / 8;
    if (S->of_calls && !is_stack(p)) of_call(p, size, write);
    if (S->trace && !is_stack(p))
        for (unsigned long n = 0; n < size; n++) {
            Cell *c = cell(p + n, 14);
            if (!c->serial) {
                c->serial = 1;
                c->rf = c->wf = 0;
                if (S->touched_count < TOUCHED) S->touched[S->touched_count++] = p + n; else S->trace = 0;
            }
            if (write) c->wf++; else c->rf++;
        }
    if (S->updates) {
        if (S->pendings == PENDING || size > 1 << 16) fault("update too long");
        S->pending[S->pendings++] = (Access){ p, (unsigned)size, write, pc };
    }
    /* loops of a function that the update calls see it at once */
    int from = S->updates ? S->update_depth : 0;
    for (unsigned long n = 0; n < size; n++) {
        byte(p + n, write, 0, pc, from, S->depth);
        last(p + n, write, pc);
    }
}

#define FRAME (*(char **)__builtin_frame_address(0))
void ww_update(int update) {
    if (S->on <= 0 || S->updates++ > 0) return;
    S->update = update;
    S->update_depth = S->depth;
    S->update_frame = FRAME;
}
static void updated(void) {
    /* of what accumulates: `if ((t = e) > m) m = t` sets `t` where `m` is only compared, too */
    int wrote = 0;
    for (int n = 0; n < S->pendings; n++)
        for (int d = 0; d < S->update_depth && S->pending[n].write && !wrote; d++)
            wrote = reduction(&S->levels[d], S->pending[n].at) >= 0;
    for (int n = 0; n < S->pendings; n++) {
        Access *a = &S->pending[n];
        for (unsigned b = 0; b < a->size; b++) {
            char *p = a->at + b;
            int mine = 0;
            for (int d = 0; d < S->update_depth && !wrote && !mine; d++) mine = reduction(&S->levels[d], p) >= 0;
            for (int k = 0; k < S->pendings && !mine; k++)
                mine = S->pending[k].write && p >= S->pending[k].at && p < S->pending[k].at + S->pending[k].size;
            byte(p, a->write, mine, a->pc, 0, S->update_depth);
        }
    }
    S->pendings = 0;
}
void ww_updated(void) { if (S->on > 0 && S->updates > 0 && --S->updates == 0) updated(); }
/* an update that was left by a jump: what marks its function is not in what it calls */
static void flush(char *frame) {
    if (!S->updates || frame < S->update_frame) return;
    S->updates = 0;
    if (S->update_depth <= S->depth) updated();
    S->pendings = 0;
}

/* ---- marks */

void ww_off(void) { S->on--; }
void ww_on(void) { S->on++; }

static void born(int var, char *at, unsigned long size, char *frame) {
    Var *v = &S->vars[var];
    if (v->at != at || v->frame != frame || v->size != size) {
        int there = 0;
        for (int n = 0; n < S->lives; n++) if (S->live[n] == var) there = 1;
        if (!there && S->lives < VARS) S->live[S->lives++] = var;
        *v = (Var){ at, size, frame, 0, 0 };
    }
}
void ww_var(int var, void *at, unsigned long size) {
    if (S->on <= 0) return;
    born(var, at, size, FRAME);
    if (is_stack(at)) forget(at, (char *)at + size);
}
void ww_header(int var, int loop, void *at, unsigned long size) { (void)loop; if (S->on > 0) born(var, at, size, FRAME); }
void ww_static(int var, void *at, unsigned long size) {
    for (int n = 0; n < S->static_count; n++) if (S->statics[n] == var) return;
    S->vars[var] = (Var){ at, size, 0, 1, 0 };
    S->statics[S->static_count++] = var;
}
void ww_of_call(int var, void *at, unsigned long size) {
    if (S->on <= 0) return;
    ww_static(var, at, size);
    S->of_calls += !S->vars[var].is_of_call;
    S->vars[var].is_of_call = 1;
    forget(at, (char *)at + size);
    for (unsigned long n = 0; n < size; n++) cell((char *)at + n, 13)->serial = 1;
}
void ww_wrote(void *at, unsigned long size) { access_(at, size, 1, __builtin_return_address(0)); }

static int context(Level *l, int parent) {
    int level = (int)(l - S->levels);
    if (S->contexts == CONTEXTS) fault("too many iterations");
    S->context_of[S->contexts] = (Context){ parent, l->loop, l->serial, level, l->holds };
    return S->contexts++;
}

/* between ww_off and ww_on */
void ww_begin(int loop, int holds) {
    if (S->on < 0) return;
    flush(FRAME);
    if (S->depth == LEVELS) fault("too deep");
    Level *l = &S->levels[S->depth];
    l->loop = loop;
    l->holds = holds;
    l->iteration = NONE;
    l->serial = ++S->serial;
    l->matched = 0;
    l->asked = 0;
    for (int n = 0; n < REDUCTIONS; n++) l->objects[n] = (Object){ 0, 0, 0 };
    l->context = context(l, S->context);
    S->context = l->context;
    int low = 0, high = ww_header_count;
    while (low < high) {
        int middle = (low + high) / 2;
        if (ww_header_vars[2 * middle] < loop) low = middle + 1; else high = middle;
    }
    for (const int *h = ww_header_vars + 2 * low; *h == loop; h += 2)
        if ( S->vars[h[1]].frame == FRAME && S->vars[h[1]].at)
            forget(S->vars[h[1]].at, S->vars[h[1]].at + S->vars[h[1]].size);
    S->depth++;
}
int ww_fresh(int loop) {
    if (S->on <= 0 || S->depth == 0) return 0;
    Level *l = &S->levels[S->depth - 1];
    return l->loop == loop && l->iteration == NONE && !l->asked;
}
/* between ww_off and ww_on */
void ww_match(int loop, unsigned matched) {
    if (S->on < 0 || S->depth == 0 || S->levels[S->depth - 1].loop != loop) return;
    S->levels[S->depth - 1].asked = 1;
    S->levels[S->depth - 1].matched = matched;
    for (unsigned q = 0; q < 16; q++)
        if (matched >> q & 1 && first_time((0xBul << 56) + (unsigned)loop * 16 + q)) fprintf(S->out, "M %d %u\n", loop, q);
}
void ww_object(int reduction, void *at, unsigned long size, int kept) {
    if (S->on < 0 || S->depth == 0) return;
    Object o = { at, size, kept };
    if (size == 0 && !whole(at, &o)) o = (Object){ 0, 0, 0 };
    S->levels[S->depth - 1].objects[reduction] = o;
    o.kept = kept;
    if (kept) S->levels[S->depth - 1].objects[reduction].kept = 1, fprintf(S->out, "K %d %d\n", S->levels[S->depth - 1].loop, owner(o.at));
}
void ww_leave(int *loop) {
    if (S->on <= 0) return;
    flush(FRAME);
    for (int n = S->depth; n-- > 0;)
        if (S->levels[n].loop == *loop) {
            Level *l = &S->levels[n];
            if (first_time((0xCul << 56) + (unsigned)*loop * 64 + (unsigned)(l->iteration < 8 ? l->iteration + 1 : 9) * 4 + (unsigned)l->holds))
                fprintf(S->out, "L %d %d %d\n", *loop, l->holds, l->iteration + 1);
            S->context = S->context_of[l->context].parent;
            S->depth = n;
            return;
        }
}
void ww_iter(int loop, long long index) {
    if (S->on <= 0 || S->depth == 0) return;
    flush(FRAME);
    if (++S->events > S->limit) fault("budget");
    Level *l = &S->levels[S->depth - 1];
    if (l->loop != loop) fault("marks");
    l->iteration++;
    if (l->iteration == 1) l->step = index - l->index;
    if (l->iteration > 0 && l->holds == 1 && first_time((0xDul << 56) + (unsigned)loop * 97 + mix((unsigned long)(index - l->index)) % 97))
        fprintf(S->out, "I %d %lld\n", loop, index - l->index);
    l->index = index;
    S->context = context(l, l->context);
}

/* ---- what gcc calls */

#define PC __builtin_return_address(0)
#define BOTH(n) \
    void __tsan_read##n(void *p) { access_(p, n, 0, PC); } \
    void __tsan_write##n(void *p) { access_(p, n, 1, PC); } \
    void __tsan_unaligned_read##n(void *p) { access_(p, n, 0, PC); } \
    void __tsan_unaligned_write##n(void *p) { access_(p, n, 1, PC); } \
    void __tsan_volatile_read##n(void *p) { access_(p, n, 0, PC); } \
    void __tsan_volatile_write##n(void *p) { access_(p, n, 1, PC); } \
    void __tsan_unaligned_volatile_read##n(void *p) { access_(p, n, 0, PC); } \
    void __tsan_unaligned_volatile_write##n(void *p) { access_(p, n, 1, PC); }
BOTH(1) BOTH(2) BOTH(4) BOTH(8) BOTH(16)
void __tsan_read_range(void *p, unsigned long n) { access_(p, n, 0, PC); }
void __tsan_write_range(void *p, unsigned long n) { access_(p, n, 1, PC); }
void __tsan_init(void) {}
void __tsan_vptr_update(void **p, void *v) { (void)v; access_((char *)p, 8, 1, PC); }
void __tsan_vptr_read(void **p) { access_((char *)p, 8, 0, PC); }
void __tsan_func_entry(void *pc) { (void)pc; }
/* the function's own frame and all below it is dead */
void __tsan_func_exit(void) {
    if (S->on <= 0) return;
    char *frame = FRAME;
    flush(frame);
    if (S->updates) {
        int kept = 0;
        for (int n = 0; n < S->pendings; n++)
            if (!is_stack(S->pending[n].at) || S->pending[n].at >= frame) S->pending[kept++] = S->pending[n];
        S->pendings = kept;
    }
    while (S->lives && S->vars[S->live[S->lives - 1]].frame && S->vars[S->live[S->lives - 1]].frame <= frame) {
        S->vars[S->live[--S->lives]] = (Var){ 0, 0, 0, 0, 0 };
    }
    if (S->stack_low < frame) {
        forget(S->stack_low, frame);
        S->stack_low = frame;
    }
}

/* ---- the library's functions that touch memory; linked with --wrap */

static char *grow(unsigned long size) {
    if (S->alloc_count == ALLOCS || size > (1ul << 28)) return 0;
    char *p = (char *)(((unsigned long)S->top + 64 + 63) & ~63ul);
    S->top = p + size;
    S->allocs[S->alloc_count++] = (Alloc){ p, size };
    return p;
}
#define NOTE(p, n, w) do { if (S->on > 0 && (n)) access_((char *)(p), n, w, PC); } while (0)
extern void *__real_malloc(unsigned long);
extern void *__real_realloc(void *, unsigned long);
extern void __real_free(void *);
extern void *__real_calloc(unsigned long, unsigned long);
void *__wrap_malloc(unsigned long n) { return S->on > 0 ? grow(n) : __real_malloc(n); }
void *__wrap_calloc(unsigned long n, unsigned long m) {
    if (S->on <= 0) return __real_calloc(n, m);
    n *= m;
    char *p = grow(n);
    NOTE(p, n, 1);
    return p;
}
void *__wrap_realloc(void *old, unsigned long n) {
    if (S->on <= 0) return __real_realloc(old, n);
    char *p = grow(n);
    Object o;
    if (p && old && whole(old, &o)) {
        unsigned long k = o.size < n ? o.size : n;
        NOTE(old, k, 0);
        NOTE(p, k, 1);
        memcpy(p, old, k);
    }
    return p;
}
void __wrap_free(void *p) { if (!p || ((char *)p >= ARENA && (char *)p < ARENA + ARENA_SIZE)) return; if (S->on <= 0) __real_free(p); }
extern void *__real_memcpy(void *, const void *, unsigned long);
extern void *__real_memmove(void *, const void *, unsigned long);
extern void *__real_memset(void *, int, unsigned long);
extern int __real_memcmp(const void *, const void *, unsigned long);
extern unsigned long __real_strlen(const char *);
void *__wrap_memcpy(void *d, const void *s, unsigned long n) { NOTE(s, n, 0); NOTE(d, n, 1); return __real_memcpy(d, s, n); }
void *__wrap_memmove(void *d, const void *s, unsigned long n) { NOTE(s, n, 0); NOTE(d, n, 1); return __real_memmove(d, s, n); }
void *__wrap_memset(void *d, int c, unsigned long n) { NOTE(d, n, 1); return __real_memset(d, c, n); }
int __wrap_memcmp(const void *a, const void *b, unsigned long n) { NOTE(a, n, 0); NOTE(b, n, 0); return __real_memcmp(a, b, n); }
unsigned long __wrap_strlen(const char *s) { unsigned long n = __real_strlen(s); NOTE(s, n + 1, 0); return n; }
char *__wrap_strcpy(char *d, const char *s) { unsigned long n = __real_strlen(s) + 1; NOTE(s, n, 0); NOTE(d, n, 1); return __real_memcpy(d, s, n); }
int __wrap_rand(void) { static int state; int *p = &state; NOTE(p, 4, 0); NOTE(p, 4, 1); return (int)(mix((unsigned long)++*p) & 0x7FFFFFFF); }
void __wrap_exit(int n) { (void)n; fault("exit"); abort(); }
void __wrap_abort(void) { fault("abort"); _exit(9); }
/* what `assert` expands to where it does not hold (glibc's assert.h) */
void __wrap___assert_fail(const char *what, const char *file, unsigned line, const char *function) {
    (void)what, (void)file, (void)line, (void)function;
    fault("assertion");
    _exit(9);
}
