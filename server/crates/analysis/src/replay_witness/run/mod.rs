//! One run of the function from its entry: its statements and jumps, and the conditions that it met. `loops` repeats, `watch` sees
//! whether the two iterations meet, `variables` finds the objects, `ways` notes
//! what decided.
//!
//! A loop that costs too much is cut short: what it may have written is no longer known, and the run goes on behind it, or, where
//! the loop counts plainly, in the iteration that matters. That is a larger set of runs than the program has, and what
//! is seen in it is seen in every run with these inputs (in which, as everywhere, nothing undefined happens). Where a value that
//! is not known decides whether control leaves its way to the loop, both ways are followed, one run each (`choices`).

mod loops;
mod variables;
mod watch;
mod ways;

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use term::{Body, Op, SymbolId, TermId};

use super::formula::Tree;
use super::inputs::{Given, Inputs, Kind, Owner};
use super::memory::{Memory, ReplayObject, Rest};
use super::values::{Address, Fact, Id, Linear, Number, Value};
use super::Ways;
use crate::limits::replay_witness_run::{MAX_CHOICES, MAX_DEPTH, MAX_EVENTS};
use crate::{Control, DependenceKind, NotReplayed, Program, Witness};

/// What a run is to show.
pub(super) struct Goal<'a> {
    pub body: &'a Body,
    pub root: TermId,
    /// Loops and other terms around the root, itself included.
    pub around: FxHashSet<TermId>,
    /// Loops that count plainly: their index and how they go on.
    pub controls: std::rc::Rc<FxHashMap<TermId, Control>>,
    pub kind: DependenceKind,
    pub witness: Witness,
    /// The term's place in the order of the text, by term.
    pub places: &'a FxHashMap<TermId, u32>,
    pub ways: &'a Ways,
    /// By term: [`SOURCE`], [`SINK`] and what stands near them.
    pub marks: FxHashMap<TermId, u8>,
    /// The function's arguments, where they are constant at the call that it is run for.
    pub arguments: Box<[Option<i128>]>,
}

pub(super) const SOURCE: u8 = 1;
pub(super) const SINK: u8 = 2;
/// Under or around the access that is meant: a part of it, or a call that it stands for.
pub(super) const NEAR_SOURCE: u8 = 4;
pub(super) const NEAR_SINK: u8 = 8;

/// Something that had to be so for the run to go its way.
#[derive(Clone, Debug)]
pub(super) struct Event {
    pub fact: Option<Fact>,
    /// A tree that came out so.
    pub tree: Option<(Tree, bool)>,
    pub other: Other,
    pub led: Led,
    /// The branch of the function itself that it decided.
    pub by: Option<TermId>,
}

impl Event {
    /// One that has decided nothing yet.
    fn new(fact: Option<Fact>, tree: Option<(Tree, bool)>, other: Other) -> Event {
        Event { fact, tree, other, led: Led::Nowhere, by: None }
    }
}

/// What a decision did for the way to the root, the least promising to turn first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Led {
    /// Another part of the condition decided (`a || b` where `b` holds): to turn `a` alone changes nothing.
    Moot,
    /// It decided something else.
    Nowhere,
    /// On, or on around it.
    On,
    /// It decided what a condition depends on that led away.
    Fed,
    /// Away from it.
    Away,
}

/// How it could have been otherwise.
#[derive(Clone, Debug)]
pub(super) enum Other {
    /// By this instead of the fact.
    Fact(Fact),
    /// By the event's tree.
    Tree,
    Give(Id, Given),
    /// An input as it usually is.
    Usual(Id),
    /// By values for which this comes out so, where it was not known how it does.
    Make(Tree, bool),
    No,
}

/// The run came to the root.
#[derive(Clone, Debug)]
pub(super) struct Reached {
    /// Events until then.
    pub events: usize,
    /// Values of the witness's parameters there, with their forms.
    pub values: Vec<Option<(i128, Option<Linear>)>>,
    /// Input pointers that would have to lead elsewhere for a distance to be what the witness says.
    pub links: Vec<(Id, Given)>,
}

/// Two iterations that were seen to meet.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Meeting {
    pub source_iteration: i128,
    pub sink_iteration: i128,
    /// Indices, by the witness's lists.
    pub source: Vec<Option<i128>>,
    pub sink: Vec<Option<i128>>,
    /// Values of the witness's parameters in that execution of the loop.
    pub params: Vec<Option<i128>>,
}

