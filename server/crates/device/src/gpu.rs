//! One GPU of this process through cudarc: memory, copies, launches and events, each call's result looked at.
//!
//! All handles are ours and live as long as the context; sizes are those of slices. What a kernel does to memory is the
//! kernel's business: it runs where the driver lets it, and the driver says so afterwards.
//!
//! Deliberately absent: what is run, and in which order.

use crate::{Unavailable, UnavailableKind};
use cudarc::driver::sys;
use std::ffi::{c_uint, c_void, CStr, CString};

/// A GPU with its primary context, current on this thread.
pub(crate) struct Device {
    device: sys::CUdevice,
    elapsed: ElapsedTime,
}

type ElapsedTime = unsafe extern "C" fn(*mut f32, sys::CUevent, sys::CUevent) -> sys::CUresult;

/// Memory of the device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Address(pub u64);

/// A loaded program.
pub(crate) struct Module(sys::CUmodule);

/// A kernel of one.
#[derive(Clone, Copy)]
pub(crate) struct Kernel(sys::CUfunction);

/// A point in time of the device.
pub(crate) struct Event(sys::CUevent);

/// A call that failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct CallFailed {
    pub call: &'static str,
    pub code: u32,
    /// `CUDA_ERROR_OUT_OF_MEMORY`
    pub name: String,
    /// `out of memory`
    pub words: String,
}

impl CallFailed {
    pub fn is_out_of_memory(&self) -> bool {
        self.code == 2
    }

    /// `CUDA_ERROR_LAUNCH_TIMEOUT`
    pub fn is_too_long(&self) -> bool {
        self.code == 702
    }
}

type Done<T = ()> = Result<T, CallFailed>;

fn did(call: &'static str, result: sys::CUresult) -> Done {
    let code = result as u32;
    if code == 0 {
        return Ok(());
    }
    let text = |ask: unsafe fn(sys::CUresult, *mut *const std::ffi::c_char) -> sys::CUresult| {
        let mut words = std::ptr::null();
        // SAFETY: the driver writes null or a text that lives as long as it is loaded.
        unsafe {
            let _ = ask(result, &mut words);
            if words.is_null() {
                "unknown".to_owned()
            } else {
                CStr::from_ptr(words).to_string_lossy().into_owned()
            }
        }
    };
    Err(CallFailed { call, code, name: text(sys::cuGetErrorName), words: text(sys::cuGetErrorString) })
}

/// Calls the driver. cudarc gives each call the type of `cuda.h`; all pointers given here are to memory of this process that
/// lives through the call and is as large as the sizes given with it say.
macro_rules! driver {
    ($name:ident($($a:expr),*)) => {
        // SAFETY: see above; `Device::open` has found the driver.
        did(stringify!($name), unsafe { sys::$name($($a),*) })
    };
}

impl Device {
    /// The first GPU. It panics where the driver lacks a function: callers catch that.
    pub fn open() -> Result<Device, Unavailable> {
        let none = |reason: String| {
            let next = "Use a machine with a GPU (--on HOST), or --on simulator, which needs none.";
            Unavailable::new(UnavailableKind::NoGpu, reason, next)
        };
        let failed = |e: CallFailed| none(format!("The CUDA driver gives no GPU: {} ({}).", e.words, e.name));
        // SAFETY: loading the driver runs its initializers; asked first because every other call panics without it.
        if !unsafe { sys::is_culib_present() } {
            return Err(none("There is no GPU here: the CUDA driver (libcuda) was not found.".to_owned()));
        }
        driver!(cuInit(0)).map_err(failed)?;
        let (mut device, mut context) = (0, std::ptr::null_mut());
        driver!(cuDeviceGet(&mut device, 0)).map_err(failed)?;
        driver!(cuDevicePrimaryCtxRetain(&mut context, device)).map_err(failed)?;
        driver!(cuCtxSetCurrent(context)).map_err(failed)?;
        // cudarc's name for it is of the newest drivers only
        // SAFETY: the driver is loaded and never closed; the type is that of cuda.h.
        let elapsed = unsafe { sys::culib().get::<ElapsedTime>(b"cuEventElapsedTime\0").map(|f| *f) };
        let elapsed = elapsed.map_err(|e| none(format!("The CUDA driver cannot be used: {e}.")))?;
        Ok(Device { device, elapsed })
    }

    /// Bytes of memory that are free.
    pub fn free_bytes(&self) -> Done<u64> {
        let (mut free, mut all) = (0usize, 0usize);
        driver!(cuMemGetInfo_v2(&mut free, &mut all))?;
        Ok(free as u64)
    }

