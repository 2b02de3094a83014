//! The environment of a server: as it is recorded, and what of it a build gets that somebody else names.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

/// Variables by which an environment chooses code that a program loads or runs, or files that it writes: a name, or the
/// beginning or the end of one with `*`. The guide to recording and replaying has the same list.
///
/// Left out on purpose: `HOME` and `XDG_*`, without which servers do not find their data, and what interpreters only
/// count or hash by, as `PYTHONHASHSEED`.
pub const CODE_VARIABLES: &[&str] = &[
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

/// True for a variable that [`CODE_VARIABLES`] names.
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

/// Takes from a recorded environment what chooses code: `own` says what a variable is here, and that is what the build
/// gets. `path`: `PATH` is among them, since the recording is a stranger's.
pub(crate) fn withhold(environment: &mut Pairs, path: bool, own: impl Fn(&OsStr) -> Option<OsString>) -> Withheld {
    let mut withheld = Withheld::default();
    environment.retain_mut(|(name, value)| {
        // No recording has such a name. To a program it is the part before `=`, with another value.
        let forged = name.as_bytes().contains(&b'=');
        if !(forged || loads_code(name.as_bytes()) || path && name == "PATH") {
            return true;
        }
        match own(name).filter(|_| !forged) {
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

/// The pairs of our own environment, sorted by name so that a replay can lay them out the same.
fn own() -> Pairs {
    let mut pairs: Vec<_> = std::env::vars_os().collect();
    pairs.sort();
    pairs
}

/// The environment of a recorded server: our own, and OpenSSL told to do without the instructions
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
/// RDSEED. OpenSSL then asks the clock and the kernel, which are recorded.
const OPENSSL_CAPABILITIES: (&str, &str) = ("OPENSSL_ia32cap", "~0x4000000000000010:~0x40000");

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(pairs: &[(&str, &str)]) -> Pairs {
        pairs.iter().map(|&(name, value)| (name.into(), value.into())).collect()
    }

    #[test]
    fn what_loads_code_is_told_from_what_servers_need() {
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

    #[test]
    fn a_build_gets_what_chooses_code_from_where_it_is_named() {
        let mut environment = pairs(&[
            ("HOME", "/h"),
            ("LD_LIBRARY_PATH", "/same"),
            ("LD_PRELOAD", "/evil"),
            ("PATH", "/p"),
            ("ENV", "/e"),
        ]);
        let own = |name: &OsStr| match name.to_str() {
            Some("LD_LIBRARY_PATH") => Some("/same".into()),
            Some("ENV") => Some("/mine".into()),
            Some("PATH") => Some("/bin".into()),
            Some("LUA_PATH") => Some("/not recorded".into()),
            _ => None,
        };
        let mut strangers = environment.clone();
        let withheld = withhold(&mut environment, false, own);
        assert_eq!(withheld, Withheld { dropped: vec!["LD_PRELOAD".into()], replaced: vec!["ENV".into()] });
        let expected = [("HOME", "/h"), ("LD_LIBRARY_PATH", "/same"), ("PATH", "/p"), ("ENV", "/mine")];
        assert_eq!(environment, pairs(&expected));
        let withheld = withhold(&mut strangers, true, own);
        assert_eq!(withheld.replaced, ["PATH", "ENV"]);
        assert!(strangers.contains(&("PATH".into(), "/bin".into())));
    }

    #[test]
    fn a_name_that_is_two_at_once_is_dropped() {
        let mut environment = pairs(&[("BASH_ENV=/evil", ""), ("A", "="), ("PATH=/evil:", "/p")]);
        let withheld = withhold(&mut environment, false, |_| Some("here".into()));
        assert_eq!(withheld.dropped, ["BASH_ENV=/evil", "PATH=/evil:"]);
        assert_eq!(environment, pairs(&[("A", "=")]));
    }

    #[test]
    fn the_guide_has_the_list() {
        let guide = include_str!("../../../docs/guide/record-replay.md");
        let section = guide.split("\n## ").find(|section| section.starts_with("Demos from others"));
        let section = section.expect("the guide has the section");
        let listed: Vec<&str> = section
            .lines()
            .filter(|line| line.starts_with("| ") && line.contains('`'))
            .flat_map(|line| line.split('`').skip(1).step_by(2))
            .collect();
        let mut missing: Vec<_> = CODE_VARIABLES.iter().filter(|pattern| !listed.contains(*pattern)).collect();
        missing.sort();
        assert!(missing.is_empty(), "not in the guide: {missing:?}");
        let unknown: Vec<_> = listed.iter().filter(|name| !CODE_VARIABLES.contains(*name)).collect();
        assert!(unknown.is_empty(), "only in the guide: {unknown:?}");
    }
}
