//! Arrays of a region of which more may be used than what surely is: where pointers are exchanged, or where what is used in a
//! round or under a condition is not known before. A table holds, for each, which elements have room on the device and which
//! lie there; before a kernel uses others they are fetched, which the program itself would use at this moment. Outside of what
//! lies there the device has never written, so the host's values are those that count.

use analysis::Expr;
use term::BinOp;

use super::checks::test;
use super::Host;
use crate::device::host_term::{Term, LONG_LONG};
use crate::plan::BufferPlan;

impl Host<'_> {
    /// The table's type.
    fn table_type(&self) -> String {
        format!("struct {}_array", self.helper)
    }

    pub(super) fn table_name(&self) -> String {
        format!("{}arrays", self.plan.prefix)
    }

    /// The declaration of the table's type, if there is one.
    pub(super) fn table_text(&self) -> String {
        match self.plan.buffers.iter().any(|b| b.part.is_some()) {
            false => String::new(),
            true => format!(
                "/* An array and its copy: elements `lowest` to `highest` have room there, `first` to `last` lie there. */\n{} \
                 {{\n    const void *host;\n    void *device;\n    long long lowest, highest, first, last;\n}};\n\n",
                self.table_type()
            ),
        }
    }

    /// Makes the table, whose arrays have no place on the device yet.
    pub(super) fn table(&mut self, out: &mut Vec<Term>) {
        let plan = self.plan;
        let growing: Vec<&BufferPlan> = plan.buffers.iter().filter(|b| b.part.is_some()).collect();
        let count = Term::Int(growing.len() as i128);
        let ty = Term::Name(self.table_type());
        out.push(Term::head("_Table", vec![Term::Name(self.table_name()), ty, count]));
        for b in growing {
            let Some((first, last)) = &b.part else { continue };
            let last = match b.late {
                true => Expr::Add(vec![first.clone(), Expr::Int(-1)]),
                false => last.clone(),
            };
            let (first, last) = (self.expr(first), self.expr(&last));
            let lowest = b.constant_first().map_or_else(|| Term::name(&b.first_name), Term::Int);
            let count = match plan.buffers.iter().position(|o| o.symbol == b.symbol) {
                Some(k) if plan.count_tests(k) != (false, None) => Term::name(&b.count_name),
                _ => match &b.extent {
                    Some((f, l)) => {
                        let plus = vec![l.clone(), Expr::Mul(-1, Box::new(f.clone())), Expr::Int(1)];
                        self.expr(&Expr::Add(plus))
                    }
                    None => Term::Int(0),
                },
            };
            let highest =
                Term::binary(BinOp::Sub, Term::binary(BinOp::Add, lowest.clone(), count), Term::Int(1));
            for (field, value) in [("lowest", lowest), ("highest", highest), ("first", first), ("last", last)]
            {
                out.push(Term::head("_Put", vec![self.entry(b, field), value]));
            }
            let host = Term::Name(self.given.array(b));
            out.push(Term::head("_Put", vec![self.entry(b, "host"), host]));
        }
    }

    /// A field of an array's entry.
    fn entry(&self, b: &BufferPlan, field: &str) -> Term {
        let mut growing = self.plan.buffers.iter().filter(|b| b.part.is_some());
        let at = growing.position(|o| o.symbol == b.symbol).unwrap_or_default();
        let row = Term::Name(self.table_name()).at(Term::Int(at as i128));
        Term::head("Dot", vec![row, Term::name(field)])
    }

    /// The array among those that lie on the device: `_Grown(host,device,aside,type,bytes,way,entry)`, the entry being
    /// `_Entry(device,lowest,first,last)` of the table.
    pub(super) fn grown(&mut self, b: &BufferPlan) -> Term {
        let way = match (b.copy_in, b.written) {
            (true, true) => "inout",
            (true, false) => "in",
            (false, true) => "out",
            (false, false) => "none",
        };
        let ty = Term::Name(format!("{}*", self.cpp.type_name(b.element)));
        let entry = ["device", "lowest", "first", "last"].map(|f| self.entry(b, f)).to_vec();
        let parts = vec![
            Term::Name(self.given.array(b)),
            Term::name(&b.device_name),
            Term::name(&b.staging_name),
            ty,
            Term::name(&b.bytes_name),
            Term::name(way),
            Term::head("_Entry", entry),
        ];
        Term::head("_Grown", parts)
    }

    /// Of a nest in a region: that what it uses of an array is there, or comes there.
    pub(super) fn reached(&mut self, b: &BufferPlan) -> Option<Term> {
        let (first, last) = b.part.as_ref()?;
        let steps = self.steps?;
        let ty = format!("{}*", self.table_type());
        let table = Term::Name(self.given.table(&ty, &format!("{}arrays", steps.outer.prefix)));
        let count = Term::Int(steps.growing.len() as i128);
        let array = Term::Name(self.given.array(b));
        let (first, last) = (self.expr(first), self.expr(last));
        let size = Term::head("SizeOfType", vec![Term::Name(self.cpp.type_name(b.element))]);
        let name = self.plan.body.symbols[b.symbol].name.clone();
        // what it writes as a whole needs no older value
        let only_writes = !b.copy_in && b.each.is_none();
        let (reach, used) = match only_writes {
            true => (self.reach_to_write_name(), &self.helpers.reach_to_write),
            false => (self.reach_name(), &self.helpers.reach),
        };
        used.set(true);
        let call = Term::call(&reach, vec![table, count, array, first, last, size]);
        Some(test(call, &format!("what it uses of {name} is on the device")))
    }

    fn reach_name(&self) -> String {
        format!("{}_reach", self.helper)
    }

    fn reach_to_write_name(&self) -> String {
        format!("{}_reach_to_write", self.helper)
    }

    /// The functions that see to it that from `first` to `last` of the array whose copy is `device` is there: one fetches what is
    /// not, the other only what lies between that and what is, because all from `first` to `last` is written next.
    pub(super) fn reach_functions(&self) -> Vec<Term> {
        let n = Term::name;
        let mut out = Vec::new();
        if self.helpers.reach.get() {
            let below = Term::binary(BinOp::Lt, n("first"), field("first"));
            let above = Term::binary(BinOp::Gt, n("last"), field("last"));
            let found = vec![
                Term::when(below, vec![fetch(n("first"), field("first")), field("first").assign(n("first"))]),
                Term::when(
                    above,
                    vec![
                        fetch(plus_one(field("last")), plus_one(n("last"))),
                        field("last").assign(n("last")),
                    ],
                ),
            ];
            out.push(Term::comment(
                "Fetches what is to be used of an array and is not on the device yet. 0: there is no room for it.",
            ));
            out.push(self.reach_function(&self.reach_name(), found));
        }
        if self.helpers.reach_to_write.get() {
            let is_below = Term::binary(BinOp::Lt, plus_one(n("last")), field("first"));
            let is_above = Term::binary(BinOp::Gt, n("first"), plus_one(field("last")));
            let grows_down = Term::binary(BinOp::Lt, n("first"), field("first"));
            let grows_up = Term::binary(BinOp::Gt, n("last"), field("last"));
            let found = vec![
                Term::when(is_below, vec![fetch(plus_one(n("last")), field("first"))]),
                Term::when(is_above, vec![fetch(plus_one(field("last")), n("first"))]),
                Term::when(grows_down, vec![field("first").assign(n("first"))]),
                Term::when(grows_up, vec![field("last").assign(n("last"))]),
            ];
            out.push(Term::comment(
                "The same for what is written before it is read: only what lies between that and what is there is fetched.",
            ));
            out.push(self.reach_function(&self.reach_to_write_name(), found));
        }
        out
    }

    /// One of them; `found`: what it does where the array has room and something of it is there.
    fn reach_function(&self, name: &str, found: Vec<Term>) -> Term {
        let n = Term::name;
        let outside = Term::binary(
            BinOp::Or,
            Term::binary(BinOp::Lt, n("first"), field("lowest")),
            Term::binary(BinOp::Gt, n("last"), field("highest")),
        );
        let no = || Term::head("Return", vec![Term::Int(0)]);
        let mut all = vec![Term::when(outside, vec![no()])];
        // nothing is there: what is to be used begins it
        let is_none = Term::binary(BinOp::Lt, field("last"), field("first"));
        let before = Term::binary(BinOp::Sub, n("first"), Term::Int(1));
        let begins = vec![field("first").assign(n("first")), field("last").assign(before)];
        all.push(Term::when(is_none, begins));
        all.push(Term::declared("ok", "_Bool", Some(n("true"))));
        all.extend(found);
        all.push(Term::head("Return", vec![n("ok")]));
        let is_it = Term::binary(BinOp::Eq, field("device"), n("device"));
        let each = Term::head(
            "For",
            vec![
                Term::declared("k", "int", Some(Term::Int(0))),
                Term::binary(BinOp::Lt, n("k"), n("count")),
                Term::head("Increment", vec![n("k")]),
                Term::List(vec![Term::when(is_it, all)]),
            ],
        );
        let parameters = [
            ("arrays", format!("{}*", self.table_type())),
            ("count", "int".to_owned()),
            ("device", "const void*".to_owned()),
            ("first", LONG_LONG.to_owned()),
            ("last", LONG_LONG.to_owned()),
            ("size", "size_t".to_owned()),
        ];
        let parameters = parameters.iter().map(|(name, ty)| Term::declared(name, ty, None)).collect();
        Term::function(&["static"], "int", name, parameters, vec![each, no()])
    }
}

/// A field of the array that is looked at.
fn field(f: &str) -> Term {
    Term::head("Dot", vec![Term::name("arrays").at(Term::name("k")), Term::name(f)])
}

fn plus_one(t: Term) -> Term {
    Term::binary(BinOp::Add, t, Term::Int(1))
}

/// Brings elements to the device, to the one before `to`.
fn fetch(from: Term, to: Term) -> Term {
    let n = Term::name;
    let moved = |from: Term| Term::binary(BinOp::Mul, from, Term::cast(LONG_LONG, n("size")));
    let host = Term::binary(BinOp::Add, Term::cast("const char*", field("host")), moved(from.clone()));
    let behind = Term::binary(BinOp::Sub, from.clone(), field("lowest"));
    let device = Term::binary(BinOp::Add, Term::cast("char*", field("device")), moved(behind));
    let bytes = Term::binary(BinOp::Mul, Term::cast("size_t", Term::binary(BinOp::Sub, to, from)), n("size"));
    Term::head("_Must", vec![n("ok"), Term::head("_CopyHostToDevice", vec![host, device, bytes])])
}
