//! Every transformation: its text in and out, and the nearest cases that must be refused. Long because texts are listed in
//! full, before and after.

mod common;

use common::check;
use expect_test::expect;

#[test]
fn interchange() {
    check(
        "interchange",
        "double a[100][100];
void f(int n) {
    // columns
    $0for (int i = 1; i < 100; i++)
        for (int j = 0; j < 100; j++) { // cells
            a[i][j] = a[i - 1][j] * 2.0;
        }
}
",
        expect![[r#"
            // Interchange i and j
            double a[100][100];
            void f(int n) {
                // columns
                for (int j = 0; j < 100; j++)
                    for (int i = 1; i < 100; i++) { // cells
                        a[i][j] = a[i - 1][j] * 2.0;
                    }
            }
        "#]],
    );
    // (<, >)
    check(
        "interchange",
        "double a[100][100];
void f(void) {
    $0for (int i = 1; i < 100; i++)
        for (int j = 0; j < 99; j++)
            a[i][j] = a[i - 1][j + 1];
}
",
        expect![[r#"
            refused: Flow on a (<>): interchange would turn it around
        "#]],
    );
    // a sum would be regrouped
    check(
        "interchange",
        "double a[100][100];
double f(void) {
    double s = 0;
    $0for (int i = 0; i < 100; i++)
        for (int j = 0; j < 100; j++)
            s += a[i][j];
    return s;
}
",
        expect![[r#"
            refused: Anti on s (<< <= <> =< ==): interchange would turn it around
        "#]],
    );
    check(
        "interchange",
        "double a[100][100];
void f(void) {
    $0for (int i = 0; i < 100; i++) {
        a[i][0] = 1;
        for (int j = 0; j < 100; j++)
            a[i][j] = 0;
    }
}
",
        expect![[r#"
            refused: its body is not just one loop
        "#]],
    );
    check(
        "interchange",
        "void f(int n, int m, double *a, double *b) {
    $0for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            a[j] = b[i];
}
",
        expect![[r#"
            refused: condition NoAlias(Object { symbol: SymbolId(3), fields: [] }, Object { symbol: SymbolId(4), fields: [] })
        "#]],
    );
}

#[test]
fn interchange_of_triangles() {
    check(
        "interchange",
        "double a[100][100];
void f(int n) {
    $0for (int i = 0; i < 100; i++)
        for (int j = i + 1; j < 100; j++)
            a[i][j] = 0;
}
",
        expect![[r#"
            // Interchange i and j
            double a[100][100];
            void f(int n) {
                for (int j = 1; j < 100; j++)
                    for (int i = 0; i <= j - 1; i++)
                        a[i][j] = 0;
            }
        "#]],
    );
    check(
        "interchange",
        "double a[100][100];
void f(int n) {
    int i, j;
    $0for (i = 0; i < 100; i++)
        for (j = 0; j <= i; j++)
            a[i][j] = 0;
}
",
        expect![[r#"
            // Interchange i and j
            double a[100][100];
            void f(int n) {
                int i, j;
                for (j = 0; j < 100; j++)
                    for (i = j; i < 100; i++)
                        a[i][j] = 0;
            }
        "#]],
    );
    check(
        "interchange",
        "double a[100][100];
void f(int n) {
    $0for (int i = 3; i < 60; i++)
        for (int j = 0; j < i + 1; j++)
            a[i][j] = 0;
}
",
        expect![[r#"
            // Interchange i and j
            double a[100][100];
            void f(int n) {
                for (int j = 0; j < 60; j++)
                    for (int i = (j > 3 ? j : 3); i < 60; i++)
                        a[i][j] = 0;
            }
        "#]],
    );
}

#[test]
fn distribute() {
    check(
        "distribute",
        "double a[100], b[100], c[100];
void f(void) {
    $0for (int i = 1; i < 100; i++) {
        // the recurrence
        a[i] = a[i - 1] + b[i]; // sum
        /* the rest */
        c[i] = a[i] * 2.0;
    }
}
",
        expect![[r#"
            // Distribute i into 2 loops
            double a[100], b[100], c[100];
            void f(void) {
                for (int i = 1; i < 100; i++) {
                    // the recurrence
                    a[i] = a[i - 1] + b[i]; // sum
                }
                for (int i = 1; i < 100; i++) {
                    /* the rest */
                    c[i] = a[i] * 2.0;
                }
            }
        "#]],
    );
    // the second statement must come first
    check(
        "distribute",
        "double a[100], b[100], c[101];
void f(void) {
    for (int k = 0; k < 3; k++)
        $0for (int i = 0; i < 99; i++) {
            b[i] = b[i] + a[i + 1];
            a[i] = c[i] + c[i + 1];
        }
}
",
        expect![[r#"
            // Distribute i into 2 loops
            double a[100], b[100], c[101];
            void f(void) {
                for (int k = 0; k < 3; k++)
                    {
                        for (int i = 0; i < 99; i++) {
                            b[i] = b[i] + a[i + 1];
                        }
                        for (int i = 0; i < 99; i++) {
                            a[i] = c[i] + c[i + 1];
                        }
                    }
            }
        "#]],
    );
    // a cycle
    check(
        "distribute",
        "double a[100], b[100];
void f(void) {
    $0for (int i = 1; i < 100; i++) {
        a[i] = b[i - 1];
        b[i] = a[i] + 1;
    }
}
",
        expect![[r#"
            refused: Flow on b (<): with it the statements form a cycle, which must stay in one loop
        "#]],
    );
    // through a scalar
    check(
        "distribute",
        "double a[100], b[100], c[100];
void f(void) {
    double t;
    $0for (int i = 1; i < 100; i++) {
        t = b[i] + 1;
        a[i] = a[i - 1] + t;
    }
}
",
        expect![[r#"
            refused: Anti on t (<): with it the statements form a cycle, which must stay in one loop
        "#]],
    );
}

#[test]
fn reverse() {
    check(
        "reverse",
        "void f(int n, double *restrict a, const double *restrict b) {
    $0for (int i = 0; i < n; i++)
        a[i] = b[i];
}
",
        expect![[r#"
            // Reverse i
            void f(int n, double *restrict a, const double *restrict b) {
                if (0 < n) for (int i = n - 1; i >= 0; i--)
                    a[i] = b[i];
            }
        "#]],
    );
    check(
        "reverse",
        "double a[100];
void f(void) {
    $0for (int i = 0; i < 50; i += 3)
        a[i] = 1;
    for (int i = 49; i >= 0; --i) a[i] = 1;
}
",
        expect![[r#"
            // Reverse i
            double a[100];
            void f(void) {
                for (int i = 48; i >= 0; i -= 3)
                    a[i] = 1;
                for (int i = 49; i >= 0; --i) a[i] = 1;
            }
        "#]],
    );
    check(
        "reverse",
        "double a[100];
void f(void) {
    $0for (int i = 1; i < 100; i++)
        a[i] = a[i - 1];
}
",
        expect![[r#"
            refused: Flow on a (<): reversal would turn it around
        "#]],
    );
}

#[test]
fn peel() {
    check(
        "peel",
        "double a[100], b[100];
void f(int n) {
    $0for (int i = 0; i < n; i++) {
        a[i] = a[0] + b[i + 1];
    }
}
",
        expect![[r#"
            // Peel the first iteration of i
            double a[100], b[100];
            void f(int n) {
                if (0 < n) {
                    a[0] = a[0] + b[1];
                }
                for (int i = 1; i < n; i++) {
                    a[i] = a[0] + b[i + 1];
                }
            }
        "#]],
    );
    check(
        "peel: last",
        "double a[100], b[100];
void f(int m, int n) {
    int i;
    $0for (i = m; i < n; i++)
        a[i] = b[i] * i;
}
",
        expect![[r#"
            // Peel the last iteration of i
            double a[100], b[100];
            void f(int m, int n) {
                int i;
                if (m < n) {
                    for (i = m; i < n - 1; i++)
                        a[i] = b[i] * i;
                    i = n - 1;
                    a[i] = b[i] * i;
                }
            }
        "#]],
    );
    check(
        "peel",
        "double a[100], b[100];
void f(int m, int n) {
    if (n)
        $0for (int i = m; i < n; i++) {
            double t = b[i];
            a[i] = t * i;
        }
}
",
        expect![[r#"
            // Peel the first iteration of i
            double a[100], b[100];
            void f(int m, int n) {
                if (n)
                    {
                        if (m < n) {
                            {
                                double t = b[m];
                                a[m] = t * m;
                            }
                            for (int i = m + 1; i < n; i++) {
                                double t = b[i];
                                a[i] = t * i;
                            }
                        }
                    }
            }
        "#]],
    );
    check(
        "peel",
        "double a[100];
void f(int n) {
    $0for (int i = 0; i < n; i++) {
        if (a[i] < 0) break;
        a[i] = 1;
    }
}
",
        expect![[r#"
            refused: a `break` leaves it
        "#]],
    );
}

#[test]
fn split() {
    check(
        "split",
        "double a[100];
void f(int n, int m) {
    $0for (int i = 0; i < n; i++)
        if (i < m)
            a[i] = 0;
        else
            a[i] = 1;
}
",
        expect![[r#"
            // Split i at m
            double a[100];
            void f(int n, int m) {
                for (int i = 0; i < (m < n ? m : n); i++)
                    if (i < m)
                        a[i] = 0;
                    else
                        a[i] = 1;
                for (int i = (m > 0 ? m : 0); i < n; i++)
                    if (i < m)
                        a[i] = 0;
                    else
                        a[i] = 1;
            }
        "#]],
    );
    check(
        "split: middle",
        "double a[100];
void f(int n) {
    $0for (int i = 0; i < n; i++)
        a[i] = a[n - 1 - i];
}
",
        expect![[r#"
            // Split i at n / 2
            double a[100];
            void f(int n) {
                for (int i = 0; i < n / 2; i++)
                    a[i] = a[n - 1 - i];
                for (int i = n / 2; i < n; i++)
                    a[i] = a[n - 1 - i];
            }
        "#]],
    );
    check(
        "split: at=m + 1",
        "double a[100];
void f(int n, int m) {
    $0for (int i = 0; i < 100; i++)
        a[i] = a[m] + 1;
}
",
        expect![[r#"
            // Split i at (m + 1)
            double a[100];
            void f(int n, int m) {
                for (int i = 0; i < ((m + 1) < 100 ? (m + 1) : 100); i++)
                    a[i] = a[m] + 1;
                for (int i = ((m + 1) > 0 ? (m + 1) : 0); i < 100; i++)
                    a[i] = a[m] + 1;
            }
        "#]],
    );
    check(
        "split: at=3",
        "void f(int n, int *w) {
    $0for (int i = 1; i < (n & 3); i++)
        w[i] = i;
}
",
        expect![[r#"
            // Split i at 3
            void f(int n, int *w) {
                for (int i = 1; i < (3 < (n & 3) ? 3 : (n & 3)); i++)
                    w[i] = i;
                for (int i = 3; i < (n & 3); i++)
                    w[i] = i;
            }
        "#]],
    );
    check(
        "split: at=g()",
        "double a[100];
void f(int n, int m) {
    $0for (int i = 0; i < 100; i++)
        a[i] = a[m] + 1;
}
",
        expect![[r#"
            refused: `g()` names a variable that the function does not use
        "#]],
    );
}

#[test]
fn strip_mine() {
    check(
        "strip-mine: 16",
        "double a[100];
void f(int n) {
\t$0for (int i = 0; i < n; ++i) {
\t\ta[i] = 0;
\t}
}
",
        expect![[r#"
            // Strip-mine i by 16
            double a[100];
            void f(int n) {
            	for (long i_strip = 0; i_strip < n; i_strip += 16) {
            		for (int i = i_strip; i < (n - i_strip > 16 ? i_strip + 16 : n); i++) {
            			a[i] = 0;
            		}
            	}
            }
        "#]],
    );
    check(
        "strip-mine: size=10",
        "double a[100];
void f(void)
{
  for (int k = 0; k < 2; k++)
  {
    $0for (int i = 0; i < 100; ++i)
    {
      a[i] = 0;
    }
  }
}
",
        expect![[r#"
            // Strip-mine i by 10
            double a[100];
            void f(void)
            {
              for (int k = 0; k < 2; k++)
              {
                for (int i_strip = 0; i_strip < 100; i_strip += 10)
                {
                  for (int i = i_strip; i < i_strip + 10; i++)
                  {
                    a[i] = 0;
                  }
                }
              }
            }
        "#]],
    );
}

#[test]
fn unroll() {
    check(
        "unroll",
        "double a[100];
void f(int n) {
    $0for (int i = 0; i < n; i++)
        a[i] = a[i + 2] * i + a[2 * i];
}
",
        expect![[r#"
            // Unroll i by 4
            double a[100];
            void f(int n) {
                for (int i = 0; i < n - n % 4; i += 4) {
                    a[i] = a[i + 2] * i + a[2 * i];
                    a[i + 1] = a[i + 3] * (i + 1) + a[2 * (i + 1)];
                    a[i + 2] = a[i + 4] * (i + 2) + a[2 * (i + 2)];
                    a[i + 3] = a[i + 5] * (i + 3) + a[2 * (i + 3)];
                }
                for (int i = n - n % 4; i < n; i++)
                    a[i] = a[i + 2] * i + a[2 * i];
            }
        "#]],
    );
    check(
        "unroll: 2",
        "double a[100];
void f(void) {
    $0for (int i = 1; i <= 100; i++) {
        double t = a[i - 1];
        a[i - 1] = t - i;
    }
}
",
        expect![[r#"
            // Unroll i by 2
            double a[100];
            void f(void) {
                for (int i = 1; i < 101; i += 2) {
                    {
                        double t = a[i - 1];
                        a[i - 1] = t - i;
                    }
                    {
                        double t = a[i];
                        a[i] = t - (i + 1);
                    }
                }
            }
        "#]],
    );
    check(
        "unroll-fully",
        "double a[100];
void f(void) {
    int i;
    $0for (i = 0; i < 3; i++) {
        a[i] = -i - (i - 2);
    }
    a[i] = 7;
}
",
        expect![[r#"
            // Unroll i fully (3 iterations)
            double a[100];
            void f(void) {
                int i;
                a[0] = -0 - (-2);
                a[1] = -1 - (-1);
                a[2] = -2 - (0);
                i = 3;
                a[i] = 7;
            }
        "#]],
    );
}

#[test]
fn expand_scalar() {
    check(
        "expand-scalar",
        "double a[100], b[100], c[100];
void f(void) {
    double t;
    $0for (int i = 1; i < 100; i++) {
        t = b[i] + 1;
        a[i] = a[i - 1] + t;
    }
}
",
        expect![[r#"
            // Expand scalar t into an array (99 elements)
            double a[100], b[100], c[100];
            void f(void) {
                double t;
                double t_x[99];
                for (int i = 1; i < 100; i++) {
                    t_x[i - 1] = b[i] + 1;
                    a[i] = a[i - 1] + t_x[i - 1];
                }
            }
        "#]],
    );
    check(
        "expand-scalar",
        "double a[100], b[100], c[100];
void f(int n) {
    $0for (int i = 0; i < n; i++) {
        // b, once
        const double t = (b[i] + 1); // more
        a[i] = a[i + 1] + t;
    }
}
",
        expect![[r#"
            // Expand scalar t into an array (as many elements as iterations, on the stack)
            double a[100], b[100], c[100];
            void f(int n) {
                double t_x[0 < n ? n : 1];
                for (int i = 0; i < n; i++) {
                    // b, once
                    t_x[i] = (b[i] + 1); // more
                    a[i] = a[i + 1] + t_x[i];
                }
            }
        "#]],
    );
    check(
        "expand-scalar",
        "double a[100], b[100], c[100];
double f(int n) {
    double t = 0;
    $0for (int i = 0; i < n; i++) {
        a[i] = t;
        t = b[i];
    }
    return t;
}
",
        expect![[r#"
            refused: no scalar in it is private to an iteration and used by several statements
        "#]],
    );
}

#[test]
fn privatize() {
    check(
        "privatize",
        "double a[100], b[100];
void f(int n) {
    double t;
    $0for (int i = 0; i < n; i++) {
        t = b[i] + 1;
        a[i] = t * t;
    }
}
",
        expect![[r#"
            // Declare t inside the loop
            double a[100], b[100];
            void f(int n) {
                double t;
                for (int i = 0; i < n; i++) {
                    double t;
                    t = b[i] + 1;
                    a[i] = t * t;
                }
            }
        "#]],
    );
    check(
        "privatize",
        "double a[100], b[100];
double f(int n) {
    double t;
    $0for (int i = 0; i < n; i++) {
        t = b[i] + 1;
        a[i] = t * t;
    }
    return t;
}
",
        expect![[r#"
            refused: no scalar declared outside is private to its iterations
        "#]],
    );
}
