//! Loops of which nothing is said unless somebody asks: they print, read input, take the time, fill a table, copy, make memory, look for
//! something, go through text, are too small to matter, stand where nothing is offered, or are far from being parallel. Hover, actions and reports answer for them like for all others; a mark, a promise or a comment makes them be spoken of.

use analysis::{LoopId, ObstacleKind, TroubleKind};
use rustc_hash::FxHashSet;
use term::{Body, IntKind, Op, TermId, TypeId, TypeKind};

use crate::cost::{operations, too_little, too_short, Amount};
use crate::function_view::FunctionView;
use crate::limits::cost::{LEAST_ITERATIONS, LEAST_OPERATIONS};
use crate::limits::quiet::{AROUND, FEW, KINDS, MANY, OVERLAPS};
use crate::plans::{NoKernel, Planned};
use crate::rounds::at_most;
use crate::words::rests_on_a_header;
use crate::Doc;

/// Why nobody needs to hear of a loop unasked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Quiet {
    /// It prints or reads input in every round.
    Input,
    /// All its rounds together are fewer operations than a launch is worth.
    Small,
    /// It is not parallel, and a warp has more threads than it has rounds.
    Few,
    /// It gives array elements values that need no memory and little arithmetic.
    Fills,
    /// It moves elements from one array to another, one by one and as they are.
    Copies,
    /// It sets pointers and nothing else, which are no addresses of a device.
    Pointers,
    /// It looks for something or goes along links, and leaves no element behind.
    Walks,
    /// It goes through text.
    Text,
    /// It runs on the host of a file with kernels, where no offload starts.
    Host,
    /// It asks the clock, or repeats what it measures.
    Times,
    /// It makes, hands back or asks for what a run needs: memory, streams, events, a device's time.
    SetsUp,
    /// It asserts something, and computes nothing.
    Checks,
    /// It goes over one row of a matrix in rows of different lengths, and an outer loop over all of them.
    Row,
    /// A header that was not found decides all that is in its way.
    Missing,
    /// A macro or an included file brings it, where nothing can be offered.
    Macro,
    /// Another file of the program lets floating-point exceptions end it, and nothing else is in its way.
    Rounds,
    /// It is parallel, and a kernel for it would be too small to pay.
    Cheap,
    /// It is unknown for several reasons at once, or for one that nobody can do away with where it stands.
    Far,
}

/// Whether a loop is left alone.
pub(crate) fn quiet(view: &FunctionView, id: LoopId) -> Option<Quiet> {
    let l = view.of(id);
    let shared = view.together(id);
    let pays = shared.is_some_and(|shared| too_short(&shared.cost).is_none());
    if l.mark.is_some() || !l.promises.is_empty() || pays {
        return None;
    }
    if offers_nothing(view.doc) && !view.item.is_device_only() {
        return Some(Quiet::Host);
    }
    if !view.is_source(id) {
        return Some(Quiet::Macro);
    }
    if prints(view, id) {
        return Some(Quiet::Input);
    }
    if asks_the_clock(view, id) {
        return Some(Quiet::Times);
    }
    if sets_up(view, l.term) {
        return Some(Quiet::SetsUp);
    }
    let asserts = |t: TermId| view.body().asserted(t).is_some();
    if straight(view.body(), l.term).into_iter().all(|t| t.is_some_and(asserts)) {
        return Some(Quiet::Checks);
    }
    if matches!(operations(view, l.term), Some(Amount::Exactly(n)) if n < LEAST_OPERATIONS) {
        return Some(Quiet::Small);
    }
    if fills(view, id) {
        return Some(Quiet::Fills);
    }
    if crate::lints::is_parallel(l) && sets_pointers(view.body(), l.term) {
        return Some(Quiet::Pointers);
    }
    if crate::lints::is_parallel(l) && copies(view.body(), l.term) {
        return Some(Quiet::Copies);
    }
    if is_as_long_as_a_text(view.body(), l.term) && is_text(view.body(), l.term) {
        return Some(Quiet::Text);
    }
    if is_a_row(view, id) {
        return Some(Quiet::Row);
    }
    if crate::lints::is_parallel(l) {
        let missing = is_refused_for_a_header(view, id).then_some(Quiet::Missing);
        let is_alone = l.most_rounds.is_some_and(|n| n <= 1);
        return missing.or_else(|| (is_alone || is_cheap(view, id)).then_some(Quiet::Cheap));
    }
    let is_short = || {
        let inner = view.body().loop_parts(l.term).map(|parts| view.body().loops(parts.body).count());
        inner == Some(0) && at_most(view, id).is_some_and(|n| n < LEAST_ITERATIONS)
    };
    if few_rounds(view.body(), l.term) || is_short() {
        return Some(Quiet::Few);
    }
    if walks(view, id) || follows_links(view.body(), l.term) {
        return Some(Quiet::Walks);
    }
    if !l.obstacles.is_empty() && l.obstacles.iter().all(|o| rests_on_a_header(view, o)) {
        return Some(Quiet::Missing);
    }
    if rounds_elsewhere(view, id) {
        return Some(Quiet::Rounds);
    }
    if is_text(view.body(), l.term) {
        return Some(Quiet::Text);
    }
    is_far(view, id).then_some(Quiet::Far)
}

