//! The calls into a library of MPI. All `unsafe` code of the crate is here: addresses of functions are looked up by their
//! names, and called as the standard declares them; buffers are tensors that nobody else sees, and that live until the
//! library has done with them.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::marker::PhantomData;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use fluvial_tensor::{DType, Error, ErrorKind, Result, Tensor};

use super::abi::{Abi, MPICH, Numbers, STANDARD, SYMBOLS};
use crate::Reduction;

/// A library that was loaded; it stays until the process ends.
pub(crate) struct Library(*mut c_void);

// SAFETY: a handle of a loaded library may be used by any thread.
unsafe impl Send for Library {}
// SAFETY: as above.
unsafe impl Sync for Library {}

impl Library {
    /// Loads a library, by its path or by a name that the system looks for.
    pub fn open(path: &Path) -> Result<Library> {
        let text = path.as_os_str().as_encoded_bytes();
        let name = CString::new(text).map_err(|_| Error::argument("a path has a zero in it"))?;
        // SAFETY: the name ends in a zero. A library of MPI runs no code that depends on ours when it is loaded. Its
        // symbols are global because parts that it loads itself look for them.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
        if !handle.is_null() {
            return Ok(Library(handle));
        }
        // SAFETY: `dlerror` gives null or a text that lives until the next call of this thread.
        let why = unsafe {
            let text = libc::dlerror();
            if text.is_null() {
                None
            } else {
                Some(CStr::from_ptr(text).to_string_lossy().into_owned())
            }
        };
        Err(Error::new(ErrorKind::File, why.unwrap_or_else(|| "it cannot be loaded".to_string())))
    }

    /// The address of a symbol.
    fn symbol(&self, name: &str) -> Result<*mut c_void> {
        let text = CString::new(name).map_err(|_| Error::internal("a symbol has a zero in it"))?;
        // SAFETY: the handle is of a library that is never closed, and the name ends in a zero.
        let address = unsafe { libc::dlsym(self.0, text.as_ptr()) };
        match address.is_null() {
            false => Ok(address),
            true => Err(Error::new(ErrorKind::File, format!("the library has no `{name}`"))),
        }
    }

    /// Which interface it has.
    /// The standard names the file of its own interface; MPICH's has the same functions.
    pub fn abi(&self, path: &Path) -> Abi {
        if self.symbol("ompi_mpi_comm_world").is_ok() {
            return Abi::OpenMpi;
        }
        let name = |path: &Path| {
            path.file_name().is_some_and(|name| name.to_string_lossy().contains("mpi_abi"))
        };
        match name(path) || path.canonicalize().is_ok_and(|path| name(&path)) {
            true => Abi::Standard,
            false => Abi::Mpich,
        }
    }

    /// The calls, as those of this interface.
    pub fn calls(self, abi: Abi) -> Result<Box<dyn Calls>> {
        Ok(match abi {
            Abi::Mpich => Box::new(Api::<c_int>::load(self, MPICH)?),
            Abi::Standard => Box::new(Api::<usize>::load(self, STANDARD)?),
            Abi::OpenMpi => {
                let mut handles = [0; 10];
                for (handle, name) in handles.iter_mut().zip(SYMBOLS) {
                    *handle = self.symbol(name)? as usize;
                }
                Box::new(Api::<usize>::load(self, Numbers::open_mpi(handles))?)
            }
        })
    }
}

/// What is exchanged, with the tensors that are sent and received.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Job {
    AllReduce(Reduction),
    /// Each rank receives as many elements as the second tensor has.
    ReduceScatter(Reduction),
    AllGather,
    AllToAll,
    /// Of the second tensor, in place.
    Broadcast {
        root: c_int,
    },
    Send {
        to: c_int,
        tag: c_int,
    },
    Recv {
        from: c_int,
        tag: c_int,
    },
    /// Of whatever rank.
    RecvAny {
        tag: c_int,
    },
    Barrier,
}

/// What is sent and what is received.
pub(crate) struct Buffers {
    pub send: Tensor,
    pub recv: Tensor,
}

