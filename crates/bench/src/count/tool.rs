//! What counts. The tool for Valgrind: prony's own where it can be built here, else Callgrind.
//!
//! A tool is linked with the core of the Valgrind that runs it, so it is built with what that Valgrind's package has, which takes
//! half a second. Nothing of it stays.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Permissions};
use std::io::{self, Read};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use prony_machine::perf::PerfError;
use prony_machine::process::{KnownWork, UserEvent};
use tempfile::TempDir;

use super::program_file;

/// The tool's source.
const SOURCE: &str = include_str!("tool/counter.c");
/// Name of the tool: `valgrind --tool=prony`.
const NAME: &str = "prony";

/// Address at which Valgrind expects its tools, on all of these platforms (`valt_load_address` in its `configure.ac`).
const LOAD_ADDRESS: &str = "0x58000000";

/// A platform that Valgrind knows.
struct Platform {
    /// Its architecture, as Valgrind names it.
    architecture: &'static str,
    /// Width of its words.
    is_of_32_bits: bool,
    /// Flag with which a compiler makes code for it.
    flag: Option<&'static str>,
}

/// Platforms of which a machine has one or two.
const PLATFORMS: [Platform; 3] = [
    Platform { architecture: "amd64", is_of_32_bits: false, flag: Some("-m64") },
    Platform { architecture: "arm64", is_of_32_bits: false, flag: None },
    Platform { architecture: "x86", is_of_32_bits: true, flag: Some("-m32") },
];

/// What is to count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CountBy {
    /// prony's own tool for Valgrind, or Callgrind where that is not there.
    Fastest,
    /// Callgrind.
    Callgrind,
    /// The kernel: this event, without functions.
    Kernel(UserEvent),
}

/// How instructions, or events, are counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Counter {
    /// By prony's own tool for Valgrind.
    Own,
    /// By Callgrind, which was requested, or which simulates caches.
    Callgrind,
    /// By Callgrind, as there is no other here.
    OnlyCallgrind(NoTool),
    /// By the kernel: an event, and how exactly it is counted here, where that can be known.
    Kernel(UserEvent, Option<KnownWork>),
}

/// Reason why prony's own tool is not there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoTool {
    /// There is no Valgrind.
    #[error("there is no `valgrind` in PATH")]
    Valgrind,
    /// Its package lacks what tools are built with, or that is a package of its own.
    #[error("`{0}` of Valgrind's package is not here")]
    Lacks(String),
    /// The compiler is missing or fails.
    #[error("`{command}` does not build it: {message}")]
    Compiler {
        /// The compiler.
        command: String,
        /// First line that it says.
        message: String,
    },
    /// A file cannot be made.
    #[error("cannot make it in a temporary directory: {0}")]
    File(String),
}

/// The tool, for as long as this lives.
#[derive(Debug)]
pub(super) struct Tool {
    directory: Option<TempDir>,
    counter: Counter,
}

impl Tool {
    /// Callgrind, where it is requested.
    pub(super) fn callgrind() -> Tool {
        Tool::only_callgrind(Counter::Callgrind)
    }

    /// An event of the kernel, which is tried first.
    pub(super) fn kernel(event: UserEvent) -> Result<Tool, PerfError> {
        Ok(Tool { directory: None, counter: Counter::Kernel(event, event.try_here()?) })
    }

    /// The event, where the kernel counts.
    pub(super) fn event(&self) -> Option<UserEvent> {
        match self.counter {
            Counter::Kernel(event, _) => Some(event),
            _ => None,
        }
    }

    fn only_callgrind(counter: Counter) -> Tool {
        let directory = Installed::find().and_then(|installed| directory(&installed).map_err(in_file));
        Tool { directory: directory.ok(), counter }
    }

    /// prony's own tool if it can be built for these programs, else Callgrind.
    pub(super) fn build(programs: &[&Path]) -> Tool {
        match build(programs) {
            Ok(directory) => Tool { directory: Some(directory), counter: Counter::Own },
            Err(reason) => Tool::only_callgrind(Counter::OnlyCallgrind(reason)),
        }
    }

    /// Which one it is.
    pub(super) fn counter(&self) -> &Counter {
        &self.counter
    }