/// Whether it is known of a parallel loop that it has too few iterations or too little to do, alone or with its neighbors.
fn is_cheap(view: &FunctionView, id: LoopId) -> bool {
    match view.known_plan(id) {
        Some(Planned::Kernel(outline)) => {
            let is_short = |operations: u64| {
                at_most(view, id)
                    .is_some_and(|n| n < LEAST_ITERATIONS || n.saturating_mul(operations) < LEAST_OPERATIONS)
            };
            too_little(&outline.cost).is_some() || outline.cost.each.is_some_and(|(each, _)| is_short(each))
        }
        Some(Planned::Together(shared)) => too_short(&shared.cost).is_some(),
        // one that has no kernel is counted as it stands
        Some(Planned::No(_)) => {
            let body = view.body().loop_parts(view.of(id).term).map(|parts| parts.body);
            let each = body.and_then(|body| operations(view, body));
            let all = at_most(view, id).zip(each).map(|(n, each)| match each {
                Amount::Exactly(each) => n.saturating_mul(each),
                _ => u64::MAX,
            });
            all.is_some_and(|all| all < LEAST_OPERATIONS)
        }
        None => false,
    }
}

/// Whether no single change of its text would give an unknown loop a verdict: reasons of several kinds, what functions do that it calls,
/// rounds that nobody can count.
fn is_far(view: &FunctionView, id: LoopId) -> bool {
    let of = view.of(id);
    // without those that follow from another
    let obstacles = crate::words::told(view, id);
    // what it computes has a name, and a method
    if !of.recurrences.is_empty() {
        return false;
    }
    let is_called = |o: &&analysis::Obstacle| matches!(o.kind, ObstacleKind::UnknownCall(_));
    let beyond = |o: &analysis::Obstacle| match &o.kind {
        ObstacleKind::NotCounted(_) | ObstacleKind::IndirectCall | ObstacleKind::Budget(_) => true,
        // what decides is data, or where a pointer goes
        ObstacleKind::UnknownPointer(_)
        | ObstacleKind::PointerElements(_)
        | ObstacleKind::DataDependentCondition => crate::words::obstacle(view, o).remedy.is_empty(),
        ObstacleKind::UnknownCall(_) => !obstacles.iter().all(is_called),
        // what is called here may be moved out of the loop, what that calls may not
        ObstacleKind::Call { why: TroubleKind::Memory | TroubleKind::Global, .. } => false,
        ObstacleKind::Call { name, function, .. } => !name.is_empty() && **name != *view.symbol(*function),
        _ => false,
    };
    let is_apart = |o: &&analysis::Obstacle| matches!(o.kind, ObstacleKind::MayAlias(..));
    let overlaps = obstacles.iter().filter(|o| is_apart(o)).count();
    if obstacles.len() > MANY || overlaps > OVERLAPS && crate::words::remedy_of_unknown(view, id).is_empty() {
        return true;
    }
    let kinds: FxHashSet<_> = obstacles.iter().map(|o| std::mem::discriminant(&o.kind)).collect();
    kinds.len() > KINDS || obstacles.iter().any(|o| beyond(o))
}

