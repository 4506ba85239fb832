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
