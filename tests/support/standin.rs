//! A folder in which the stand-in for a driver has the names of the libraries that it stands in for.

#![allow(dead_code)] // each test uses its part

use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;

pub struct StandIn {
    folder: TempDir,
}

impl StandIn {
    pub fn new() -> StandIn {
        let test = std::env::current_exe().expect("a test");
        let deps = test.parent().expect("a folder");
        let built =
            [deps.to_owned(), deps.parent().expect("a folder").to_owned()].map(|f| f.join("libstandin.so"));
        let built = built.into_iter().find(|p| p.is_file()).expect("the stand-in is built with these tests");
        let folder = tempfile::tempdir().expect("temporary folder");
        for name in ["libcuda.so", "libcuda.so.1", "libnvrtc.so"] {
            std::os::unix::fs::symlink(&built, folder.path().join(name)).expect("link");
        }
        StandIn { folder }
    }

    pub fn folder(&self) -> PathBuf {
        self.folder.path().to_owned()
    }

    /// The real binary, which finds it. Its memory is small: what measures bandwidth takes a part of it.
    pub fn server(&self) -> Command {
        let mut command = super::support::server();
        command
            .env("LD_LIBRARY_PATH", self.folder())
            .env("WARPWRIGHT_NVRTC", self.folder().join("libnvrtc.so"))
            .env("WARPWRIGHT_STANDIN_MEMORY", (64 << 20).to_string());
        command
    }
}
