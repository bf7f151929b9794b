//! Ctrl-C while a program runs in Rust, where Python's own handler is not reached.

#[cfg(unix)]
pub use unix::watch;

/// Ctrl-C is noticed when the run has ended.
#[cfg(not(unix))]
pub fn watch() {}

#[cfg(unix)]
mod unix {
    use std::mem::MaybeUninit;
    use std::ptr;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Mutex, PoisonError};

    use fluvial::core::interrupt;

    /// How many runs are under way, and what handled the signal before the first of them.
    static WATCHES: Mutex<(usize, Option<libc::sigaction>)> = Mutex::new((0, None));

    /// The handler that ours passes the signal on to.
    static FORMER: AtomicUsize = AtomicUsize::new(libc::SIG_DFL);

    /// While it lives, Ctrl-C asks what runs to stop, besides telling Python.
    pub struct Watch(());

    /// Begins to watch, if Python handles the signal at all.
    pub fn watch() -> Watch {
        let mut watches = WATCHES.lock().unwrap_or_else(PoisonError::into_inner);
        watches.0 += 1;
        if watches.0 == 1 {
            interrupt::clear();
            watches.1 = install();
        }
        Watch(())
    }

    impl Drop for Watch {
        fn drop(&mut self) {
            let mut watches = WATCHES.lock().unwrap_or_else(PoisonError::into_inner);
            watches.0 -= 1;
            if watches.0 == 0
                && let Some(former) = watches.1.take()
            {
                // SAFETY: `former` is what the system gave us for this signal.
                unsafe { libc::sigaction(libc::SIGINT, &former, ptr::null_mut()) };
            }
        }
    }

    fn install() -> Option<libc::sigaction> {
        let mut former = MaybeUninit::uninit();
        // SAFETY: the call writes the whole of `former` when it succeeds.
        let former: libc::sigaction = unsafe {
            if libc::sigaction(libc::SIGINT, ptr::null(), former.as_mut_ptr()) != 0 {
                return None;
            }
            former.assume_init()
        };
        let plain = former.sa_flags & libc::SA_SIGINFO == 0;
        if !plain || [libc::SIG_DFL, libc::SIG_IGN].contains(&former.sa_sigaction) {
            return None;
        }
        FORMER.store(former.sa_sigaction, Ordering::Relaxed);
        let mut ours = former;
        ours.sa_sigaction = on_signal as extern "C" fn(libc::c_int) as usize;
        // SAFETY: the handler only sets a flag and calls the former handler, as it would be called.
        let done = unsafe { libc::sigaction(libc::SIGINT, &ours, ptr::null_mut()) };
        (done == 0).then_some(former)
    }

    extern "C" fn on_signal(signal: libc::c_int) {
        interrupt::request();
        let former = FORMER.load(Ordering::Relaxed);
        // SAFETY: `install` stored the address of a handler of this type.
        let former: extern "C" fn(libc::c_int) = unsafe { std::mem::transmute(former) };
        former(signal);
    }
}
