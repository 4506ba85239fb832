//! The graph evaluated: what each operation does to bits.
//!
//! Deliberately absent: functions of which nothing is known, and `long double`.

use super::graph::{Act, Graph, Id, Node, Sort};

pub(super) fn mask(width: u32) -> u128 {
    if width >= 128 {
        u128::MAX
    } else {
        (1u128 << width) - 1
    }
}

/// The bits as a signed number.
pub(super) fn signed(v: u128, width: u32) -> i128 {
    let shift = 128 - width.clamp(1, 128);
    ((v << shift) as i128) >> shift
}

/// A float by its bits.
pub(super) fn number(v: u128, sort: Sort) -> f64 {
    match sort {
        Sort::F32 => f64::from(f32::from_bits(v as u32)),
        _ => f64::from_bits(v as u64),
    }
}

/// Every value of the nodes on these inputs. `None` in a place: not known.
pub(super) fn run(g: &Graph, order: &[Id], inputs: &[u128], out: &mut Vec<Option<u128>>) {
    out.clear();
    out.resize(g.nodes.len(), None);
    let mut given: Vec<(u128, Sort)> = Vec::with_capacity(4);
    for &id in order {
        let node = g.node(id);
        let value = match &node.act {
            Act::Input(k) => inputs.get(*k as usize).copied(),
            Act::Const(v) => Some(*v),
            // what decides is enough
            Act::And | Act::Or if node.sort == Sort::Truth => {
                let all = node.args.iter().map(|a| out[a.0 as usize]);
                let strong = u128::from(node.act == Act::Or);
                if all.clone().any(|v| v == Some(strong)) {
                    Some(strong)
                } else if all.clone().all(|v| v.is_some()) {
                    Some(1 - strong)
                } else {
                    None
                }
            }
            Act::If => match out[node.args[0].0 as usize] {
                Some(1) => out[node.args[1].0 as usize],
                Some(_) => out[node.args[2].0 as usize],
                None => None,
            },
            _ => {
                given.clear();
                given.extend(node.args.iter().filter_map(|a| Some((out[a.0 as usize]?, g.sort(*a)))));
                if given.len() == node.args.len() {
                    apply(node, &given)
                } else {
                    None
                }
            }
        };
        out[id.0 as usize] = value;
    }
}