/// Whether a document holds kernels beside the code that launches them, where no offload starts.
pub(crate) fn offers_nothing(doc: &Doc) -> bool {
    doc.language().kernels && !doc.language().offloads
}

/// Whether all that is in a loop's way is that another file of the program looks at the floating-point environment, or changes it.
fn rounds_elsewhere(view: &FunctionView, id: LoopId) -> bool {
    let rounds =
        |o: &analysis::Obstacle| matches!(o.kind, ObstacleKind::Watched(analysis::Watched::Rounding));
    let all = &view.of(id).obstacles;
    let here = || {
        [
            "fesetround",
            "fesetenv",
            "feupdateenv",
            "_mm_setcsr",
            "_controlfp",
            "fedisableexcept",
            "FENV_ACCESS",
        ]
    };
    !all.is_empty() && all.iter().all(rounds) && !here().iter().any(|w| view.doc.source().contains(w))
}

/// Whether a parallel loop gets no kernel because of what a header that was not found declares.
fn is_refused_for_a_header(view: &FunctionView, id: LoopId) -> bool {
    let refused = || match view.known_plan(id) {
        Some(Planned::No(NoKernel::Obstacle(Some(o), _))) => rests_on_a_header(view, &o),
        _ => false,
    };
    !crate::lints::missing_headers(view.doc).is_empty() && refused()
}

/// Whether a loop that nobody can count beforehand, or that may end early or end the program, stores to no element.
fn walks(view: &FunctionView, id: LoopId) -> bool {
    let (body, l) = (view.body(), view.of(id));
    let ends = |o: &analysis::Obstacle| {
        matches!(
            o.kind,
            ObstacleKind::NotCounted(_)
                | ObstacleKind::EarlyExit
                | ObstacleKind::Call { why: TroubleKind::NoReturn, .. }
        )
    };
    let stores = |t: TermId| match (body.op(t), body.args(t)) {
        (Op::Assign | Op::Compound(_) | Op::Step { .. }, &[place, ..]) => {
            is_cell(body, place) || matches!(body.op(place), Op::Deref)
        }
        _ => false,
    };
    l.obstacles.iter().any(ends) && !body.walk(l.term).any(stores)
}

/// Whether a loop counts from a number to another that is near.
fn few_rounds(body: &Body, root: TermId) -> bool {
    let Some(parts) = body.loop_parts(root) else { return false };
    // of the loops in it none would speak
    if body.loops(parts.body).next().is_some() {
        return false;
    }
    let first = parts.init.and_then(|init| {
        body.walk(init).find_map(|t| match (body.op(t), body.args(t)) {
            (Op::Declare(_), &[value]) | (Op::Assign, &[_, value]) => body.constant(value),
            _ => None,
        })
    });
    let last = parts.condition.and_then(|c| match (body.op(c), body.args(c)) {
        (Op::Binary(_), &[_, bound]) => body.constant(bound),
        _ => None,
    });
    first.zip(last).is_some_and(|(a, b)| a.abs_diff(b) < LEAST_ITERATIONS.into())
}

/// Whether a loop goes from where memory says that one row begins to where it says that the next does, for each round of a loop around it.
fn is_a_row(view: &FunctionView, id: LoopId) -> bool {
    let (body, l) = (view.body(), view.of(id));
    let Some(control) = l.control.as_ref().ok().filter(|_| l.parent.is_some()) else { return false };
    let table = |t: TermId| {
        let mut loads = body.walk(t).filter(|&x| matches!(body.op(x), Op::Index));
        loads.find_map(|x| body.args(x).first().copied())
    };
    let tables = table(control.lower).zip(control.bound.and_then(table));
    tables.is_some_and(|(a, b)| body.same(a, b))
}

