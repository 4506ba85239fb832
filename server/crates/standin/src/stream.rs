//! Streams and events. A stream has run whatever it was given; an event's time is the steps that were counted, one a nanosecond.

use crate::codes::*;
use crate::raw::put;
use crate::state::{Handle, State};

impl State {
    /// Whether this is a stream: the default ones are 0, 1 and 2.
    pub fn stream(&self, stream: Handle) -> Result {
        self.current()?;
        (stream <= 2 || self.streams.contains(&stream)).then_some(()).ok_or(INVALID_HANDLE)
    }
    fn event(&self, event: Handle) -> Result<Option<u64>> {
        self.current()?;
        self.events.get(&event).copied().ok_or(INVALID_HANDLE)
    }
}

entries! {
    cuStreamCreate(to: *mut Handle, flags: u32) |s| {
        s.current()?;
        if flags > 1 {
            return Err(INVALID_VALUE);
        }
        let h = s.handle();
        put(to, h)?;
        s.streams.insert(h);
        Ok(())
    }
    cuStreamDestroy_v2(stream: Handle) |s| {
        s.current()?;
        s.streams.remove(&stream).then_some(()).ok_or(INVALID_HANDLE)
    }
    cuStreamSynchronize(stream: Handle) |s| { s.stream(stream) }
    cuStreamQuery(stream: Handle) |s| { s.stream(stream) }
    cuStreamWaitEvent(stream: Handle, event: Handle, _flags: u32) |s| {
        s.stream(stream)?;
        s.event(event).map(|_| ())
    }
    cuEventCreate(to: *mut Handle, _flags: u32) |s| {
        s.current()?;
        let h = s.handle();
        put(to, h)?;
        s.events.insert(h, None);
        Ok(())
    }
    cuEventDestroy_v2(event: Handle) |s| {
        s.current()?;
        s.events.remove(&event).map(|_| ()).ok_or(INVALID_HANDLE)
    }
    cuEventRecord(event: Handle, stream: Handle) |s| {
        s.stream(stream)?;
        s.event(event)?;
        let now = s.clock;
        s.events.insert(event, Some(now));
        Ok(())
    }
    cuEventSynchronize(event: Handle) |s| { s.event(event).map(|_| ()) }
    cuEventQuery(event: Handle) |s| { s.event(event).map(|_| ()) }
    cuEventElapsedTime(to: *mut f32, from: Handle, until: Handle) |s| {
        let (Some(from), Some(until)) = (s.event(from)?, s.event(until)?) else { return Err(INVALID_HANDLE) };
        put(to, (until as f64 - from as f64) as f32 / 1e6)
    }
}