/// The calls of a library, whatever its handles are.
pub(crate) trait Calls: Send + Sync {
    /// Begins, and gives the own rank and how many there are.
    fn init(&self) -> Result<(usize, usize)>;
    /// What the library says it is.
    fn version(&self) -> String;
    /// Exchanges; `poll` is called while it lasts and may give up. Then the buffers are never freed.
    fn run(
        &self,
        job: Job,
        buffers: Box<Buffers>,
        poll: &mut dyn FnMut() -> Result<()>,
    ) -> Result<Buffers>;
    /// Ends, together with all other ranks.
    fn finalize(&self) -> Result<()>;
    /// Ends all ranks at once.
    fn abort(&self, status: i32);
}

/// What a library identifies things by.
trait Handle: Copy + Send + Sync + 'static {
    fn of(word: usize) -> Self;
}

impl Handle for c_int {
    fn of(word: usize) -> c_int {
        word as c_int
    }
}

impl Handle for usize {
    fn of(word: usize) -> usize {
        word
    }
}

type Buf = *mut c_void;
type Flag = unsafe extern "C" fn(*mut c_int) -> c_int;
type Text = unsafe extern "C" fn(*mut c_char, *mut c_int) -> c_int;

/// The functions, for handles of one kind.
struct Api<H> {
    numbers: Numbers,
    init_thread: unsafe extern "C" fn(Buf, Buf, c_int, *mut c_int) -> c_int,
    initialized: Flag,
    finalized: Flag,
    finalize: unsafe extern "C" fn() -> c_int,
    abort: unsafe extern "C" fn(H, c_int) -> c_int,
    rank: unsafe extern "C" fn(H, *mut c_int) -> c_int,
    size: unsafe extern "C" fn(H, *mut c_int) -> c_int,
    set_errhandler: unsafe extern "C" fn(H, H) -> c_int,
    error_string: unsafe extern "C" fn(c_int, *mut c_char, *mut c_int) -> c_int,
    library_version: Text,
    all_reduce: unsafe extern "C" fn(Buf, Buf, c_int, H, H, H, *mut H) -> c_int,
    reduce_scatter: unsafe extern "C" fn(Buf, Buf, c_int, H, H, H, *mut H) -> c_int,
    all_gather: unsafe extern "C" fn(Buf, c_int, H, Buf, c_int, H, H, *mut H) -> c_int,
    all_to_all: unsafe extern "C" fn(Buf, c_int, H, Buf, c_int, H, H, *mut H) -> c_int,
    broadcast: unsafe extern "C" fn(Buf, c_int, H, c_int, H, *mut H) -> c_int,
    send: unsafe extern "C" fn(Buf, c_int, H, c_int, c_int, H, *mut H) -> c_int,
    recv: unsafe extern "C" fn(Buf, c_int, H, c_int, c_int, H, *mut H) -> c_int,
    barrier: unsafe extern "C" fn(H, *mut H) -> c_int,
    test: unsafe extern "C" fn(*mut H, *mut c_int, Buf) -> c_int,
    /// One call at a time: the library is asked for no more.
    turn: Mutex<()>,
    _handles: PhantomData<H>,
}

/// Room for what libraries write: 512 in all of them, or less, but for versions, which may have 8192.
const ROOM: usize = 8192 + 1;