    /// Words that stand before the command of a server. Names stay as they stand in the objects. It writes `PID.out` into `output`, all
    /// parts of a process in one file. `inclusive`: what functions call is counted with them, too.
    pub(super) fn command(&self, output: &Path, inclusive: bool) -> Vec<OsString> {
        let flags = ["-q", "--trace-children=yes", "--demangle=no", "--combine-dumps=yes"];
        let mut words: Vec<OsString> = match &self.directory {
            Some(directory) => ["env".into(), library_variable(directory.path()), "valgrind".into()].into(),
            None => vec!["valgrind".into()],
        };
        let name = if self.counter == Counter::Own { NAME } else { "callgrind" };
        words.push(format!("--tool={name}").into());
        // prony's own tool sees when code is made writable.
        words.extend((name != NAME).then_some("--smc-check=all".into()));
        words.extend(flags.map(OsString::from));
        // Callgrind sets calls of a function inside itself apart from those from outside.
        let of_calls = if name == NAME { "--inclusive=yes" } else { "--separate-recs=2" };
        words.extend(inclusive.then_some(of_calls.into()));
        words.push(format!("--callgrind-out-file={}", output.join("%p.out").display()).into());
        words
    }
}

/// Bytes of the variable by which Valgrind finds its tools, with the zero byte behind them.
const VARIABLE_BYTES: usize = 256;

/// The variable by which Valgrind finds its tools, of one length: it lies on the stack of the server, and functions of strings run other
/// instructions where what is below it lies elsewhere.
fn library_variable(directory: &Path) -> OsString {
    let mut variable = OsString::from("VALGRIND_LIB=");
    variable.push(directory);
    while variable.len() + 1 < VARIABLE_BYTES {
        variable.push("/");
    }
    variable
}

fn in_file(error: io::Error) -> NoTool {
    NoTool::File(error.to_string())
}

/// A directory that has all that Valgrind looks for where its tools are.
fn directory(installed: &Installed) -> io::Result<TempDir> {
    let directory = tempfile::Builder::new().prefix("prony-count-").tempdir()?;
    // Programs that the server starts as another user need it, too.
    fs::set_permissions(directory.path(), Permissions::from_mode(0o755))?;
    for entry in fs::read_dir(&installed.tools)? {
        let entry = entry?;
        symlink(entry.path(), directory.path().join(entry.file_name()))?;
    }
    Ok(directory)
}

/// An installed Valgrind.
struct Installed {
    prefix: PathBuf,
    /// The tools that it has.
    tools: PathBuf,
}

/// What a tool is built with.
struct Development {
    headers: PathBuf,
    /// The directory of the core's libraries.
    core: PathBuf,
}

impl Installed {
    fn find() -> Result<Installed, NoTool> {
        let program = program_file(OsStr::new("valgrind")).ok_or(NoTool::Valgrind)?;
        let prefix = program.parent().and_then(Path::parent).ok_or(NoTool::Valgrind)?;
        Installed::below(prefix, std::env::var_os("VALGRIND_LIB").map(PathBuf::from))
    }

    fn below(prefix: &Path, tools: Option<PathBuf>) -> Result<Installed, NoTool> {
        let tools = match tools {
            Some(tools) => tools,
            None => directory_with("callgrind-@-linux", prefix)?,
        };
        Ok(Installed { prefix: prefix.to_owned(), tools })
    }

    fn development(&self) -> Result<Development, NoTool> {
        let headers = self.prefix.join("include/valgrind");
        match headers.join("pub_tool_tooliface.h").is_file() {
            true => Ok(Development { headers, core: directory_with("libcoregrind-@-linux.a", &self.prefix)? }),
            false => Err(NoTool::Lacks("pub_tool_tooliface.h".to_owned())),
        }
    }

    /// True if it runs programs of this platform.
    fn runs(&self, platform: &Platform) -> bool {
        self.tools.join(format!("callgrind-{}-linux", platform.architecture)).is_file()
    }
}

/// Where distributions and Valgrind's own `make install` put a file of any platform, which `@` stands for in its name.
fn directory_with(file: &str, prefix: &Path) -> Result<PathBuf, NoTool> {
    let of_architectures = fs::read_dir(prefix.join("lib")).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut libraries: Vec<PathBuf> = of_architectures.map(|path| path.join("valgrind")).collect();
    libraries.sort();
    let usual = ["libexec/valgrind", "lib/valgrind", "lib64/valgrind"].map(|name| prefix.join(name));
    let holds = |directory: &PathBuf| {
        PLATFORMS.iter().any(|platform| directory.join(file.replace('@', platform.architecture)).is_file())
    };
    usual.into_iter().chain(libraries).find(holds).ok_or_else(|| NoTool::Lacks(file.replace('@', "*")))
}

/// True for a program file of 32 bits: the fifth byte of an ELF file is 1.
fn is_of_32_bits(program: &Path) -> bool {
    let mut head = [0; 5];
    File::open(program).and_then(|mut file| file.read_exact(&mut head)).is_ok() && head == *b"\x7fELF\x01"
}

