//! Whether a launch is far too large to be followed: a glance at a few of its threads or warps, which costs little beside finding it out
//! on the way.
//!
//! Whoever follows the launch all the same loses nothing but steps; who is told that it is too large would have to be wrong about three
//! places of four.

/// Whether most of four places all over a launch of so many blocks, with so many threads or warps each, are more than their part of what
/// can be followed, times some; `is_heavy` says so of a block and a thread or warp of it, `None` where it is not to be found out. Launches
/// of fewer than `least` are followed at once.
pub(super) fn is_far_too_large(
    blocks: u64,
    each: u64,
    least: u64,
    mut is_heavy: impl FnMut(u32, u32) -> Option<bool>,
) -> bool {
    if blocks == 0 || each == 0 || blocks.saturating_mul(each) < least {
        return false;
    }
    // the first thread often does more than others
    let places = [(0, each.min(2) - 1), (blocks / 2, each / 2), (blocks / 2, 0), (blocks - 1, each - 1)];
    let mut heavy = 0;
    for (b, k) in places {
        let (Ok(b), Ok(k)) = (u32::try_from(b), u32::try_from(k)) else { return false };
        match is_heavy(b, k) {
            Some(more) => heavy += u32::from(more),
            None => return false,
        }
    }
    heavy >= 3
}
