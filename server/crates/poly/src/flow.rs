//! Exact flow analysis: which write each read gets its value from.
//!
//! Deliberately absent: where accesses and schedules come from, and the naming of references; give two references of
//! one statement that must be told apart two statement numbers.

use crate::ctx::{Ctx, Obj};
use crate::error::{Error, Result};
use crate::ffi::*;
use crate::linear::MapSpace;
use crate::map::Map;
use base::Budget;
use libc::c_int;
use std::collections::HashMap;
use std::rc::Rc;

/// What a statement touches: from its instances to the cells of one array.
#[derive(Clone, Copy, Debug)]
pub struct Access<'a> {
    /// The statement's number.
    pub statement: usize,
    /// The array's number.
    pub array: usize,
    /// From the statement's instances (within its domain) to subscripts.
    pub relation: &'a Map,
}

/// The question. Every statement that occurs in an access needs one entry in `schedule`.
#[derive(Clone, Debug, Default)]
pub struct Flow<'a> {
    /// The accesses whose sources are asked for: reads, for flow dependences.
    pub sinks: Vec<Access<'a>>,
    /// Accesses that surely happen and hide earlier ones: writes.
    pub must_sources: Vec<Access<'a>>,
    /// Accesses that may happen and hide nothing.
    pub may_sources: Vec<Access<'a>>,
    /// Accesses that end the life of a value without giving a new one.
    pub kills: Vec<Access<'a>>,
    /// When each statement's instances run: to one common space of times, compared lexicographically.
    pub schedule: Vec<(usize, &'a Map)>,
}

/// From the instances of one statement to those of another, because of one array.
#[derive(Clone, Debug)]
pub struct Dependence {
    /// The statement that is the source.
    pub source: usize,
    /// The statement that is the sink.
    pub sink: usize,
    /// The array they share.
    pub array: usize,
    /// From source instances to sink instances.
    pub relation: Map,
}

/// Accesses of one statement to one array: instances with cells.
#[derive(Clone, Debug)]
pub struct Instances {
    /// The statement.
    pub statement: usize,
    /// The array.
    pub array: usize,
    /// From instances to subscripts.
    pub relation: Map,
}

/// The answer, each list in the order of its numbers.
#[derive(Clone, Debug, Default)]
pub struct Flows {
    /// The source is surely this one.
    pub must: Vec<Dependence>,
    /// The source may be this one; contains `must`.
    pub may: Vec<Dependence>,
    /// Sinks that surely have no source: they see what was there before.
    pub must_no_source: Vec<Instances>,
    /// Sinks that may have no source; contains `must_no_source`.
    pub may_no_source: Vec<Instances>,
}

impl Flow<'_> {
    /// Answers the question.
    pub fn compute(&self, budget: &Budget) -> Result<Flows> {
        let ctx = Ctx::here()?;
        let params = self.check(budget)?;
        let sinks = accesses(&ctx, params, &self.sinks, budget)?;
        let must = accesses(&ctx, params, &self.must_sources, budget)?;
        let may = accesses(&ctx, params, &self.may_sources, budget)?;
        let kills = accesses(&ctx, params, &self.kills, budget)?;
        let schedule = union(&ctx, params, self.schedule.iter().map(|&(s, m)| (s, None, m)), budget)?;
        // SAFETY: each step takes what the one before gave (NULL stays NULL) and the references made here.
        let flow = ctx.make(budget, || unsafe {
            let info = isl_union_access_info_from_sink(sinks.give());
            let info = isl_union_access_info_set_must_source(info, must.give());
            let info = isl_union_access_info_set_may_source(info, may.give());
            let info = isl_union_access_info_set_kill(info, kills.give());
            isl_union_access_info_compute_flow(isl_union_access_info_set_schedule_map(info, schedule.give()))
        })?;
        // SAFETY (all): keep the flow.
        let get = |f: Part| ctx.make(budget, || unsafe { f(flow.keep()) });
        Ok(Flows {
            must: dependences(&get(isl_union_flow_get_full_must_dependence)?, params, budget)?,
            may: dependences(&get(isl_union_flow_get_full_may_dependence)?, params, budget)?,
            must_no_source: instances(&get(isl_union_flow_get_must_no_source)?, params, budget)?,
            may_no_source: instances(&get(isl_union_flow_get_may_no_source)?, params, budget)?,
        })
    }

    /// isl takes tuples of one name and different lengths for different things, and leaves out instances without a
    /// time; both would lose dependences without a word, so both are refused here. Gives the number of parameters.
    fn check(&self, budget: &Budget) -> Result<usize> {
        let mut schedule: HashMap<usize, &Map> = HashMap::new();
        let first = self.schedule.first().ok_or(Error::Mismatch("a flow without a schedule"))?.1.space();
        for &(statement, map) in &self.schedule {
            let MapSpace { params, outs, .. } = map.space();
            if (params, outs) != (first.params, first.outs) {
                return Err(Error::Mismatch("schedules into different spaces"));
            }
            if schedule.insert(statement, map).is_some() {
                return Err(Error::Mismatch("a statement with two schedules"));
            }
        }
        let mut ranks: HashMap<usize, usize> = HashMap::new();
        for access in [&self.sinks, &self.must_sources, &self.may_sources, &self.kills].into_iter().flatten()
        {
            let MapSpace { params, ins, outs } = access.relation.space();
            let time =
                schedule.get(&access.statement).ok_or(Error::Mismatch("a statement without a schedule"))?;
            if (params, ins) != (first.params, time.space().ins) {
                return Err(Error::Mismatch("an access from other instances than the schedule's"));
            }
            if *ranks.entry(access.array).or_insert(outs) != outs {
                return Err(Error::Mismatch("one array with different numbers of subscripts"));
            }
            if !access.relation.domain(budget)?.is_subset(&time.domain(budget)?, budget)? {
                return Err(Error::Mismatch(
                    "an access of an instance that the schedule does not give a time",
                ));
            }
        }
        Ok(first.params)
    }
}