/// Builds the tool for the platforms of the programs. Callgrind stands in for others: a program may start one of another platform.
fn build(programs: &[&Path]) -> Result<TempDir, NoTool> {
    let installed = Installed::find()?;
    let development = installed.development()?;
    let directory = directory(&installed).map_err(in_file)?;
    let source = directory.path().join("counter.c");
    fs::write(&source, SOURCE).map_err(in_file)?;
    let of_32_bits = programs.iter().filter(|program| is_of_32_bits(program)).count();
    for platform in PLATFORMS.iter().filter(|platform| installed.runs(platform)) {
        let is_needed = if platform.is_of_32_bits { of_32_bits > 0 } else { of_32_bits < programs.len() };
        let named = |tool: &str| format!("{tool}-{}-linux", platform.architecture);
        let tool = directory.path().join(named(NAME));
        match is_needed {
            true => compile(&development, platform, &source, &tool)?,
            false => symlink(installed.tools.join(named("callgrind")), tool).map_err(in_file)?,
        }
    }
    Ok(directory)
}

/// As Valgrind's own makefiles build a tool: no libc, which the core replaces, and at an address of its own.
fn compile(development: &Development, platform: &Platform, source: &Path, tool: &Path) -> Result<(), NoTool> {
    let architecture = platform.architecture;
    let library = |name: &str| development.core.join(format!("lib{name}-{architecture}-linux.a"));
    for name in ["coregrind", "vex"] {
        let path = library(name);
        if !path.is_file() {
            return Err(NoTool::Lacks(path.display().to_string()));
        }
    }
    let compiler = std::env::var("CC").ok().filter(|name| !name.trim().is_empty()).unwrap_or_else(|| "cc".to_owned());
    let mut command = Command::new(&compiler);
    command.args(platform.flag).args([
        "-O1",
        "-w",
        "-fno-builtin",
        "-fno-stack-protector",
        "-fno-strict-aliasing",
        "-fno-pie",
    ]);
    command.args([format!("-DVGA_{architecture}=1"), "-DVGO_linux=1".to_owned()]);
    command.args([format!("-DVGP_{architecture}_linux=1"), format!("-DVGPV_{architecture}_linux_vanilla=1")]);
    command.arg("-I").arg(&development.headers).arg(source);
    command.args(["-static", "-nodefaultlibs", "-nostartfiles", "-no-pie", "-u", "_start", "-Wl,--build-id=none"]);
    command.arg(format!("-Wl,-Ttext-segment={LOAD_ADDRESS}"));
    command.arg(library("coregrind")).arg(library("vex")).arg("-lgcc");
    command.args(Some(library("gcc-sup")).filter(|path| path.is_file())).arg("-o").arg(tool);
    let failed = |message: String| NoTool::Compiler { command: compiler.clone(), message };
    let output = command.stdin(Stdio::null()).output().map_err(|error| failed(error.to_string()))?;
    match output.status.success() {
        true => Ok(()),
        false => {
            let said = String::from_utf8_lossy(&output.stderr);
            let is_error = |line: &&str| [": error:", "undefined reference"].iter().any(|word| line.contains(word));
            let error = said.lines().find(is_error).or_else(|| said.lines().next());
            Err(failed(error.unwrap_or("it says nothing").trim().to_owned()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_without_what_tools_are_built_with_is_named() {
        let prefix = tempfile::tempdir().expect("a directory");
        let lacks = |name: &str| Some(NoTool::Lacks(name.to_owned()));
        let add = |path: &str| {
            let path = prefix.path().join(path);
            fs::create_dir_all(path.parent().expect("a directory")).expect("it is made");
            fs::write(path, "").expect("it is made");
        };
        assert_eq!(Installed::below(prefix.path(), None).err(), lacks("callgrind-*-linux"));
        add("libexec/valgrind/callgrind-x86-linux");
        let installed = Installed::below(prefix.path(), None).expect("it has a tool");
        assert_eq!(PLATFORMS.iter().filter(|platform| installed.runs(platform)).count(), 1);
        assert_eq!(installed.development().err(), lacks("pub_tool_tooliface.h"));
        add("include/valgrind/pub_tool_tooliface.h");
        assert_eq!(installed.development().err(), lacks("libcoregrind-*-linux.a"));
        add("lib/i386-linux-gnu/valgrind/libcoregrind-x86-linux.a");
        let development = installed.development().expect("all is there");
        let [_, _, x86] = &PLATFORMS;
        let error = compile(&development, x86, Path::new("counter.c"), Path::new("tool"));
        let error = error.expect_err("a library is missing").to_string();
        assert!(error.contains("libvex-x86-linux.a"), "{error}");
    }

    #[test]
    fn the_stack_of_a_server_is_the_same_wherever_the_tool_lies() {
        let length = |directory: &str| library_variable(Path::new(directory)).len();
        assert_eq!(length("/tmp/prony-count-abcdef"), length("/home/user/scratch/prony-count-abcdef"));
        assert_eq!((length("/tmp") + 1) % 64, 0, "nor does what lies below move within a line");
    }
}
