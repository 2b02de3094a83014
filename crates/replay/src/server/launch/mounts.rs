//! Mounts of a server in a mount namespace of its own.

use super::{c_string, check};
use crate::files::mount::Mount;
use std::ffi::{CString, OsString};
use std::io;
use std::os::fd::RawFd;
use std::path::{Component, Path};

/// Mounts in the form that the kernel takes, with room for values that are known only in the child.
pub(super) struct Mounts {
    /// Each with a descriptor, where one is needed.
    binds: Vec<(CString, MountPoint, RawFd)>,
    merges: Vec<Merge>,
}

struct Merge {
    place: MountPoint,
    options: CString,
    inner: Vec<(CString, MountPoint, RawFd)>,
}

/// The names that lead to a place from the root directory.
struct MountPoint(Vec<CString>);

impl MountPoint {
    fn of(path: &Path) -> io::Result<MountPoint> {
        let names = path.components().filter_map(|part| match part {
            Component::Normal(name) => Some(c_string(name.as_ref())),
            _ => None,
        });
        Ok(MountPoint(names.collect::<io::Result<_>>()?))
    }

    /// Opens the place name by name, so that no link leads elsewhere.
    ///
    /// # Safety
    /// As for [`Mounts::mount`].
    unsafe fn open(&self) -> io::Result<RawFd> {
        const FLAGS: libc::c_int = libc::O_PATH | libc::O_NOFOLLOW | libc::O_CLOEXEC;
        // SAFETY: the strings live across the calls, `facts` is as large as the kernel writes, and every descriptor that
        // is closed was opened here.
        unsafe {
            let mut at = check(libc::open(c"/".as_ptr(), FLAGS | libc::O_DIRECTORY))?;
            for name in &self.0 {
                let next = check(libc::openat(at, name.as_ptr(), FLAGS));
                libc::close(at);
                at = next?;
                let mut facts: libc::stat = std::mem::zeroed();
                check(libc::fstat(at, &raw mut facts))?;
                if facts.st_mode & libc::S_IFMT == libc::S_IFLNK {
                    libc::close(at);
                    return Err(io::Error::from_raw_os_error(libc::ELOOP));
                }
            }
            Ok(at)
        }
    }

    /// Makes the place the working directory.
    ///
    /// # Safety
    /// As for [`Mounts::mount`].
    unsafe fn enter(&self) -> io::Result<()> {
        // SAFETY: the caller is such a child, and the descriptor is ours.
        unsafe {
            let at = self.open()?;
            let entered = check(libc::fchdir(at));
            libc::close(at);
            entered.map(|_| ())
        }
    }
}

impl Mounts {
    pub(super) fn of(mounts: &[Mount]) -> io::Result<Mounts> {
        let mut made = Mounts { binds: Vec::new(), merges: Vec::new() };
        for mount in mounts {
            match mount {
                Mount::Bind { what, place } => made.binds.push((c_string(what)?, MountPoint::of(place)?, -1)),
                Mount::Merge { upper, work, place, inner } => {
                    // Extended attributes of the other kind are for root alone (overlayfs.rst of Linux, "User xattr").
                    // SAFETY: only a query.
                    let owner = if unsafe { libc::geteuid() } == 0 { "" } else { ",userxattr" };
                    let mut options = OsString::from("lowerdir=.,upperdir=");
                    options.push(upper);
                    options.push(",workdir=");
                    options.push(work);
                    options.push(owner);
                    let inner = inner
                        .iter()
                        .map(|path| Ok((c_string(path)?, MountPoint::of(path)?, -1)))
                        .collect::<io::Result<_>>()?;
                    made.merges.push(Merge {
                        place: MountPoint::of(place)?,
                        options: c_string(options.as_ref())?,
                        inner,
                    });
                }
            }
        }
        Ok(made)
    }

    fn is_empty(&self) -> bool {
        self.binds.is_empty() && self.merges.is_empty()
    }

