//! The environment of a server: as it is recorded, and the part of it that a build gets in a replay.
//!
//! From a demo of unknown origin a build gets what [`kept_from_strangers`] allows, and nothing else. Demos that the user recorded or
//! trusts keep all but what is known to load code, for a build that was not there when they were recorded.

use crate::files::regular::is_below_made_up;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Variables that a demo of unknown origin may set, with what their values may be made of.
const ALLOWED: &[(&[&str], Shape)] = &[
    // Locale. glibc takes a value with a slash for the path of an archive (setlocale(3), `LOCPATH`).
    (
        &[
            "LANG",
            "LANGUAGE",
            "LC_ADDRESS",
            "LC_ALL",
            "LC_COLLATE",
            "LC_CTYPE",
            "LC_IDENTIFICATION",
            "LC_MEASUREMENT",
            "LC_MESSAGES",
            "LC_MONETARY",
            "LC_NAME",
            "LC_NUMERIC",
            "LC_PAPER",
            "LC_TELEPHONE",
            "LC_TIME",
        ],
        Shape::Word,
    ),
    // Time zone: a name below the system's directory of zones, or a rule (tzset(3)).
    (&["TZ"], Shape::Zone),
    // Terminal. ncurses takes a value with a slash for a path.
    (&["TERM", "COLORTERM", "NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"], Shape::Word),
    (&["COLUMNS", "LINES"], Shape::Numbers),
    // Numbers of threads.
    (
        &[
            "ASYNC_STD_THREAD_COUNT",
            "BLIS_NUM_THREADS",
            "GOMAXPROCS",
            "MKL_NUM_THREADS",
            "NUMEXPR_NUM_THREADS",
            "OMP_NUM_THREADS",
            "OMP_THREAD_LIMIT",
            "OPENBLAS_NUM_THREADS",
            "RAYON_NUM_THREADS",
            "TBB_NUM_THREADS",
            "TOKIO_WORKER_THREADS",
            "UV_THREADPOOL_SIZE",
        ],
        Shape::Numbers,
    ),
    // Set by `prony record`, for replays to be possible at all.
    (&[OPENSSL_CAPABILITIES.0], Shape::Exactly(OPENSSL_CAPABILITIES.1)),
];

/// Characters that a value may have.
#[derive(Debug, Clone, Copy)]
enum Shape {
    /// Letters, digits and `.`, `_`, `-`, `+`, `@`, `:`; no slash, so it is no path.
    Word,
    /// As [`Shape::Word`], and `/` and `,`; neither absolute nor with a `..`.
    Zone,
    /// Digits, and commas between them.
    Numbers,
    /// This value.
    Exactly(&'static str),
}

impl Shape {
    /// Longest value: a path or a program hides in no fewer.
    const BYTES_MOST: usize = 100;

