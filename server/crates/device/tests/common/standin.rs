//! A GPU for machines without one: the stand-in for the driver and NVRTC.

use device::WorkerCommand;

/// A folder in which the stand-in has the names of the libraries that it stands in for.
pub struct StandIn {
    folder: tempfile::TempDir,
}

impl StandIn {
    pub fn new() -> StandIn {
        // tests stand beside the libraries they were built with
        let test = std::env::current_exe().expect("a test");
        let deps = test.parent().expect("a folder");
        let built = [deps.to_owned(), deps.parent().expect("a folder").to_owned()]
            .map(|f| f.join("libstandin.so"))
            .into_iter()
            .find(|p| p.is_file())
            .expect("the stand-in is built with these tests");
        let folder = tempfile::tempdir().expect("temporary folder");
        for name in ["libcuda.so", "libcuda.so.1", "libnvrtc.so"] {
            std::os::unix::fs::symlink(&built, folder.path().join(name)).expect("link");
        }
        StandIn { folder }
    }

    /// A worker that finds it.
    pub fn worker(&self) -> WorkerCommand {
        let folder = self.folder.path().to_string_lossy();
        WorkerCommand::new([super::common::WORKER])
            .with_env("LD_LIBRARY_PATH", folder.clone())
            .with_env("WARPWRIGHT_NVRTC", format!("{folder}/libnvrtc.so"))
    }
}
