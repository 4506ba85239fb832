//! One isl context per thread, owned handles, and the counted call.
//!
//! An isl context is not thread-safe. Every handle keeps its thread's context alive through an `Rc`, which also makes it
//! neither `Send` nor `Sync`: an object cannot leave its thread, outlive its context, or meet one of another context.
//! Deliberately absent: time limits (steps are counted), and stopping inside one call when cancelled; a call is bounded
//! by the budget it runs under.

use crate::error::{Error, Result};
use crate::ffi::*;
use crate::limits::ctx::PLAIN_COLUMNS;
pub(crate) use crate::limits::ctx::{MAX_COLUMNS, MAX_ROWS};
use base::Budget;
use libc::{c_int, c_long, c_uint, c_ulong, c_void};
use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::ptr::NonNull;
use std::rc::Rc;

/// What an operation on sets of so many columns counts for. An operation is mostly a pivot of a tableau, which looks at rows
/// times columns, and there are at least as many rows.
pub(crate) fn price(columns: usize) -> u64 {
    1 + (columns as u64 / PLAIN_COLUMNS).pow(2)
}

/// The kinds of space that are kept for reuse.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Shape {
    Params(usize),
    Set(usize, usize),
    Map(usize, usize, usize),
}

/// A context with the identifiers and spaces made so far in it.
pub(crate) struct Ctx {
    raw: *mut isl_ctx,
    names: RefCell<HashMap<(char, usize), NonNull<isl_id>>>,
    spaces: RefCell<HashMap<Shape, NonNull<isl_space>>>,
}

thread_local! {
    static CONTEXT: Option<Rc<Ctx>> = Ctx::new();
}

impl Ctx {
    fn new() -> Option<Rc<Ctx>> {
        // SAFETY: takes nothing; the result is checked for NULL before it is used.
        let raw = unsafe { isl_ctx_alloc() };
        if raw.is_null() {
            return None;
        }
        // SAFETY: `raw` is a live context that only this thread knows. "Continue" makes every failure a NULL result
        // instead of a message or an abort. Minima and maxima are asked for by name instead of as nested selections,
        // and loops are to have one upper bound.
        unsafe {
            isl_options_set_on_error(raw, ON_ERROR_CONTINUE);
            isl_options_set_ast_build_detect_min_max(raw, 1);
            isl_options_set_ast_build_atomic_upper_bound(raw, 1);
        }
        Some(Rc::new(Ctx { raw, names: RefCell::default(), spaces: RefCell::default() }))
    }

    /// This thread's context.
    pub(crate) fn here() -> Result<Rc<Ctx>> {
        let ctx = CONTEXT.try_with(|c| c.clone()).ok().flatten();
        ctx.ok_or_else(|| Error::Isl("no context: out of memory, or the thread is ending".into()))
    }

    pub(crate) fn raw(&self) -> *mut isl_ctx {
        self.raw
    }

    /// Runs one call (or a short chain of calls) of isl under the budget and charges the operations it used.
    ///
    /// Anything that left an error behind is a failure, even when a result came back.
    pub(crate) fn run<T>(&self, budget: &Budget, call: impl FnOnce() -> T) -> Result<T> {
        budget.spend(1)?;
        let left = budget.left();
        if left == 0 {
            budget.spend(1)?;
        }
        // SAFETY: `self.raw` is live and belongs to this thread (`Ctx` is neither `Send` nor `Sync`).
        unsafe {
            isl_ctx_reset_error(self.raw);
            // Blocks kept from earlier calls would make this one cheaper: the count would depend on history.
            isl_blk_clear_cache(self.raw);
            isl_ctx_reset_operations(self.raw);
            isl_ctx_set_max_operations(self.raw, c_ulong::try_from(left).unwrap_or(c_ulong::MAX));
        }
        let result = call();
        // SAFETY: as above.
        let error = unsafe { isl_ctx_last_error(self.raw) };
        if error == ERROR_NONE {
            let used = self.operations(left);
            self.release();
            budget.spend(used)?;
            return Ok(result);
        }
        let error = if error == ERROR_QUOTA {
            let _ = budget.spend(u64::MAX);
            Error::Spent
        } else {
            let message = self.last_message();
            let used = self.operations(left);
            // A failed call is paid for as well; that it failed is the better answer than `Spent`.
            let _ = budget.spend(used);
            if message == "unbounded optimum" {
                Error::Unbounded
            } else {
                Error::Isl(message)
            }
        };
        self.release();
        Err(error)
    }

