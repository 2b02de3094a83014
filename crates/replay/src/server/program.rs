//! Kinds of programs, and whether their calls can be hooked.

use crate::files::regular::{self, FileError};
use crate::server::library;
use object::elf::{self, FileHeader32, FileHeader64};
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader};
use object::read::{ReadCache, ReadRef};
use object::{Endianness, Object};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Reason why a command cannot be run under preload.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// The command has no word.
    #[error("no command was given")]
    NoCommand,
    /// The program was not found in these directories.
    #[error("`{0}`: command not found in {1}")]
    NotFound(String, String),
    /// A path at which there is no file.
    #[error("`{0}`: no such file")]
    NoFile(String),
    /// The file cannot be read.
    #[error("cannot read `{path}`: {error}")]
    Unreadable {
        /// Path of the program file.
        path: String,
        /// Reason why the file cannot be used.
        error: FileError,
    },
    /// The runtime does not call libc, or not in an order that can be repeated.
    #[error("`{path}` {what}")]
    Runtime {
        /// Path of the program file.
        path: String,
        /// Kind of the program, for the message.
        what: &'static str,
    },
    /// A 32-bit program, in a build without the library for those.
    #[error("`{0}` is a 32-bit (i386) program, and this prony was built without support for them")]
    WithoutI386(String),
    /// The loader that it names is not there.
    #[error("`{path}` is loaded by `{loader}`, which is not there")]
    NoLoader {
        /// Path of the program file.
        path: String,
        /// Path of its dynamic loader.
        loader: String,
        /// It is the one of 32-bit (i386) programs.
        i386: bool,
    },
    /// It is built for an architecture or ABI that prony has no library for.
    #[error("`{path}` is built for {abi}")]
    OtherAbi {
        /// Path of the program file.
        path: String,
        /// What it is built for, for the message.
        abi: &'static str,
    },
    /// No hook can be put in front of its calls.
    #[error("`{path}` {what}")]
    Unhookable {
        /// Path of the program file.
        path: String,
        /// Kind of the program, for the message.
        what: &'static str,
    },
}

/// Architecture that a program is built for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Architecture {
    /// Architecture that prony runs on.
    Own,
    /// 32-bit x86, which an x86-64 kernel runs too.
    I386,
}

impl Architecture {
    /// Name of the architecture in demos.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Architecture::Own => std::env::consts::ARCH,
            Architecture::I386 => "i386",
        }
    }
}

/// A program that can be run under preload.
#[derive(Debug)]
pub(crate) struct Program {
    /// Absolute path of the file.
    pub(crate) path: PathBuf,
    /// GNU build id of the file that will run: the interpreter's for a script.
    pub(crate) build_id: Vec<u8>,
    /// Architecture that the file is built for.
    pub(crate) architecture: Architecture,
}

impl Program {
    /// Finds the program of a command as a shell would, and looks into it.
    pub(crate) fn find(command: &[OsString], cwd: &Path, search: Option<&OsStr>) -> Result<Program, ProgramError> {
        let name = command.first().ok_or(ProgramError::NoCommand)?;
        let path = locate(name, cwd, search)?;
        let (architecture, build_id) = examine(&path, 0)?;
        Ok(Program { path, build_id, architecture })
    }
}

/// Path of the program file of a command's first word, found as a shell does.
pub(crate) fn locate(name: &OsStr, cwd: &Path, search: Option<&OsStr>) -> Result<PathBuf, ProgramError> {
    let shown = name.to_string_lossy().into_owned();
    if name.as_bytes().contains(&b'/') {
        let path = cwd.join(name);
        return if path.is_file() { Ok(path) } else { Err(ProgramError::NoFile(shown)) };
    }
    let search = search.unwrap_or(OsStr::new("/usr/local/bin:/usr/bin:/bin"));
    search
        .as_bytes()
        .split(|&byte| byte == b':')
        .map(|folder| cwd.join(OsStr::from_bytes(folder)).join(name))
        .find(|path| fs::metadata(path).is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0))
        .ok_or_else(|| ProgramError::NotFound(shown, search.to_string_lossy().into_owned()))
}

/// Length that the kernel reads of a script to find its interpreter (`BINPRM_BUF_SIZE`).
const FIRST_LINE_BYTES: u64 = 256;

