/* What marked programs call. Positions of the calls are inserted by `marks.rs`; what they mean is in `runtime.c`. */
#ifndef WW_TRACED_H
#define WW_TRACED_H
#define WW_QUIET __attribute__((no_sanitize("thread", "undefined")))
typedef struct { int loop, kind; long source, sink; } ww_query;
/* ordered by update */
typedef struct { int update, loop, reduction; } ww_member;
typedef struct { const char *name; void (*fill)(void); void (*call)(void); } ww_case;
/* scalars of an element: where, of how many bytes, how many, and whether integers (0), floating (1) or truth values (2) */
typedef struct { unsigned offset, size, count, kind; } ww_row;
extern int ww_filling;
/* a variable begins to live; one of a loop's header; one that lives throughout */
void ww_var(int var, void *at, unsigned long size);
void ww_header(int var, int loop, void *at, unsigned long size);
void ww_static(int var, void *at, unsigned long size);
/* a static that is said to hold nothing from call to call */
void ww_of_call(int var, void *at, unsigned long size);
/* a structure was written by a call's result */
void ww_wrote(void *at, unsigned long size);
void ww_off(void);
void ww_on(void);
/* a loop begins: whether its run-time conditions hold (2: not known) */
void ww_begin(int loop, int holds);
/* whether its condition is evaluated for the first time; which witnesses' values it has */
int ww_fresh(int loop);
void ww_match(int loop, unsigned matched);
void ww_object(int reduction, void *at, unsigned long size, int kept);
void ww_leave(int *);
void ww_iter(int loop, long long index);
void ww_update(int update);
void ww_updated(void);
/* whether two addresses lie in different objects; 2: not known */
int ww_and(int, int);
int ww_apart(const void *, const void *);
/* inputs */
long long ww_arg(int n);
double ww_real(void);
double ww_real_arg(int n);
/* what the function returned */
void ww_whole(long long);
void ww_floating(double);
void *ww_room(int pointer, unsigned long element, int shares);
long ww_count(void *);
void ww_int(void *at, unsigned long size);
long long ww_small(void);
void ww_float(void *at, unsigned long size);
void ww_rows(void *at, unsigned long element, long count, const ww_row *rows, int n);
void ww_filled(void);
void *ww_given(int n);
long long ww_size(void);
void ww_fill(int function, void (*)(void));
#endif