    fn last_message(&self) -> String {
        // SAFETY: the context is live; the message is NULL or a string literal inside the library.
        unsafe {
            let text = isl_ctx_last_error_msg(self.raw);
            if text.is_null() {
                "no message".to_owned()
            } else {
                CStr::from_ptr(text).to_string_lossy().into_owned()
            }
        }
    }

    /// No error and no limit: what is freed, copied or printed afterwards must not fail.
    fn release(&self) {
        // SAFETY: the context is live and belongs to this thread.
        unsafe {
            isl_ctx_reset_error(self.raw);
            isl_ctx_reset_operations(self.raw);
            isl_ctx_set_max_operations(self.raw, 0);
        }
    }

    /// The number of operations since the last reset, at most `most`. isl counts them but has no getter; a limit that
    /// refuses the next operation tells that the count has reached it, so the count is found by bisection.
    fn operations(&self, most: u64) -> u64 {
        // Every answer "not reached" counts as one more operation.
        let mut extra = 0u64;
        let mut reached = |n: u64| {
            let limit = c_ulong::try_from(n.saturating_add(extra)).unwrap_or(c_ulong::MAX);
            // SAFETY: the context is live and belongs to this thread; the caller resets the error this raises.
            let refused = unsafe {
                isl_ctx_set_max_operations(self.raw, limit);
                isl_ctx_next_operation(self.raw) < 0
            };
            extra += u64::from(!refused);
            refused
        };
        let (mut low, mut high) = (0, 1);
        while high < most && reached(high) {
            low = high;
            high = high.saturating_mul(4);
        }
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if reached(middle) {
                low = middle;
            } else {
                high = middle;
            }
        }
        low.min(most)
    }

    /// Runs a call that gives an object.
    pub(crate) fn make<T: Object>(
        self: &Rc<Ctx>,
        budget: &Budget,
        call: impl FnOnce() -> *mut T,
    ) -> Result<Obj<T>> {
        // The object is owned before the error is looked at, so a half result is freed.
        let made = self.run(budget, || NonNull::new(call()).map(|raw| Obj { raw, ctx: self.clone() }))?;
        made.ok_or_else(|| Error::Isl("no result and no reason".into()))
    }

    /// Owns an object that a call-back was given, if there is one.
    pub(crate) fn own<T: Object>(self: &Rc<Ctx>, raw: *mut T) -> Option<Obj<T>> {
        NonNull::new(raw).map(|raw| Obj { raw, ctx: self.clone() })
    }

    /// Runs a call that gives an `isl_bool`.
    pub(crate) fn test(&self, budget: &Budget, call: impl FnOnce() -> c_int) -> Result<bool> {
        match self.run(budget, call)? {
            0 => Ok(false),
            n if n > 0 => Ok(true),
            _ => Err(Error::Isl("no answer and no reason".into())),
        }
    }

    /// Runs a call that gives an `isl_size`.
    pub(crate) fn size(&self, budget: &Budget, call: impl FnOnce() -> c_int) -> Result<usize> {
        usize::try_from(self.run(budget, call)?).map_err(|_| Error::Isl("no size and no reason".into()))
    }

    /// The identifier `<kind><index>`: `p` parameters, `i` iterators, `S` statements, `A` arrays.
    pub(crate) fn name(self: &Rc<Ctx>, kind: char, index: usize) -> Result<Obj<isl_id>> {
        let known = self.names.borrow().get(&(kind, index)).copied();
        let id = match known {
            Some(id) => id,
            None => {
                let id = self.fresh(format!("{kind}{index}"))?;
                self.names.borrow_mut().insert((kind, index), id);
                id
            }
        };
        // SAFETY: the table owns a reference to the live identifier; this makes another, owned by the result.
        unsafe { isl_id_copy(id.as_ptr()) };
        Ok(Obj { raw: id, ctx: self.clone() })
    }

    /// An identifier that isl itself gives a meaning to.
    pub(crate) fn word(self: &Rc<Ctx>, word: &str) -> Result<Obj<isl_id>> {
        Ok(Obj { raw: self.fresh(word.to_owned())?, ctx: self.clone() })
    }

    fn fresh(&self, text: String) -> Result<NonNull<isl_id>> {
        let text = CString::new(text).map_err(|_| Error::Unsupported("a name with a NUL"))?;
        // SAFETY: the context is live, and isl copies the text.
        let id = unsafe { isl_id_alloc(self.raw, text.as_ptr(), std::ptr::null_mut()) };
        NonNull::new(id).ok_or_else(|| Error::Isl("no identifier".into()))
    }

    /// Reads an identifier made by [`Ctx::name`] back; frees it.
    pub(crate) fn read_name(&self, id: *mut isl_id) -> Result<(char, usize)> {
        if id.is_null() {
            return Err(Error::Isl("an identifier is missing".into()));
        }
        // SAFETY: `id` is live and ours; its name is NULL or a C string that lives as long as `id`, copied before the
        // identifier is freed.
        let text = unsafe {
            let text = isl_id_get_name(id);
            let text = if text.is_null() {
                String::new()
            } else {
                CStr::from_ptr(text).to_string_lossy().into_owned()
            };
            isl_id_free(id);
            text
        };
        let mut chars = text.chars();
        let kind = chars.next();
        match (kind, chars.as_str().parse()) {
            (Some(kind), Ok(index)) => Ok((kind, index)),
            _ => Err(Error::Isl(format!("the identifier {text} is not one of ours"))),
        }
    }

    fn space(self: &Rc<Ctx>, shape: Shape) -> Result<Obj<isl_space>> {
        let again = |space: NonNull<isl_space>| {
            // SAFETY: the table owns a reference to the live space; this makes another, owned by the result.
            unsafe { isl_space_copy(space.as_ptr()) };
            Obj { raw: space, ctx: self.clone() }
        };
        if let Some(&space) = self.spaces.borrow().get(&shape) {
            return Ok(again(space));
        }
        let (params, total) = match shape {
            Shape::Params(p) => (p, p),
            Shape::Set(p, d) => (p, p.saturating_add(d)),
            Shape::Map(p, i, o) => (p, p.saturating_add(i).saturating_add(o)),
        };
        if total > MAX_COLUMNS {
            return Err(Error::Overflow("more than 256 dimensions and parameters"));
        }
        // SAFETY: the context is live; the numbers are below `MAX_COLUMNS`.
        let mut space = unsafe {
            match shape {
                Shape::Params(p) => isl_space_params_alloc(self.raw, p as c_uint),
                Shape::Set(p, d) => isl_space_set_alloc(self.raw, p as c_uint, d as c_uint),
                Shape::Map(p, i, o) => isl_space_alloc(self.raw, p as c_uint, i as c_uint, o as c_uint),
            }
        };
        for i in 0..params {
            let id = self.name('p', i)?;
            // SAFETY: takes the space and the reference made here; a NULL space stays NULL.
            space = unsafe { isl_space_set_dim_id(space, DIM_PARAM, i as c_uint, id.give()) };
        }
        let space = NonNull::new(space).ok_or_else(|| Error::Isl("no space".into()))?;
        self.spaces.borrow_mut().insert(shape, space);
        Ok(again(space))
    }

    /// A space of parameters only.
    pub(crate) fn params_space(self: &Rc<Ctx>, params: usize) -> Result<Obj<isl_space>> {
        self.space(Shape::Params(params))
    }
    /// A set's space.
    pub(crate) fn set_space(self: &Rc<Ctx>, params: usize, dims: usize) -> Result<Obj<isl_space>> {
        self.space(Shape::Set(params, dims))
    }
    /// A relation's space.
    pub(crate) fn map_space(
        self: &Rc<Ctx>,
        params: usize,
        ins: usize,
        outs: usize,
    ) -> Result<Obj<isl_space>> {
        self.space(Shape::Map(params, ins, outs))
    }

    /// A value, ours to give away. Call inside [`Ctx::run`].
    pub(crate) fn val(&self, n: i128) -> *mut isl_val {
        if let Ok(n) = c_long::try_from(n) {
            // SAFETY: the context is live.
            return unsafe { isl_val_int_from_si(self.raw, n) };
        }
        let chunks = n.unsigned_abs();
        let chunks = [chunks as u64, (chunks >> 64) as u64];
        // SAFETY: `chunks` holds two 8-byte words, least significant first, as isl expects; isl copies them.
        unsafe {
            let v = isl_val_int_from_chunks(self.raw, 2, 8, chunks.as_ptr().cast::<c_void>());
            if n < 0 {
                isl_val_neg(v)
            } else {
                v
            }
        }
    }
}