/// Scripts run by scripts, beyond the first.
const MOST_SCRIPTS: u32 = 3;

/// Interpreter that the first line of a script names.
fn named_interpreter(first: &[u8]) -> Option<&Path> {
    let line = first.strip_prefix(b"#!")?;
    let line = line.split(|&byte| byte == b'\n').next().unwrap_or_default().trim_ascii();
    let interpreter = line.split(u8::is_ascii_whitespace).next().unwrap_or_default();
    Some(Path::new(OsStr::from_bytes(interpreter)))
}

/// The program that runs this script in the end; `None` for a program.
pub(crate) fn interpreter(script: &Path) -> Option<PathBuf> {
    let mut found = None;
    for _ in 0..=MOST_SCRIPTS {
        let file = regular::open_object(found.as_deref().unwrap_or(script)).ok()?;
        let bytes = &ReadCache::new(file);
        let length = bytes.len().unwrap_or(0).min(FIRST_LINE_BYTES);
        match named_interpreter(bytes.read_bytes_at(0, length).unwrap_or_default()) {
            Some(interpreter) => found = Some(interpreter.to_owned()),
            None => break,
        }
    }
    found
}

/// Returns architecture and build id of what will run, or says why it cannot be hooked.
fn examine(path: &Path, depth: u32) -> Result<(Architecture, Vec<u8>), ProgramError> {
    let shown = || path.display().to_string();
    let unhookable = |what| ProgramError::Unhookable { path: shown(), what };
    let unreadable = |error| ProgramError::Unreadable { path: shown(), error };
    let file = regular::open_object(path).map_err(unreadable)?;
    let file_mode = file.metadata().map_err(|error| unreadable(error.into()))?.permissions().mode();
    // Only what is looked at is read.
    let bytes = &ReadCache::new(file);
    let length = bytes.len().unwrap_or(0).min(FIRST_LINE_BYTES);
    let first = bytes.read_bytes_at(0, length).unwrap_or_default();
    if let Some(interpreter) = named_interpreter(first) {
        if depth > MOST_SCRIPTS {
            return Err(unhookable("is a script run by a script run by a script"));
        }
        return examine(interpreter, depth + 1);
    }
    if file_mode & 0o6000 != 0 {
        return Err(unhookable("is set-user-id or set-group-id; the loader ignores LD_PRELOAD for these"));
    }
    if let Ok(header) = FileHeader64::<Endianness>::parse(bytes) {
        let expected = if cfg!(target_arch = "x86_64") { elf::EM_X86_64 } else { elf::EM_AARCH64 };
        if header.endian().is_ok_and(|endian| header.e_machine(endian) != expected) {
            return Err(ProgramError::OtherAbi { path: shown(), abi: "another architecture" });
        }
        return Ok((Architecture::Own, examine_header(path, header, bytes)?));
    }
    let header =
        FileHeader32::<Endianness>::parse(bytes).map_err(|_| unhookable("is neither an ELF program nor a script"))?;
    match header.endian().map(|endian| header.e_machine(endian)) {
        Ok(elf::EM_386) if cfg!(target_arch = "x86_64") => {}
        Ok(elf::EM_X86_64) => {
            return Err(ProgramError::OtherAbi { path: shown(), abi: "x32, an ABI that is not supported" });
        }
        Ok(_) => return Err(ProgramError::OtherAbi { path: shown(), abi: "another architecture" }),
        Err(_) => return Err(unhookable("is a damaged ELF file")),
    }
    let build_id = examine_header(path, header, bytes)?;
    if !library::has_i386() {
        return Err(ProgramError::WithoutI386(shown()));
    }
    Ok((Architecture::I386, build_id))
}

