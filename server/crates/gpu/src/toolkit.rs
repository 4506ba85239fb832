//! What CUDA's own headers give kernels beside numbers: short floating types, textures, generators of random numbers.
//!
//! Sources: CUDA Math API Reference Manual, "Half Precision", "Bfloat16 Precision"; CUDA C++ Programming Guide, "Texture Functions";
//! cuRAND documentation, "Device API". Of a function it is said what it gives and whose state it changes; none touches other memory.
//! Textures are read alone, and memory that a kernel writes while it reads it as a texture has no meaning (Programming Guide,
//! "Read/Write Coherency"), so reading one races with nothing.
//!
//! Deliberately absent: what the functions compute; surfaces, which kernels write; quasirandom sequences.

use term::{FloatKind, IntKind};

use crate::math::Number;

/// What a function gives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Gives {
    Nothing,
    Number(Number),
    /// A type of the toolkit, by name.
    Type(&'static str),
    /// What the call's template says, or the texture that is read.
    Unsaid,
}

/// A function of the toolkit's headers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ToolkitFunction {
    pub gives: Gives,
    /// The argument, from 0, that points to the state that it reads and changes.
    pub changes: Option<usize>,
}

/// Bytes of a type whose values only functions and operators of the toolkit make.
pub fn type_bytes(name: &str) -> Option<u8> {
    Some(match name {
        "__half" | "nv_bfloat16" | "__nv_bfloat16" => 2,
        "__half2" | "nv_bfloat162" | "__nv_bfloat162" => 4,
        "curandState"
        | "curandState_t"
        | "curandStateXORWOW"
        | "curandStateXORWOW_t"
        | "curandStateMRG32k3a"
        | "curandStateMRG32k3a_t" => 48,
        "curandStatePhilox4_32_10" | "curandStatePhilox4_32_10_t" => 64,
        _ => return None,
    })
}

/// Whether a type is a handle of a texture.
pub fn is_texture(name: &str) -> bool {
    name == "cudaTextureObject_t"
}

/// Names that a header gives types which are known under another name.
pub fn short_names(header: &str) -> &'static [(&'static str, &'static str)] {
    match header {
        "cuda_fp16.h" | "cuda_fp16.hpp" | "mma.h" => &[("half", "__half"), ("half2", "__half2")],
        _ => &[],
    }
}

/// Whether this reads a texture, and may be written with the type that it gives: `tex2D<float>(…)`.
pub fn reads_texture(name: &str) -> bool {
    const KINDS: [&str; 8] = [
        "tex1D",
        "tex2D",
        "tex3D",
        "texCubemap",
        "tex1DLayered",
        "tex2DLayered",
        "texCubemapLayered",
        "tex2Dgather",
    ];
    let stem = name.strip_suffix("Lod").or_else(|| name.strip_suffix("Grad")).unwrap_or(name);
    KINDS.contains(&stem) || name == "tex1Dfetch"
}

/// The function of this name; `None`: none of these, or one that [`crate::math`] knows.
pub fn function(name: &str) -> Option<ToolkitFunction> {
    let pure = |gives| Some(ToolkitFunction { gives, changes: None });
    if reads_texture(name) {
        return pure(Gives::Unsaid);
    }
    random(name).or_else(|| pure(short_float(name)?))
}

/// The argument, from 0, that points to the state that the function of this name reads and changes.
pub fn changes(name: &str) -> Option<usize> {
    function(name)?.changes
}

/// cuRAND's: all but the first change the state that comes first.
fn random(name: &str) -> Option<ToolkitFunction> {
    let at = |gives, place| Some(ToolkitFunction { gives, changes: Some(place) });
    if name == "curand_init" {
        return at(Gives::Nothing, 3);
    }
    let rest = name.strip_prefix("curand")?;
    let rest = rest.strip_prefix("_log").filter(|r| r.starts_with("_normal")).unwrap_or(rest);
    let gives = match rest {
        "" | "_poisson" => Gives::Number(Number::Int(IntKind::UInt)),
        "4" | "_poisson4" => Gives::Type("uint4"),
        "_uniform" | "_normal" => Gives::Number(Number::Float(FloatKind::F32)),
        "_uniform_double" | "_normal_double" => Gives::Number(Number::Float(FloatKind::F64)),
        "_normal2" => Gives::Type("float2"),
        "_normal2_double" | "_uniform2_double" => Gives::Type("double2"),
        "_uniform4" | "_normal4" => Gives::Type("float4"),
        _ => return None,
    };
    at(gives, 0)
}