/// Whether a loop goes along the links of a list: `p = p->next`.
fn follows_links(body: &Body, root: TermId) -> bool {
    body.walk(root).any(|t| match (body.op(t), body.args(t)) {
        (Op::Assign, &[place, value]) => {
            let s = body.as_symbol(place);
            let from = match (body.op(value), body.args(value)) {
                (Op::Member { .. }, &[of]) => body.walk(of).find_map(|x| body.as_symbol(x)),
                _ => None,
            };
            s.is_some() && s == from && matches!(body.types.kind(body.ty(place)), TypeKind::Pointer { .. })
        }
        _ => false,
    })
}

/// Whether a loop ends where a text does: at what `strlen` says.
fn is_as_long_as_a_text(body: &Body, root: TermId) -> bool {
    let Some(condition) = body.loop_parts(root).and_then(|parts| parts.condition) else { return false };
    let measures = |t: TermId| {
        let called = body.callee(t).map(|f| &*body.symbols[f].name);
        matches!(called, Some("strlen" | "strnlen"))
    };
    let given = |t: TermId| match (body.op(t), body.args(t)) {
        (Op::Declare(s), &[value]) => Some((*s, value)),
        (Op::Assign, &[place, value]) => Some((body.as_symbol(place)?, value)),
        _ => None,
    };
    let lengths = body.walk(body.root).filter_map(given);
    let lengths: Vec<_> = lengths.filter(|(_, v)| body.walk(*v).any(measures)).map(|(s, _)| s).collect();
    body.walk(condition).any(|t| measures(t) || body.as_symbol(t).is_some_and(|s| lengths.contains(&s)))
}

/// Whether all elements that a loop touches are characters, or pointers to some.
fn is_text(body: &Body, root: TermId) -> bool {
    let mut any = false;
    let is_char = |ty: TypeId| match body.types.kind(ty) {
        TypeKind::Int(IntKind::Char) => Some(true),
        // bytes beside text
        TypeKind::Int(IntKind::UChar | IntKind::SChar) => Some(false),
        _ => None,
    };
    for t in body.walk(root).filter(|&t| matches!(body.op(t), Op::Index | Op::Deref)) {
        let is_one = match body.types.kind(body.ty(t)) {
            TypeKind::Pointer { to, .. } => is_char(*to),
            TypeKind::Array { of, .. } => is_char(*of),
            _ => is_char(body.ty(t)),
        };
        let Some(is_text) = is_one else { return false };
        any |= is_text;
    }
    any
}

/// Whether input or output is what a loop does: not where it complains of something and leaves.
fn prints(view: &FunctionView, id: LoopId) -> bool {
    let body = view.body();
    let orders =
        |o: &&analysis::Obstacle| matches!(o.kind, ObstacleKind::Call { why: TroubleKind::Ordered, .. });
    let obstacles = &view.of(id).obstacles;
    let mut all = obstacles.iter().filter(orders).peekable();
    if all.peek().is_none() {
        return false;
    }
    // it goes on as long as there is input, or options: where it complains does not matter
    if obstacles.iter().any(|o| matches!(o.kind, ObstacleKind::NotCounted(_))) {
        return true;
    }
    let parents = body.parents();
    all.any(|o| !complains(body, &parents, o.term))
}

/// Whether a call stands in a branch that ends the loop, the function or the program.
fn complains(body: &Body, parents: &[Option<TermId>], call: TermId) -> bool {
    let mut at = call;
    while let Some(up) = parents.get(base::IndexId::index(at)).copied().flatten() {
        if body.op(up).is_loop() {
            return false;
        }
        let is_branch = matches!(body.op(up), Op::If) && body.args(up).first() != Some(&at);
        if is_branch && body.walk(at).any(|t| leaves(body, t)) {
            return true;
        }
        at = up;
    }
    false
}