type Part = unsafe extern "C" fn(*mut isl_union_flow) -> *mut isl_union_map;

fn accesses(ctx: &Rc<Ctx>, params: usize, all: &[Access], budget: &Budget) -> Result<Obj<isl_union_map>> {
    union(ctx, params, all.iter().map(|a| (a.statement, Some(a.array), a.relation)), budget)
}

/// The union of relations from statements, to arrays or to an unnamed space.
pub(crate) fn union<'a>(
    ctx: &Rc<Ctx>,
    params: usize,
    maps: impl Iterator<Item = (usize, Option<usize>, &'a Map)>,
    budget: &Budget,
) -> Result<Obj<isl_union_map>> {
    let space = ctx.params_space(params)?;
    // SAFETY (all): take the references made here.
    let mut all = ctx.make(budget, || unsafe { isl_union_map_empty(space.give()) })?;
    for (statement, array, map) in maps {
        let from = ctx.name('S', statement)?;
        let to = array.map(|a| ctx.name('A', a)).transpose()?;
        let one = ctx.make(budget, || unsafe {
            let mut m = isl_map_set_tuple_id(map.obj.give(), DIM_IN, from.give());
            if let Some(to) = &to {
                m = isl_map_set_tuple_id(m, DIM_OUT, to.give());
            }
            isl_union_map_from_map(m)
        })?;
        all = ctx.make(budget, || unsafe { isl_union_map_union(all.give(), one.give()) })?;
    }
    Ok(all)
}

fn maps(all: &Obj<isl_union_map>, budget: &Budget) -> Result<Vec<Obj<isl_map>>> {
    let ctx = all.ctx();
    // SAFETY (all): keep what they are lent; the positions lie within the list.
    let list = ctx.make(budget, || unsafe { isl_union_map_get_map_list(all.keep()) })?;
    let n = ctx.size(budget, || unsafe { isl_map_list_size(list.keep()) })?;
    (0..n).map(|i| ctx.make(budget, || unsafe { isl_map_list_get_at(list.keep(), i as c_int) })).collect()
}

fn number(ctx: &Ctx, kind: char, id: Result<*mut isl_id>) -> Result<usize> {
    match ctx.read_name(id?)? {
        (k, i) if k == kind => Ok(i),
        _ => Err(Error::Isl("a relation between unexpected tuples".into())),
    }
}

/// A relation without its tuples' names.
fn nameless(map: &Obj<isl_map>, params: usize, budget: &Budget) -> Result<Map> {
    let ctx = map.ctx();
    // SAFETY (all): keep the map, or take the references made here.
    let ins = ctx.size(budget, || unsafe { isl_map_dim(map.keep(), DIM_IN) })?;
    let outs = ctx.size(budget, || unsafe { isl_map_dim(map.keep(), DIM_OUT) })?;
    let space = ctx.map_space(params, ins, outs)?;
    let obj = ctx.make(budget, || unsafe { isl_map_reset_space(map.give(), space.give()) })?;
    Ok(Map::own(obj, MapSpace { params, ins, outs }))
}

fn dependences(all: &Obj<isl_union_map>, params: usize, budget: &Budget) -> Result<Vec<Dependence>> {
    let mut out: Vec<Dependence> = Vec::new();
    for full in maps(all, budget)? {
        let ctx = full.ctx();
        // `S[…] -> [T[…] -> A[…]]`: the sink's access is the right side.
        // SAFETY (all): keep what they are lent, or take the references made here; each step takes what the one
        // before gave (NULL stays NULL).
        let access = ctx
            .make(budget, || unsafe { isl_space_unwrap(isl_space_range(isl_map_get_space(full.keep()))) })?;
        let array = ctx.run(budget, || unsafe { isl_space_get_tuple_id(access.keep(), DIM_OUT) });
        let plain = ctx.make(budget, || unsafe { isl_map_range_factor_domain(full.give()) })?;
        let source = ctx.run(budget, || unsafe { isl_map_get_tuple_id(plain.keep(), DIM_IN) });
        let sink = ctx.run(budget, || unsafe { isl_map_get_tuple_id(plain.keep(), DIM_OUT) });
        out.push(Dependence {
            source: number(ctx, 'S', source)?,
            sink: number(ctx, 'S', sink)?,
            array: number(ctx, 'A', array)?,
            relation: nameless(&plain, params, budget)?,
        });
    }
    out.sort_by_key(|d| (d.source, d.sink, d.array));
    Ok(out)
}

fn instances(all: &Obj<isl_union_map>, params: usize, budget: &Budget) -> Result<Vec<Instances>> {
    let mut out: Vec<Instances> = Vec::new();
    for map in maps(all, budget)? {
        let ctx = map.ctx();
        // SAFETY (both): keep the map.
        let statement = ctx.run(budget, || unsafe { isl_map_get_tuple_id(map.keep(), DIM_IN) });
        let array = ctx.run(budget, || unsafe { isl_map_get_tuple_id(map.keep(), DIM_OUT) });
        out.push(Instances {
            statement: number(ctx, 'S', statement)?,
            array: number(ctx, 'A', array)?,
            relation: nameless(&map, params, budget)?,
        });
    }
    out.sort_by_key(|d| (d.statement, d.array));
    Ok(out)
}
