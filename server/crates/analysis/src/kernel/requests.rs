//! What one request of a warp asks of memory, from the byte offsets of its lanes; sums over requests.
//!
//! The rules are those of the simulator's counters, found another way: from the subscripts, not from a run. A request is
//! one instruction for the active lanes of a warp; sectors have 32 bytes, arrays begin at one; the ideal is the fewest sectors
//! for the distinct bytes; ways are the most distinct 4-byte words in one of 32 banks (CUDA C++ Programming Guide, Device Memory
//! Accesses and Shared Memory). Conflicts are the passes that shared memory makes beyond one for each part of the warp that
//! is served at once: 128 bytes. Constant memory gives one address a pass (same guide, Constant Memory): its *ways* are the different
//! addresses of a request, its conflicts the passes beyond one.

use term::Space;

use crate::limits::kernel_requests::MAX_PLACES;

const SECTOR: i128 = 32;
const BANKS: usize = 32;

/// All requests of an access.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Requests {
    /// Whether these are all. Else they are those of the first way to the access, in the first iteration of each loop.
    pub exact: bool,
    /// Whether there are loops, of which it is the first iteration.
    pub first_round: bool,
    /// How many blocks were looked at, where the launch has too many threads to look at all of them.
    pub blocks: Option<u32>,
    pub count: u64,
    pub lanes: u64,
    pub sectors: u64,
    pub ideal: u64,
    /// Of the request with the most sectors beyond its ideal, then the most lanes, then the most sectors.
    pub worst_sectors: u64,
    pub worst_ideal: u64,
    /// Most distinct words in one bank; in constant memory, most distinct addresses of a request.
    pub ways: u64,
    /// Two lanes of one request that ask for different words of a bank (different addresses of constant memory), and the bank,
    /// where there are most.
    pub collide: Option<(u32, u32, u32)>,
    /// Bytes between what neighbouring lanes of the worst request ask for, where all of them are as far apart.
    pub stride: Option<i64>,
    /// Passes that bank conflicts of shared memory, or different addresses of constant memory, cost.
    pub conflicts: u64,
    /// Different places of global memory that all requests together ask for; `None`: too many to count.
    pub distinct: Option<u64>,
    pub(super) worst: Option<(u64, u64, u64)>,
    pub(super) places: Places,
}

/// Places in global memory, by their offsets.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Places {
    pub seen: rustc_hash::FxHashSet<i64>,
    pub too_many: bool,
}

impl Places {
    fn add(&mut self, offset: i128) {
        match i64::try_from(offset) {
            Ok(o) if self.seen.len() < MAX_PLACES => {
                self.seen.insert(o);
            }
            _ => self.too_many = true,
        }
    }
    pub(super) fn count(&self) -> Option<u64> {
        (!self.too_many).then_some(self.seen.len() as u64)
    }
}

impl Requests {
    /// Adds a request: lanes with the offsets they ask for, in bytes.
    pub(crate) fn add(&mut self, space: Space, lanes: &[(u32, i128)], size: i128) {
        let size = size.max(1);
        self.count += 1;
        self.lanes += lanes.len() as u64;
        let stride = even_stride(lanes);
        if space == Space::Constant {
            let ways = distinct(lanes);
            if ways > self.ways {
                let other = lanes.iter().find(|l| l.1 != lanes[0].1);
                self.collide = other.map(|o| (lanes[0].0, o.0, 0));
                (self.ways, self.stride) = (ways, stride);
            }
            self.conflicts += ways.saturating_sub(1);
            return;
        }
        if space == Space::Shared {
            for served in halves(lanes) {
                let ways = fullest(&words(served, size));
                if ways > self.ways {
                    (self.ways, self.stride, self.collide) = (ways, stride, collide(served));
                }
            }
            self.conflicts += conflicts(lanes, size);
            return;
        }
        lanes.iter().for_each(|l| self.places.add(l.1));
        let (sectors, ideal) = sectors(lanes, size);
        self.sectors += sectors;
        self.ideal += ideal;
        let badness = (sectors.saturating_sub(ideal), lanes.len() as u64, sectors);
        if self.worst.is_none_or(|w| badness > w) {
            self.worst = Some(badness);
            self.worst_sectors = sectors;
            self.worst_ideal = ideal;
            self.stride = stride;
        }
    }
}

