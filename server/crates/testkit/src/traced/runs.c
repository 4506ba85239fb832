/* The second half of the runtime, behind `runtime.c` in one text: made-up inputs, and the runs that are asked for. */

/* ---- inputs */

static unsigned long bits(void) { S->rng ^= S->rng << 13; S->rng ^= S->rng >> 7; S->rng ^= S->rng << 17; return mix(S->rng); }
static long between(long a, long b) { return a + (long)(bits() % (unsigned long)(b - a + 1)); }
long long ww_arg(int n) { return S->args[n]; }
double ww_real(void) { return (double)between(-16, 16) / 4; }
double ww_real_arg(int n) {
    if (n >= 64) return ww_real();
    if (!S->real_known[n]) S->reals[n] = ww_real();
    S->real_known[n] = 1;
    return S->reals[n];
}
void ww_whole(long long v) { if (S->trace) fprintf(S->out, "V %lld\n", v); }
void ww_floating(double v) {
    unsigned long bits;
    memcpy(&bits, &v, 8);
    if (S->trace) fprintf(S->out, "V %lu\n", bits);
}
long long ww_small(void) { return bits() % 16 == 0 ? -1 : between(0, S->size > 3 ? S->size : 3); }
void ww_int(void *at, unsigned long size) { long long v = ww_small(); memcpy(at, &v, size < 8 ? size : 8); }
void ww_float(void *at, unsigned long size) {
    double d = ww_real();
    float f = (float)d;
    long double l = d;
    if (size == 4) memcpy(at, &f, 4); else if (size == 8) memcpy(at, &d, 8); else memcpy(at, &l, size);
}
long ww_count(void *p) { (void)p; return 700 + S->size * S->size * 3; }
/* room for a pointer's target; `shares`: whether it may lie in memory that another pointer has */
void *ww_room(int n, unsigned long element, int shares) {
    if (!element) element = 1;
    if (S->overlap && shares && n >= 0 && bits() % 2)
        for (int k = 0; k < n; k++)
            if (S->pointers[k] && S->elements[k] == element) {
                S->elements[n] = element;
                return S->given[n] = S->pointers[n] = S->pointers[k] + between(-3, 3) * (long)element;
            }
    unsigned long count = (unsigned long)ww_count(0);
    unsigned long size = count * element + 2 * GUARD;
    if (size > 1ul << 27) size = 1ul << 27;
    char *p = grow(size);
    if (!p) fault("no memory");
    unsigned long first = GUARD / element * element, near = 4096 + 3 * element;
    S->allocs[S->alloc_count - 1].skip = first > near ? first - near : 0;
    p += first;
    if (n >= 0) { S->given[n] = p; S->pointers[n] = shares ? p : 0; S->elements[n] = element; }
    return p;
}
void ww_rows(void *at, unsigned long element, long count, const ww_row *rows, int n) {
    char *p = at;
    for (long k = 0; k < count && k < 20000; k++, p += element)
        for (int r = 0; r < n; r++)
            for (unsigned e = 0; e < rows[r].count && e < 100000; e++) {
                char *to = p + rows[r].offset + e * rows[r].size;
                if (rows[r].kind == 0) ww_int(to, rows[r].size);
                else if (rows[r].kind == 1) ww_float(to, rows[r].size);
                else *to = ww_small() & 1;
            }
}
void ww_filled(void) { ww_filling = 0; siglongjmp(S->filled, 1); }

/* ---- the runs */

static void fault(const char *why) {
    fprintf(S->out, "F %s\n", why);
    siglongjmp(S->back, 1);
}
static void signalled(int s) {
    if (s == SIGPROF) {
        /* the next access ends the call; without one nothing can */
        if (S->limit == 0) { fflush(S->out); _exit(7); }
        S->limit = 0;
        return;
    }
    fault(s == SIGILL ? "undefined" : s == SIGSEGV || s == SIGBUS ? "memory" : s == SIGFPE ? "arithmetic" : "signal");
}

static int is_ours(const char *p, long size) {
    return (p >= ARENA && p + size <= S->top) || (p >= &__data_start && p + size <= &_end);
}
/* where the pointer of an entry leads */
static char *behind(long n) {
    if (n < 0 || n >= S->entry_count) return 0;
    Entry *e = &S->entries[n];
    if (e->owner == 0) return e->index < 64 && e->offset == 0 ? S->given[e->index] : 0;
    char *p = 0;
    if (e->at && is_ours(e->at, 8)) memcpy(&p, e->at, 8);
    return p;
}
/* Puts into parameters (0), rooms of structures given by value (3), variables (1) and what entries point to (2) what is asked for:
   integers (0), floating numbers (1), null (2), a pointer into what another entry's points to (4), bits (5). Others stay as they are. */
