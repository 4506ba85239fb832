// One loop of each kind. The tests of the editors open this file.
#include <stddef.h>

void saxpy(int n, float a, const float *restrict x, float *restrict y) {
    for (int i = 0; i < n; i++)
        y[i] = a * x[i] + y[i];
}

float dot(int n, const float *x, const float *y) {
    float sum = 0;
    for (int i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

void prefix_sum(int n, float *a) {
    for (int i = 1; i < n; i++)
        a[i] = a[i] + a[i - 1];
}
