//! What offloads call what they write in languages with classes: who reads such a program again knows it by its name.

/// The class whose methods stand for loops.
pub const HOST_CLASS: &str = "Warpwright";

/// How the names of these methods end.
pub const ON_GPU_METHOD: &str = "OnGpu";

/// Whether it is a method that stands for a loop, and says whether it ran: `Warpwright.SmoothOnGpu`.
pub fn stands_for_a_loop(name: &str) -> bool {
    let method = name.strip_prefix(HOST_CLASS).and_then(|n| n.strip_prefix('.'));
    method.is_some_and(|n| n.ends_with(ON_GPU_METHOD) && n.chars().all(|c| c.is_alphanumeric() || c == '_'))
}
