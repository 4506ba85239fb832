/* The second half of the runtime, behind `runtime.c` in one text: made-up inputs, and the runs that are asked for. */

/* ---- inputs */

static unsigned long bits(void) { S->rng ^= S->rng << 13; S->rng ^= S->rng >> 7; S->rng ^= S->rng << 17; return mix(S->rng); }
static long between(long a, long b) { return a + (long)(bits() % (unsigned long)(b - a + 1)); }
long long ww_arg(int n) { return S->args[n]; }
double ww_real(void) { return (double)between(-16, 16) / 4; }
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
    p += GUARD / element * element;
    if (n >= 0) { S->given[n] = p; S->pointers[n] = shares ? p : 0; S->elements[n] = element; }
    return p;
}
void ww_filled(void) { ww_filling = 0; siglongjmp(S->filled, 1); }

/* ---- the runs */

static void fault(const char *why) {
    fprintf(S->out, "F %s\n", why);
    siglongjmp(S->back, 1);
}
static void signalled(int s) {
    if (s == SIGALRM) {
        /* the next access ends the call; without one nothing can */
        if (S->limit == 0) { fflush(S->out); _exit(7); }
        S->limit = 0;
        return;
    }
    fault(s == SIGILL ? "undefined" : s == SIGSEGV || s == SIGBUS ? "memory" : s == SIGFPE ? "arithmetic" : "signal");
}

static void run(int n) {
    ww_filling = 0;
    S->on = 0;
    ww_cases[n].fill();
    S->stack_top = (char *)__builtin_frame_address(0);
    S->stack_low = S->stack_top;
    S->on = 1;
    ww_cases[n].call();
    S->on = 0;
    /* what was written in loops and is there for others to see */
    for (int k = 0; k < S->static_count; k++) {
        Var *v = &S->vars[S->statics[k]];
        for (unsigned long b = 0; b < v->size; b++) {
            Cell *c = cell(v->at + b, 15);
            if (!c->serial) continue;
            for (int x = c->k; x > 0; x = S->context_of[x].parent) {
                Level l = { .loop = S->context_of[x].loop, .holds = S->context_of[x].holds };
                say("O", &l, v->at + b, 1, 0, 0, c->wpc, 0);
            }
        }
    }
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
    int all[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGALRM, SIGTRAP };
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
        /* case seed size overlap limit args… */
        char *at = words;
        int n = (int)strtol(at, &at, 10);
        unsigned long seed = strtoul(at, &at, 10);
        long long size = strtoll(at, &at, 10);
        int overlap = (int)strtol(at, &at, 10);
        unsigned long limit = strtoul(at, &at, 10);
        long long args[64] = { 0 };
        for (int k = 0; k < 64; k++) {
            char *before = at;
            args[k] = strtoll(at, &at, 10);
            if (at == before) break;
        }
        if (n < 0 || n >= ww_case_count) return 5;
        memcpy(&__data_start, image, data);
        if (S->top > ARENA) madvise(ARENA, (unsigned long)(S->top - ARENA), MADV_DONTNEED);
        S->epoch++;
        S->cells_used = 0;
        S->depth = S->context = S->updates = S->pendings = S->static_count = S->alloc_count = S->pointer_count = S->lives = 0;
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
        memcpy(S->args, args, sizeof args);
        fprintf(S->out, "C %d\n", n);
        struct itimerval t = { { 2, 0 }, { 3, 0 } };
        setitimer(ITIMER_REAL, &t, 0);
        if (!sigsetjmp(S->back, 0)) run(n);
        S->on = 0;
        fflush(S->out);
        struct itimerval stop = { { 0, 0 }, { 0, 0 } };
        setitimer(ITIMER_REAL, &stop, 0);
    }
    fprintf(S->out, "end\n");
    return fclose(S->out) != 0;
}
