//! C and CUDA.
