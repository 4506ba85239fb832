//! How much memory the arrays have that a launch gives a kernel: what the program allocated under the pointer that it gives.
//!
//! Deliberately absent: pointers that get a second value, pointers into the middle of an allocation, sizes of which the program goes
//! through several.

use std::rc::Rc;

use base::IndexId;
use term::{Body, Op, Storage, SymbolId, TermId};

use super::{CalledAs, TakenAs, Way};
use crate::host::address;

impl<'a> Way<'_, '_, 'a> {
    /// Bytes of the memory at whose start a pointer points.
    pub(super) fn bytes(&self, frame: &Rc<CalledAs<'a>>, t: TermId) -> Option<u64> {
        let body = frame.body;
        let s = match (body.op(t), body.args(t)) {
            (Op::Cast, &[a]) => return self.bytes(frame, a),
            (Op::Sym(s), _) => *s,
            _ => return None,
        };
        if let Storage::Param(k) = body.symbols[s].storage {
            let (by, argument) = self.argument(frame, s, k)?;
            return self.bytes(&by, argument);
        }
        let is_own =
            body.symbols[s].storage == Storage::Local && self.reader.stores(body, s).fields.is_empty();
        // sizes may come from whoever calls it
        let mut callers = std::iter::successors(Some(frame), |f| f.by.as_ref().map(|(by, _)| by));
        let is_sure = is_own && callers.all(|f| (self.reader.cx.are_sizes_said)(f.body));
        let size = is_sure.then(|| self.only_allocation(body, s))??;
        let before = self.taken.borrow().len();
        let bytes = self.settled(|| self.int(frame, size)).and_then(|v| u64::try_from(v).ok());
        // of several sizes another may be the one that goes with this launch
        let is_sure = self.taken.borrow().iter().skip(before).all(|t| t.why == TakenAs::Default);
        self.taken.borrow_mut().truncate(before);
        bytes.filter(|_| is_sure)
    }

    /// The size that the only allocation asks for from which a variable gets a value.
    fn only_allocation(&self, body: &'a Body, s: SymbolId) -> Option<TermId> {
        let parents = body.parents();
        let up = |t: TermId| parents.get(t.index()).copied().flatten();
        let name = &*body.symbols[s].name;
        let mut size = None;
        for t in body.walk(body.root) {
            if let Op::Reject(_) = body.op(t) {
                // whatever C++ does there is no matter to a pointer that it does not name
                (self.reader.cx.name_at)(body, t).filter(|text| !text.contains(name))?;
                continue;
            }
            if let (Op::Declare(d), &[init]) = (body.op(t), body.args(t)) {
                let is_null = |t: &TermId| matches!(body.op(*t), Op::Int(0));
                if *d == s && !body.walk(init).all(|x| is_null(&x) || matches!(body.op(x), Op::Cast)) {
                    return None;
                }
            }
            if body.as_symbol(t) != Some(s) {
                continue;
            }
            let mut of = t;
            let mut around = up(t)?;
            let mut is_address = false;
            while let Op::Cast | Op::AddrOf = body.op(around) {
                is_address |= *body.op(around) == Op::AddrOf;
                (of, around) = (around, up(around)?);
            }
            let args = body.args(around);
            match body.op(around) {
                Op::Assign | Op::Compound(_) | Op::Step { .. } if args.first() == Some(&of) => return None,
                Op::Call => match (body.callee_name(around), args) {
                    (Some("cudaMalloc" | "cudaMallocManaged"), &[_, p, bytes, ..])
                        if address(body, p) == Some(s) =>
                    {
                        // another one later
                        if size.replace(bytes).is_some() {
                            return None;
                        }
                    }
                    _ if is_address => return None,
                    // others may be given a reference to it
                    (Some(n), _) if n.starts_with("cuda") || self.reader.cx.program.body(n).is_some() => {}
                    _ => return None,
                },
                _ if is_address => return None,
                _ => {}
            }
        }
        size
    }
}
