//! Skewing, fusion, forms, inductions, calls: text in and out, and the nearest cases that must be refused. Long because
//! texts are listed in full.

mod common;

use common::check;
use expect_test::expect;

#[test]
fn wavefront() {
    check(
        "wavefront",
        "double a[100][100];
void f(void) {
    $0for (int i = 1; i < 100; i++)
        for (int j = 1; j < 100; j++)
            a[i][j] = a[i - 1][j] + a[i][j - 1];
}
",
        expect![[r#"
            // Skew j by i, then interchange (wavefront)
            double a[100][100];
            void f(void) {
                for (int wave = 2; wave <= 198; wave++) {
                    for (int i = (wave - 99 > 1 ? wave - 99 : 1); i <= (wave - 1 < 99 ? wave - 1 : 99); i++) {
                        int j = wave - i;
                        a[i][j] = a[i - 1][j] + a[i][j - 1];
                    }
                }
            }
        "#]],
    );
    // (1, -1) takes twice the outer index
    check(
        "wavefront",
        "double a[100][101];
void f(void) {
    $0for (int i = 1; i < 100; i++)
        for (int j = 1; j < 100; j++)
            a[i][j] = a[i - 1][j + 1] + a[i][j - 1];
}
",
        expect![[r#"
            // Skew j by 2 times i, then interchange (wavefront)
            double a[100][101];
            void f(void) {
                for (int wave = 3; wave <= 297; wave++) {
                    for (int i = 1; i < 100; i++) {
                        int j = wave - 2 * i;
                        if (1 <= j && j < 100) {
                            a[i][j] = a[i - 1][j + 1] + a[i][j - 1];
                        }
                    }
                }
            }
        "#]],
    );
    check(
        "wavefront",
        "void f(int n, int m, double a[restrict n][m]) {
    $0for (int i = 1; i < n; i++)
        for (int j = 1; j < m; j++)
            a[i][j] = a[i - 1][j] + a[i][j - 1];
}
",
        expect![[r#"
            // Skew j by i, then interchange (wavefront)
            void f(int n, int m, double a[restrict n][m]) {
                for (long wave = 2; wave <= (long)m + n - 2; wave++) {
                    for (int i = (wave - m + 1 > 1 ? wave - m + 1 : 1); i <= (wave - 1 < n - 1 ? wave - 1 : n - 1); i++) {
                        int j = wave - i;
                        a[i][j] = a[i - 1][j] + a[i][j - 1];
                    }
                }
            }
        "#]],
    );
    // no constant distance
    check(
        "wavefront",
        "double a[100][100];
void f(int k) {
    $0for (int i = 1; i < 100; i++)
        for (int j = 1; j < 100; j++)
            a[i][j] = a[i - 1][99 - j];
}
",
        expect![[r#"
            refused: Flow on a (<< <>): its distance is not constant, so no skewing makes it lead forwards
        "#]],
    );
    check(
        "skew",
        "double a[100][100];
void f(int n) {
    $0for (int i = 1; i < 100; i++)
        for (int j = 1; j < n; j++)
            a[i][j] = 0;
}
",
        expect![[r#"
            // Skew j by i
            double a[100][100];
            void f(int n) {
                for (int i = 1; i < 100; i++)
                    for (long j_skewed = (long)1 + i; j_skewed < (long)n + i; j_skewed++) {
                        int j = j_skewed - i;
                        a[i][j] = 0;
                    }
            }
        "#]],
    );
}

#[test]
fn fuse() {
    check(
        "fuse",
        "double a[100], b[100];
void f(int n) {
    $0for (int i = 0; i < n; i++)
        a[i] = i;
    // then
    for (int j = 0; j < n; j++) {
        b[j] = a[j] + a[j + 0]; /* both */
    }
}
",
        expect![[r#"
            // Fuse i with the loop behind it
            double a[100], b[100];
            void f(int n) {
                for (int i = 0; i < n; i++) {
                    a[i] = i;
                    // then
                    b[i] = a[i] + a[i + 0]; /* both */
                }
            }
        "#]],
    );
    // the second would read what the first has not written yet
    check(
        "fuse",
        "double a[101], b[100];
void f(int n) {
    $0for (int i = 0; i < n; i++)
        a[i] = i;
    for (int i = 0; i < n; i++)
        b[i] = a[i + 1];
}
",
        expect![[r#"
            refused: the second loop would touch `a[i + 1]` before the first loop touches `a[i]` in a later iteration (a fusion-preventing dependence on `a`)
        "#]],
    );
    check(
        "fuse",
        "double a[101], b[100];
void f(int n) {
    $0for (int i = 0; i < n; i++)
        a[i] = i;
    for (int i = 1; i < n; i++)
        b[i] = a[i];
}
",
        expect![[r#"
            refused: the two loops have different ranges
        "#]],
    );
    check(
        "fuse",
        "double a[101], b[100];
void f(int n) {
    double t;
    $0for (int i = 0; i < n; i++) {
        t = a[i] * 2;
        a[i] = t * t;
    }
    for (int i = 0; i < n; i++) {
        t = b[i] + 1;
        b[i] = t * t;
    }
}
",
        expect![[r#"
            // Fuse i with the loop behind it
            double a[101], b[100];
            void f(int n) {
                double t;
                for (int i = 0; i < n; i++) {
                    t = a[i] * 2;
                    a[i] = t * t;
                    t = b[i] + 1;
                    b[i] = t * t;
                }
            }
        "#]],
    );
}

#[test]
fn forms() {
    check(
        "remove-header",
        "double a[100];
void f(int n) {
    $0for (int i = n; i <= n; i++) {
        a[i] = i * 2;
    }
}
",
        expect![[r#"
            // Remove the header of i (one iteration)
            double a[100];
            void f(int n) {
                a[n] = n * 2;
            }
        "#]],
    );
    check(
        "remove-header",
        "double a[100];
void f(int n) {
    $0for (int i = 0; i < n; i++)
        a[i] = i * 2;
}
",
        expect![[r#"
            refused: it is not known to run exactly once
        "#]],
    );
    check(
        "nest",
        "double a[1600];
void f(int n) {
    $0for (int i = 0; i < n * 16; i++) {
        a[i] = 1;
    }
}
",
        expect![[r#"
            // Nest i (n by 16)
            double a[1600];
            void f(int n) {
                for (int i_outer = 0; i_outer < n; i_outer++) {
                    for (int i_inner = 0; i_inner < 16; i_inner++) {
                        int i = i_outer * 16 + i_inner;
                        a[i] = 1;
                    }
                }
            }
        "#]],
    );
    check(
        "collapse",
        "double a[10][20];
void f(int n) {
    $0for (int i = 0; i < 10; i++)
        for (int j = 2; j < 20; j += 3)
            a[i][j] = 1;
}
",
        expect![[r#"
            // Collapse i and j into one loop
            double a[10][20];
            void f(int n) {
                for (int i_j = 0; i_j < 60; i_j++) {
                    int i = i_j / 6;
                    int j = 2 + (i_j % 6) * 3;
                    a[i][j] = 1;
                }
            }
        "#]],
    );
}

#[test]
fn count() {
    check(
        "count",
        "double a[100];
void f(int n) {
    int i;
    i = 0;
    $0while (i < n) {
        a[i] = 1; // one
        i++;
    }
}
",
        expect![[r#"
            // Count i in a `for`
            double a[100];
            void f(int n) {
                int i;
                for (i = 0; i < n; i++) {
                    a[i] = 1; // one
                }
            }
        "#]],
    );
    check(
        "count",
        "double a[100];
void f(int n) {
    int i = 0;
    $0while (i < n) {
        if (a[i] < 0) {
            i += 2;
            continue;
        }
        a[i] = 1;
        i++;
    }
}
",
        expect![[r#"
            refused: NotCounted(While)
        "#]],
    );
}

#[test]
fn induction() {
    check(
        "substitute-induction",
        "double a[300], b[100];
int f(int n) {
    int k = 0;
    $0for (int i = 0; i < n; i++) {
        b[i] = a[k];
        k += 3;
        b[i] += a[k - 1];
    }
    return k;
}
",
        expect![[r#"
            // Compute k from i
            double a[300], b[100];
            int f(int n) {
                int k = 0;
                for (int i = 0; i < n; i++) {
                    b[i] = a[k + 3L * i];
                    b[i] += a[k + 3L * i + 3 - 1];
                }
                k += 0 < n ? 3L * n : 0;
                return k;
            }
        "#]],
    );
    check(
        "substitute-induction",
        "double a[300], b[100];
void f(int n) {
    int k = 0;
    $0for (int i = 0; i < n; i++) {
        b[i] = a[k];
        if (a[i] > 0)
            k++;
    }
}
",
        expect![[r#"
            refused: no integer in it moves by a constant in each iteration
        "#]],
    );
}

#[test]
fn reorder() {
    check(
        "reorder",
        "double a[100], b[100], c[100];
void f(void) {
    $0for (int i = 1; i < 100; i++) {
        a[i] = b[i - 1];
        // b next
        b[i] = c[i];
    }
}
",
        expect![[r#"
            // Reorder the statements of i (2, 1)
            double a[100], b[100], c[100];
            void f(void) {
                for (int i = 1; i < 100; i++) {
                    // b next
                    b[i] = c[i];
                    a[i] = b[i - 1];
                }
            }
        "#]],
    );
    check(
        "reorder",
        "double a[100], b[100], c[100];
void f(void) {
    $0for (int i = 1; i < 100; i++) {
        a[i] = b[i - 1] + b[i];
        b[i] = c[i];
    }
}
",
        expect![[r#"
            refused: its statements stand in the best order already
        "#]],
    );
}

#[test]
fn inline() {
    check(
        "inline",
        "double a[100];
static void put(double *x, int k, double v) {
    // one cell
    double w = v * 2;
    x[k] = w;
}
void f(int n, double s) {
    $0for (int i = 0; i < n; i++)
        put(a, i + 1, s);
}
",
        expect![[r#"
            // Inline put
            double a[100];
            static void put(double *x, int k, double v) {
                // one cell
                double w = v * 2;
                x[k] = w;
            }
            void f(int n, double s) {
                for (int i = 0; i < n; i++)
                    {
                        // one cell
                        double w = s * 2;
                        a[i + 1] = w;
                    }
            }
        "#]],
    );
    check(
        "inline",
        "double a[100];
static void put(double *x, int k, double w) {
    double s = w * 2;
    x[k] = s;
}
void f(int n, double s) {
    $0for (int i = 0; i < n; i++) {
        put(a, i + 1, s);
    }
}
",
        expect![[r#"
            refused: `put` declares a variable of a name that an argument uses
        "#]],
    );
}

#[test]
fn operators() {
    check(
        "expand-operators",
        "float a[100], b[100];
void f(int n) {
    $0for (int i = 0; i < n; i++) {
        a[i] += b[i] * (a[i] + 2) - b[i + 1]; // all
        b[i] = 1;
    }
}
",
        expect![[r#"
            // Expand the operators of one statement
            float a[100], b[100];
            void f(int n) {
                for (int i = 0; i < n; i++) {
                    const float t_op_1 = a[i] + 2;
                    const float t_op_2 = b[i] * t_op_1;
                    const float t_op_3 = t_op_2 - b[i + 1];
                    a[i] = a[i] + t_op_3; // all
                    b[i] = 1;
                }
            }
        "#]],
    );
    check(
        "expand-operators",
        "float a[100], b[100];
float g(float);
void f(int n) {
    $0for (int i = 0; i < n; i++) {
        a[i] = g(b[i]) * a[i] + 2;
    }
}
",
        expect![[r#"
            refused: no assignment in it has several plain operators
        "#]],
    );
}

#[test]
fn what_stands_around_keeps_its_meaning() {
    // an `else` behind it stays with its own `if`
    check(
        "reverse",
        "void f(int n, int c, double *restrict a) {
    if (c)
        $0for (int i = 0; i < n; i++)
            a[i] = 0;
    else
        a[0] = 1;
}
",
        expect![[r#"
            // Reverse i
            void f(int n, int c, double *restrict a) {
                if (c)
                    { if (0 < n) for (int i = n - 1; i >= 0; i--)
                        a[i] = 0; }
                else
                    a[0] = 1;
            }
        "#]],
    );
    // no declaration directly behind a label
    check(
        "expand-scalar",
        "double a[100], b[100];
void f(int c) {
    double t;
    switch (c) {
    case 1:
        $0for (int i = 0; i < 100; i++) {
            t = b[i];
            a[i] = t;
        }
    }
}
",
        expect![[r#"
            // Expand scalar t into an array (100 elements)
            double a[100], b[100];
            void f(int c) {
                double t;
                switch (c) {
                case 1:
                    {
                        double t_x[100];
                        for (int i = 0; i < 100; i++) {
                            t_x[i] = b[i];
                            a[i] = t_x[i];
                        }
                    }
                }
            }
        "#]],
    );
    // a pragma speaks of the loop as it stands
    check(
        "interchange",
        "double a[100][100];
void f(void) {
    #pragma omp parallel for
    $0for (int i = 0; i < 100; i++)
        for (int j = 0; j < 100; j++)
            a[i][j] = 0;
}
",
        expect![[r#"
            refused: a `#pragma` of another tool speaks of it
        "#]],
    );
    check(
        "distribute: max",
        "double a[100], b[100];
void f(int m) {
    $0for (int i = 0; i < 100; i++) {
        double t[m];
        a[i] = 0;
        b[i] = 0;
    }
}
",
        expect![[r#"
            refused: an array of variable length is declared in it
        "#]],
    );
    check(
        "unroll",
        "#define AT(x) a[x + i]
double a[100];
void f(int n) {
    $0for (int i = 0; i < n; i++)
        AT(1) = 0;
}
",
        expect![[r#"
            refused: `i` is used inside a macro
        "#]],
    );
    check(
        "interchange",
        "double a[100][100];
int f(int n) {
    int i, j;
    $0for (i = 0; i < n; i++)
        for (j = 0; j < 100; j++)
            a[i][j] = 0;
    return j;
}
",
        expect![[r#"
            refused: `j` is used after the loops
        "#]],
    );
}