/// Bytes between neighbouring lanes, where all of a request are as far apart.
fn even_stride(lanes: &[(u32, i128)]) -> Option<i64> {
    let (first, second) = (lanes.first()?, lanes.get(1)?);
    let stride = second.1 - first.1;
    let even = |w: &[(u32, i128)]| w[0].0 + 1 == w[1].0 && w[1].1 - w[0].1 == stride;
    i64::try_from(stride).ok().filter(|_| lanes.windows(2).all(even))
}

fn distinct(lanes: &[(u32, i128)]) -> u64 {
    let mut all: Vec<i128> = lanes.iter().map(|l| l.1).collect();
    all.sort_unstable();
    all.dedup();
    all.len() as u64
}

fn sectors(lanes: &[(u32, i128)], size: i128) -> (u64, u64) {
    let mut from: Vec<i128> = lanes.iter().map(|l| l.1).collect();
    from.sort_unstable();
    let (mut sectors, mut bytes) = (0i128, 0i128);
    let (mut past, mut next) = (i128::MIN, i128::MIN);
    for o in from {
        bytes += (o + size - o.max(past)).max(0);
        past = past.max(o + size);
        let (first, end) = (o.div_euclid(SECTOR).max(next), (o + size - 1).div_euclid(SECTOR) + 1);
        sectors += (end - first).max(0);
        next = next.max(end);
    }
    (sectors as u64, (bytes as u64).div_ceil(SECTOR as u64))
}

fn words(lanes: &[(u32, i128)], size: i128) -> Vec<i128> {
    let mut out: Vec<i128> =
        lanes.iter().flat_map(|l| l.1.div_euclid(4)..=(l.1 + size - 1).div_euclid(4)).collect();
    out.sort_unstable();
    out.dedup();
    out
}

/// As many lanes as there are banks have their words served at once at most, so a wavefront of 64 lanes takes two turns whatever
/// it asks for (AMD CDNA3 Instruction Set Architecture, Local Data Share).
fn halves(lanes: &[(u32, i128)]) -> impl Iterator<Item = &[(u32, i128)]> {
    lanes.chunk_by(|a, b| a.0 / BANKS as u32 == b.0 / BANKS as u32)
}

fn fullest(words: &[i128]) -> u64 {
    let mut banks = [0u64; BANKS];
    for w in words {
        banks[w.rem_euclid(BANKS as i128) as usize] += 1;
    }
    banks.into_iter().max().unwrap_or(0)
}

/// Two lanes with different words in one bank.
fn collide(lanes: &[(u32, i128)]) -> Option<(u32, u32, u32)> {
    lanes.iter().enumerate().find_map(|(k, &(a, x))| {
        let (x, banks) = (x.div_euclid(4), BANKS as i128);
        let other = lanes[k + 1..].iter().find(|&&(_, y)| {
            let y = y.div_euclid(4);
            x != y && (x - y) % banks == 0
        })?;
        Some((a, other.0, x.rem_euclid(banks) as u32))
    })
}

fn conflicts(lanes: &[(u32, i128)], size: i128) -> u64 {
    let wide = size.max(4) as u64;
    let together = (BANKS as u64 * 4 / wide.next_power_of_two()).clamp(1, 32) as u32;
    let (mut passes, mut needed) = (0, 0);
    for part in 0..lanes.iter().map(|l| l.0 / together + 1).max().unwrap_or(0) {
        let mine: Vec<(u32, i128)> = lanes.iter().copied().filter(|l| l.0 / together == part).collect();
        if !mine.is_empty() {
            let words = words(&mine, size);
            passes += fullest(&words).max(1);
            // wider than all banks together: several passes whatever the layout
            needed += (words.len() as u64).div_ceil(BANKS as u64).clamp(1, (wide / 128).max(1));
        }
    }
    passes - needed.min(passes)
}