static void begin_with(void) {
    for (int k = 0; k < S->entry_count; k++) {
        Entry *e = &S->entries[k];
        char *from = e->owner == 1 ? (e->index >= 0 && e->index < ww_var_count ? S->vars[e->index].at : 0)
                   : e->owner == 2 ? behind(e->index)
                   : e->owner == 3 && e->index < 64 ? S->given[e->index] : 0;
        if (e->kind == 5 && from) {
            for (long n = 0; n < e->size; n++) {
                char *at = from + ((e->offset + n) >> 3);
                int bit = 1 << ((e->offset + n) & 7);
                if (is_ours(at, 1)) *at = (char)((*at & ~bit) | (e->bits >> n & 1 ? bit : 0));
            }
            continue;
        }
        e->at = from ? from + e->offset : 0;
        char *target = e->kind == 4 ? behind(e->into) : 0;
        if (target) target += (long)e->bits;
        if (e->owner == 0) {
            if (e->index >= 64) continue;
            if (e->kind == 0) S->args[e->index] = (long long)e->bits;
            if (e->kind == 1) { memcpy(&S->reals[e->index], &e->bits, 8); S->real_known[e->index] = 1; }
            if (e->kind == 2 || target) S->given[e->index] = target;
        } else if (e->at && e->size <= 16 && is_ours(e->at, e->size)) {
            double d;
            memcpy(&d, &e->bits, 8);
            float f = (float)d;
            if (e->kind == 0) memcpy(e->at, &e->bits, (unsigned long)(e->size < 8 ? e->size : 8));
            if (e->kind == 1) memcpy(e->at, e->size == 4 ? (void *)&f : (void *)&d, e->size == 4 ? 4 : 8);
            if (e->kind == 2 || target) memcpy(e->at, &target, 8);
        }
    }
}

