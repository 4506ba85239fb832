//! The C functions of isl 0.27 that this room calls, declared by hand.
//!
//! The linked library comes from the crate `isl-rs`; its own wrappers are not used (they leak C strings, panic on some
//! errors and lack call-backs and code scanning). Ownership follows isl's headers: what is taken, kept or given is told
//! in the room's safe types, which are the only callers. Deliberately absent: anything that prints to a stream or exits.
#![allow(non_camel_case_types, missing_docs)]

use libc::{c_char, c_int, c_long, c_uint, c_ulong, c_void};

// The crate is linked for its build script's library only.
extern crate isl_rs as _;

macro_rules! opaque {
    ($($name:ident)*) => {$(
        #[repr(C)]
        pub struct $name { _private: [u8; 0] }
    )*};
}

opaque! {
    isl_ctx
    isl_val
    isl_id
    isl_id_list
    isl_space
    isl_mat
    isl_set
    isl_map
    isl_basic_set
    isl_basic_set_list
    isl_aff
    isl_pw_aff
    isl_pw_multi_aff
    isl_point
    isl_union_map
    isl_map_list
    isl_union_access_info
    isl_union_flow
    isl_ast_build
    isl_ast_expr
    isl_ast_node
    isl_ast_node_list
    isl_basic_map
}

/// `enum isl_dim_type`.
pub const DIM_CST: c_int = 0;
pub const DIM_PARAM: c_int = 1;
pub const DIM_IN: c_int = 2;
pub const DIM_OUT: c_int = 3;
pub const DIM_SET: c_int = 3;
pub const DIM_DIV: c_int = 4;

/// `enum isl_error`, the two values that are told apart.
pub const ERROR_NONE: c_int = 0;
pub const ERROR_QUOTA: c_int = 6;

/// `ISL_ON_ERROR_CONTINUE`: set the error, return NULL, print nothing.
pub const ON_ERROR_CONTINUE: c_int = 1;

/// Called once per piece of a piecewise affine expression; takes both.
pub type PieceFn = extern "C" fn(*mut isl_set, *mut isl_aff, *mut c_void) -> c_int;