impl<H: Handle> Api<H> {
    #[expect(
        clippy::missing_transmute_annotations,
        reason = "the types are those of the fields, which would have to be written twice"
    )]
    fn load(library: Library, numbers: Numbers) -> Result<Api<H>> {
        macro_rules! function {
            ($name:literal) => {{
                let address = library.symbol($name)?;
                // SAFETY: a function of this name of a library of MPI has the type that the standard says, which is
                // that of the field; handles are as wide as the interface says.
                unsafe { std::mem::transmute(address) }
            }};
        }
        Ok(Api {
            init_thread: function!("MPI_Init_thread"),
            initialized: function!("MPI_Initialized"),
            finalized: function!("MPI_Finalized"),
            finalize: function!("MPI_Finalize"),
            abort: function!("MPI_Abort"),
            rank: function!("MPI_Comm_rank"),
            size: function!("MPI_Comm_size"),
            set_errhandler: function!("MPI_Comm_set_errhandler"),
            error_string: function!("MPI_Error_string"),
            library_version: function!("MPI_Get_library_version"),
            all_reduce: function!("MPI_Iallreduce"),
            reduce_scatter: function!("MPI_Ireduce_scatter_block"),
            all_gather: function!("MPI_Iallgather"),
            all_to_all: function!("MPI_Ialltoall"),
            broadcast: function!("MPI_Ibcast"),
            send: function!("MPI_Isend"),
            recv: function!("MPI_Irecv"),
            barrier: function!("MPI_Ibarrier"),
            test: function!("MPI_Test"),
            numbers,
            turn: Mutex::new(()),
            _handles: PhantomData,
        })
    }

    fn world(&self) -> H {
        H::of(self.numbers.comm_world)
    }

    /// The error of a call that returned this code.
    fn check(&self, what: &str, code: c_int) -> Result<()> {
        if code == 0 {
            return Ok(());
        }
        let mut text: Vec<u8> = vec![0; ROOM];
        let mut length: c_int = 0;
        // SAFETY: there is more room than any library writes.
        unsafe { (self.error_string)(code, text.as_mut_ptr().cast(), &mut length) };
        text.truncate(usize::try_from(length).unwrap_or(0).min(ROOM));
        let text = String::from_utf8_lossy(&text);
        Err(Error::new(ErrorKind::State, format!("MPI cannot do `{what}`: {}", text.trim())))
    }

    fn op(&self, how: Reduction) -> H {
        let numbers = &self.numbers;
        H::of(match how {
            Reduction::Sum | Reduction::Mean => numbers.sum,
            Reduction::Max => numbers.max,
            Reduction::Min => numbers.min,
        })
    }

    fn number_type(&self, dtype: DType) -> Result<H> {
        let numbers = &self.numbers;
        Ok(H::of(match dtype {
            DType::F32 => numbers.float,
            DType::F64 => numbers.double,
            DType::I32 => numbers.int32,
            DType::I64 => numbers.int64,
            other => return Err(Error::internal(format!("MPI does not add up {other:?}"))),
        }))
    }

    /// Begins an exchange.
    fn post(&self, job: Job, buffers: &mut Buffers, request: &mut H) -> Result<()> {
        let Buffers { send, recv } = buffers;
        let n = |count: usize| {
            c_int::try_from(count)
                .map_err(|_| Error::memory(format!("{count} bytes at once are too many for MPI")))
        };
        let (size, dtype) = (send.dtype().size(), send.dtype());
        let (send_bytes, recv_bytes) = (send.numel() * size, recv.numel() * recv.dtype().size());
        let own = send.as_bytes().ok_or_else(|| Error::internal("a buffer is not contiguous"))?;
        let own: Buf = own.as_ptr().cast_mut().cast();
        let to: Buf = recv.as_bytes_mut()?.as_mut_ptr().cast();
        let (comm, byte) = (self.world(), H::of(self.numbers.byte));
        // SAFETY: `own` has `send_bytes` bytes and `to` has `recv_bytes`, nobody else writes either, and both live in
        // the same place until the request is complete; the counts are those of the buffers, which the caller has
        // made to fit (`Mpi`).
        let code = unsafe {
            match job {
                Job::AllReduce(how) => {
                    let count = n(send.numel())?;
                    let ty = self.number_type(dtype)?;
                    (self.all_reduce)(own, to, count, ty, self.op(how), comm, request)
                }
                Job::ReduceScatter(how) => {
                    let count = n(recv.numel())?;
                    let ty = self.number_type(dtype)?;
                    (self.reduce_scatter)(own, to, count, ty, self.op(how), comm, request)
                }
                Job::AllGather => {
                    let count = n(send_bytes)?;
                    (self.all_gather)(own, count, byte, to, count, byte, comm, request)
                }
                Job::AllToAll => {
                    let mut world: c_int = 1;
                    self.check("MPI_Comm_size", (self.size)(comm, &mut world))?;
                    let count = n(send_bytes / world as usize)?;
                    (self.all_to_all)(own, count, byte, to, count, byte, comm, request)
                }
                Job::Broadcast { root } => {
                    (self.broadcast)(to, n(recv_bytes)?, byte, root, comm, request)
                }
                Job::Send { to: rank, tag } => {
                    (self.send)(own, n(send_bytes)?, byte, rank, tag, comm, request)
                }
                Job::Recv { from, tag } => {
                    (self.recv)(to, n(recv_bytes)?, byte, from, tag, comm, request)
                }
                Job::RecvAny { tag } => {
                    let any = self.numbers.any_source;
                    (self.recv)(to, n(recv_bytes)?, byte, any, tag, comm, request)
                }
                Job::Barrier => (self.barrier)(comm, request),
            }
        };
        self.check(&format!("{job:?}"), code)
    }
}

