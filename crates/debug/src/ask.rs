//! How a process that runs already is asked to let somebody debug it.
//!
//! Who asks leaves a request in a folder of the user's own and sends a signal that else does nothing. The request is met
//! when a program next runs, or its loop makes its next trip. What is said there, the token among it, can be read and
//! written by this user alone: folders and files that others own or may look into, and links, are not used.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use fluvial_core::{Error, ErrorKind, Result};
use fluvial_runtime::attach;

use crate::process::{Address, listen};
use crate::server::{Options, random_token};

/// Requests that are older were left by somebody who is gone.
const OLDEST: Duration = Duration::from_secs(3600);
/// No request or reply is longer.
const MAX_BYTES: u64 = 1000;

/// Lets the same user ask this process for a debugger while it runs. It costs a signal handler; nothing listens, and
/// no thread is started.
pub fn allow() -> Result<()> {
    let flag = Arc::new(AtomicBool::new(false));
    // The signal is ignored where nobody handles it, so that asking the wrong process does no harm.
    signal_hook::flag::register(signal_hook::consts::SIGURG, flag.clone())
        .map_err(|error| Error::internal(format!("a signal cannot be handled: {error}")))?;
    attach::on_request(flag, answer);
    Ok(())
}

/// Asks a process for its debugger, which may take until a program of it runs.
pub fn ask(pid: u32, port: u16, timeout: Duration) -> Result<Address> {
    let user = user()?;
    check_process(pid, user)?;
    // The process may see other variables than we do, so that it looks in all of these places, too.
    let (folders, faults) = folders(user);
    let (id, token) = (random_token(), random_token());
    let name = |what: &str| format!("attach-{pid}-{id}.{what}");
    let mut asked: Vec<PathBuf> = Vec::new();
    let mut fault = None;
    for folder in &folders {
        match write(&folder.join(name("request")), &format!("{port} {token}\n")) {
            Ok(()) => asked.push(folder.clone()),
            Err(error) => fault = Some(format!("`{}`: {error}", folder.display())),
        }
    }
    let remove = || {
        for folder in &asked {
            let _ = fs::remove_file(folder.join(name("request")));
            let _ = fs::remove_file(folder.join(name("reply")));
        }
    };
    if asked.is_empty() {
        let why = fault.into_iter().chain(faults).collect::<Vec<_>>().join("; ");
        return Err(Error::new(ErrorKind::File, format!("a request can be left nowhere: {why}"))
            .remedy("set XDG_RUNTIME_DIR to a folder of your own that nobody else can read"));
    }
    let answered = signal(pid).and_then(|()| {
        // Who is patient beyond all clocks waits for ever.
        let end = Instant::now().checked_add(timeout);
        while end.is_none_or(|end| Instant::now() < end) {
            for folder in &asked {
                if let Some(text) = read(&folder.join(name("reply")), user)
                    && text.ends_with('\n')
                {
                    return understood(pid, text.trim());
                }
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Err(Error::state(format!("process {pid} does not answer")).remedy(
            "it answers when one of its programs begins, or a loop in it makes its next trip",
        ))
    });
    remove();
    answered
}

/// What a reply says.
fn understood(pid: u32, text: &str) -> Result<Address> {
    let address = text.split_once(' ').and_then(|(port, token)| {
        let token = (token != "-").then(|| token.to_string());
        Some(Address { port: port.parse().ok()?, token })
    });
    address.ok_or_else(|| Error::state(format!("process {pid} answers: {text}")))
}

/// An error unless the process is one of this user's.
fn check_process(pid: u32, user: u32) -> Result<()> {
    let no = |why: String| {
        Err(Error::argument(why)
            .remedy("give the number of a process of yours that runs a program of Fluvial"))
    };
    if pid <= 1 || pid > i32::MAX as u32 {
        return no(format!("{pid} is the number of no process that can be debugged"));
    }
    if pid == std::process::id() {
        return no(format!("{pid} is the process that asks"));
    }
    match fs::metadata(format!("/proc/{pid}")) {
        Ok(meta) if meta.uid() != user => no(format!("process {pid} belongs to another user")),
        Ok(_) => Ok(()),
        Err(_) if Path::new("/proc/self").exists() => no(format!("there is no process {pid}")),
        // Where processes cannot be looked at, the signal fails if it is another user's.
        Err(_) => Ok(()),
    }
}

fn signal(pid: u32) -> Result<()> {
    let fault = match Command::new("kill").args(["-URG", &pid.to_string()]).output() {
        Ok(output) if output.status.success() => return Ok(()),
        Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_string(),
        Err(error) => error.to_string(),
    };
    Err(Error::argument(format!("process {pid} cannot be asked: {fault}"))
        .remedy("give the number of a process of yours that runs a program of Fluvial"))
}

/// Does what somebody has asked for.
fn answer() {
    let Ok(user) = user() else { return };
    let start = format!("attach-{}-", std::process::id());
    for folder in folders(user).0 {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for path in entries.flatten().map(|entry| entry.path()) {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if name.starts_with(&start) && name.ends_with(".request") {
                meet(&path, user);
            }
        }
    }
}

/// Meets a request.
fn meet(path: &Path, user: u32) {
    let age = fs::symlink_metadata(path).and_then(|meta| meta.modified());
    let is_old = age.is_ok_and(|then| then.elapsed().is_ok_and(|age| age > OLDEST));
    let text = read(path, user);
    // Who has asked in several places is answered once.
    if fs::remove_file(path).is_err() || is_old {
        return;
    }
    let Some(text) = text else { return };
    let Some((port, token)) = text.trim().split_once(' ') else { return };
    let is_token = token.len() >= 16 && token.chars().all(|c| c.is_ascii_hexdigit());
    let Some(port) = port.parse().ok().filter(|_| is_token) else { return };
    let options = Options { port, token: Some(token.to_string()), ..Options::default() };
    let reply = match listen(options) {
        // If it listens already, the token is another one; only this user can read what it is.
        Ok(address) => format!("{} {}\n", address.port, address.token.as_deref().unwrap_or("-")),
        Err(error) => format!("{}\n", error.message()),
    };
    // Nobody may be waiting any more.
    let _ = write(&path.with_extension("reply"), &reply);
}

/// The number of this user.
fn user() -> Result<u32> {
    if let Ok(meta) = fs::metadata("/proc/self") {
        return Ok(meta.uid());
    }
    // Whoever makes a file owns it.
    let path = std::env::temp_dir().join(format!("fluvial-{}", random_token()));
    let user = write(&path, "").and_then(|()| fs::symlink_metadata(&path));
    let _ = fs::remove_file(&path);
    user.map(|meta| meta.uid())
        .map_err(|error| Error::internal(format!("it cannot be told which user this is: {error}")))
}

/// The folders in which this user's processes look for requests, and why others are not used.
fn folders(user: u32) -> (Vec<PathBuf>, Vec<String>) {
    let named = |name: &str| std::env::var_os(name).filter(|path| !path.is_empty());
    let around = [
        named("XDG_RUNTIME_DIR").map(PathBuf::from),
        Some(PathBuf::from(format!("/run/user/{user}"))),
        named("XDG_CACHE_HOME").map(PathBuf::from),
        named("HOME").map(|home| PathBuf::from(home).join(".cache")),
    ];
    let in_folders = around.into_iter().flatten().filter(|around| around.is_dir());
    let wanted = in_folders.map(|around| around.join("fluvial"));
    let wanted = wanted.chain([std::env::temp_dir().join(format!("fluvial-{user}"))]);
    let (mut folders, mut faults) = (Vec::new(), Vec::new());
    for folder in wanted {
        match own_folder(&folder, user) {
            Ok(()) if !folders.contains(&folder) => folders.push(folder),
            Ok(()) => {}
            Err(why) => faults.push(format!("`{}` {why}", folder.display())),
        }
    }
    (folders, faults)
}

/// Makes a folder that only this user can look into, or checks that it is one; else why not.
fn own_folder(folder: &Path, user: u32) -> std::result::Result<(), String> {
    // If there is one already, it is looked at.
    let _ = DirBuilder::new().mode(0o700).create(folder);
    let meta = fs::symlink_metadata(folder).map_err(|error| format!("cannot be made: {error}"))?;
    if !meta.is_dir() {
        return Err("is not a folder".to_string());
    }
    if meta.uid() != user {
        return Err("belongs to another user".to_string());
    }
    match meta.mode() & 0o077 {
        0 => Ok(()),
        _ => Err("can be used by others; make it yours by `chmod 700`".to_string()),
    }
}

/// Writes a file that only this user can read.
fn write(path: &Path, text: &str) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600).custom_flags(libc::O_NOFOLLOW);
    options.open(path)?.write_all(text.as_bytes())
}