impl Drop for Ctx {
    fn drop(&mut self) {
        for (_, id) in self.names.get_mut().drain() {
            // SAFETY: the table owned this reference.
            unsafe { isl_id_free(id.as_ptr()) };
        }
        for (_, space) in self.spaces.get_mut().drain() {
            // SAFETY: the table owned this reference.
            unsafe { isl_space_free(space.as_ptr()) };
        }
        // SAFETY: the last `Rc` is gone, so no handle of ours is left. (After a quota error isl itself may have kept
        // a reference; then it refuses, and the context leaks instead of dangling.)
        unsafe { isl_ctx_free(self.raw) };
    }
}

/// An isl type whose objects are freed.
pub(crate) trait Object: Sized {
    /// # Safety
    /// `raw` must be live and one reference to it ours.
    unsafe fn free(raw: *mut Self);
}

/// An isl type whose copies share one object: copying only counts references and cannot fail.
pub(crate) trait Shared: Object {
    /// # Safety
    /// `raw` must be live.
    unsafe fn copy(raw: *mut Self) -> *mut Self;
}

macro_rules! objects {
    ($($ty:ident $free:ident $($copy:ident)?;)*) => {$(
        impl Object for $ty {
            unsafe fn free(raw: *mut Self) {
                // SAFETY: the caller's promise.
                unsafe { $free(raw) };
            }
        }
        $(impl Shared for $ty {
            unsafe fn copy(raw: *mut Self) -> *mut Self {
                // SAFETY: the caller's promise.
                unsafe { $copy(raw) }
            }
        })?
    )*};
}

