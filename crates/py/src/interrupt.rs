//! Ctrl-C while ops and programs run in Rust, where Python's own handler is not reached.

#[cfg(unix)]
pub use unix::{forget_old, listen, register, watch};

/// Ctrl-C is noticed when the run has ended.
#[cfg(not(unix))]
pub fn watch() {}

/// Ctrl-C is noticed when the op has ended.
#[cfg(not(unix))]
pub fn listen() {}

/// There is nothing to forget.
#[cfg(not(unix))]
pub fn forget_old() {}

/// There is nothing to listen to.
#[cfg(not(unix))]
pub fn register(_: pyo3::Python<'_>) -> pyo3::PyResult<()> {
    Ok(())
}

#[cfg(unix)]
mod unix {
    use std::mem::MaybeUninit;
    use std::ptr;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use fluvial::core::interrupt;
    use pyo3::prelude::*;

    /// How many runs are under way.
    static WATCHES: AtomicUsize = AtomicUsize::new(0);

    /// The handler that ours passes the signal on to.
    static FORMER: AtomicUsize = AtomicUsize::new(libc::SIG_DFL);

    /// While it lives, a run is under way that a request is meant for.
    pub struct Watch(());

    /// Begins a run that looks for requests.
    pub fn watch() -> Watch {
        listen();
        forget_old();
        WATCHES.fetch_add(1, Ordering::Relaxed);
        Watch(())
    }

    impl Drop for Watch {
        fn drop(&mut self) {
            WATCHES.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Forgets a request that came while nothing of ours ran: Python has heard it.
    #[inline]
    pub fn forget_old() {
        if interrupt::is_requested() && WATCHES.load(Ordering::Relaxed) == 0 {
            interrupt::clear();
        }
    }

    /// From now on Ctrl-C asks what runs to stop, besides telling Python, if Python handles the signal at all.
    /// Called again before long work, since users may have set a handler of their own meanwhile.
    pub fn listen() {
        let mut found = MaybeUninit::uninit();
        // SAFETY: the call writes the whole of `found` when it succeeds.
        let found: libc::sigaction = unsafe {
            if libc::sigaction(libc::SIGINT, ptr::null(), found.as_mut_ptr()) != 0 {
                return;
            }
            found.assume_init()
        };
        let own = on_signal as extern "C" fn(libc::c_int) as usize;
        let is_plain = found.sa_flags & libc::SA_SIGINFO == 0;
        if !is_plain || [libc::SIG_DFL, libc::SIG_IGN, own].contains(&found.sa_sigaction) {
            return;
        }
        FORMER.store(found.sa_sigaction, Ordering::Relaxed);
        let mut ours = found;
        ours.sa_sigaction = own;
        // SAFETY: the handler only counts and calls the former handler, as it would be called.
        unsafe { libc::sigaction(libc::SIGINT, &ours, ptr::null_mut()) };
    }

    extern "C" fn on_signal(signal: libc::c_int) {
        interrupt::request();
        let former = FORMER.load(Ordering::Relaxed);
        // SAFETY: `listen` stored the address of a handler of this type before it set this one.
        let former: extern "C" fn(libc::c_int) = unsafe { std::mem::transmute(former) };
        former(signal);
    }

    /// Begins to listen in the thread that Python runs handlers in, whose long ops may then be left half-way.
    pub fn register(py: Python<'_>) -> PyResult<()> {
        let threading = py.import("threading")?;
        let is_main =
            threading.call_method0("current_thread")?.is(&threading.call_method0("main_thread")?);
        if is_main {
            listen();
            interrupt::hear(true).forever();
        }
        Ok(())
    }
}