    fn fits(self, value: &[u8]) -> bool {
        let word = |byte: &u8| byte.is_ascii_alphanumeric() || b"._-+@:".contains(byte);
        let zone = |byte: &u8| word(byte) || b"/,<>".contains(byte);
        value.len() <= Shape::BYTES_MOST
            && match self {
                Shape::Word => value.iter().all(word),
                // A colon in front stands for a file (tzset(3)).
                Shape::Zone => {
                    let relative = !matches!(value.first(), Some(b'/' | b':'));
                    relative && value.iter().all(zone) && value.split(|&byte| byte == b'/').all(|part| part != b"..")
                }
                Shape::Numbers => value.iter().all(|byte| byte.is_ascii_digit() || *byte == b','),
                Shape::Exactly(exact) => value == exact.as_bytes(),
            }
    }
}

/// True for a recorded variable that a build gets even from a demo of unknown origin. `PATH`, of which it gets some
/// directories, is not among them.
pub fn kept_from_strangers(name: &[u8], value: &[u8]) -> bool {
    ALLOWED.iter().any(|(names, shape)| names.iter().any(|allowed| allowed.as_bytes() == name) && shape.fits(value))
}

/// Known variables by which an environment chooses code that a program loads or runs, or files that it writes: a name, or the
/// beginning or the end of one with `*`.
///
/// No such list is complete. It decides nothing for demos of unknown origin.
///
/// Left out on purpose: `HOME` and `XDG_*`, without which servers do not find their data, and what interpreters only
/// count or hash by, as `PYTHONHASHSEED`.
const CODE_VARIABLES: &[&str] = &[
    // The loader and the C library: ld.so(8), gconv_open(3), gethostbyname(3), mtrace(3).
    "LD_*",
    "*_PRELOAD",
    "*LD_LIBRARY_PATH",
    "GCONV_PATH",
    "GETCONF_DIR",
    "GLIBC_TUNABLES",
    "HOSTALIASES",
    "LOCALDOMAIN",
    "LOCPATH",
    "MALLOC_TRACE",
    "NLSPATH",
    "RESOLV_*",
    "RES_OPTIONS",
    // Shells.
    "BASHOPTS",
    "BASH_ENV",
    "BASH_FUNC_*",
    "BASH_LOADABLES_PATH",
    "CDPATH",
    "ENV",
    "FPATH",
    "GLOBIGNORE",
    "HISTFILE",
    "IFS",
    "PROMPT_COMMAND",
    "PS4",
    "SHELLOPTS",
    "ZDOTDIR",
    // Interpreters and virtual machines.
    "ACC_PROFLIB",
    "AWKLIBPATH",
    "AWKPATH",
    "BUNDLE_*",
    "BUN_*",
    "CAML*",
    "CLASSPATH",
    "COMPlus_*",
    "CORECLR_*",
    "COR_*",
    "DENO_*",
    "DOTNET_*",
    "ELIXIR_*",
    "ERL_*",
    "GEM_*",
    "GUILE_*",
    "GUNICORN_CMD_ARGS",
    "IBM_JAVA_OPTIONS",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "JULIA_*",
    "LUA_*",
    "MONO_*",
    "NODE_OPTIONS",
    "NODE_PATH",
    "NODE_REPL_*",
    "NODE_V8_COVERAGE",
    "OCAML*",
    "OPENJ9_JAVA_OPTIONS",
    "PERL5*",
    "PERLDB_OPTS",
    "PERLLIB",
    "PERL_USE_UNSAFE_INC",
    "PHP*",
    "PYTHONBREAKPOINT",
    "PYTHONDUMPREFSFILE",
    "PYTHONEXECUTABLE",
    "PYTHONHOME",
    "PYTHONINSPECT",
    "PYTHONPATH",
    "PYTHONPLATLIBDIR",
    "PYTHONPYCACHEPREFIX",
    "PYTHONSTARTUP",
    "PYTHONUSERBASE",
    "PYTHONWARNINGS",
    "RUBYGEMS_GEMDEPS",
    "RUBYLIB",
    "RUBYOPT",
    "RUBYPATH",
    "RUBYSHELL",
    "R_*",
    "TCLLIBPATH",
    "TCL_LIBRARY",
    "TK_LIBRARY",
    "_JAVA_OPTIONS",
    // Libraries with plugins.
    "ALSA_*",
    "BABL_PATH",
    "CUDA_INJECTION*",
    "*_INJECTION32_PATH",
    "*_INJECTION64_PATH",
    "DBUS_*",
    "EGL_*",
    "FI_PROVIDER_PATH",
    "FREI0R_PATH",
    "GBM_BACKENDS_PATH",
    "GDK_PIXBUF_*",
    "GEGL_PATH",
    "GIO_*",
    "GI_TYPELIB_PATH",
    "GS_LIB",
    "GS_OPTIONS",
    "GST_*",
    "GTK*",
    "HSA_TOOLS_LIB",
    "HWLOC_PLUGINS_PATH",
    "KRB5_*",
    "LADSPA_PATH",
    "LDAPCONF",
    "LIBGL_*",
    "LIBVA_*",
    "LV2_PATH",
    "MAGICK_*",
    "MESA_*",
    "NSS_*",
    "OCL_ICD_*",
    "ODBC*",
    "OMPI_MCA_*",
    "OMP_TOOL*",
    "OPENCL_*",
    "OPENSSL_CONF*",
    "OPENSSL_ENGINES",
    "OPENSSL_MODULES",
    "P11_KIT_*",
    "PMIX_MCA_*",
    "QML*",
    "QT_*",
    "ROCP_TOOL_LIB",
    "SASL_*",
    "SDL3_DYNAMIC_API",
    "SDL_DYNAMIC_API",
    "TERMCAP",
    "TERMINFO",
    "TERMINFO_DIRS",
    "VDPAU_*",
    "VK_*",
    "__EGL_*",
    "__GLX_*",
    // Programs that others run.
    "BROWSER",
    "EDITOR",
    "GIT_*",
    "LESSCLOSE",
    "LESSOPEN",
    "MAKEFILES",
    "MAKEFLAGS",
    "MANPAGER",
    "PAGER",
    "RSYNC_RSH",
    "SSH_ASKPASS",
    "SUDO_ASKPASS",
    "VISUAL",
    "*_SYMBOLIZER_PATH",
    // Files that are written, or options that name one.
    "CPUPROFILE*",
    "GCOV_*",
    "GMON_OUT_PREFIX",
    "HEAPPROFILE*",
    "HEAP_PROFILE_*",
    "LLVM_PROFILE_FILE",
    "MALLOC_CONF",
    "PRONY_*",
    "SSLKEYLOGFILE",
    "*SAN_OPTIONS",
    "_RJEM_MALLOC_CONF",
];

/// True for a variable that is known to load code. No such list is complete: it decides nothing for demos of unknown origin.
pub fn loads_code(name: &[u8]) -> bool {
    CODE_VARIABLES.iter().any(|pattern| {
        let pattern = pattern.as_bytes();
        match (pattern.strip_suffix(b"*"), pattern.strip_prefix(b"*")) {
            (Some(start), _) => name.starts_with(start),
            (None, Some(end)) => name.ends_with(end),
            (None, None) => name == pattern,
        }
    })
}

type Pairs = Vec<(OsString, OsString)>;

/// Variables of a recorded environment that a build did not get.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Withheld {
    /// Variables that the build does not have.
    pub(crate) dropped: Vec<OsString>,
    /// Variables that have the value of our own environment.
    pub(crate) replaced: Vec<OsString>,
}