fn leaves(body: &Body, t: TermId) -> bool {
    match body.op(t) {
        Op::Return | Op::Break | Op::Goto(_) => true,
        Op::Call => {
            matches!(body.callee_name(t), Some("exit" | "abort" | "__builtin_trap" | "_Exit" | "assert"))
        }
        _ => false,
    }
}

/// Whether what stands in a loop's way is that the time is asked in it.
fn asks_the_clock(view: &FunctionView, id: LoopId) -> bool {
    view.of(id).obstacles.iter().any(|o| match &o.kind {
        ObstacleKind::Call { why: TroubleKind::State, name, function } => {
            let name = if name.is_empty() { view.symbol(*function) } else { analysis::plain_name(name) };
            matches!(name, "clock" | "time" | "gettimeofday" | "clock_gettime" | "omp_get_wtime")
        }
        _ => false,
    })
}

/// Whether all statements of a nest are calls that make, hand back or ask for memory, or store what such a call gives.
fn sets_up(view: &FunctionView, root: TermId) -> bool {
    let body = view.body();
    let is_one = |t: TermId| {
        *body.op(t) == Op::Call && body.callee_name(t).is_some_and(|n| makes_or_frees(view, n, 0))
    };
    let mut any = false;
    let statements: Option<Vec<TermId>> = straight(body, root).into_iter().collect();
    let Some(statements) = statements else { return false };
    for all in statements.into_iter().flat_map(|t| chosen(body, t)) {
        let given = match (body.op(all), body.args(all)) {
            (Op::Assign, &[_, value]) => value,
            _ => all,
        };
        let made = std::iter::successors(Some(given), |&t| match (body.op(t), body.args(t)) {
            (Op::Cast, &[of]) => Some(of),
            _ => None,
        });
        if !made.into_iter().any(is_one) {
            return false;
        }
        any = true;
    }
    any
}

/// The statements that conditions choose among, or the one that is there.
fn chosen(body: &Body, statement: TermId) -> Vec<TermId> {
    match (body.op(statement), body.args(statement)) {
        (Op::If, &[_, ref arms @ ..]) => arms.iter().flat_map(|&arm| chosen(body, arm)).collect(),
        (Op::List, parts) => parts.iter().flat_map(|&part| chosen(body, part)).collect(),
        (Op::Empty, _) => Vec::new(),
        _ => vec![statement],
    }
}

/// Whether a function makes memory or hands it back, and calls nothing else: the library's, or one of the program's around it.
fn makes_or_frees(view: &FunctionView, name: &str, depth: u32) -> bool {
    if is_of_memory(name) {
        return true;
    }
    let Some(body) = view.doc.program().body(name).filter(|_| depth < AROUND) else { return false };
    let calls = || body.walk(body.root).filter(|&t| *body.op(t) == Op::Call);
    let is_one = |t: TermId| body.callee_name(t).is_some_and(|n| makes_or_frees(view, n, depth + 1));
    body.loops(body.root).next().is_none() && calls().next().is_some() && calls().all(is_one)
}

/// Functions of the C library that make memory or hand it back.
fn is_of_memory(name: &str) -> bool {
    matches!(name, "malloc" | "calloc" | "realloc" | "aligned_alloc" | "posix_memalign" | "free")
}

/// Whether all that a nest does is to store values made of numbers, variables and indices, with few operations each, or random ones.
fn fills(view: &FunctionView, id: LoopId) -> bool {
    let (body, root) = (view.body(), view.of(id).term);
    // whatever else is called has an effect of its own
    let random =
        |o: &analysis::Obstacle| matches!(o.kind, ObstacleKind::Call { why: TroubleKind::State, .. });
    let draws = !view.of(id).obstacles.is_empty() && view.of(id).obstacles.iter().all(random);
    let mut stores = 0;
    let mut work = 0;
    for part in straight(body, root) {
        let Some(all) = part else { return false };
        for t in body.walk(all) {
            match body.op(t) {
                Op::Assign => match body.args(t) {
                    &[place, _] if is_cell(body, place) => stores += 1,
                    _ => return false,
                },
                Op::Call if draws => {}
                Op::Compound(_) | Op::Step { .. } | Op::Deref | Op::Call | Op::Launch | Op::Reject(_) => {
                    return false
                }
                op if op.is_loop() => return false,
                Op::Index | Op::Member { .. } => {}
                Op::Unary(_) | Op::Binary(_) | Op::Select => work += 1,
                _ => {}
            }
        }
        if reads(body, all) {
            return false;
        }
    }
    stores > 0 && work <= FEW
}