/// Why the run ends here.
#[derive(Clone, Debug)]
pub(super) enum Halt {
    /// Two iterations met.
    Seen(Meeting),
    Fail(NotReplayed, Option<TermId>),
}

pub(super) type Res<T> = Result<T, Halt>;

pub(super) enum Flow {
    Next,
    Break,
    Continue,
    Return(Value),
    Goto(Arc<str>),
}

/// A place that control jumps to.
#[derive(Clone)]
enum Seek {
    Label(Arc<str>),
    Case(TermId),
}

pub(super) struct ReplayFrame<'a> {
    pub body: &'a Body,
    pub locals: Vec<u32>,
    /// Values of variable lengths, fixed where the array was declared.
    pub lengths: FxHashMap<TermId, i128>,
    /// The call in the function itself that this one came from.
    pub call: Option<TermId>,
}

/// One execution of the root, as far as it was seen.
struct Watch {
    iteration: i128,
    /// It began with the witness's values.
    wanted: bool,
    params: Vec<Option<i128>>,
    /// Values of the indices where their loops' iterations began.
    indices: FxHashMap<SymbolId, i128>,
    /// Accesses of the source, by object and first byte: the last one and the last of an earlier iteration.
    sources: BTreeMap<(u32, i64), [Option<SourceAccess>; 2]>,
}

#[derive(Clone)]
struct SourceAccess {
    iteration: i128,
    size: i64,
    exact: bool,
    indices: Vec<Option<i128>>,
}

pub(super) struct Run<'a, 'r> {
    pub goal: &'r Goal<'a>,
    pub program: &'a Program,
    pub inputs: &'r mut Inputs,
    pub given: &'r FxHashMap<Id, Given>,
    pub memory: Memory,
    pub frames: Vec<ReplayFrame<'a>>,
    pub globals: FxHashMap<Arc<str>, u32>,
    pub statics: FxHashMap<(Arc<str>, SymbolId), u32>,
    pub strings: FxHashMap<Arc<str>, u32>,
    /// Functions and file-scope variables of which the program's text was asked.
    pub followed: FxHashSet<Arc<str>>,
    /// Objects that input pointers lead to.
    pub behind: FxHashMap<Id, u32>,
    pub events: Vec<Event>,
    pub reached: Vec<Reached>,
    pub helpers: Id,
    /// Executions of each call whose result is an input.
    pub results: FxHashMap<TermId, u32>,
    pub unknown_calls: u32,
    pub steps: u64,
    limit: u64,
    pub depth: u32,
    seek: Option<Seek>,
    watch: Option<Watch>,
    /// Something near the accesses met, if not they themselves.
    pub nearly: Option<Meeting>,
    /// Only this meeting counts: the one of another way through what is not known.
    pub only: Option<&'r Meeting>,
    misses: u32,
    /// What names that no text defines are taken for.
    pub free: FxHashMap<Owner, (Kind, u32)>,
    /// Members of records of which no text is seen.
    pub unseen: Vec<Arc<str>>,
    /// Ways to take where a value that is not known decides, and those taken.
    pub choices: &'r [bool],
    pub taken: Vec<bool>,
    /// Such a place where something of what is looked for was left out.
    blind: Option<TermId>,
    /// How far the run came on the way to the root.
    pub progress: u32,
    /// The events of the last decision on the way to the root.
    decided: (TermId, std::ops::Range<usize>),
    /// The root ended by what nothing that can be turned decided.
    pub starved: bool,
    /// Most iterations of one execution of the root.
    pub rounds: i128,
    /// Numbers of events after which the run took a way that does not lead to the root, or left it.
    pub turns: Vec<usize>,
}

pub(super) const NOWHERE: u32 = u32::MAX;