    pub fn allocate(&self, bytes: u64) -> Done<Address> {
        let mut at = 0;
        driver!(cuMemAlloc_v2(&mut at, bytes as usize))?;
        Ok(Address(at))
    }

    pub fn free(&self, at: Address) -> Done {
        driver!(cuMemFree_v2(at.0))
    }

    pub fn bring(&self, to: Address, from: &[u8]) -> Done {
        driver!(cuMemcpyHtoD_v2(to.0, from.as_ptr().cast::<c_void>(), from.len()))
    }

    pub fn fetch(&self, to: &mut [u8], from: Address) -> Done {
        driver!(cuMemcpyDtoH_v2(to.as_mut_ptr().cast::<c_void>(), from.0, to.len()))
    }

    pub fn on_device(&self, to: Address, from: Address, bytes: u64) -> Done {
        driver!(cuMemcpyDtoD_v2(to.0, from.0, bytes as usize))
    }

    pub fn set(&self, to: Address, byte: u8, bytes: u64) -> Done {
        driver!(cuMemsetD8_v2(to.0, byte, bytes as usize))
    }

    /// Waits for all that was begun; what went wrong in a kernel is told here.
    pub fn wait(&self) -> Done {
        driver!(cuCtxSynchronize())
    }

    /// Loads what NVRTC made: machine code, or PTX with a zero behind it.
    pub fn load(&self, image: &[u8]) -> Done<Module> {
        let mut module = std::ptr::null_mut();
        driver!(cuModuleLoadData(&mut module, image.as_ptr().cast::<c_void>()))?;
        Ok(Module(module))
    }

    pub fn unload(&self, module: Module) -> Done {
        driver!(cuModuleUnload(module.0))
    }

    pub fn kernel(&self, module: &Module, name: &str) -> Done<Kernel> {
        let mut kernel = std::ptr::null_mut();
        let name = CString::new(name.replace('\0', "")).unwrap_or_default();
        driver!(cuModuleGetFunction(&mut kernel, module.0, name.as_ptr()))?;
        Ok(Kernel(kernel))
    }

    /// More than 48 KiB of dynamic shared memory is to be asked for first.
    pub fn allow_shared(&self, kernel: Kernel, bytes: u32) -> Done {
        let what = sys::CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        driver!(cuFuncSetAttribute(kernel.0, what, i32::try_from(bytes).unwrap_or(i32::MAX)))
    }

    /// `arguments`: the bytes of each, as the kernel's parameters take them.
    pub fn launch(
        &self,
        kernel: Kernel,
        (grid, block): ([u32; 3], [u32; 3]),
        shared_bytes: u32,
        arguments: &[Vec<u8>],
    ) -> Done {
        // as aligned as any parameter is
        let mut room: Vec<Vec<u128>> =
            arguments.iter().map(|a| vec![0; a.len().div_ceil(16).max(1)]).collect();
        for (words, bytes) in room.iter_mut().zip(arguments) {
            for (word, part) in words.iter_mut().zip(bytes.chunks(16)) {
                let mut whole = [0; 16];
                whole[..part.len()].copy_from_slice(part);
                *word = u128::from_le_bytes(whole);
            }
        }
        let mut places: Vec<*mut c_void> = room.iter_mut().map(|w| w.as_mut_ptr().cast()).collect();
        let (stream, none) = (std::ptr::null_mut(), std::ptr::null_mut());
        driver!(cuLaunchKernel(
            kernel.0,
            grid[0] as c_uint,
            grid[1] as c_uint,
            grid[2] as c_uint,
            block[0] as c_uint,
            block[1] as c_uint,
            block[2] as c_uint,
            shared_bytes,
            stream,
            places.as_mut_ptr(),
            none
        ))
    }

    pub fn event(&self) -> Done<Event> {
        let mut event = std::ptr::null_mut();
        driver!(cuEventCreate(&mut event, 0))?;
        Ok(Event(event))
    }

    pub fn end_event(&self, event: Event) -> Done {
        driver!(cuEventDestroy_v2(event.0))
    }

    pub fn record(&self, event: &Event) -> Done {
        driver!(cuEventRecord(event.0, std::ptr::null_mut()))
    }

    /// Nanoseconds between two events that have come.
    pub fn between(&self, from: &Event, until: &Event) -> Done<u64> {
        let mut ms = 0f32;
        // SAFETY: the driver's own function with its type; both events live.
        did("cuEventElapsedTime", unsafe { (self.elapsed)(&mut ms, from.0, until.0) })?;
        Ok((f64::from(ms) * 1e6).round().max(0.0) as u64)
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        // a context that a kernel broke cannot be given back, and nobody can do anything about it
        let _ = driver!(cuDevicePrimaryCtxRelease_v2(self.device));
    }
}