objects! {
    isl_val isl_val_free;
    isl_id isl_id_free isl_id_copy;
    isl_space isl_space_free isl_space_copy;
    isl_mat isl_mat_free isl_mat_copy;
    isl_set isl_set_free isl_set_copy;
    isl_map isl_map_free isl_map_copy;
    isl_basic_set isl_basic_set_free isl_basic_set_copy;
    isl_basic_set_list isl_basic_set_list_free;
    isl_map_list isl_map_list_free;
    isl_point isl_point_free;
    isl_aff isl_aff_free isl_aff_copy;
    isl_pw_aff isl_pw_aff_free isl_pw_aff_copy;
    isl_pw_multi_aff isl_pw_multi_aff_free isl_pw_multi_aff_copy;
    isl_union_map isl_union_map_free isl_union_map_copy;
    isl_union_flow isl_union_flow_free;
    isl_ast_build isl_ast_build_free;
    isl_ast_expr isl_ast_expr_free;
    isl_ast_node isl_ast_node_free;
    isl_ast_node_list isl_ast_node_list_free;
}

/// One owned reference to an isl object of this thread.
pub(crate) struct Obj<T: Object> {
    raw: NonNull<T>,
    ctx: Rc<Ctx>,
}

impl<T: Object> Obj<T> {
    /// Lent, for functions that keep their argument.
    pub(crate) fn keep(&self) -> *mut T {
        self.raw.as_ptr()
    }
    pub(crate) fn ctx(&self) -> &Rc<Ctx> {
        &self.ctx
    }
}

impl<T: Shared> Obj<T> {
    /// Another reference, for functions that take their argument.
    pub(crate) fn give(&self) -> *mut T {
        // SAFETY: `self` owns a reference, so the object is live.
        unsafe { T::copy(self.raw.as_ptr()) }
    }
}

impl<T: Shared> Clone for Obj<T> {
    fn clone(&self) -> Self {
        self.give();
        // The same object under one more reference, which was just counted.
        Obj { raw: self.raw, ctx: self.ctx.clone() }
    }
}

impl<T: Object> Drop for Obj<T> {
    fn drop(&mut self) {
        // SAFETY: `self` owned one reference; the context is alive because `self.ctx` is dropped after this.
        unsafe { T::free(self.raw.as_ptr()) };
    }
}

/// An integer read from a value.
pub(crate) fn int(val: &Obj<isl_val>) -> Result<i128> {
    // SAFETY: the value is live; `chunks` has room for the two words that were just counted.
    unsafe {
        let v = val.keep();
        if isl_val_is_int(v) != 1 {
            return Err(Error::Isl("a whole number was expected".into()));
        }
        let n = isl_val_n_abs_num_chunks(v, 8);
        if !(0..=2).contains(&n) {
            return Err(Error::Overflow("a number beyond 128 bits"));
        }
        let mut chunks = [0u64; 2];
        if isl_val_get_abs_num_chunks(v, 8, chunks.as_mut_ptr().cast::<c_void>()) != 0 {
            return Err(Error::Isl("the digits of a number are missing".into()));
        }
        let abs = u128::from(chunks[0]) | u128::from(chunks[1]) << 64;
        let n = i128::try_from(abs).map_err(|_| Error::Overflow("a number beyond 128 bits"))?;
        Ok(if isl_val_sgn(v) < 0 { -n } else { n })
    }
}