/// What functions of `half`, `nv_bfloat16` and pairs of them give.
fn short_float(name: &str) -> Option<Gives> {
    const HALF: Gives = Gives::Type("__half");
    const HALVES: Gives = Gives::Type("__half2");
    let float = Gives::Number(Number::Float(FloatKind::F32));
    let truth = Gives::Number(Number::Int(IntKind::Bool));
    Some(match name {
        "__half2float" | "__low2float" | "__high2float" | "__bfloat162float" => float,
        "__half22float2" | "__bfloat1622float2" => Gives::Type("float2"),
        "__float2bfloat16" | "__float2bfloat16_rn" | "__double2bfloat16" => Gives::Type("__nv_bfloat16"),
        "__floats2bfloat162_rn" | "__float2bfloat162_rn" | "__float22bfloat162_rn" => {
            Gives::Type("__nv_bfloat162")
        }
        "__float2half" | "__float2half_rn" | "__float2half_rz" | "__double2half" | "__int2half_rn"
        | "__uint2half_rn" | "__short2half_rn" | "__ushort2half_rn" | "__ushort_as_half"
        | "__short_as_half" => HALF,
        "__floats2half2_rn" | "__float2half2_rn" | "__float22half2_rn" | "__half2half2"
        | "__halves2half2" => HALVES,
        "__half2int_rn" | "__half2int_rz" => Gives::Number(Number::Int(IntKind::Int)),
        "__half_as_ushort" => Gives::Number(Number::Int(IntKind::UShort)),
        "__half_as_short" => Gives::Number(Number::Int(IntKind::Short)),
        // of either type: which it is the arguments decide
        "__low2half" | "__high2half" | "__hsub" | "__hmul" | "__hdiv" | "__hfma" | "__hneg" | "__habs"
        | "__hmax" | "__hmin" | "hsqrt" | "hrsqrt" | "hexp" | "hexp2" | "hexp10" | "hlog" | "hlog2"
        | "hlog10" | "hsin" | "hcos" | "hrcp" | "hceil" | "hfloor" | "hrint" | "htrunc" | "__hadd2"
        | "__hsub2" | "__hmul2" | "__h2div" | "__hfma2" | "__hneg2" | "__habs2" | "__hmax2" | "__hmin2"
        | "h2sqrt" | "h2rsqrt" | "h2exp" | "h2log" | "__low2half2" | "__high2half2" | "__lowhigh2highlow" => {
            Gives::Unsaid
        }
        "__heq" | "__hne" | "__hlt" | "__hle" | "__hgt" | "__hge" | "__hisnan" | "__hisinf" => truth,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_the_toolkit_are_told_apart() {
        let said = |name: &str| function(name).map(|f| (f.gives, f.changes));
        let float = Gives::Number(Number::Float(FloatKind::F32));
        assert_eq!(said("tex1Dfetch"), Some((Gives::Unsaid, None)));
        assert_eq!(said("tex2DLod"), Some((Gives::Unsaid, None)));
        assert_eq!(said("curand_init"), Some((Gives::Nothing, Some(3))));
        assert_eq!(said("curand_uniform"), Some((float, Some(0))));
        assert_eq!(said("curand_log_normal4"), Some((Gives::Type("float4"), Some(0))));
        assert_eq!(said("__float2half"), Some((Gives::Type("__half"), None)));
        for none in [
            "curand_log",
            "curand_log_uniform",
            "curandCreateGenerator",
            "tex",
            "surf2Dwrite",
            "half",
            "__hadd",
        ] {
            assert_eq!(said(none), None, "{none}");
        }
        for number in ["__hadd", "__urhadd", "rsqrtf"] {
            assert!(crate::math::function(number).is_some() && function(number).is_none(), "{number}");
        }
    }
}