/// Where a demo comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// This user recorded it on this machine.
    Own,
    /// The user trusts it: by an option, on a terminal, or by a hash or a key in the user's own configuration.
    Trusted,
    /// Neither is known.
    Unknown,
}

impl Origin {
    /// True for a demo that may run its command and bring its files.
    pub fn is_trusted(self) -> bool {
        self != Origin::Unknown
    }
}

/// What a recorded environment is filtered by.
pub(crate) struct Filter<'a> {
    pub(crate) origin: Origin,
    /// Variables that the user names, which keep the recorded value.
    pub(crate) keep: &'a [OsString],
    /// Value of a variable in the user's own environment.
    pub(crate) own: &'a dyn Fn(&OsStr) -> Option<OsString>,
    /// True for a directory that programs may be looked for in.
    pub(crate) is_safe: &'a dyn Fn(&Path) -> bool,
}

impl Filter<'_> {
    fn keeps(&self, name: &OsStr, value: &OsStr) -> bool {
        let bytes = name.as_bytes();
        match self.origin {
            _ if self.keep.iter().any(|kept| kept == name) => true,
            Origin::Own | Origin::Trusted => !loads_code(bytes),
            Origin::Unknown => kept_from_strangers(bytes, value.as_bytes()),
        }
    }

    /// Directories of a `PATH`, without those that another user or the demo could have filled.
    fn safe_path(&self, path: &OsStr) -> Option<OsString> {
        let safe = |directory: &&[u8]| (self.is_safe)(Path::new(OsStr::from_bytes(directory)));
        let kept: Vec<&[u8]> = path.as_bytes().split(|&byte| byte == b':').filter(safe).collect();
        (!kept.is_empty()).then(|| OsString::from(OsStr::from_bytes(&kept.join(&b':'))))
    }

    /// Takes from a recorded environment what a build is not to have. A variable that is not kept has the value of the user's own
    /// environment, or is dropped: so `HOME` and `XDG_*` are those of the user who replays.
    pub(crate) fn apply(&self, environment: &mut Pairs) -> Withheld {
        let mut withheld = Withheld::default();
        environment.retain_mut(|(name, value)| {
            // No recording has such a name. To a program it is the part before `=`, with another value.
            let forged = name.as_bytes().contains(&b'=');
            if !forged && self.keeps(name, value) {
                return true;
            }
            let safe_path = (name == "PATH").then(|| self.safe_path(value)).flatten();
            match safe_path.or_else(|| (self.own)(name)).filter(|_| !forged) {
                Some(here) if here == *value => true,
                Some(here) => {
                    *value = here;
                    withheld.replaced.push(name.clone());
                    true
                }
                None => {
                    withheld.dropped.push(name.clone());
                    false
                }
            }
        });
        withheld
    }
}