impl<'a, 'r> Run<'a, 'r> {
    pub fn new(
        goal: &'r Goal<'a>,
        program: &'a Program,
        inputs: &'r mut Inputs,
        given: &'r FxHashMap<Id, Given>,
        choices: &'r [bool],
        limit: u64,
    ) -> Run<'a, 'r> {
        let mut run = Run {
            goal,
            program,
            inputs,
            given,
            memory: Memory::default(),
            frames: Vec::new(),
            globals: FxHashMap::default(),
            statics: FxHashMap::default(),
            strings: FxHashMap::default(),
            followed: FxHashSet::default(),
            behind: FxHashMap::default(),
            events: Vec::new(),
            reached: Vec::new(),
            helpers: super::values::HELPERS,
            results: FxHashMap::default(),
            unknown_calls: 0,
            steps: 0,
            limit,
            depth: 0,
            seek: None,
            watch: None,
            nearly: None,
            only: None,
            misses: 0,
            free: FxHashMap::default(),
            unseen: Vec::new(),
            choices,
            taken: Vec::new(),
            blind: None,
            progress: 0,
            decided: (goal.root, 0..0),
            starved: false,
            rounds: 0,
            turns: Vec::new(),
        };
        run.enter(goal.body, None);
        run
    }

    pub fn enter(&mut self, body: &'a Body, call: Option<TermId>) {
        let locals = vec![NOWHERE; body.symbols.len()];
        self.frames.push(ReplayFrame { body, locals, lengths: FxHashMap::default(), call });
    }

    /// Runs the function; how it ended.
    pub fn all(&mut self) -> Halt {
        let body = self.goal.body;
        let ended = match body.op(body.root) {
            Op::Function(_) => self.lengths_of_parameters().and_then(|()| {
                let statements = body.args(body.root).get(1).copied();
                statements.map_or(Ok(()), |s| self.function(s).map(drop))
            }),
            _ => Err(Halt::Fail(NotReplayed::NotReached, None)),
        };
        match ended {
            Ok(()) if self.reached.is_empty() => Halt::Fail(NotReplayed::NotReached, None),
            Ok(()) if self.misses > 0 => self.not_met(None),
            Ok(()) => Halt::Fail(NotReplayed::NotReached, None),
            Err(h) => h,
        }
    }

    /// The root ended without the meeting.
    fn not_met(&self, at: Option<TermId>) -> Halt {
        match self.blind {
            Some(t) => Halt::Fail(NotReplayed::Value, Some(t)),
            None => Halt::Fail(NotReplayed::NotMet, at),
        }
    }

