//! Arrays of the program that never change: directions of a lattice, permutations, offsets.

mod common;

use analysis::{LoopFacts, MetBy, Verdict};
use common::loops_of_f;

const SHIFTS: &str = "static const int cx[5] = {0, 1, 0, -1, 0}, cy[5] = {0, 0, 1, 0, -1}; \
                      static const int opp[5] = {0, 3, 4, 1, 2}; static const int half[5] = {0, 0, 1, 1, 2}; \
                      static const int part[5] = {0, 3}; static double f0[5][40][60], f1[5][40][60]; ";

fn loops(text: &str) -> Vec<LoopFacts> {
    loops_of_f(&format!("{SHIFTS}{text}"))
}

#[test]
fn what_constants_shift_is_told_apart_by_what_tells_the_shift() {
    for text in [
        // a lattice's distributions pushed to their neighbours
        "void f(void) { for (int q = 0; q < 5; q++) for (int y = 1; y < 39; y++) for (int x = 1; x < 59; x++) f1[q][y + cy[q]][x + cx[q]] = f0[q][y][x]; }",
        "void f(void) { for (int y = 1; y < 39; y++) for (int x = 1; x < 59; x++) for (int q = 0; q < 5; q++) f1[q][y + cy[q]][x + cx[q]] = f0[q][y][x]; }",
        // around the edges
        "void f(void) { for (int q = 0; q < 5; q++) for (int y = 0; y < 40; y++) for (int x = 0; x < 60; x++) { int a = (y + cy[q] + 40) % 40, b = (x + cx[q] + 60) % 60; f1[q][a][b] = f0[q][y][x]; } }",
        "void f(void) { for (int y = 0; y < 40; y++) for (int x = 0; x < 60; x++) for (int q = 0; q < 5; q++) f1[q][(y + cy[q] + 40) % 40][(x + cx[q] + 60) % 60] = f0[q][y][x]; }",
        // each to its opposite
        "void f(int y, int x) { if (y < 0 || y > 39 || x < 0 || x > 59) return; for (int q = 0; q < 5; q++) f1[opp[q]][y][x] = f0[q][y][x]; }",
        "void f(void) { for (int y = 0; y < 40; y++) for (int x = 0; x < 60; x++) { double t[5]; for (int q = 0; q < 5; q++) t[q] = f0[q][y][x]; for (int q = 0; q < 5; q++) f0[opp[q]][y][x] = t[q]; } }",
        // of the function's own
        "void f(double *restrict a, const double *restrict b) { const int to[4] = {3, 1, 0, 2}; for (int i = 0; i < 4; i++) a[to[i]] = b[i]; }",
        "void f(double (*restrict a)[9]) { const int to[3][3] = {{2, 1, 0}, {3, 4, 5}, {8, 7, 6}}; for (int i = 0; i < 50; i++) a[i][to[1][i % 3]] += 1; }",
    ] {
        for l in loops(text) {
            let asked = l.conditions.iter().filter(|c| c.met_by != MetBy::Proof);
            assert_eq!((l.verdict, asked.count()), (Verdict::Independent, 0), "{text} {:?}", l.obstacles);
        }
    }
}