/* for a run that is told: what is there now */
static void remember(void) {
    unsigned long data = (unsigned long)(&_end - &__data_start), arena = (unsigned long)(S->top - ARENA);
    S->data_before = mmap(0, data, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    S->before_size = arena;
    S->before = mmap(0, arena, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    memcpy(S->data_before, &__data_start, data);
    for (int k = 0; k < S->alloc_count; k++) {
        Alloc a = S->allocs[k];
        unsigned long end = a.skip && a.size > 2 * GUARD + 4096 ? a.size - GUARD + 4096 : a.size;
        memcpy(S->before + (a.at + a.skip - ARENA), a.at + a.skip, end - a.skip);
    }
}
/* every byte that was touched: whose it is, where in it, what it held before and holds now, how often it was read and written */
static void tell(void) {
    for (int k = 0; k < 64; k++) {
        unsigned long bits;
        memcpy(&bits, &S->reals[k], 8);
        if (S->real_known[k]) fprintf(S->out, "D %d %lu\n", k, bits);
    }
    for (int k = 0; k < S->touched_count; k++) {
        char *p = S->touched[k];
        Cell *c = cell(p, 14);
        int who = owner(p), parameter = -1;
        unsigned char was = 0;
        long at = 0;
        if (p >= ARENA && p < ARENA + ARENA_SIZE) {
            for (int n = 0; n < 64 && who < -1; n++)
                if (S->given[n] && owner(S->given[n]) == who) { parameter = n; break; }
            if (parameter >= 0) at = p - S->given[parameter];
            was = (unsigned char)S->before[p - ARENA];
        } else if (who >= 0 && S->vars[who].is_of_call) {
            continue;
        } else if (who >= 0) {
            at = p - S->vars[who].at;
            was = (unsigned char)S->data_before[p - &__data_start];
        }
        fprintf(S->out, "B %d %d %ld %d %d %d %d\n", parameter, who, at, was, (unsigned char)*p, c->rf, c->wf);
    }
    fprintf(S->out, "Z\n");
}

static void run(int n) {
    ww_filling = 0;
    S->on = 0;
    ww_cases[n].fill();
    begin_with();
    if (S->trace) remember();
    S->stack_top = (char *)__builtin_frame_address(0);
    S->stack_low = S->stack_top;
    S->on = 1;
    ww_cases[n].call();
    S->on = 0;
    /* what was written in loops and is there for others to see */
    for (int k = 0; k < S->static_count; k++) {
        Var *v = &S->vars[S->statics[k]];
        /* nobody sees it again: the next call's reads are looked at themselves */
        if (v->is_of_call) continue;
        for (unsigned long b = 0; b < v->size; b++) {
            Cell *c = cell(v->at + b, 15);
            if (!c->serial) continue;
            for (int x = c->k; x > 0; x = S->context_of[x].parent) {
                Level l = { .loop = S->context_of[x].loop, .holds = S->context_of[x].holds };
                say("O", &l, v->at + b, 1, 0, 0, c->wpc, 0);
            }
        }
    }
    if (S->trace) tell();
    fprintf(S->out, "R\n");
}

void *ww_given(int n) { return S->given[n]; }
long long ww_size(void) { return S->size; }
/* lets the function fill the memory of its parameters instead of running */
void ww_fill(int function, void (*f)(void)) {
    ww_filling = function;
    if (!sigsetjmp(S->filled, 0)) f();
    ww_filling = 0;
}

int main(int argc, char **argv) {
    if (argc < 2) return 2;
    void *state = mmap(S, sizeof(State), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
    void *arena = mmap(ARENA, ARENA_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
    if (state != (void *)S || arena != (void *)ARENA) return 3;
    S->out = fopen(argv[1], "w");
    if (!S->out) return 4;
    static char alternate[1 << 16];
    stack_t st = { .ss_sp = alternate, .ss_size = sizeof alternate };
    sigaltstack(&st, 0);
    int all[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGPROF, SIGTRAP };
    for (unsigned n = 0; n < sizeof all / sizeof *all; n++) {
        struct sigaction sa;
        memset(&sa, 0, sizeof sa);
        sa.sa_handler = signalled;
        sa.sa_flags = SA_ONSTACK | SA_NODEFER;
        sigaction(all[n], &sa, 0);
    }
    unsigned long data = (unsigned long)(&_end - &__data_start);
    char *image = mmap(0, data, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(image, &__data_start, data);
    static char line[1 << 14];
    char *words = mmap(0, sizeof line, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    while (fgets(words, sizeof line, stdin)) {
        /* case seed size overlap trace limit args… */
        char *at = words;
        int n = (int)strtol(at, &at, 10);
        unsigned long seed = strtoul(at, &at, 10);
        long long size = strtoll(at, &at, 10);
        int overlap = (int)strtol(at, &at, 10);
        int trace = (int)strtol(at, &at, 10);
        unsigned long limit = strtoul(at, &at, 10);
        long long args[64] = { 0 };
        for (int k = 0; k < 64; k++) {
            char *before = at;
            args[k] = strtoll(at, &at, 10);
            if (at == before) break;
        }
        /* then entries: @ owner index offset size kind into bits */
        S->entry_count = 0;
        memset(S->real_known, 0, sizeof S->real_known);
        while ((at = strchr(at, '@')) && S->entry_count < ENTRIES) {
            Entry *e = &S->entries[S->entry_count++];
            long *parts[] = { &e->owner, &e->index, &e->offset, &e->size, &e->kind, &e->into };
            at++;
            for (int k = 0; k < 6; k++) *parts[k] = strtol(at, &at, 10);
            e->bits = strtoul(at, &at, 10);
            e->at = 0;
        }
        if (n < 0 || n >= ww_case_count) return 5;
        memcpy(&__data_start, image, data);
        if (S->top > ARENA) madvise(ARENA, (unsigned long)(S->top - ARENA), MADV_DONTNEED);
        S->epoch++;
        S->cells_used = 0;
        S->depth = S->context = S->updates = S->pendings = S->static_count = S->alloc_count = S->pointer_count = S->lives = S->of_calls = 0;
        S->contexts = 1;
        S->serial = 1;
        S->events = 0;
        S->limit = limit;
        S->top = ARENA + 4096;
        memset(S->pointers, 0, sizeof S->pointers);
        memset(S->given, 0, sizeof S->given);
        memset(S->vars, 0, sizeof *S->vars * (unsigned long)ww_var_count);
        S->rng = seed * 2654435761ul + 88172645463325252ul;
        S->size = size;
        S->overlap = overlap;
        S->trace = trace;
        S->touched_count = 0;
        if (S->before) munmap(S->before, S->before_size);
        if (S->data_before) munmap(S->data_before, data);
        S->before = S->data_before = 0;
        memcpy(S->args, args, sizeof args);
        fprintf(S->out, "C %d\n", n);
        /* of the processor: a busy machine ends nothing */
        struct itimerval t = { { 0, 300000 }, { 0, 300000 } };
        setitimer(ITIMER_PROF, &t, 0);
        if (!sigsetjmp(S->back, 0)) run(n);
        S->on = 0;
        fflush(S->out);
        struct itimerval stop = { { 0, 0 }, { 0, 0 } };
        setitimer(ITIMER_PROF, &stop, 0);
    }
    fprintf(S->out, "end\n");
    return fclose(S->out) != 0;
}