    pub fn body(&self) -> &'a Body {
        self.frames.last().map_or(self.goal.body, |f| f.body)
    }

    pub fn fail<T>(&self, why: NotReplayed, at: TermId) -> Res<T> {
        // Said of the function itself.
        let at = self.frames.iter().find_map(|f| f.call).unwrap_or(at);
        Err(Halt::Fail(why, Some(at)))
    }

    pub fn tick(&mut self, t: TermId) -> Res<()> {
        self.steps += 1;
        if self.steps > self.limit || self.depth > MAX_DEPTH {
            return self.fail(NotReplayed::Steps, t);
        }
        Ok(())
    }

    /// The statements of the function that was entered last; its value.
    pub fn function(&mut self, statements: TermId) -> Res<Value> {
        let mut flow = self.exec(statements)?;
        for _ in 0..10_000 {
            match flow {
                Flow::Return(v) => return Ok(v),
                Flow::Goto(label) => {
                    self.seek = Some(Seek::Label(label));
                    flow = self.exec(statements)?;
                    if self.seek.take().is_some() {
                        return self.fail(NotReplayed::NotUnderstood, statements);
                    }
                }
                _ => return Ok(Value::ANY),
            }
        }
        self.fail(NotReplayed::Steps, statements)
    }

    fn sought_in(&self, t: TermId) -> bool {
        let body = self.body();
        match &self.seek {
            None => true,
            Some(Seek::Case(c)) => body.walk(t).any(|x| x == *c),
            Some(Seek::Label(l)) => body.walk(t).any(|x| matches!(body.op(x), Op::Label(m) if m == l)),
        }
    }

    /// Executes a statement.
    pub fn exec(&mut self, t: TermId) -> Res<Flow> {
        self.depth += 1;
        if self.frames.len() == 1 {
            let place = |t: TermId| self.goal.places.get(&t).copied();
            match (place(t), place(self.goal.root)) {
                (Some(k), Some(root)) if k <= root => self.progress = self.progress.max(k),
                _ => {}
            }
        }
        let flow = self.tick(t).and_then(|()| self.statement(t));
        self.depth -= 1;
        flow
    }

    fn statement(&mut self, t: TermId) -> Res<Flow> {
        let body = self.body();
        let args = body.args(t);
        match body.op(t) {
            Op::List => {
                for &a in args {
                    if self.seek.is_some() && !self.sought_in(a) {
                        continue;
                    }
                    match self.exec(a)? {
                        Flow::Next => {}
                        flow => return Ok(flow),
                    }
                }
                Ok(Flow::Next)
            }
            Op::Label(l) => {
                if matches!(&self.seek, Some(Seek::Label(m)) if m == l) {
                    self.seek = None;
                }
                Ok(Flow::Next)
            }
            Op::Case | Op::Default => {
                if matches!(&self.seek, Some(Seek::Case(c)) if *c == t) {
                    self.seek = None;
                }
                Ok(Flow::Next)
            }
            Op::Empty | Op::Mark(_) => Ok(Flow::Next),
            Op::Declare(s) => {
                self.declare(*s, args.first().copied(), t)?;
                Ok(Flow::Next)
            }
            Op::If => {
                if self.seek.is_some() {
                    let branch = args.iter().skip(1).copied().find(|&b| self.sought_in(b));
                    return branch.map_or(Ok(Flow::Next), |b| self.exec(b));
                }
                let begun = self.events.len();
                let c = self.eval(args[0])?;
                let holds = match self.decide(&c) {
                    Some(holds) => holds,
                    None if self.must_choose(&args[1..]) => self.choose(args[0])?,
                    None => return self.either(&args[1..], args[0]),
                };
                self.steered(t, begun);
                let taken = args.get(if holds { 1 } else { 2 }).copied();
                if self.frames.len() == 1
                    && self.goal.around.contains(&t)
                    && taken.is_none_or(|b| !self.goal.around.contains(&b))
                {
                    self.turned();
                }
                taken.map_or(Ok(Flow::Next), |b| self.branch(b))
            }
            Op::For | Op::While | Op::DoWhile => self.repeat(t),
            Op::Switch => self.switch(t),
            Op::Break => {
                self.jumped(t);
                Ok(Flow::Break)
            }
            Op::Continue => {
                self.jumped(t);
                Ok(Flow::Continue)
            }
            Op::Goto(l) => {
                self.jumped(t);
                Ok(Flow::Goto(l.clone()))
            }
            Op::Return => {
                self.jumped(t);
                let Some(&v) = args.first() else { return Ok(Flow::Return(Value::ANY)) };
                let mut v = self.eval(v)?;
                if let Number::Record(from) = v.number {
                    let ty = body.ty(args[0]);
                    let kept = self.memory.add(ReplayObject::new(Rest::Any, None));
                    let to = Address { object: kept, offset: 0 };
                    self.copy_record(to, from, ty, None)?;
                    v.number = Number::Record(to);
                }
                Ok(Flow::Return(v))
            }
            // It may do what it likes, leave the function too.
            Op::Reject(_) => self.fail(NotReplayed::NotUnderstood, t),
            Op::Call if matches!(body.op(args[0]), Op::Reject(_)) => {
                self.fail(NotReplayed::NotUnderstood, args[0])
            }
            _ => {
                self.eval(t)?;
                Ok(Flow::Next)
            }
        }
    }

    /// Of statements of which one is executed, or none, and it is not known which: what they may write is not known after.
    pub fn either(&mut self, parts: &[TermId], condition: TermId) -> Res<Flow> {
        if self.must_choose(parts) {
            return self.fail(NotReplayed::Value, condition);
        }
        for &p in parts {
            if self.matters(p) {
                self.blind.get_or_insert(condition);
            }
            self.forget(p)?;
        }
        Ok(Flow::Next)
    }

    /// Whether one of the statements is on the way to the root, or off it.
    fn must_choose(&self, parts: &[TermId]) -> bool {
        let own = self.frames.len() == 1;
        parts.iter().any(|&p| self.jumps_out(p) || own && self.goal.around.contains(&p))
    }

    /// Which way this run takes where a value that is not known decides; another run takes the other.
    fn choose(&mut self, condition: TermId) -> Res<bool> {
        let way = match self.choices.get(self.taken.len()) {
            Some(&way) => way,
            None if self.taken.len() < MAX_CHOICES => true,
            None => return self.fail(NotReplayed::Value, condition),
        };
        self.taken.push(way);
        Ok(way)
    }

    /// Whether what is looked for is under the term.
    fn matters(&self, t: TermId) -> bool {
        if self.frames.len() > 1 {
            // A called function may be what the access stands for.
            let call = self.frames[1].call;
            return self.in_question() && call.is_some_and(|c| self.goal.marks.contains_key(&c));
        }
        if self.goal.around.contains(&t) {
            return true;
        }
        self.in_question() && self.goal.body.walk(t).any(|x| self.goal.marks.contains_key(&x))
    }

    /// Whether one of the witness's two iterations is running.
    fn in_question(&self) -> bool {
        let w = &self.goal.witness;
        self.watch.as_ref().is_some_and(|x| {
            x.wanted && (x.iteration == w.source_iteration || x.iteration == w.sink_iteration)
        })
    }

    /// Whether control may leave the term elsewhere than at its end.
    fn jumps_out(&self, t: TermId) -> bool {
        let body = self.body();
        let mut stack = vec![(t, false)];
        while let Some((t, inner)) = stack.pop() {
            match body.op(t) {
                Op::Return | Op::Goto(_) | Op::Label(_) => return true,
                Op::Break | Op::Continue if !inner => return true,
                op => {
                    let inner = inner || op.is_loop();
                    stack.extend(body.args(t).iter().map(|&a| (a, inner)));
                }
            }
        }
        false
    }

    fn switch(&mut self, t: TermId) -> Res<Flow> {
        let body = self.body();
        let args = body.args(t);
        if self.seek.is_none() {
            let v = self.eval(args[0])?;
            let Number::Int(value) = v.number else {
                return self.either(&args[1..], args[0]);
            };
            // The labels of this switch, not of one inside.
            let mut labels = Vec::new();
            let mut stack = vec![args[1]];
            while let Some(x) = stack.pop() {
                match body.op(x) {
                    Op::Switch => {}
                    Op::Case | Op::Default => labels.push(x),
                    _ => stack.extend(body.args(x).iter().rev()),
                }
            }
            let form = v.form();
            let mut target = None;
            let mut default = None;
            for l in labels {
                let Some(&of) = body.args(l).first() else {
                    default = Some(l);
                    continue;
                };
                // `case 1 ... 3:`
                if let &[low, high] = body.args(l) {
                    let (low, high) = (self.eval(low)?.as_int(), self.eval(high)?.as_int());
                    let Some((low, high)) = low.zip(high) else {
                        return self.fail(NotReplayed::NotUnderstood, l);
                    };
                    let beyond = |by: i128, from: i128| {
                        let mut f = form.as_ref()?.times(by)?;
                        f.constant -= by * from;
                        Some(Fact::least(f)).filter(|f| !f.form.is_constant())
                    };
                    let inside = |r: &mut Self, holds: bool, fact: Option<Fact>| {
                        r.decide(&Value::of_truth(holds, fact)) == Some(true)
                    };
                    if target.is_none()
                        && inside(self, value >= low, beyond(1, low))
                        && inside(self, value <= high, beyond(-1, high))
                    {
                        target = Some(l);
                    }
                    continue;
                }
                let Number::Int(k) = self.eval(of)?.number else {
                    return self.fail(NotReplayed::NotUnderstood, l);
                };
                let fact = form.as_ref().and_then(|f| {
                    let mut f = f.clone();
                    f.constant -= k;
                    Some(Fact::zero(f)).filter(|f| !f.form.is_constant())
                });
                let hit = k == value && target.is_none();
                if target.is_none() {
                    self.decide(&Value::of_truth(hit, fact));
                }
                if hit {
                    target = Some(l);
                }
            }
            // One value leads to the root, and that others do not take another way says nothing.
            self.steered(t, self.events.len());
            self.aim(t, args[1], &v, target.or(default))?;
            match target.or(default) {
                Some(l) => self.seek = Some(Seek::Case(l)),
                None => return Ok(Flow::Next),
            }
        }
        match self.exec(args[1])? {
            Flow::Break => Ok(Flow::Next),
            flow => Ok(flow),
        }
    }
}
