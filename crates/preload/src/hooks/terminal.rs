//! Pseudo-terminals. libc opens them, and forks, within itself, where no hook sees it: so these functions are made here of
//! calls that are recorded. A terminal is a device, and what its other end writes is part of the conversation.

use super::super::descriptors::is_recorded;
use super::super::real::hooks;
use super::super::report::Text;
use super::super::state::{errno, set_errno};
use super::process::fork;
use libc::{c_char, c_int, c_void, pid_t, size_t, termios, winsize};
use std::ptr::null;

/// Longest name of a terminal: `/dev/pts/` and a number of 32 bits.
const NAME_BYTES: usize = 20;

/// The name of the other end of a master, with its zero.
unsafe fn name_of(master: c_int) -> Result<[u8; NAME_BYTES], c_int> {
    // SAFETY: the kernel writes the number to the address passed.
    unsafe {
        let mut number: u32 = 0;
        if libc::ioctl(master, libc::TIOCGPTN, &raw mut number) == -1 {
            return Err(errno());
        }
        let mut name = [0; NAME_BYTES];
        let mut text = Text { to: &mut name, used: 0 };
        text.put(b"/dev/pts/");
        text.decimal(number.into());
        Ok(name)
    }
}

/// Copies a name to where the server wants it, if it does.
unsafe fn give_name(to: *mut c_char, name: &[u8; NAME_BYTES]) {
    if !to.is_null() {
        // SAFETY: the caller passes room for any name of a terminal; the name ends with a zero.
        unsafe { libc::strcpy(to, name.as_ptr().cast()) };
    }
}

unsafe fn unlock(master: c_int) -> c_int {
    let locked: c_int = 0;
    // SAFETY: the kernel reads the flag.
    unsafe { libc::ioctl(master, libc::TIOCSPTLCK, &raw const locked) }
}

/// Both ends of a new terminal; the error number if there is none.
unsafe fn both_ends(settings: *const termios, size: *const winsize) -> Result<(c_int, c_int, [u8; NAME_BYTES]), c_int> {
    // SAFETY: the caller passes settings and a size that are null or valid; the name lives across the call.
    unsafe {
        let master = libc::open(c"/dev/ptmx".as_ptr(), libc::O_RDWR | libc::O_NOCTTY);
        if master == -1 {
            return Err(errno());
        }
        let opened = || {
            let name = name_of(master)?;
            if unlock(master) == -1 {
                return Err(errno());
            }
            let slave = libc::open(name.as_ptr().cast(), libc::O_RDWR | libc::O_NOCTTY);
            if slave == -1 { Err(errno()) } else { Ok((slave, name)) }
        };
        let (slave, name) = opened().inspect_err(|_| {
            libc::close(master);
        })?;
        // In a replay both fail on the stand-in, which has no effect.
        let before = errno();
        if !settings.is_null() {
            libc::tcsetattr(slave, libc::TCSAFLUSH, settings);
        }
        if !size.is_null() {
            libc::ioctl(slave, libc::TIOCSWINSZ, size);
        }
        set_errno(before);
        Ok((master, slave, name))
    }
}

unsafe fn failed(error: c_int) -> c_int {
    set_errno(error);
    -1
}

/// Makes a terminal the one of the calling process, and its standard input and output.
unsafe fn log_in(slave: c_int) -> c_int {
    // SAFETY: acts on descriptors alone.
    unsafe {
        libc::setsid();
        if libc::ioctl(slave, libc::TIOCSCTTY, null::<c_void>()) == -1 {
            return -1;
        }
        for standard in 0..3 {
            libc::dup2(slave, standard);
        }
        if slave > 2 {
            libc::close(slave);
        }
        0
    }
}

hooks! {
    fn posix_openpt(flags: c_int) -> c_int {
        libc::open(c"/dev/ptmx".as_ptr(), flags)
    }

    fn getpt() -> c_int {
        libc::open(c"/dev/ptmx".as_ptr(), libc::O_RDWR)
    }

    // The kernel gives a terminal to who opened it.
    fn grantpt(master: c_int) -> c_int {
        if is_recorded(master) { 0 } else { real::grantpt(master) }
    }

    fn unlockpt(master: c_int) -> c_int {
        if is_recorded(master) { unlock(master) } else { real::unlockpt(master) }
    }

    fn __ptsname_r_chk(master: c_int, name: *mut c_char, length: size_t, _room: size_t) -> c_int {
        libc::ptsname_r(master, name, length)
    }

    fn ptsname_r(master: c_int, name: *mut c_char, room: size_t) -> c_int {
        if !is_recorded(master) {
            return real::ptsname_r(master, name, room);
        }
        match name_of(master) {
            Err(error) => error,
            Ok(found) => {
                let length = found.iter().position(|&byte| byte == 0).unwrap_or(NAME_BYTES - 1) + 1;
                if length > room {
                    return libc::ERANGE;
                }
                found.as_ptr().copy_to_nonoverlapping(name.cast(), length);
                0
            }
        }
    }

    fn ptsname(master: c_int) -> *mut c_char {
        // Overwritten by the next call, as libc has it.
        static mut NAME: [u8; NAME_BYTES] = [0; NAME_BYTES];
        if !is_recorded(master) {
            return real::ptsname(master);
        }
        match name_of(master) {
            Err(error) => {
                set_errno(error);
                std::ptr::null_mut()
            }
            Ok(found) => {
                (&raw mut NAME).write(found);
                (&raw mut NAME).cast()
            }
        }
    }

    fn openpty(
        master: *mut c_int,
        slave: *mut c_int,
        name: *mut c_char,
        settings: *const termios,
        size: *const winsize,
    ) -> c_int {
        match both_ends(settings, size) {
            Err(error) => failed(error),
            Ok((found_master, found_slave, found_name)) => {
                (*master, *slave) = (found_master, found_slave);
                give_name(name, &found_name);
                0
            }
        }
    }

    fn login_tty(slave: c_int) -> c_int {
        log_in(slave)
    }

    fn forkpty(master: *mut c_int, name: *mut c_char, settings: *const termios, size: *const winsize) -> pid_t {
        let (found_master, slave, found_name) = match both_ends(settings, size) {
            Err(error) => return failed(error),
            Ok(ends) => ends,
        };
        match fork() {
            -1 => {
                let error = errno();
                libc::close(found_master);
                libc::close(slave);
                failed(error)
            }
            0 => {
                libc::close(found_master);
                if log_in(slave) == -1 {
                    libc::_exit(1);
                }
                0
            }
            child => {
                *master = found_master;
                give_name(name, &found_name);
                libc::close(slave);
                child
            }
        }
    }
}