extern "C" {
    pub fn isl_ctx_alloc() -> *mut isl_ctx;
    pub fn isl_ctx_free(a: *mut isl_ctx);
    pub fn isl_ctx_set_max_operations(a: *mut isl_ctx, b: c_ulong);
    pub fn isl_ctx_reset_operations(a: *mut isl_ctx);
    pub fn isl_ctx_next_operation(a: *mut isl_ctx) -> c_int;
    pub fn isl_blk_clear_cache(a: *mut isl_ctx);
    pub fn isl_ctx_last_error(a: *mut isl_ctx) -> c_int;
    pub fn isl_ctx_last_error_msg(a: *mut isl_ctx) -> *const c_char;
    pub fn isl_ctx_reset_error(a: *mut isl_ctx);
    pub fn isl_options_set_on_error(a: *mut isl_ctx, b: c_int) -> c_int;
    pub fn isl_options_set_ast_build_detect_min_max(a: *mut isl_ctx, b: c_int) -> c_int;
    pub fn isl_options_set_ast_build_atomic_upper_bound(a: *mut isl_ctx, b: c_int) -> c_int;
    pub fn isl_val_int_from_si(a: *mut isl_ctx, b: c_long) -> *mut isl_val;
    pub fn isl_val_int_from_chunks(a: *mut isl_ctx, b: usize, c: usize, d: *const c_void) -> *mut isl_val;
    pub fn isl_val_neg(a: *mut isl_val) -> *mut isl_val;
    pub fn isl_val_mul(a: *mut isl_val, b: *mut isl_val) -> *mut isl_val;
    pub fn isl_val_free(a: *mut isl_val) -> *mut isl_val;
    pub fn isl_val_sgn(a: *mut isl_val) -> c_int;
    pub fn isl_val_is_int(a: *mut isl_val) -> c_int;
    pub fn isl_val_is_nan(a: *mut isl_val) -> c_int;
    pub fn isl_val_is_infty(a: *mut isl_val) -> c_int;
    pub fn isl_val_is_neginfty(a: *mut isl_val) -> c_int;
    pub fn isl_val_n_abs_num_chunks(a: *mut isl_val, b: usize) -> c_int;
    pub fn isl_val_get_abs_num_chunks(a: *mut isl_val, b: usize, c: *mut c_void) -> c_int;
    pub fn isl_id_alloc(a: *mut isl_ctx, b: *const c_char, c: *mut c_void) -> *mut isl_id;
    pub fn isl_id_copy(a: *mut isl_id) -> *mut isl_id;
    pub fn isl_id_free(a: *mut isl_id) -> *mut isl_id;
    pub fn isl_id_get_name(a: *mut isl_id) -> *const c_char;
    pub fn isl_id_list_alloc(a: *mut isl_ctx, b: c_int) -> *mut isl_id_list;
    pub fn isl_id_list_add(a: *mut isl_id_list, b: *mut isl_id) -> *mut isl_id_list;
    pub fn isl_space_alloc(a: *mut isl_ctx, b: c_uint, c: c_uint, d: c_uint) -> *mut isl_space;
    pub fn isl_space_set_alloc(a: *mut isl_ctx, b: c_uint, c: c_uint) -> *mut isl_space;
    pub fn isl_space_params_alloc(a: *mut isl_ctx, b: c_uint) -> *mut isl_space;
    pub fn isl_space_set_dim_id(a: *mut isl_space, b: c_int, c: c_uint, d: *mut isl_id) -> *mut isl_space;
    pub fn isl_space_copy(a: *mut isl_space) -> *mut isl_space;
    pub fn isl_space_free(a: *mut isl_space) -> *mut isl_space;
    pub fn isl_basic_set_get_space(a: *mut isl_basic_set) -> *mut isl_space;
    pub fn isl_space_get_tuple_id(a: *mut isl_space, b: c_int) -> *mut isl_id;
    pub fn isl_space_unwrap(a: *mut isl_space) -> *mut isl_space;
    pub fn isl_space_range(a: *mut isl_space) -> *mut isl_space;
    pub fn isl_mat_alloc(a: *mut isl_ctx, b: c_uint, c: c_uint) -> *mut isl_mat;
    pub fn isl_mat_set_element_si(a: *mut isl_mat, b: c_int, c: c_int, d: c_int) -> *mut isl_mat;
    pub fn isl_mat_set_element_val(a: *mut isl_mat, b: c_int, c: c_int, d: *mut isl_val) -> *mut isl_mat;
    pub fn isl_mat_get_element_val(a: *mut isl_mat, b: c_int, c: c_int) -> *mut isl_val;
    pub fn isl_mat_rows(a: *mut isl_mat) -> c_int;
    pub fn isl_mat_cols(a: *mut isl_mat) -> c_int;
    pub fn isl_mat_copy(a: *mut isl_mat) -> *mut isl_mat;
    pub fn isl_mat_free(a: *mut isl_mat) -> *mut isl_mat;
    pub fn isl_basic_set_from_constraint_matrices(
        a: *mut isl_space,
        b: *mut isl_mat,
        c: *mut isl_mat,
        d: c_int,
        e: c_int,
        f: c_int,
        g: c_int,
    ) -> *mut isl_basic_set;
    pub fn isl_basic_map_from_constraint_matrices(
        a: *mut isl_space,
        b: *mut isl_mat,
        c: *mut isl_mat,
        d: c_int,
        e: c_int,
        f: c_int,
        g: c_int,
        h: c_int,
    ) -> *mut isl_basic_map;
    pub fn isl_basic_set_equalities_matrix(
        a: *mut isl_basic_set,
        b: c_int,
        c: c_int,
        d: c_int,
        e: c_int,
    ) -> *mut isl_mat;
    pub fn isl_basic_set_inequalities_matrix(
        a: *mut isl_basic_set,
        b: c_int,
        c: c_int,
        d: c_int,
        e: c_int,
    ) -> *mut isl_mat;
    pub fn isl_basic_set_dim(a: *mut isl_basic_set, b: c_int) -> c_int;
    pub fn isl_basic_set_get_div(a: *mut isl_basic_set, b: c_int) -> *mut isl_aff;
    pub fn isl_basic_set_copy(a: *mut isl_basic_set) -> *mut isl_basic_set;
    pub fn isl_basic_set_free(a: *mut isl_basic_set) -> *mut isl_basic_set;
    pub fn isl_basic_set_list_free(a: *mut isl_basic_set_list) -> *mut isl_basic_set_list;
    pub fn isl_basic_set_list_size(a: *mut isl_basic_set_list) -> c_int;
    pub fn isl_basic_set_list_get_at(a: *mut isl_basic_set_list, b: c_int) -> *mut isl_basic_set;
    pub fn isl_set_from_basic_set(a: *mut isl_basic_set) -> *mut isl_set;
    pub fn isl_set_copy(a: *mut isl_set) -> *mut isl_set;
    pub fn isl_set_free(a: *mut isl_set) -> *mut isl_set;
    pub fn isl_set_empty(a: *mut isl_space) -> *mut isl_set;
    pub fn isl_set_universe(a: *mut isl_space) -> *mut isl_set;
    pub fn isl_set_intersect(a: *mut isl_set, b: *mut isl_set) -> *mut isl_set;
    pub fn isl_set_union(a: *mut isl_set, b: *mut isl_set) -> *mut isl_set;
    pub fn isl_set_subtract(a: *mut isl_set, b: *mut isl_set) -> *mut isl_set;
    pub fn isl_set_complement(a: *mut isl_set) -> *mut isl_set;
    pub fn isl_set_intersect_params(a: *mut isl_set, b: *mut isl_set) -> *mut isl_set;
    pub fn isl_set_flat_product(a: *mut isl_set, b: *mut isl_set) -> *mut isl_set;
    pub fn isl_set_is_empty(a: *mut isl_set) -> c_int;
    pub fn isl_set_is_subset(a: *mut isl_set, b: *mut isl_set) -> c_int;
    pub fn isl_set_is_equal(a: *mut isl_set, b: *mut isl_set) -> c_int;
    pub fn isl_set_is_disjoint(a: *mut isl_set, b: *mut isl_set) -> c_int;
    pub fn isl_set_is_bounded(a: *mut isl_set) -> c_int;
    pub fn isl_set_project_out(a: *mut isl_set, b: c_int, c: c_uint, d: c_uint) -> *mut isl_set;
    pub fn isl_set_move_dims(
        a: *mut isl_set,
        b: c_int,
        c: c_uint,
        d: c_int,
        e: c_uint,
        f: c_uint,
    ) -> *mut isl_set;
    pub fn isl_set_insert_dims(a: *mut isl_set, b: c_int, c: c_uint, d: c_uint) -> *mut isl_set;
    pub fn isl_set_reset_space(a: *mut isl_set, b: *mut isl_space) -> *mut isl_set;
    pub fn isl_set_fix_val(a: *mut isl_set, b: c_int, c: c_uint, d: *mut isl_val) -> *mut isl_set;
    pub fn isl_set_lower_bound_si(a: *mut isl_set, b: c_int, c: c_uint, d: c_int) -> *mut isl_set;
    pub fn isl_set_upper_bound_si(a: *mut isl_set, b: c_int, c: c_uint, d: c_int) -> *mut isl_set;
    pub fn isl_set_params(a: *mut isl_set) -> *mut isl_set;
    pub fn isl_set_from_params(a: *mut isl_set) -> *mut isl_set;
    pub fn isl_set_lexmin(a: *mut isl_set) -> *mut isl_set;
    pub fn isl_set_lexmax(a: *mut isl_set) -> *mut isl_set;
    pub fn isl_set_lexmin_pw_multi_aff(a: *mut isl_set) -> *mut isl_pw_multi_aff;
    pub fn isl_set_lexmax_pw_multi_aff(a: *mut isl_set) -> *mut isl_pw_multi_aff;
    pub fn isl_set_from_pw_multi_aff(a: *mut isl_pw_multi_aff) -> *mut isl_set;
    pub fn isl_set_from_pw_aff(a: *mut isl_pw_aff) -> *mut isl_set;
    pub fn isl_set_lex_lt_set(a: *mut isl_set, b: *mut isl_set) -> *mut isl_map;
    pub fn isl_set_lex_gt_set(a: *mut isl_set, b: *mut isl_set) -> *mut isl_map;
    pub fn isl_set_dim_max(a: *mut isl_set, b: c_int) -> *mut isl_pw_aff;
    pub fn isl_set_dim_min(a: *mut isl_set, b: c_int) -> *mut isl_pw_aff;
    pub fn isl_set_dim_max_val(a: *mut isl_set, b: c_int) -> *mut isl_val;
    pub fn isl_set_dim_min_val(a: *mut isl_set, b: c_int) -> *mut isl_val;
    pub fn isl_set_plain_get_val_if_fixed(a: *mut isl_set, b: c_int, c: c_uint) -> *mut isl_val;
    pub fn isl_set_sample_point(a: *mut isl_set) -> *mut isl_point;
    pub fn isl_set_coalesce(a: *mut isl_set) -> *mut isl_set;
    pub fn isl_set_gist(a: *mut isl_set, b: *mut isl_set) -> *mut isl_set;
    pub fn isl_set_gist_params(a: *mut isl_set, b: *mut isl_set) -> *mut isl_set;
    pub fn isl_set_compute_divs(a: *mut isl_set) -> *mut isl_set;
    pub fn isl_set_remove_divs(a: *mut isl_set) -> *mut isl_set;
    pub fn isl_set_make_disjoint(a: *mut isl_set) -> *mut isl_set;
    pub fn isl_set_remove_redundancies(a: *mut isl_set) -> *mut isl_set;
    pub fn isl_set_affine_hull(a: *mut isl_set) -> *mut isl_basic_set;
    pub fn isl_set_simple_hull(a: *mut isl_set) -> *mut isl_basic_set;
    pub fn isl_set_polyhedral_hull(a: *mut isl_set) -> *mut isl_basic_set;
    pub fn isl_set_n_basic_set(a: *mut isl_set) -> c_int;
    pub fn isl_set_get_basic_set_list(a: *mut isl_set) -> *mut isl_basic_set_list;
    pub fn isl_set_identity(a: *mut isl_set) -> *mut isl_map;
    pub fn isl_set_flatten(a: *mut isl_set) -> *mut isl_set;
    pub fn isl_set_solutions(a: *mut isl_set) -> *mut isl_basic_set;
    pub fn isl_set_coefficients(a: *mut isl_set) -> *mut isl_basic_set;
    pub fn isl_set_to_str(a: *mut isl_set) -> *mut c_char;
    pub fn isl_map_to_str(a: *mut isl_map) -> *mut c_char;
    pub fn isl_point_is_void(a: *mut isl_point) -> c_int;
    pub fn isl_point_get_coordinate_val(a: *mut isl_point, b: c_int, c: c_int) -> *mut isl_val;
    pub fn isl_point_free(a: *mut isl_point) -> *mut isl_point;
    pub fn isl_map_from_basic_map(a: *mut isl_basic_map) -> *mut isl_map;
    pub fn isl_map_copy(a: *mut isl_map) -> *mut isl_map;
    pub fn isl_map_free(a: *mut isl_map) -> *mut isl_map;
    pub fn isl_map_empty(a: *mut isl_space) -> *mut isl_map;
    pub fn isl_map_universe(a: *mut isl_space) -> *mut isl_map;
    pub fn isl_map_intersect(a: *mut isl_map, b: *mut isl_map) -> *mut isl_map;
    pub fn isl_map_union(a: *mut isl_map, b: *mut isl_map) -> *mut isl_map;
    pub fn isl_map_subtract(a: *mut isl_map, b: *mut isl_map) -> *mut isl_map;
    pub fn isl_map_intersect_domain(a: *mut isl_map, b: *mut isl_set) -> *mut isl_map;
    pub fn isl_map_intersect_range(a: *mut isl_map, b: *mut isl_set) -> *mut isl_map;
    pub fn isl_map_intersect_params(a: *mut isl_map, b: *mut isl_set) -> *mut isl_map;
    pub fn isl_map_gist(a: *mut isl_map, b: *mut isl_map) -> *mut isl_map;
    pub fn isl_map_gist_params(a: *mut isl_map, b: *mut isl_set) -> *mut isl_map;
    pub fn isl_map_coalesce(a: *mut isl_map) -> *mut isl_map;
    pub fn isl_map_reverse(a: *mut isl_map) -> *mut isl_map;
    pub fn isl_map_domain(a: *mut isl_map) -> *mut isl_set;
    pub fn isl_map_range(a: *mut isl_map) -> *mut isl_set;
    pub fn isl_map_apply_range(a: *mut isl_map, b: *mut isl_map) -> *mut isl_map;
    pub fn isl_map_deltas(a: *mut isl_map) -> *mut isl_set;
    pub fn isl_map_is_empty(a: *mut isl_map) -> c_int;
    pub fn isl_map_is_subset(a: *mut isl_map, b: *mut isl_map) -> c_int;
    pub fn isl_map_is_equal(a: *mut isl_map, b: *mut isl_map) -> c_int;
    pub fn isl_map_is_disjoint(a: *mut isl_map, b: *mut isl_map) -> c_int;
    pub fn isl_map_is_single_valued(a: *mut isl_map) -> c_int;
    pub fn isl_map_is_injective(a: *mut isl_map) -> c_int;
    pub fn isl_map_lex_lt(a: *mut isl_space) -> *mut isl_map;
    pub fn isl_map_lex_le(a: *mut isl_space) -> *mut isl_map;
    pub fn isl_map_lexmin(a: *mut isl_map) -> *mut isl_map;
    pub fn isl_map_lexmax(a: *mut isl_map) -> *mut isl_map;
    pub fn isl_map_from_domain_and_range(a: *mut isl_set, b: *mut isl_set) -> *mut isl_map;
    pub fn isl_map_from_range(a: *mut isl_set) -> *mut isl_map;
    pub fn isl_map_move_dims(
        a: *mut isl_map,
        b: c_int,
        c: c_uint,
        d: c_int,
        e: c_uint,
        f: c_uint,
    ) -> *mut isl_map;
    pub fn isl_map_project_out(a: *mut isl_map, b: c_int, c: c_uint, d: c_uint) -> *mut isl_map;
    pub fn isl_map_flat_range_product(a: *mut isl_map, b: *mut isl_map) -> *mut isl_map;
    pub fn isl_map_reset_space(a: *mut isl_map, b: *mut isl_space) -> *mut isl_map;
    pub fn isl_map_set_tuple_id(a: *mut isl_map, b: c_int, c: *mut isl_id) -> *mut isl_map;
    pub fn isl_map_get_tuple_id(a: *mut isl_map, b: c_int) -> *mut isl_id;
    pub fn isl_map_get_space(a: *mut isl_map) -> *mut isl_space;
    pub fn isl_map_dim(a: *mut isl_map, b: c_int) -> c_int;
    pub fn isl_map_range_factor_domain(a: *mut isl_map) -> *mut isl_map;
    pub fn isl_map_transitive_closure(a: *mut isl_map, b: *mut c_int) -> *mut isl_map;
    pub fn isl_map_wrap(a: *mut isl_map) -> *mut isl_set;
    pub fn isl_map_list_free(a: *mut isl_map_list) -> *mut isl_map_list;
    pub fn isl_map_list_size(a: *mut isl_map_list) -> c_int;
    pub fn isl_map_list_get_at(a: *mut isl_map_list, b: c_int) -> *mut isl_map;
    pub fn isl_union_map_from_map(a: *mut isl_map) -> *mut isl_union_map;
    pub fn isl_union_map_empty(a: *mut isl_space) -> *mut isl_union_map;
    pub fn isl_union_map_union(a: *mut isl_union_map, b: *mut isl_union_map) -> *mut isl_union_map;
    pub fn isl_union_map_get_map_list(a: *mut isl_union_map) -> *mut isl_map_list;
    pub fn isl_union_map_copy(a: *mut isl_union_map) -> *mut isl_union_map;
    pub fn isl_union_map_free(a: *mut isl_union_map) -> *mut isl_union_map;
    pub fn isl_union_access_info_from_sink(a: *mut isl_union_map) -> *mut isl_union_access_info;
    pub fn isl_union_access_info_set_must_source(
        a: *mut isl_union_access_info,
        b: *mut isl_union_map,
    ) -> *mut isl_union_access_info;
    pub fn isl_union_access_info_set_may_source(
        a: *mut isl_union_access_info,
        b: *mut isl_union_map,
    ) -> *mut isl_union_access_info;
    pub fn isl_union_access_info_set_kill(
        a: *mut isl_union_access_info,
        b: *mut isl_union_map,
    ) -> *mut isl_union_access_info;
    pub fn isl_union_access_info_set_schedule_map(
        a: *mut isl_union_access_info,
        b: *mut isl_union_map,
    ) -> *mut isl_union_access_info;
    pub fn isl_union_access_info_compute_flow(a: *mut isl_union_access_info) -> *mut isl_union_flow;
    pub fn isl_union_flow_get_full_must_dependence(a: *mut isl_union_flow) -> *mut isl_union_map;
    pub fn isl_union_flow_get_full_may_dependence(a: *mut isl_union_flow) -> *mut isl_union_map;
    pub fn isl_union_flow_get_must_no_source(a: *mut isl_union_flow) -> *mut isl_union_map;
    pub fn isl_union_flow_get_may_no_source(a: *mut isl_union_flow) -> *mut isl_union_map;
    pub fn isl_union_flow_free(a: *mut isl_union_flow) -> *mut isl_union_flow;
    pub fn isl_aff_copy(a: *mut isl_aff) -> *mut isl_aff;
    pub fn isl_aff_free(a: *mut isl_aff) -> *mut isl_aff;
    pub fn isl_aff_dim(a: *mut isl_aff, b: c_int) -> c_int;
    pub fn isl_aff_get_constant_val(a: *mut isl_aff) -> *mut isl_val;
    pub fn isl_aff_get_coefficient_val(a: *mut isl_aff, b: c_int, c: c_int) -> *mut isl_val;
    pub fn isl_aff_get_denominator_val(a: *mut isl_aff) -> *mut isl_val;
    pub fn isl_aff_get_div(a: *mut isl_aff, b: c_int) -> *mut isl_aff;
    pub fn isl_aff_is_nan(a: *mut isl_aff) -> c_int;
    pub fn isl_pw_aff_copy(a: *mut isl_pw_aff) -> *mut isl_pw_aff;
    pub fn isl_pw_aff_free(a: *mut isl_pw_aff) -> *mut isl_pw_aff;
    pub fn isl_pw_aff_domain(a: *mut isl_pw_aff) -> *mut isl_set;
    pub fn isl_pw_aff_coalesce(a: *mut isl_pw_aff) -> *mut isl_pw_aff;
    pub fn isl_pw_aff_gist_params(a: *mut isl_pw_aff, b: *mut isl_set) -> *mut isl_pw_aff;
    pub fn isl_pw_aff_foreach_piece(a: *mut isl_pw_aff, b: PieceFn, c: *mut c_void) -> c_int;
    pub fn isl_pw_aff_union_max(a: *mut isl_pw_aff, b: *mut isl_pw_aff) -> *mut isl_pw_aff;
    pub fn isl_pw_aff_union_min(a: *mut isl_pw_aff, b: *mut isl_pw_aff) -> *mut isl_pw_aff;
    pub fn isl_pw_multi_aff_copy(a: *mut isl_pw_multi_aff) -> *mut isl_pw_multi_aff;
    pub fn isl_pw_multi_aff_free(a: *mut isl_pw_multi_aff) -> *mut isl_pw_multi_aff;
    pub fn isl_pw_multi_aff_get_pw_aff(a: *mut isl_pw_multi_aff, b: c_int) -> *mut isl_pw_aff;
    pub fn isl_ast_build_from_context(a: *mut isl_set) -> *mut isl_ast_build;
    pub fn isl_ast_build_free(a: *mut isl_ast_build) -> *mut isl_ast_build;
    pub fn isl_ast_build_set_options(a: *mut isl_ast_build, b: *mut isl_union_map) -> *mut isl_ast_build;
    pub fn isl_ast_build_set_iterators(a: *mut isl_ast_build, b: *mut isl_id_list) -> *mut isl_ast_build;
    pub fn isl_ast_build_expr_from_set(a: *mut isl_ast_build, b: *mut isl_set) -> *mut isl_ast_expr;
    pub fn isl_ast_build_expr_from_pw_aff(a: *mut isl_ast_build, b: *mut isl_pw_aff) -> *mut isl_ast_expr;
    pub fn isl_ast_build_node_from_schedule_map(
        a: *mut isl_ast_build,
        b: *mut isl_union_map,
    ) -> *mut isl_ast_node;
    pub fn isl_ast_expr_free(a: *mut isl_ast_expr) -> *mut isl_ast_expr;
    pub fn isl_ast_expr_get_type(a: *mut isl_ast_expr) -> c_int;
    pub fn isl_ast_expr_get_val(a: *mut isl_ast_expr) -> *mut isl_val;
    pub fn isl_ast_expr_get_id(a: *mut isl_ast_expr) -> *mut isl_id;
    pub fn isl_ast_expr_get_op_type(a: *mut isl_ast_expr) -> c_int;
    pub fn isl_ast_expr_get_op_n_arg(a: *mut isl_ast_expr) -> c_int;
    pub fn isl_ast_expr_get_op_arg(a: *mut isl_ast_expr, b: c_int) -> *mut isl_ast_expr;
    pub fn isl_ast_node_free(a: *mut isl_ast_node) -> *mut isl_ast_node;
    pub fn isl_ast_node_get_type(a: *mut isl_ast_node) -> c_int;
    pub fn isl_ast_node_for_get_iterator(a: *mut isl_ast_node) -> *mut isl_ast_expr;
    pub fn isl_ast_node_for_get_init(a: *mut isl_ast_node) -> *mut isl_ast_expr;
    pub fn isl_ast_node_for_get_cond(a: *mut isl_ast_node) -> *mut isl_ast_expr;
    pub fn isl_ast_node_for_get_inc(a: *mut isl_ast_node) -> *mut isl_ast_expr;
    pub fn isl_ast_node_for_get_body(a: *mut isl_ast_node) -> *mut isl_ast_node;
    pub fn isl_ast_node_for_is_degenerate(a: *mut isl_ast_node) -> c_int;
    pub fn isl_ast_node_if_get_cond(a: *mut isl_ast_node) -> *mut isl_ast_expr;
    pub fn isl_ast_node_if_get_then_node(a: *mut isl_ast_node) -> *mut isl_ast_node;
    pub fn isl_ast_node_if_has_else_node(a: *mut isl_ast_node) -> c_int;
    pub fn isl_ast_node_if_get_else_node(a: *mut isl_ast_node) -> *mut isl_ast_node;
    pub fn isl_ast_node_block_get_children(a: *mut isl_ast_node) -> *mut isl_ast_node_list;
    pub fn isl_ast_node_user_get_expr(a: *mut isl_ast_node) -> *mut isl_ast_expr;
    pub fn isl_ast_node_list_free(a: *mut isl_ast_node_list) -> *mut isl_ast_node_list;
    pub fn isl_ast_node_list_size(a: *mut isl_ast_node_list) -> c_int;
    pub fn isl_ast_node_list_get_at(a: *mut isl_ast_node_list, b: c_int) -> *mut isl_ast_node;
}
