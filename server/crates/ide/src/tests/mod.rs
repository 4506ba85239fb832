//! Tests of this room, by view.