/// One operation on known operands. `None`: not known.
pub(super) fn apply(node: &Node, given: &[(u128, Sort)]) -> Option<u128> {
    let (a, sort) = *given.first()?;
    let b = given.get(1).map_or(0, |x| x.0);
    let c = given.get(2).map_or(0, |x| x.0);
    let width = match sort {
        Sort::Bits(w) => w,
        Sort::Truth => 1,
        _ => 0,
    };
    let truth = |t: bool| Some(u128::from(t));
    let to = match node.sort {
        Sort::Bits(w) => w,
        _ => 1,
    };
    match &node.act {
        Act::Add => Some(a.wrapping_add(b) & mask(width)),
        Act::Mul => Some(a.wrapping_mul(b) & mask(width)),
        Act::Neg => Some(a.wrapping_neg() & mask(width)),
        Act::UDiv => Some(a.checked_div(b).unwrap_or(mask(width))),
        Act::URem => Some(a.checked_rem(b).unwrap_or(a)),
        Act::SDiv => {
            let (x, y) = (signed(a, width), signed(b, width));
            let all = if x < 0 { 1 } else { -1 };
            Some(if y == 0 { all } else { x.wrapping_div(y) } as u128 & mask(width))
        }
        Act::SRem => {
            let (x, y) = (signed(a, width), signed(b, width));
            Some(if y == 0 { x } else { x.wrapping_rem(y) } as u128 & mask(width))
        }
        Act::And => Some(a & b),
        Act::Or => Some(a | b),
        Act::Xor => Some(a ^ b),
        Act::Not => Some(!a & mask(width)),
        Act::Shl => Some(if b >= u128::from(width) { 0 } else { (a << b) & mask(width) }),
        Act::UShr => Some(if b >= u128::from(width) { 0 } else { a >> b }),
        Act::SShr => {
            let by = if b >= u128::from(width) { 127 } else { b as u32 };
            Some((signed(a, width) >> by) as u128 & mask(width))
        }
        // of NaNs there is one
        Act::Eq if sort.float() => {
            let (x, y) = (number(a, sort), number(b, sort));
            truth(a == b || (x.is_nan() && y.is_nan()))
        }
        Act::Eq => truth(a == b),
        Act::ULt => truth(a < b),
        Act::SLt => truth(signed(a, width) < signed(b, width)),
        Act::MulLeaves => {
            let product = signed(a, width).checked_mul(signed(b, width));
            truth(product.is_none_or(|p| signed(p as u128 & mask(width), width) != p))
        }
        Act::ZeroExt => Some(a),
        Act::SignExt => Some(signed(a, width) as u128 & mask(to)),
        Act::Low => Some(a & mask(to)),
        Act::If => Some(if a == 1 { b } else { c }),
        Act::FAdd | Act::FMul | Act::FDiv | Act::FSum | Act::FProduct => {
            let mut all = given.iter().map(|x| x.0);
            let first = all.next()?;
            all.try_fold(first, |x, y| float2(&node.act, node.sort, x, y))
        }
        Act::FNeg => Some(a ^ if sort == Sort::F32 { 1 << 31 } else { 1 << 63 }),
        Act::FAbs => Some(a & if sort == Sort::F32 { mask(31) } else { mask(63) }),
        Act::FSqrt | Act::FWhole(_) | Act::FFma => {
            if sort == Sort::F32 {
                let x = f32::from_bits(a as u32);
                let v = match node.act {
                    Act::FSqrt => x.sqrt(),
                    Act::FFma => x.mul_add(f32::from_bits(b as u32), f32::from_bits(c as u32)),
                    Act::FWhole('t') => x.trunc(),
                    Act::FWhole('f') => x.floor(),
                    Act::FWhole('c') => x.ceil(),
                    _ => x.round_ties_even(),
                };
                Some(u128::from(v.to_bits()))
            } else {
                let x = number(a, sort);
                let v = match node.act {
                    Act::FSqrt => x.sqrt(),
                    Act::FFma => x.mul_add(number(b, sort), number(c, sort)),
                    Act::FWhole('t') => x.trunc(),
                    Act::FWhole('f') => x.floor(),
                    Act::FWhole('c') => x.ceil(),
                    _ => x.round_ties_even(),
                };
                Some(u128::from(v.to_bits()))
            }
        }
        Act::FLt => truth(number(a, sort) < number(b, sort)),
        Act::FLe => truth(number(a, sort) <= number(b, sort)),
        Act::FEq => truth(number(a, sort) == number(b, sort)),
        Act::FFloat => Some(from_f64(number(a, sort), node.sort)),
        Act::FSigned => {
            let v = signed(a, width);
            Some(if node.sort == Sort::F32 {
                u128::from((v as f32).to_bits())
            } else {
                u128::from((v as f64).to_bits())
            })
        }
        Act::FUnsigned => Some(if node.sort == Sort::F32 {
            u128::from((a as f32).to_bits())
        } else {
            u128::from((a as f64).to_bits())
        }),
        Act::ToSigned => Some(number(a, sort) as i128 as u128 & mask(to)),
        Act::ToUnsigned => Some(number(a, sort) as u128 & mask(to)),
        Act::Input(_) | Act::Const(_) | Act::Function(_) => None,
    }
}

fn from_f64(v: f64, sort: Sort) -> u128 {
    match sort {
        Sort::F32 => u128::from((v as f32).to_bits()),
        _ => u128::from(v.to_bits()),
    }
}

fn float2(act: &Act, sort: Sort, a: u128, b: u128) -> Option<u128> {
    if sort == Sort::F32 {
        let (x, y) = (f32::from_bits(a as u32), f32::from_bits(b as u32));
        let v = match act {
            Act::FAdd | Act::FSum => x + y,
            Act::FDiv => x / y,
            _ => x * y,
        };
        return Some(u128::from(v.to_bits()));
    }
    let (x, y) = (number(a, sort), number(b, sort));
    let v = match act {
        Act::FAdd | Act::FSum => x + y,
        Act::FDiv => x / y,
        _ => x * y,
    };
    Some(u128::from(v.to_bits()))
}
