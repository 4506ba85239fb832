//! What the walk meets, joined over all that it meets at one place.

use term::{TermId, TypeId};

use super::asked::AskedPlace;
use super::form::{Form, Mask};
use super::{
    AnyDecision, AnyShape, Assumed, Pattern, Truth, Undecided, WarpAccess, WarpObject, WarpWalk, Way,
};

impl WarpWalk<'_> {
    /// An access of the lanes that come to it.
    pub(super) fn touch(
        &mut self,
        t: TermId,
        ty: Option<TypeId>,
        object: Option<&WarpObject>,
        offset: &Form,
        way: Way,
    ) {
        if self.tried > 0 || self.frames.len() > 1 || way.may == 0 {
            return;
        }
        let Some(object) = object else {
            self.found.elsewhere.insert(t);
            return;
        };
        let Some((bytes, _)) = ty.and_then(|ty| self.body.types.size_align(ty)) else { return };
        let place = AskedPlace { offset, bytes, space: object.space };
        let all = place.asked(way.may, &self.unknowns);
        let shape = AnyShape {
            pattern: place.pattern(way.may, &self.unknowns),
            cost: place.asked_by_some(way.may, way.must, way.one, &self.unknowns),
            full: all.cost,
            worst: all.cost[0],
            ideal: all.ideal,
            lanes: way.may.count_ones(),
            partial: way.must != way.may && !way.one,
            run_time: place.by_run_time(way.may, &self.unknowns),
            by: place.by_parameter(way.may, &self.unknowns),
            assumed: self.assumed,
        };
        // one lane of those that may come
        let shape = match way.one {
            true => AnyShape { full: shape.cost, worst: shape.cost[0], ideal: 1, lanes: 1, ..shape },
            false => shape,
        };
        match self.found.accesses.get_mut(&t) {
            Some(a) if a.object == object.name && a.space == object.space => a.shape.join(shape),
            Some(_) => {
                self.found.elsewhere.insert(t);
            }
            None => {
                let (object, space) = (object.name.clone(), object.space);
                self.found.accesses.insert(t, WarpAccess { object, space, shape });
            }
        }
    }

    /// A branch, and what its condition is worth.
    pub(super) fn decide(&mut self, t: TermId, c: &Truth, way: Way) {
        if self.tried > 0 || self.frames.len() > 1 || way.may == 0 {
            return;
        }
        let one = decision(c, way, self.assumed);
        match self.found.decisions.get_mut(&t) {
            Some(d) => d.join(one),
            None => {
                self.found.decisions.insert(t, one);
            }
        }
    }
}

fn decision(c: &Truth, way: Way, assumed: Assumed) -> AnyDecision {
    let (yes, no) = (c.yes & way.may, c.no & way.may);
    let open = way.may & !(yes | no);
    let count = |m: Mask| m.count_ones();
    let most = if way.one || c.one { count(yes | open).min(1) } else { count(yes | open) };
    let one_class = [yes, no, open].into_iter().filter(|m| *m != 0).count() <= 1;
    let alike = way.one || one_class && (open == 0 || c.together) || count(way.may) == 1;
    let certain = way.must == way.may && yes != 0 && no != 0;
    AnyDecision {
        taken: [count(yes & way.must), most],
        alike,
        parts: (certain && !way.one).then_some((count(yes), count(way.may))),
        undecided: if alike || open == 0 { Undecided::No } else { c.undecided },
        assumed,
    }
}

impl AnyDecision {
    fn join(&mut self, other: AnyDecision) {
        self.taken = [self.taken[0].min(other.taken[0]), self.taken[1].max(other.taken[1])];
        self.alike &= other.alike;
        let least = |a: (u32, u32), b: (u32, u32)| if b.0 < a.0 { b } else { a };
        self.parts = match (self.parts, other.parts) {
            (Some(a), Some(b)) => Some(least(a, b)),
            (a, b) => a.or(b),
        };
        self.undecided = match (self.undecided, other.undecided) {
            (Undecided::Data, _) | (_, Undecided::Data) => Undecided::Data,
            (Undecided::Bound, _) | (_, Undecided::Bound) => Undecided::Bound,
            _ => Undecided::No,
        };
    }
}

impl AnyShape {
    fn join(&mut self, other: AnyShape) {
        let wide = |a: [u64; 2], b: [u64; 2]| [a[0].min(b[0]), a[1].max(b[1])];
        self.cost = wide(self.cost, other.cost);
        self.full = wide(self.full, other.full);
        self.pattern = match (self.pattern, other.pattern) {
            (a, b) if a == b => a,
            (Pattern::Gather, _) | (_, Pattern::Gather) => Pattern::Gather,
            // of a warp or round of which few lanes are there
            (Pattern::Uniform, p) if other.lanes > 1 && self.lanes == 1 => p,
            (p, Pattern::Uniform) if other.lanes == 1 => p,
            (Pattern::Strided(_), Pattern::Strided(_) | Pattern::Coalesced)
            | (Pattern::Coalesced, Pattern::Strided(_)) => Pattern::Strided(None),
            _ => Pattern::Irregular,
        };
        self.run_time |= other.run_time;
        self.by = self.by.filter(|by| other.by == Some(*by));
        self.partial |= other.partial;
        if other.worst.saturating_sub(other.ideal) > self.worst.saturating_sub(self.ideal) {
            (self.worst, self.ideal, self.lanes) = (other.worst, other.ideal, other.lanes);
        }
    }
}
