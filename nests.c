#include <stddef.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static FILE *in, *out;
static char *load(size_t n) { char *p = malloc(n + 16); if (fread(p, 1, n, in) != n) exit(9); return p; }
double b_0[24][20];
#define b b_0
void f_0(size_t n, int m, double *restrict a) {
    unsigned s = 0;
    double v = 1;
    for (int i = m - 1; i >= 1; i--) {
        b[i][3 * i - 2 + 3] = (i > 1 ? 2 : 3) + s + 0;
        if (s > 6) v += b[n - 1 - i][i + 3];
        a[i] = a[i + n + i] < 6 ? -(b[i + 4][3 * i + 3]) : (i < n - 1 ? b[i][(int)n] : b[i + 4][m + 3]);
    }
}
#undef b
int f_3(int n, int *a, int b[restrict n][n]) {
    int t = 2;
    int s = 1;
    int v = 1;
    int wk[6] = {1, 2, 3, 4, 5, 6};
    int bk = -1, bj = 0;
    int lw = 0, tc = 1;
    int bm = 4;
    for (long i = 3; i < n; i += 2) {
        if (!(s > 1)) return;
        int x1 = i ^ 4;
        if (x1 > i) {
            a[i] = a[x1] + 1;
            a[x1] = b[i][i];
        }
    }
    return lw * 3 + wk[0] * 3 + wk[3];
}
float f_6(int n, int m, float *a, float *restrict b, float *c) {
    float t = 1;
    float u = 2;
    int i;
    for (i = 1; i <= m - 1; i += 2) {
        c[(i) % 3] = b[n - 1 - i] = b[n - 1 - i];
    }
    for (int i = 0; i != n; i++) {
        if (1 < u) u = 1;
    }
    return t;
}
float f_9(int n, int m, float a[restrict m][n][n], float *b, float *c) {
    float s = 1;
    short iw1 = n;
    for (; iw1; iw1--) {
        if (c[iw1 + 3] < 1) {
            b[(int)iw1] = (double)iw1;
        }
    }
    return s;
}
void f_12(int n, int m, double *a) {
    double v = 0;
    long iw1 = n;
    for (; iw1; iw1--) {
        if (iw1 > 1) {
            int jw2 = 1;
            while (jw2 < m) {
                a[(int)jw2] = a[n - 1 - iw1];
                jw2 += 3;
            }
            a[iw1] = a[iw1] + a[iw1 + 1];
        } else
         {
            a[iw1] += a[iw1 + n - 2] + (double)m;
        }
    }
    int iw3 = 2;
    while (iw3 < n) {
        switch ((int)iw3 % 3) {
            case 0:
             {
                v -= a[(int)iw3];
            }
            break;
            case 1:
            break;
            default:
             {
                double x4 = a[iw3 - 2] + a[iw3 + iw3 - 2] + a[iw3 + iw3];
                a[iw3] = x4 + 1;
            }
        }
        if (m > 1) {
            if (iw3 > 1 || iw3 == 3) v += (iw3 < n - 1 ? a[m - 1 - n] : a[m - 1 - m]);
        }
        iw3 += 3;
    }
}
double a_15[160];
#define a a_15
double b_15[24][20];
#define b b_15
int f_15(int n, long k) {
    double t = 1;
    double s = 1;
    double v = 1;
    int wk[6] = {1, 2, 3, 4, 5, 6};
    int bk = -1, bj = 0;
    int lw = 0, tc = 1;
    int bm = 2;
    for (long i = 1; i <= n - 1; i++) {
        wk[1] = 0;
        for (int y1 = 0; y1 < 5; y1++) {
            wk[y1] = (int)i * y1;
        }
        for (int y1 = 1; y1 < 4; y1++) b[i + 1 + 4][3 + 3] = wk[y1] - wk[y1 - 1];
        wk[2] += 1;
        for (int j = 0; j < n - i; j++) {
            for (int y3 = 1; y3 < 4; y3++) {
                wk[y3] = y3 > 0 ? wk[y3 - (y3 > 0)] + 1 : i;
            }
            for (int y3 = 1; y3 < 4; y3++) b[j + 2 + 4][(int)j - 1 + 3] = wk[y3] - wk[y3 - 1];
            wk[2] += j;
            short lw5 = n;
            for (; lw5; lw5--) {
                b[1][1 + 3] = a[(int)n + j + 1 + 26];
            }
        }
    }
    return bm * 3 + bj * 3 + wk[0];
}
#undef a
#undef b
int main(void) {
    in = fopen("in", "rb");
    out = fopen("out", "wb");
    if (!in || !out) return 9;
    {
        fprintf(stderr, "case 0\n");
        char *o0 = load(6400);
        char *o1 = load(3840);
        memcpy(b_0, o1, 3840);
        f_0(3, 5, (void *)(o0 + 3200));
        memcpy(o1, b_0, 3840);
        fwrite(o0, 1, 6400, out);
        free(o0);
        fwrite(o1, 1, 3840, out);
        free(o1);
    }
    {
        fprintf(stderr, "case 1\n");
        char *o0 = load(6400);
        char *o1 = load(3840);
        memcpy(b_0, o1, 3840);
        f_0(8, 2, (void *)(o0 + 3200));
        memcpy(o1, b_0, 3840);
        fwrite(o0, 1, 6400, out);
        free(o0);
        fwrite(o1, 1, 3840, out);
        free(o1);
    }
    {
        fprintf(stderr, "case 2\n");
        char *o0 = load(6400);
        char *o1 = load(3840);
        memcpy(b_0, o1, 3840);
        f_0(7, 5, (void *)(o0 + 3200));
        memcpy(o1, b_0, 3840);
        fwrite(o0, 1, 6400, out);
        free(o0);
        fwrite(o1, 1, 3840, out);
        free(o1);
    }
    {
        fprintf(stderr, "case 3\n");
        char *o0 = load(3200);
        char *o1 = load(3200);
        int r = f_3(3, (void *)(o0 + 1600), (void *)(o1 + 1600));
        fwrite(o0, 1, 3200, out);
        free(o0);
        fwrite(o1, 1, 3200, out);
        free(o1);
        fwrite(&r, 1, sizeof r, out);
    }
    {
        fprintf(stderr, "case 4\n");
        char *o0 = load(3200);
        char *o1 = load(3200);
        int r = f_3(4, (void *)(o0 + 1600), (void *)(o1 + 1600));
        fwrite(o0, 1, 3200, out);
        free(o0);
        fwrite(o1, 1, 3200, out);
        free(o1);
        fwrite(&r, 1, sizeof r, out);
    }
    {
        fprintf(stderr, "case 5\n");
        char *o0 = load(3200);
        char *o1 = load(3200);
        int r = f_3(3, (void *)(o0 + 1600), (void *)(o1 + 1600));
        fwrite(o0, 1, 3200, out);
        free(o0);
        fwrite(o1, 1, 3200, out);
        free(o1);
        fwrite(&r, 1, sizeof r, out);
    }
    {
        fprintf(stderr, "case 6\n");
        char *o0 = load(3200);
        char *o1 = load(3200);
        char *o2 = load(3200);
        float r = f_6(8, 8, (void *)(o0 + 1600), (void *)(o1 + 1600), (void *)(o2 + 1600));
        fwrite(o0, 1, 3200, out);
        free(o0);
        fwrite(o1, 1, 3200, out);
        free(o1);
        fwrite(o2, 1, 3200, out);
        free(o2);
        fwrite(&r, 1, sizeof r, out);
    }
    {
        fprintf(stderr, "case 7\n");
        char *o0 = load(3200);
        char *o1 = load(3200);
        char *o2 = load(3200);
        float r = f_6(6, 8, (void *)(o0 + 1600), (void *)(o1 + 1600), (void *)(o0 + 1624));
        fwrite(o0, 1, 3200, out);
        free(o0);
        fwrite(o1, 1, 3200, out);
        free(o1);
        fwrite(o2, 1, 3200, out);
        free(o2);
        fwrite(&r, 1, sizeof r, out);
    }
    {
        fprintf(stderr, "case 8\n");
        char *o0 = load(3200);
        char *o1 = load(3200);
        char *o2 = load(3200);
        float r = f_6(2, 4, (void *)(o0 + 1600), (void *)(o1 + 1600), (void *)(o2 + 1600));
        fwrite(o0, 1, 3200, out);
        free(o0);
        fwrite(o1, 1, 3200, out);
        free(o1);
        fwrite(o2, 1, 3200, out);
        free(o2);
        fwrite(&r, 1, sizeof r, out);
    }
    {
        fprintf(stderr, "case 9\n");
        char *o0 = load(3200);
        char *o1 = load(3200);
        char *o2 = load(3200);
        float r = f_9(4, 3, (void *)(o0 + 1600), (void *)(o1 + 1600), (void *)(o2 + 1600));
        fwrite(o0, 1, 3200, out);
        free(o0);
        fwrite(o1, 1, 3200, out);
        free(o1);
        fwrite(o2, 1, 3200, out);
        free(o2);
        fwrite(&r, 1, sizeof r, out);
    }
    {
        fprintf(stderr, "case 10\n");
        char *o0 = load(3200);
        char *o1 = load(3200);
        char *o2 = load(3200);
        float r = f_9(1, 1, (void *)(o0 + 1600), (void *)(o1 + 1600), (void *)(o1 + 1584));
        fwrite(o0, 1, 3200, out);
        free(o0);
        fwrite(o1, 1, 3200, out);
        free(o1);
        fwrite(o2, 1, 3200, out);
        free(o2);
        fwrite(&r, 1, sizeof r, out);
    }
    {
        fprintf(stderr, "case 11\n");
        char *o0 = load(3200);
        char *o1 = load(3200);
        char *o2 = load(3200);
        float r = f_9(0, 2, (void *)(o0 + 1600), (void *)(o1 + 1600), (void *)(o1 + 1600));
        fwrite(o0, 1, 3200, out);
        free(o0);
        fwrite(o1, 1, 3200, out);
        free(o1);
        fwrite(o2, 1, 3200, out);
        free(o2);
        fwrite(&r, 1, sizeof r, out);
    }
    {
        fprintf(stderr, "case 12\n");
        char *o0 = load(6400);
        f_12(5, 2, (void *)(o0 + 3200));
        fwrite(o0, 1, 6400, out);
        free(o0);
    }
    {
        fprintf(stderr, "case 13\n");
        char *o0 = load(6400);
        f_12(7, 7, (void *)(o0 + 3200));
        fwrite(o0, 1, 6400, out);
        free(o0);
    }
    {
        fprintf(stderr, "case 14\n");
        char *o0 = load(6400);
        f_12(0, 2, (void *)(o0 + 3200));
        fwrite(o0, 1, 6400, out);
        free(o0);
    }
    {
        fprintf(stderr, "case 15\n");
        char *o0 = load(1280);
        char *o1 = load(3840);
        memcpy(a_15, o0, 1280);
        memcpy(b_15, o1, 3840);
        int r = f_15(8, 1);
        memcpy(o0, a_15, 1280);
        memcpy(o1, b_15, 3840);
        fwrite(o0, 1, 1280, out);
        free(o0);
        fwrite(o1, 1, 3840, out);
        free(o1);
        fwrite(&r, 1, sizeof r, out);
    }
    {
        fprintf(stderr, "case 16\n");
        char *o0 = load(1280);
        char *o1 = load(3840);
        memcpy(a_15, o0, 1280);
        memcpy(b_15, o1, 3840);
        int r = f_15(6, 1);
        memcpy(o0, a_15, 1280);
        memcpy(o1, b_15, 3840);
        fwrite(o0, 1, 1280, out);
        free(o0);
        fwrite(o1, 1, 3840, out);
        free(o1);
        fwrite(&r, 1, sizeof r, out);
    }
    {
        fprintf(stderr, "case 17\n");
        char *o0 = load(1280);
        char *o1 = load(3840);
        memcpy(a_15, o0, 1280);
        memcpy(b_15, o1, 3840);
        int r = f_15(3, -2);
        memcpy(o0, a_15, 1280);
        memcpy(o1, b_15, 3840);
        fwrite(o0, 1, 1280, out);
        free(o0);
        fwrite(o1, 1, 3840, out);
        free(o1);
        fwrite(&r, 1, sizeof r, out);
    }
    return fclose(out) != 0;
}