#[test]
fn what_is_not_told_apart_is_not_said_to_be() {
    for text in [
        // nothing tells which direction it was
        "void f(void) { for (int y = 1; y < 39; y++) for (int q = 0; q < 5; q++) f1[0][y + cy[q]][3] = f0[q][y][3]; }",
        "void f(void) { for (int q = 0; q < 5; q++) for (int y = 1; y < 39; y++) f1[0][y + cy[q]][3] = f0[q][y][3]; }",
        // the direction depends on where it is
        "void f(void) { for (int y = 1; y < 39; y++) f1[2][y + cy[y % 5]][3] = y; }",
        // another direction's neighbour, another array's
        "void f(int p, int q) { if (p < 0 || p > 4 || q < 0 || q > 4) return; for (int y = 1; y < 39; y++) f1[q][y + cy[q]][3] = f1[q][y + cy[p]][3] / 2; }",
        "void f(void) { for (int y = 1; y < 39; y++) for (int q = 0; q < 5; q++) f1[q][y + cy[q]][3] = f1[q][y + cx[q]][3] / 2; }",
        "void f(void) { for (int y = 1; y < 39; y++) for (int q = 0; q < 5; q++) f1[q][y + cy[q]][3] = f1[q][y][3] / 2; }",
        // two planes in one
        "void f(void) { for (int q = 0; q < 5; q++) f1[half[q]][3][3] = f0[q][3][3]; }",
        "void f(void) { for (int q = 0; q < 5; q++) f1[part[q]][3][3] = f0[q][3][3]; }",
        "void f(void) { for (int q = 0; q < 5; q++) f1[opp[q] / 2][3][3] = f0[q][3][3]; }",
        "void f(void) { for (int q = 0; q < 5; q++) f1[0][(opp[q] + 5) % 3][3] = f0[q][3][3]; }",
        "void f(void) { for (int q = 0; q < 5; q++) f1[opp[q]][3][3] = f1[q][3][3] + 1; }",
        // one cell of many
        "void f(void) { for (int y = 0; y < 40; y++) for (int q = 0; q < 5; q++) f1[q][(y + cy[q] + 40) % 20][0] = y; }",
        "void f(void) { for (int y = 0; y < 40; y++) for (int q = 0; q < 5; q++) f1[q][(y + cy[q] + 40) / 2][0] = y; }",
        // out of the row, into the next one
        "static double g[5][40]; void f(void) { for (int q = 0; q < 4; q++) for (int y = 0; y < 40; y++) g[q][y + cy[q]] = y; }",
        "void f(double *restrict g) { for (int q = 1; q < 5; q++) for (int y = 0; y < 40; y++) g[q * 40 + y + cy[q]] = y; }",
        // one that others may change
        "int moves[5] = {0, 1, 2, 3, 4}; void f(void) { for (int q = 0; q < 5; q++) f1[moves[q]][3][3] = q; }",
        "static int moves[5] = {0, 1, 2, 3, 4}; void set(int k) { moves[k] = 0; } void f(void) { for (int q = 0; q < 5; q++) f1[moves[q]][3][3] = q; }",
        "extern const int moves[5]; void f(void) { for (int q = 0; q < 5; q++) f1[moves[q]][3][3] = q; }",
        "__attribute__((weak)) const int moves[5] = {0, 1, 2, 3, 4}; void f(void) { for (int q = 0; q < 5; q++) f1[moves[q]][3][3] = q; }",
        "static const volatile int moves[5] = {0, 1, 2, 3, 4}; void f(void) { for (int q = 0; q < 5; q++) f1[moves[q]][3][3] = q; }",
        "void f(int k) { const int moves[3] = {0, k, 2}; for (int q = 0; q < 3; q++) f1[moves[q]][3][3] = q; }",
        "void f(int k) { int moves[3] = {0, 1, 2}; moves[1] = k & 1; for (int q = 0; q < 3; q++) f1[moves[q]][3][3] = q; }",
        "void f(const int *moves) { for (int q = 0; q < 3; q++) f1[moves[q]][3][3] = q; }",
        // some of its bytes
        "void f(void) { for (int q = 0; q < 5; q++) f1[((const unsigned char *)opp)[q]][3][3] = q; }",
        "void f(void) { const short *s = (const short *)opp; for (int q = 0; q < 5; q++) f1[s[q]][3][3] = q; }",
        "void f(void) { const int moves[2][2] = {{0, 1}, {1, 0}}; for (int q = 0; q < 2; q++) for (int p = 0; p < 2; p++) f1[moves[p][q]][3][3] = q; }",
    ] {
        let all = loops(text);
        let parallel = all.iter().filter(|l| l.depth == 0 && l.verdict == Verdict::Independent);
        assert_eq!(parallel.count(), 0, "{text} {:?}", all[0].conditions);
    }
}