/// Reads a file if it is one of this user's own, whom nobody else has lent it to.
fn read(path: &Path, user: u32) -> Option<String> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let file: File = OpenOptions::new().read(true).custom_flags(flags).open(path).ok()?;
    let meta = file.metadata().ok()?;
    let is_own = meta.is_file() && meta.uid() == user && meta.mode() & 0o077 == 0;
    if !is_own || meta.nlink() != 1 {
        return None;
    }
    let mut text = String::new();
    file.take(MAX_BYTES).read_to_string(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    /// A folder for a test, which is removed with it.
    struct Folder(PathBuf);

    impl Folder {
        fn new() -> Folder {
            let path = std::env::temp_dir().join(format!("fluvial-test-{}", random_token()));
            fs::create_dir(&path).unwrap();
            Folder(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn folders_of_others_are_not_used() {
        let (around, user) = (Folder::new(), user().unwrap());
        let own = around.0.join("own");
        own_folder(&own, user).unwrap();
        assert_eq!(fs::metadata(&own).unwrap().mode() & 0o777, 0o700);
        own_folder(&own, user).unwrap();
        assert!(own_folder(&own, user + 1).unwrap_err().contains("another user"));
        fs::set_permissions(&own, fs::Permissions::from_mode(0o750)).unwrap();
        assert!(own_folder(&own, user).unwrap_err().contains("used by others"));
        fs::set_permissions(&own, fs::Permissions::from_mode(0o700)).unwrap();
        let link = around.0.join("link");
        symlink(&own, &link).unwrap();
        assert!(own_folder(&link, user).unwrap_err().contains("not a folder"));
    }

    #[test]
    fn files_that_others_could_have_made_are_not_read() {
        let (around, user) = (Folder::new(), user().unwrap());
        let file = around.0.join("file");
        write(&file, "7 token\n").unwrap();
        assert_eq!(read(&file, user).as_deref(), Some("7 token\n"));
        assert_eq!(read(&file, user + 1), None);
        assert!(write(&file, "").is_err(), "what is there is not written over");
        let link = around.0.join("link");
        symlink(&file, &link).unwrap();
        assert_eq!(read(&link, user), None);
        assert!(write(&link, "").is_err());
        fs::set_permissions(&file, fs::Permissions::from_mode(0o604)).unwrap();
        assert_eq!(read(&file, user), None);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        fs::hard_link(&file, around.0.join("second")).unwrap();
        assert_eq!(read(&file, user), None);
    }

    #[test]
    fn processes_that_are_not_asked() {
        for pid in [0, 1, std::process::id(), u32::MAX] {
            let error = ask(pid, 0, Duration::ZERO).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Argument, "{error}");
        }
    }
}