/// True for an absolute directory in which only root and this user can put programs, and none of the kernel's.
pub(crate) fn is_safe_directory(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let user = rustix::process::geteuid().as_raw();
    let Ok(real) = path.canonicalize() else { return false };
    let Ok(facts) = real.metadata() else { return false };
    path.is_absolute()
        && facts.is_dir()
        && [0, user].contains(&facts.uid())
        && facts.mode() & 0o022 == 0
        && !is_below_made_up(path)
        && !is_below_made_up(&real)
}

/// The pairs of our own environment, sorted by name so that a replay can lay them out the same.
fn own() -> Pairs {
    let mut pairs: Vec<_> = std::env::vars_os().collect();
    pairs.sort();
    pairs
}

/// The environment of a recorded server: our own, and OpenSSL set to do without the instructions
/// whose results cannot be recorded.
pub(crate) fn to_record() -> Pairs {
    let mut pairs = own();
    if cfg!(target_arch = "x86_64") && !pairs.iter().any(|(name, _)| name == OPENSSL_CAPABILITIES.0) {
        pairs.push((OPENSSL_CAPABILITIES.0.into(), OPENSSL_CAPABILITIES.1.into()));
        pairs.sort();
    }
    pairs
}

/// Takes three bits of `cpuid` away (OPENSSL_ia32cap(3)): 4 RDTSC, 62 RDRAND and, of leaf 7, 18
/// RDSEED. OpenSSL then reads the clock and calls the kernel, which are recorded.
const OPENSSL_CAPABILITIES: (&str, &str) = ("OPENSSL_ia32cap", "~0x4000000000000010:~0x40000");

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(pairs: &[(&str, &str)]) -> Pairs {
        pairs.iter().map(|&(name, value)| (name.into(), value.into())).collect()
    }

    #[test]
    fn what_loads_code_is_distinguished_from_what_servers_need() {
        for name in [
            "LD_PRELOAD",
            "LD_LIBRARY_PATH",
            "LD_AUDIT",
            "JEMALLOC_PRELOAD",
            "CAML_LD_LIBRARY_PATH",
            "GCONV_PATH",
            "BASH_ENV",
            "ENV",
            "BASH_FUNC_ls%%",
            "PYTHONPATH",
            "PERL5OPT",
            "NODE_OPTIONS",
            "OPENSSL_CONF",
            "SDL_DYNAMIC_API",
            "GIT_SSH_COMMAND",
            "PRONY_ZONES",
            "UBSAN_OPTIONS",
        ] {
            assert!(loads_code(name.as_bytes()), "{name}");
        }
        for name in [
            "HOME",
            "PATH",
            "PWD",
            "SHELL",
            "LANG",
            "LC_ALL",
            "TERM",
            "TZ",
            "USER",
            "LOGNAME",
            "SHLVL",
            "_",
            "MAIL",
            "XDG_RUNTIME_DIR",
            "OPENSSL_ia32cap",
            "PYTHONHASHSEED",
            "PYTHONUNBUFFERED",
            "OMP_NUM_THREADS",
            "MALLOC_ARENA_MAX",
            "LS_COLORS",
            "RUST_BACKTRACE",
            "SSL_CERT_FILE",
            "ENVIRONMENT",
            "OLD_",
            "SSH_CLIENT",
        ] {
            assert!(!loads_code(name.as_bytes()), "{name}");
        }
    }

    /// Filters by what the user has here; programs may be looked for below `/safe`.
    fn filtered(origin: Origin, keep: &[&str], environment: &mut Pairs, here: &[(&str, &str)]) -> Withheld {
        let keep: Vec<OsString> = keep.iter().map(OsString::from).collect();
        let own = |name: &OsStr| here.iter().find(|(own, _)| name == *own).map(|(_, value)| OsString::from(value));
        let is_safe = |path: &Path| path.starts_with("/safe");
        Filter { origin, keep: &keep, own: &own, is_safe: &is_safe }.apply(environment)
    }

    #[test]
    fn a_build_gets_what_chooses_code_from_where_it_is_named() {
        let recorded = pairs(&[
            ("HOME", "/h"),
            ("LD_LIBRARY_PATH", "/same"),
            ("LD_PRELOAD", "/evil"),
            ("PATH", "/p"),
            ("ENV", "/e"),
        ]);
        let here = [
            ("LD_LIBRARY_PATH", "/same"),
            ("ENV", "/mine"),
            ("PATH", "/bin"),
            ("LUA_PATH", "/not recorded"),
            ("HOME", "/me"),
        ];
        for origin in [Origin::Own, Origin::Trusted] {
            let mut environment = recorded.clone();
            let withheld = filtered(origin, &[], &mut environment, &here);
            assert_eq!(withheld, Withheld { dropped: vec!["LD_PRELOAD".into()], replaced: vec!["ENV".into()] });
            let expected = [("HOME", "/h"), ("LD_LIBRARY_PATH", "/same"), ("PATH", "/p"), ("ENV", "/mine")];
            assert_eq!(environment, pairs(&expected));
        }
        let mut strangers = recorded.clone();
        let withheld = filtered(Origin::Unknown, &[], &mut strangers, &here);
        assert_eq!(withheld.replaced, ["HOME", "PATH", "ENV"]);
        assert!(strangers.contains(&("PATH".into(), "/bin".into())));
        assert!(strangers.contains(&("HOME".into(), "/me".into())));
        // By name, the user keeps any of them.
        let mut named = recorded.clone();
        let withheld = filtered(Origin::Unknown, &["LD_PRELOAD", "HOME"], &mut named, &here);
        assert_eq!((withheld.dropped, withheld.replaced), (vec![], vec!["PATH".into(), "ENV".into()]));
        assert!(named.contains(&("LD_PRELOAD".into(), "/evil".into())));
    }

    #[test]
    fn a_stranger_sets_nothing_that_is_not_on_the_short_list() {
        // No list of what loads code has all of these.
        let attacks = [
            ("ACC_PROFLIB", "/tmp/evil.so"),
            ("GUNICORN_CMD_ARGS", "--config=/tmp/evil.py"),
            ("PERL_USE_UNSAFE_INC", "1"),
            ("A_NAME_OF_TOMORROW", "1"),
            ("LANG", "/tmp/locales/evil"),
            ("LC_ALL", "../../tmp/evil"),
            ("LC_EVIL", "C"),
            ("LANGUAGE", "de/../../evil"),
            ("TZ", "/tmp/zone"),
            ("TZ", ":/tmp/zone"),
            ("TZ", "Europe/../../../tmp/zone"),
            ("TERM", "/tmp/terminfo"),
            ("TERM", "xterm\u{1b}[2J"),
            ("COLUMNS", "80; rm -rf ~"),
            ("GOMAXPROCS", "four"),
            ("OPENSSL_ia32cap", "0"),
            ("USER", "root"),
        ];
        for (name, value) in attacks {
            let mut environment = pairs(&[(name, value)]);
            let withheld = filtered(Origin::Unknown, &[], &mut environment, &[]);
            assert!(environment.is_empty() && withheld.dropped == [name], "{name}={value}");
        }
        let harmless = [
            ("LANG", "de_DE.UTF-8@euro"),
            ("LANGUAGE", "de:en_GB"),
            ("TZ", "America/Argentina/Buenos_Aires"),
            ("TZ", "CET-1CEST,M3.5.0/2:00,M10.5.0"),
            ("TERM", "xterm-256color"),
            ("COLUMNS", "120"),
            ("OMP_NUM_THREADS", "4,2"),
            OPENSSL_CAPABILITIES,
        ];
        for (name, value) in harmless {
            let mut environment = pairs(&[(name, value)]);
            assert_eq!(filtered(Origin::Unknown, &[], &mut environment, &[]), Withheld::default(), "{name}={value}");
            assert_eq!(environment, pairs(&[(name, value)]));
        }
    }

    #[test]
    fn a_strangers_path_has_only_directories_that_others_cannot_fill() {
        let of = |path: &str, here: &[(&str, &str)]| {
            let mut environment = pairs(&[("PATH", path)]);
            filtered(Origin::Unknown, &[], &mut environment, here);
            environment.pop().map(|(_, value)| value)
        };
        assert_eq!(of("/tmp/evil:/safe/bin::.:/safe/sbin", &[]), Some("/safe/bin:/safe/sbin".into()));
        assert_eq!(of("/tmp/evil", &[("PATH", "/bin")]), Some("/bin".into()));
        assert_eq!(of("/tmp/evil", &[]), None);
        assert!(is_safe_directory(Path::new("/usr/bin")));
        for unsafe_directory in
            ["/tmp", "bin", "", ".", "/proc/self/cwd", "/proc/self/root/usr/bin", "/dev/shm", "/no-such"]
        {
            assert!(!is_safe_directory(Path::new(unsafe_directory)), "{unsafe_directory}");
        }
    }

    #[test]
    fn a_name_that_is_two_at_once_is_dropped() {
        for origin in [Origin::Own, Origin::Trusted, Origin::Unknown] {
            let mut environment = pairs(&[("BASH_ENV=/evil", ""), ("TERM", "a"), ("PATH=/evil:", "/p")]);
            let here = [("BASH_ENV=/evil", "here"), ("PATH=/evil:", "here")];
            let withheld = filtered(origin, &["A=B"], &mut environment, &here);
            assert_eq!(withheld.dropped, ["BASH_ENV=/evil", "PATH=/evil:"]);
            assert_eq!(environment, pairs(&[("TERM", "a")]));
        }
    }

    #[test]
    fn the_guide_has_the_list_of_what_strangers_may_set() {
        let guide = include_str!("../../../../docs/guide/strangers.md");
        let section = guide.split("\n## ").find(|section| section.starts_with("Demos from others"));
        let section = section.expect("the guide has the section");
        let listed: Vec<&str> = section
            .lines()
            .filter(|line| line.starts_with("| ") && line.contains('`'))
            .flat_map(|line| line.split('`').skip(1).step_by(2))
            .collect();
        let allowed = || ALLOWED.iter().flat_map(|(names, _)| *names);
        let missing: Vec<_> = allowed().filter(|name| !listed.contains(name)).collect();
        assert!(missing.is_empty(), "not in the guide: {missing:?}");
        let also = ["PATH", "HOME", "XDG_*"];
        let unknown: Vec<_> =
            listed.iter().filter(|name| !allowed().chain(&also).any(|known| known == *name)).collect();
        assert!(unknown.is_empty(), "only in the guide: {unknown:?}");
    }
}