/// The build id of a program of either class.
fn examine_header<H: FileHeader<Endian = Endianness>>(
    path: &Path,
    header: &H,
    bytes: &ReadCache<File>,
) -> Result<Vec<u8>, ProgramError> {
    let shown = || path.display().to_string();
    let runtime = |what| ProgramError::Runtime { path: shown(), what };
    let unhookable = |what| ProgramError::Unhookable { path: shown(), what };
    let endian = header.endian().map_err(|_| unhookable("is a damaged ELF file"))?;
    let segments = header.program_headers(endian, bytes).map_err(|_| unhookable("is a damaged ELF file"))?;
    let sections = header.sections(endian, bytes).ok();
    let has_section = |name: &[u8]| {
        sections.as_ref().is_some_and(|sections| {
            sections.iter().any(|section| sections.section_name(endian, section).is_ok_and(|found| found == name))
        })
    };
    if has_section(b".go.buildinfo") || has_section(b".gopclntab") {
        return Err(runtime("is a Go program: Go makes system calls without libc, so they cannot be hooked"));
    }
    let loader = segments.iter().find_map(|segment| segment.interpreter(endian, bytes).ok().flatten());
    let Some(loader) = loader else {
        return Err(unhookable("is statically linked, so no library can be preloaded into it"));
    };
    let loader = Path::new(OsStr::from_bytes(loader));
    if loader.file_name().is_some_and(|name| name.as_bytes().starts_with(b"ld-musl-")) {
        return Err(unhookable("is linked with musl: the hooks stand in front of the functions of glibc"));
    }
    if !loader.exists() {
        let i386 = !header.is_type_64();
        return Err(ProgramError::NoLoader { path: shown(), loader: loader.display().to_string(), i386 });
    }
    let object = object::read::elf::ElfFile::<H, _>::parse(bytes).ok();
    Ok(object.and_then(|object| object.build_id().ok().flatten().map(<[u8]>::to_vec)).unwrap_or_default())
}

/// GNU build id of an object file; empty when it has none.
pub(crate) fn build_id(path: &Path) -> Vec<u8> {
    let Ok(file) = regular::open_object(path) else { return Vec::new() };
    let bytes = &ReadCache::new(file);
    let object = object::read::File::parse(bytes).ok();
    object.and_then(|object| object.build_id().ok().flatten().map(<[u8]>::to_vec)).unwrap_or_default()
}

/// True for a program of i386.
pub(crate) fn is_i386(path: &Path) -> bool {
    cfg!(target_arch = "x86_64") && File::open(path).is_ok_and(|file| is_32_bit(&ReadCache::new(file)))
}

/// True for an object file of 32 bits.
pub(crate) fn is_32_bit(bytes: &ReadCache<File>) -> bool {
    FileHeader32::<Endianness>::parse(bytes).is_ok()
}

/// Code of an object file: place in the file and bytes of each executable section.
pub(crate) fn code_sections(bytes: &ReadCache<File>) -> Vec<(u64, &[u8])> {
    match is_32_bit(bytes) {
        true => code_sections_of::<FileHeader32<Endianness>>(bytes),
        false => code_sections_of::<FileHeader64<Endianness>>(bytes),
    }
}

fn code_sections_of<H: FileHeader<Endian = Endianness>>(bytes: &ReadCache<File>) -> Vec<(u64, &[u8])> {
    let Ok(header) = H::parse(bytes) else { return Vec::new() };
    let Ok(endian) = header.endian() else { return Vec::new() };
    let Ok(sections) = header.sections(endian, bytes) else { return Vec::new() };
    sections
        .iter()
        .filter(|section| section.sh_flags(endian).into() & u64::from(elf::SHF_EXECINSTR) != 0)
        .filter_map(|section| Some((section.sh_addr(endian).into(), section.data(endian, bytes).ok()?)))
        .collect()
}

/// Offset in the file of the byte at this address.
pub(crate) fn file_offset(bytes: &ReadCache<File>, address: u64) -> Option<u64> {
    match is_32_bit(bytes) {
        true => file_offset_in::<FileHeader32<Endianness>>(bytes, address),
        false => file_offset_in::<FileHeader64<Endianness>>(bytes, address),
    }
}

fn file_offset_in<H: FileHeader<Endian = Endianness>>(bytes: &ReadCache<File>, address: u64) -> Option<u64> {
    let header = H::parse(bytes).ok()?;
    let endian = header.endian().ok()?;
    let segments = header.program_headers(endian, bytes).ok()?;
    let mut loaded = segments.iter().filter(|segment| segment.p_type(endian) == elf::PT_LOAD);
    loaded.find_map(|segment| {
        let at = address.checked_sub(segment.p_vaddr(endian).into())?;
        (at < segment.p_filesz(endian).into()).then(|| segment.p_offset(endian).into() + at)
    })
}
