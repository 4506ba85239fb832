//! Which GPUs the CUDA driver sees. Loads the driver into this process, so it is asked in a worker.

use cudarc::driver::sys;
use serde::{Deserialize, Serialize};
use std::ffi::{c_int, CStr};

/// One GPU.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Gpu {
    /// The driver's number for it.
    pub ordinal: u32,
    /// The maker's name.
    pub name: String,
    /// Compute capability, such as 9 and 0.
    pub compute_capability: (u32, u32),
    /// Bytes of memory.
    pub memory_bytes: u64,
    /// Streaming multiprocessors.
    pub multiprocessors: u32,
}

/// The GPUs, or why there are none.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Gpus {
    /// Those that answered.
    pub list: Vec<Gpu>,
    /// The newest CUDA version the driver runs, such as 13 and 0.
    pub driver: Option<(u32, u32)>,
    /// Why the list is empty or not complete.
    pub reason: Option<String>,
}

/// Asks the driver. A machine without one has an empty list with a reason.
pub fn gpus() -> Gpus {
    // cudarc panics where the library lacks a function
    let found = std::panic::catch_unwind(|| {
        // SAFETY: loading the driver runs its initializers; asked first because every other call panics without it.
        if unsafe { sys::is_culib_present() } {
            ask_driver()
        } else {
            without("The CUDA driver (libcuda) was not found. Install NVIDIA's driver, or use a worker on another machine.")
        }
    });
    found.unwrap_or_else(|_| {
        without("The CUDA driver lacks a function that is needed. Install a newer driver.")
    })
}

fn without(reason: &str) -> Gpus {
    Gpus { reason: Some(reason.to_owned()), ..Gpus::default() }
}

fn ask_driver() -> Gpus {
    let mut version: c_int = 0;
    let mut count: c_int = 0;
    // SAFETY: the driver is loaded; every call writes to the one place it is given.
    unsafe {
        if let Err(e) = sys::cuInit(0).result() {
            return without(&format!(
                "The CUDA driver found no GPU it can use ({:?}). Check nvidia-smi.",
                e.0
            ));
        }
        // a version that cannot be read is not said
        let _ = sys::cuDriverGetVersion(&mut version).result();
        if let Err(e) = sys::cuDeviceGetCount(&mut count).result() {
            return without(&format!(
                "The CUDA driver does not count its GPUs ({:?}). Check nvidia-smi.",
                e.0
            ));
        }
    }
    let driver = (version > 0).then_some((version as u32 / 1000, version as u32 % 1000 / 10));
    let mut gpus = Gpus { driver, ..Gpus::default() };
    for ordinal in 0..count.max(0) {
        match describe(ordinal) {
            Ok(gpu) => gpus.list.push(gpu),
            Err(e) => {
                gpus.reason = Some(format!("GPU {ordinal} did not answer ({:?}). Check nvidia-smi.", e.0))
            }
        }
    }
    if gpus.list.is_empty() && gpus.reason.is_none() {
        gpus.reason =
            Some("The CUDA driver sees no GPU. Check CUDA_VISIBLE_DEVICES and nvidia-smi.".to_owned());
    }
    gpus
}

pub(crate) fn describe(ordinal: c_int) -> Result<Gpu, cudarc::driver::DriverError> {
    let (mut device, mut name, mut bytes) = (0, [0 as std::ffi::c_char; 256], 0usize);
    use sys::CUdevice_attribute_enum as A;
    // SAFETY: `cuInit` succeeded; the name's buffer has the length that is passed, and one more byte stays zero.
    unsafe {
        sys::cuDeviceGet(&mut device, ordinal).result()?;
        sys::cuDeviceGetName(name.as_mut_ptr(), name.len() as c_int - 1, device).result()?;
        sys::cuDeviceTotalMem_v2(&mut bytes, device).result()?;
        let attribute = |what| {
            let mut value: c_int = 0;
            sys::cuDeviceGetAttribute(&mut value, what, device).result().map(|()| value.max(0) as u32)
        };
        Ok(Gpu {
            ordinal: ordinal as u32,
            name: CStr::from_ptr(name.as_ptr()).to_string_lossy().into_owned(),
            compute_capability: (
                attribute(A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
                attribute(A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
            ),
            memory_bytes: bytes as u64,
            multiprocessors: attribute(A::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
        })
    }
}
