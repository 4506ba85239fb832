/* Functions whose first loop is offloaded by tests/run.rs and run beside the original. */
#include <math.h>
#include <stddef.h>

struct body { float x, v; double mass; int tag; };

double coefficients[3] = {0.25, 0.5, 0.25};
int shift = 3;

void saxpy(int n, float a, const float *x, float *y)
{
    for (int i = 0; i < n; i++)
        y[i] = a * x[i] + y[i];
}

void copy_restrict(int n, const double *restrict from, double *restrict to)
{
    for (int i = 0; i < n; i++) { to[i] = from[i] * 2; }
}

int heat(int n, int m, double a[n][m], double b[n][m])
{
    int i, j;
    for (i = 1; i < n - 1; i++)
        for (j = 1; j < m - 1; j++)
            b[i][j] = 0.25 * (a[i - 1][j] + a[i + 1][j] + a[i][j - 1] + a[i][j + 1]);
    return i;
}

void triangle(int n, float a[n][n])
{
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++)
            a[i][j] = a[i][j] * 2 + i - j;
}

void lower(int n, double a[n][n])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++)
            a[i][j] = i * 1000 + j;
}

double dot(long n, const double *x, const double *y)
{
    double s = 1;
    for (long i = 0; i < n; i++) {
        s += x[i] * y[i];
    }
    return s;
}

int sum_int(int n, const int *x)
{
    int s = 7;
    for (int i = 0; i < n; ++i) s += x[i];
    return s;
}

unsigned hash(int n, const unsigned *x)
{
    unsigned h = 0x9e3779b9u;
    for (int i = 0; i < n; i++) h ^= x[i] * 2654435761u;
    return h;
}

float largest(int n, const float *x, float start)
{
    float m = start;
    for (int i = 0; i < n; i++)
        if (x[i] > m)
            m = x[i];
    return m;
}

double smallest(int n, const double *x, double m)
{
    for (int i = 0; i < n; i++) m = fmin(m, x[i]);
    return m;
}

int all_positive(int n, const int *x)
{
    int all = 1;
    for (int i = 0; i < n; i++) all &= x[i] > 0;
    return all;
}

double scale_and_sum(int n, double *x, double f)
{
    double s = 0;
    int count = 0;
    for (int i = 0; i < n; i++) {
        double v = x[i] * f;
        x[i] = v;
        s += v;
        count += v > 0;
    }
    return s + count;
}

int spread(int n, const short *a, int *b)
{
    int k = 3;
    for (int i = 0; i < n; i++) {
        b[k] = a[i];
        k += 2;
    }
    return k;
}

void roots(int n, const float *x, float *y)
{
    for (int i = 0; i < n; i++) y[i] = sqrt(x[i]) + fabs(x[i] - 0.1f) * 1e-3;
}

void move(int n, struct body *p, float dt)
{
    for (int i = 0; i < n; i++) {
        p[i].x += p[i].v * dt;
        p[i].tag = i;
    }
}

int backwards(int n, const int *a, int *b)
{
    int i;
    for (i = n - 1; i >= 0; i -= 3)
        b[i] = a[i] / 3;
    return i;
}

void product(int n, int m, int l, double a[n][l], double b[l][m], double c[n][m])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) {
            double s = 0;
            for (int k = 0; k < l; k++)
                s += a[i][k] * b[k][j];
            c[i][j] = s;
        }
}

void keywords(int n, const int *new, int *class)
{
    for (int this = 0; this < n; this++) {
        int template = new[this], max = 3;
        class[this] = template % max ? template : -template;
    }
}

void cube(int n, int a[n][n][n])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (int k = 0; k < n; k++)
                a[i][j][k] = i * 10000 + j * 100 + k;
}

void flat(size_t n, size_t m, double *a)
{
    for (size_t i = 0; i < n; i += 2)
        a[2 * i + 1] += (double)(i + m);
}

void branches(int n, const unsigned char *x, int *y)
{
    for (int i = 0; i < n; i++) {
        int t[3] = {x[i], -1};
        int r = 0;
        y[i] = -5;
        if (x[i] % 5 == 0) {
            continue;
        }
        switch (x[i] & 3) {
        case 0: r = t[0] << 2; break;
        case 1: { int u = ~x[i]; r = u; } /* falls through */
        case 2: r += 2; break;
        default: r = t[1] - t[2];
        }
        do { r = r > 100 ? r / 2 : r; } while (r > 100);
        for (int i = 0, j = 4; i < j; i++) r += i;
        y[i] = r;
    }
}

void smooth(int n, const double *x, double *y)
{
    for (int i = 1; i < n - 1; i++)
        y[i] = coefficients[0] * x[i - 1] + coefficients[1] * x[i] + coefficients[2] * x[i + 1];
}

void shifted(int n, int *x)
{
    for (int i = 0; i < n; i++) x[i] = (x[i] >> 1) - shift;
}

void columns(int n, int m, float a[n][m])
{
    for (int j = 0; j < m; j++)
        for (int i = 0; i < n; i++)
            a[i][j] = (float)(a[i][j] + 0.1);
}

void before(int n, int *p)
{
    for (int i = 0; i < n; i++) p[-i] = i;
}

void rows(int n, int m, double *a)
{
    for (int i = 0; i < n; i++) {
        double *row = a + i * 40;
        for (int j = 0; j < 40; j++)
            row[j] = row[j] * m;
    }
}

void offset(int n, int *a, int k)
{
    int *p = a + k;
    int *q = p + 1;
    for (int i = 0; i < n; i++)
        q[i] = p[i + 1] + k;
}

int two_ends(int n, const int *a, int *b)
{
    int i, j;
    for (i = 0, j = n - 1; i < n; i++, j--)
        b[j] = a[i];
    return j;
}

int names(int n, int *a)
{
    int threadIdx = 2, i_2 = 5, k;
    for (int at = 0; at < n; at++) {
        int new = 7, max = threadIdx;
        for (int k = 0; k < 3; k++) { int k = 2; new += k; }
        for (int k = 0; k < 3; k++) new += k * i_2;
        k = new + max;
        { int at = k; k = at * 2; }
        a[at] = k;
    }
    return i_2;
}

struct plane { int n; double scale; };

void through_struct(struct plane *g, double *a)
{
    for (int i = 0; i < g->n; i++) a[i] *= g->scale;
}

void first_of(const int *d, int *a)
{
    for (int i = 0; i < d[0]; i++) a[i] += 2;
}

void by_value(int n, struct body *p, struct body v)
{
    for (int i = 0; i < n; i++) {
        struct body q = p[i];
        q.x += v.x;
        q.tag = v.tag;
        p[i] = q;
    }
}

#define MAX(a, b) ((a) > (b) ? (a) : (b))

double peak(int n, const double *x, double m)
{
    for (int i = 0; i < n; i++) m = MAX(m, fabs(x[i])); // a NaN in between starts afresh
    return m;
}

int positive_sum(int n, const int *x)
{
    int s = 0;
    for (int i = 0; i < n; i++) {
        if (x[i] < 0) continue;
        s -= x[i] / 2;
    }
    return s;
}

void holes(int n, int m, int a[n][m])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) {
            if ((i + j) % 3 == 0) continue;
            a[i][j] = -a[i][j];
        }
}

int product_mod(int n, const int *x)
{
    unsigned char all = 255;
    unsigned p = 1;
    for (int i = 0; i < n; i++) {
        p *= x[i] | 1;
        all |= x[i];
    }
    return (int)(p % 65536) ^ all;
}