const FLAT: &str =
    "static const int ex[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1}, ey[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1}; \
                    void f(int nx, int ny, const double *restrict a, double *restrict g) { ";

/// All directions of a cell in one array, over sizes that are parameters.
#[test]
fn flat_lattices() {
    for text in [
        "for (int y = 1; y < ny - 1; y++) for (int x = 1; x < nx - 1; x++) for (int q = 0; q < 9; q++) g[((y + ey[q]) * nx + x + ex[q]) * 9 + q] = a[(y * nx + x) * 9 + q];",
        "for (int y = 0; y < ny; y++) for (int x = 0; x < nx; x++) for (int q = 0; q < 9; q++) { int to_x = (x + ex[q] + nx) % nx, to_y = (y + ey[q] + ny) % ny; g[(to_y * nx + to_x) * 9 + q] = a[(y * nx + x) * 9 + q]; }",
        "for (int q = 0; q < 9; q++) for (int y = 0; y < ny; y++) for (int x = 0; x < nx; x++) { int to_x = (x + ex[q] + nx) % nx, to_y = (y + ey[q] + ny) % ny; g[(q * ny + to_y) * nx + to_x] = a[(q * ny + y) * nx + x]; }",
        "for (int y = 0; y < 64; y++) for (int x = 0; x < 128; x++) for (int q = 0; q < 9; q++) { int to_x = (x + ex[q] + 128) % 128, to_y = (y + ey[q] + 64) % 64; g[(to_y * 128 + to_x) * 9 + q] = a[(y * 128 + x) * 9 + q]; }",
    ] {
        for l in loops_of_f(&format!("{FLAT}{text} }}")) {
            let asked: Vec<_> = l.conditions.iter().filter(|c| c.met_by != MetBy::Proof).collect();
            assert_eq!((l.verdict, asked.len()), (Verdict::Independent, 0), "{text} {:?} {asked:?}", l.obstacles);
        }
    }
}

#[test]
fn what_is_no_flat_lattice() {
    let push = |x: &str, y: &str, at: &str| {
        format!("for (int y = 0; y < ny; y++) for (int x = 0; x < nx; x++) for (int q = 0; q < 9; q++) {{ int u = {x}, v = {y}; g[{at}] = a[(y * nx + x) * 9 + q]; }}")
    };
    let (x, y, at) = ("(x + ex[q] + nx) % nx", "(y + ey[q] + ny) % ny", "(v * nx + u) * 9 + q");
    // the depth of the loop whose iterations meet
    for (depth, text) in [
        // nothing tells the direction, or it does not fit
        (1, push(x, y, "v * nx + u")),
        (1, push(x, y, "(v * nx + u) * 8 + q")),
        (1, push(x, y, "(v * nx + u) * 9 + q / 2")),
        (1, push(x, y, "(v * nx + u) * 9 + (q + x) % 9")),
        // the shift is the cell's
        (1, push("(x + ex[x % 9] + nx) % nx", "y", at)),
        (1, push("(x + ex[q] * x + nx) % nx", y, at)),
        // not all cells are apart: around another edge, or half of them
        (1, push("(x + ex[q] + nx) % (nx - 1)", y, at)),
        (1, push("(x + ex[q] + ny) % ny", y, at)),
        (1, push("(x + ex[q] + nx) % nx / 2", y, at)),
        (1, push("(x + ex[q] + nx) / nx", y, at)),
        // one more round than there are cells
        (1, push(x, y, at).replace("x < nx", "x <= nx")),
        (0, push(x, y, at).replace("y < ny", "y <= ny")),
        // from what was pushed
        (0, push(x, y, at).replace("= a[", "= g[")),
        (1, push(x, y, at).replace("= a[", "= g[")),
    ] {
        let all = loops_of_f(&format!("{FLAT}{text} }}"));
        let l = all.iter().find(|l| l.depth == depth).expect("the loop");
        let proved = l.conditions.iter().all(|c| c.met_by == MetBy::Proof);
        assert!(l.verdict != Verdict::Independent || !proved, "{text} {:?}", l.conditions);
    }
}