impl<H: Handle> Calls for Api<H> {
    fn init(&self) -> Result<(usize, usize)> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut flag, mut given, mut rank, mut size) = (0, 0, 0, 0);
        // SAFETY: these functions take addresses of integers of ours, and null for the arguments of the process.
        unsafe {
            self.check("MPI_Initialized", (self.initialized)(&mut flag))?;
            if flag == 0 {
                let wanted = self.numbers.thread_serialized;
                let null = std::ptr::null_mut();
                self.check("MPI_Init_thread", (self.init_thread)(null, null, wanted, &mut given))?;
                if given < wanted {
                    return Err(Error::new(
                        ErrorKind::State,
                        "this library of MPI does not let several threads call it one after another",
                    )
                    .remedy("take one that was built with threads, such as `pip install mpich`"));
                }
            }
            let errors_return = H::of(self.numbers.errors_return);
            self.check(
                "MPI_Comm_set_errhandler",
                (self.set_errhandler)(self.world(), errors_return),
            )?;
            self.check("MPI_Comm_rank", (self.rank)(self.world(), &mut rank))?;
            self.check("MPI_Comm_size", (self.size)(self.world(), &mut size))?;
        }
        match (usize::try_from(rank), usize::try_from(size)) {
            (Ok(rank), Ok(size)) if rank < size => Ok((rank, size)),
            _ => Err(Error::internal(format!("MPI says rank {rank} of {size}"))),
        }
    }

    fn version(&self) -> String {
        let mut text: Vec<u8> = vec![0; ROOM];
        let mut length: c_int = 0;
        // SAFETY: there is as much room as the standard asks for, and this may be called at any time.
        unsafe { (self.library_version)(text.as_mut_ptr().cast(), &mut length) };
        text.truncate(usize::try_from(length).unwrap_or(0).min(ROOM));
        let text = String::from_utf8_lossy(&text);
        let first: Vec<&str> = text.split_whitespace().take(4).collect();
        first.join(" ").trim_end_matches([',', '\0']).to_string()
    }

    fn run(
        &self,
        job: Job,
        mut buffers: Box<Buffers>,
        poll: &mut dyn FnMut() -> Result<()>,
    ) -> Result<Buffers> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let mut request = Box::new(H::of(0));
        self.post(job, &mut buffers, &mut request)?;
        loop {
            let mut done = 0;
            let ignore = self.numbers.status_ignore as *mut c_void;
            // SAFETY: the request is one that `post` has made, and it has not been complete before.
            let code = unsafe { (self.test)(&mut *request, &mut done, ignore) };
            let polled = match (self.check(&format!("{job:?}"), code), done) {
                (Ok(()), 0) => poll(),
                (Ok(()), _) => return Ok(*buffers),
                (Err(error), _) => Err(error),
            };
            if let Err(error) = polled {
                // The library may still write there.
                Box::leak(buffers);
                Box::leak(request);
                return Err(error);
            }
        }
    }

    fn finalize(&self) -> Result<()> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let mut flag = 0;
        // SAFETY: as in `init`; nothing is called afterwards but this.
        unsafe {
            self.check("MPI_Finalized", (self.finalized)(&mut flag))?;
            match flag {
                0 => self.check("MPI_Finalize", (self.finalize)()),
                _ => Ok(()),
            }
        }
    }

    fn abort(&self, status: i32) {
        // SAFETY: it may be called at any time between `init` and the end, and does not return.
        unsafe { (self.abort)(self.world(), status) };
    }
}