    /// Mounts everything in a mount namespace of the caller's own; with nothing to mount, it keeps the one it has.
    ///
    /// # Safety
    /// For the child between `fork` and `exec`: plain system calls on memory that was made before.
    pub(super) unsafe fn mount(&mut self) -> io::Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        // SAFETY: the strings live across the calls, and the caller is such a child.
        unsafe {
            if libc::geteuid() != 0 {
                enter_user_namespace()?;
            }
            check(libc::unshare(libc::CLONE_NEWNS))?;
            let none = std::ptr::null();
            check(libc::mount(none, c"/".as_ptr(), none, libc::MS_REC | libc::MS_PRIVATE, none.cast()))?;
            self.mount_all()
        }
    }

    /// Whatever lies where something is merged is taken hold of before that hides it.
    ///
    /// # Safety
    /// As for [`Mounts::mount`].
    unsafe fn mount_all(&mut self) -> io::Result<()> {
        // SAFETY: all strings live across the calls.
        unsafe {
            let none = std::ptr::null();
            if self.merges.is_empty() {
                for (what, place, _) in &self.binds {
                    // Only directories are bound where nothing is merged.
                    place.enter()?;
                    check(libc::mount(what.as_ptr(), c".".as_ptr(), none, libc::MS_BIND, none.cast()))?;
                }
                return Ok(());
            }
            for (what, _, tree) in &mut self.binds {
                *tree = take_tree(what, 0)?;
            }
            for Merge { place, options, inner } in &mut self.merges {
                for (path, _, tree) in inner.iter_mut() {
                    *tree = take_tree(path, libc::AT_RECURSIVE as libc::c_uint)?;
                }
                place.enter()?;
                let kind = c"overlay".as_ptr();
                check(libc::mount(kind, c".".as_ptr(), kind, 0, options.as_ptr().cast()))?;
                for (_, place, tree) in inner.iter() {
                    put_tree(*tree, place)?;
                }
            }
            for (_, place, tree) in &self.binds {
                put_tree(*tree, place)?;
            }
        }
        Ok(())
    }
}

/// Takes hold of what a path leads to, to mount it later (open_tree(2), Linux 5.2).
unsafe fn take_tree(path: &CString, flags: libc::c_uint) -> io::Result<RawFd> {
    // SAFETY: the string lives across the call.
    let tree = unsafe {
        let flags = flags | libc::OPEN_TREE_CLONE | libc::OPEN_TREE_CLOEXEC;
        libc::syscall(libc::SYS_open_tree, libc::AT_FDCWD, path.as_ptr(), flags)
    };
    check(tree as libc::c_int)
}

/// Mounts it (move_mount(2)) and lets go.
unsafe fn put_tree(tree: RawFd, place: &MountPoint) -> io::Result<()> {
    const MOVE_MOUNT_F_EMPTY_PATH: libc::c_uint = 4;
    const MOVE_MOUNT_T_EMPTY_PATH: libc::c_uint = 0x40;
    // SAFETY: the strings live across the calls, and the descriptors are ours.
    unsafe {
        let (to, none) = (place.open()?, c"".as_ptr());
        let flags = MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH;
        check(libc::syscall(libc::SYS_move_mount, tree, none, to, none, flags) as libc::c_int)?;
        check(libc::close(to))?;
        check(libc::close(tree))?;
    }
    Ok(())
}

/// A person without root gets a mount namespace by way of a user namespace in which nothing but
/// their own id exists.
unsafe fn enter_user_namespace() -> io::Result<()> {
    unsafe fn write(path: &std::ffi::CStr, text: &[u8]) -> io::Result<()> {
        // SAFETY: the path is a C string and the text is as long as it says.
        unsafe {
            let fd = libc::open(path.as_ptr(), libc::O_WRONLY);
            if fd < 0 || libc::write(fd, text.as_ptr().cast(), text.len()) < 0 {
                return Err(io::Error::last_os_error());
            }
            libc::close(fd);
        }
        Ok(())
    }
    // `id id 1` without allocating.
    fn mapping(id: u32, room: &mut [u8; 32]) -> &[u8] {
        let mut digits = [0; 10];
        let mut used = 0;
        let mut rest = id;
        loop {
            digits[used] = b'0' + (rest % 10) as u8;
            used += 1;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        let mut at = 0;
        for _ in 0..2 {
            for digit in digits[..used].iter().rev() {
                room[at] = *digit;
                at += 1;
            }
            room[at] = b' ';
            at += 1;
        }
        room[at] = b'1';
        &room[..=at]
    }
    // SAFETY: plain system calls.
    unsafe {
        let (user, group) = (libc::geteuid(), libc::getegid());
        if libc::unshare(libc::CLONE_NEWUSER) == -1 {
            return Err(io::Error::last_os_error());
        }
        let mut room = [0; 32];
        write(c"/proc/self/setgroups", b"deny")?;
        write(c"/proc/self/uid_map", mapping(user, &mut room))?;
        write(c"/proc/self/gid_map", mapping(group, &mut room))
    }
}
