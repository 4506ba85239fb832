//! Bytes of made-up inputs, counted.

use term::{Body, Op};

use super::*;

/// The most bytes that one of the inputs for the first function of a text has before it is cut, and how many could be made.
fn most_bytes(text: &str) -> (u64, usize) {
    let doc = crate::tests::open(text);
    let bodies: Vec<&Body> = doc.unit().items.iter().map(|i| &*i.body).collect();
    let body = bodies.iter().find(|b| matches!(b.op(b.root), Op::Function(_))).expect("a function");
    let program = Program::of(bodies.iter().copied());
    let signature = signature(body).expect("an input can be made");
    let (mut most, mut count) = (0, 0);
    for (k, size) in crate::verify::SIZES.into_iter().enumerate() {
        let choice = Choice {
            size,
            sizes: [Sizes::Equal, Sizes::Equal, Sizes::Near][k % 3],
            overlap: k % 4 == 3,
            seed: k as u64,
            room: Room::WIDE,
            launches: false,
            wild: false,
            held: Held::Any,
            awkward: false,
        };
        let mut bytes = 0;
        let made = Of { program: &program, function: &body.name, signature: &signature, given: &[] }.make(
            choice,
            &Budget::new(20_000_000),
            &mut bytes,
        );
        most = most.max(bytes);
        count += usize::from(made.is_ok());
    }
    (most, count)
}

/// What is alive at once: the input, its copy and two heaps, each byte with its mark.
const MOST: u64 = (1 << 30) / 8;

#[test]
fn a_step_of_molecular_dynamics_stays_within_its_bytes() {
    let (bytes, made) = most_bytes(
        "struct atoms { int nLocal, nGlobal; int *gid, *kind; double (*r)[3], (*p)[3], (*f)[3], *U; };\nstruct boxes { int grid[3]; int nLocalBoxes, nTotalBoxes; double low[3], high[3], size[3]; int *nAtoms; int **nbr; };\nstruct sim { int n, steps; double dt; struct boxes *boxes; struct atoms *atoms; struct atoms *ghosts[6]; double ePot, eKin; };\nvoid step(struct sim *s, double dt)\n{\n    for (int b = 0; b < s->boxes->nLocalBoxes; b++)\n        for (int i = 0; i < s->boxes->nAtoms[b]; i++)\n            for (int k = 0; k < 3; k++)\n                s->atoms->p[64 * b + i][k] += dt * s->atoms->f[64 * b + i][k];\n}\n",
    );
    assert!(bytes <= MOST, "{bytes} bytes");
    assert!(made >= 4, "{made} inputs");
}

#[test]
fn tables_of_tables_stay_within_their_bytes() {
    let (bytes, made) = most_bytes(
        "struct cell { double *a, *b, *c, *d; int n; };\nstruct row { struct cell *cells; struct cell **more; int n; };\nstruct grid { struct row *rows; struct row **other; int n; };\nvoid f(struct grid *g, double ***t, int n)\n{\n    for (int i = 0; i < g->n; i++)\n        for (int j = 0; j < n; j++)\n            t[0][i][j] = g->rows[0].cells[0].a[j];\n}\n",
    );
    assert!(bytes <= MOST, "{bytes} bytes");
    assert!(made >= 1, "{made} inputs");
}

#[test]
fn structures_that_are_programs_of_their_own_stay_within_their_bytes() {
    let members: String = (0..90).map(|k| format!("float *p{k}; int n{k}; struct layer *l{k}; ")).collect();
    let (bytes, made) = most_bytes(&format!(
        "struct layer {{ {members} void (*f)(struct layer); }};\nvoid f(struct layer *l)\n{{\n    for (int i = 0; i < l->n0; i++)\n        l->p0[i] = i;\n}}\n"
    ));
    assert!(bytes <= MOST, "{bytes} bytes");
    assert!(made >= 4, "{made} inputs");
}

#[test]
fn the_librarys_streams_are_made_up_by_nobody() {
    let doc = crate::tests::open(
        "#include <stdio.h>\nextern int level;\nvoid f(int n) { if (n > level) fprintf(stderr, \"%d\", n); }\n",
    );
    let is_function = |i: &&front::Item| matches!(i.body.op(i.body.root), Op::Function(_));
    let body = &doc.unit().items.iter().find(is_function).expect("a function").body;
    let signature = signature(body).expect("an input can be made");
    let names: Vec<&str> = signature.globals.iter().map(|g| &*g.name).collect();
    assert_eq!(names, ["level"]);
}