/// Whether all that a loop without others in it does is to store elements of arrays in others, with no arithmetic but that of their
/// subscripts.
fn copies(body: &Body, root: TermId) -> bool {
    // where memory says where from or where to, it is a gather or a scatter
    let loads = |t: TermId| body.walk(t).any(|x| matches!(body.op(x), Op::Index | Op::Deref));
    let is_steady = |cell: TermId| match (body.op(cell), body.args(cell)) {
        (Op::Index, &[_, subscript]) => !loads(subscript),
        _ => true,
    };
    let is_load = |mut value: TermId| {
        while let (Op::Cast, &[of]) = (body.op(value), body.args(value)) {
            value = of;
        }
        is_steady(value) && (is_cell(body, value) || *body.op(value) == Op::Deref)
    };
    let is_alone = body.loop_parts(root).is_some_and(|parts| body.loops(parts.body).next().is_none());
    let mut parts = straight(body, root).into_iter().peekable();
    is_alone
        && parts.peek().is_some()
        && parts.all(|part| {
            let all = part.map(|t| (body.op(t), body.args(t)));
            matches!(all, Some((Op::Assign, &[place, value])) if is_cell(body, place) && is_steady(place) && is_load(value))
        })
}

/// Whether all elements that a loop stores to are pointers.
fn sets_pointers(body: &Body, root: TermId) -> bool {
    let stores = body.walk(root).filter_map(|t| match (body.op(t), body.args(t)) {
        (Op::Assign | Op::Compound(_) | Op::Step { .. }, &[place, ..]) if body.as_symbol(place).is_none() => {
            Some(place)
        }
        _ => None,
    });
    let mut stores = stores.peekable();
    let is_pointer = |place: TermId| matches!(body.types.kind(body.ty(place)), TypeKind::Pointer { .. });
    stores.peek().is_some() && stores.all(is_pointer)
}

/// The statements of a perfect nest, innermost; `None` stands for what is none.
fn straight(body: &Body, root: TermId) -> Vec<Option<TermId>> {
    let Some(parts) = body.loop_parts(root) else { return vec![None] };
    let inside: Vec<TermId> = match body.op(parts.body) {
        Op::List => body.args(parts.body).to_vec(),
        _ => vec![parts.body],
    };
    let of = |t: TermId| match body.op(t).is_loop() {
        true => straight(body, t),
        false => vec![Some(t)],
    };
    inside.into_iter().filter(|&t| !matches!(body.op(t), Op::Empty)).flat_map(of).collect()
}

/// Whether a place is an element.
fn is_cell(body: &Body, place: TermId) -> bool {
    match (body.op(place), body.args(place)) {
        (Op::Index, _) => true,
        (Op::Member { .. }, &[of]) => is_cell(body, of),
        _ => false,
    }
}

/// Whether an element is read in a statement: any but those that it stores to, with the arrays these lie in.
fn reads(body: &Body, statement: TermId) -> bool {
    let mut stored: Vec<TermId> = Vec::new();
    for t in body.walk(statement) {
        if let (Op::Assign, &[place, _]) = (body.op(t), body.args(t)) {
            let mut at = Some(place);
            while let Some(t) = at.filter(|&t| matches!(body.op(t), Op::Index | Op::Member { .. })) {
                stored.push(t);
                at = body.args(t).first().copied();
            }
        }
    }
    body.walk(statement).any(|t| matches!(body.op(t), Op::Index | Op::Deref) && !stored.contains(&t))
}
