//! The C files that typing is measured on: functions of the kinds that numerical code is made of.

/// A C file of about this many lines: functions of the kinds that numerical code is made of, none twice the same.
pub fn c_file(lines: usize) -> String {
    let mut text =
        String::from("#include <math.h>\n#include <stddef.h>\n#include <stdlib.h>\n\n#define BLOCK 64\n\n");
    let mut count = text.lines().count();
    for (number, pattern) in PATTERNS.iter().cycle().enumerate() {
        let function =
            pattern.replace("@N", &number.to_string()).replace("@K", &(number % 7 + 1).to_string());
        let function = function.trim_start();
        let length = function.lines().count() + 1;
        if count + length > lines {
            break;
        }
        text.push_str(function);
        text.push('\n');
        count += length;
    }
    text
}

const PATTERNS: [&str; 9] = [
    "
/* y := a x + y, shifted by @K */
void axpy_@N(int n, float a, const float *restrict x, float *restrict y) {
    for (int i = 0; i < n; i++) {
        y[i] = a * x[i + @K] + 0.5f * y[i];
    }
}
",
    "
double dot_@N(int n, const double *x, const double *y) {
    double sum = 0.0;
    for (int i = 0; i < n; i++)
        sum += x[i] * y[i] * @K.0;
    return sum;
}
",
    "
void stencil_@N(int n, int m, float a[n][m], float b[n][m]) {
    for (int i = 1; i < n - 1; i++) {
        for (int j = 1; j < m - 1; j++) {
            b[i][j] = 0.5f * a[i][j]
                    + 0.125f * (a[i - 1][j] + a[i + 1][j]
                              + a[i][j - 1] + a[i][j + 1]);
        }
    }
}
",
    "
void matmul_@N(int n, const double a[n][n], const double b[n][n], double c[n][n]) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0.0;
            for (int k = 0; k < n; k++)
                sum += a[i][k] * b[k][j];
            c[i][j] = sum + @K;
        }
}
",
    "
void recurrence_@N(int n, float *a) {
    for (int i = @K; i < n; i++)
        a[i] = 0.5f * a[i - @K] + a[i];
}
",
    "
void histogram_@N(size_t n, const unsigned char *pixels, unsigned *bins) {
    for (size_t i = 0; i < n; i++) {
        unsigned bin = pixels[i] / @K;
        bins[bin]++;
    }
}
",
    "
struct particle_@N {
    float x, y, z;
    float vx, vy, vz;
};

void step_@N(int n, struct particle_@N *p, float dt) {
    for (int i = 0; i < n; i++) {
        float drag = 0.5f * dt / @K.0f;
        p[i].vx -= drag * p[i].vx;
        p[i].vy -= drag * p[i].vy;
        p[i].vz -= drag * p[i].vz;
        p[i].x += dt * p[i].vx;
        p[i].y += dt * p[i].vy;
        p[i].z += dt * p[i].vz;
        if (p[i].z < 0.0f) {
            p[i].z = -p[i].z;
            p[i].vz = -p[i].vz;
        }
    }
}
",
    "
static int parse_@N(const char *text, int *out, int limit) {
    int count = 0;
    while (*text && count < limit) {
        int value = 0;
        while (*text >= '0' && *text <= '9') {
            value = value * 10 + (*text - '0');
            text++;
        }
        out[count++] = value + @K;
        if (*text == ',')
            text++;
        else
            break;
    }
    return count;
}
",
    "
void lu_@N(int n, double a[n][n]) {
    for (int k = 0; k < n - 1; k++) {
        for (int i = k + 1; i < n; i++)
            a[i][k] /= a[k][k];
        for (int i = k + 1; i < n; i++)
            for (int j = k + 1; j < n; j++)
                a[i][j] -= a[i][k] * a[k][j];
    }
}
",
];
