//! Demos that the user trusts by configuration: hashes of files, and keys that sign them.
//!
//! `docs/formats/trusted.md` draws the file. A list that others could have written, or that has a line which is not understood, trusts
//! nothing.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use minisign_verify::{PublicKey, Signature};
use prony_machine::own::{self, NotOurs, Ownership};
use sha2::{Digest, Sha256};

use crate::files::known::{WRITABLE_BY_OTHERS, directory_of_user, each_piece, is_only_ours};
use crate::files::regular;

/// Error of using the list.
#[derive(Debug, thiserror::Error)]
pub enum TrustedError {
    /// Another user may have written the list, or it cannot be opened.
    #[error(transparent)]
    NotOurs(#[from] NotOurs),
    /// A line is no entry.
    #[error("{}, line {line}: expected `sha256:` and 64 hexadecimal digits, or `minisign:` and a public key", path.display())]
    Line {
        /// Path of the list.
        path: PathBuf,
        /// Number of the line, from 1.
        line: usize,
    },
    /// List or demo cannot be read.
    #[error("cannot read `{}`: {error}", path.display())]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// Error that the system returned.
        error: io::Error,
    },
}

/// The list of one user.
#[derive(Debug)]
pub struct TrustedDemos {
    path: PathBuf,
}

/// Most bytes of a list, and of a signature.
const LIST_BYTES_MOST: u64 = 1 << 20;
const SIGNATURE_BYTES_MOST: u64 = 4096;

enum Entry {
    Hash([u8; 32]),
    Key(PublicKey),
}

impl Entry {
    fn of(text: &str) -> Option<Entry> {
        match text.split_once(':')? {
            ("sha256", digits) if digits.len() == 64 => {
                let mut hash = [0; 32];
                for (byte, pair) in hash.iter_mut().zip(digits.as_bytes().chunks(2)) {
                    let pair =
                        std::str::from_utf8(pair).ok().filter(|pair| pair.bytes().all(|b| b.is_ascii_hexdigit()))?;
                    *byte = u8::from_str_radix(pair, 16).ok()?;
                }
                Some(Entry::Hash(hash))
            }
            ("minisign", key) => PublicKey::from_base64(key).ok().map(Entry::Key),
            _ => None,
        }
    }
}

impl TrustedDemos {
    /// The list of the user who runs this process, `prony/trusted-demos` below `$XDG_CONFIG_HOME`, or below `.config` in the home
    /// directory of `/etc/passwd`. `None` for a user without either.
    pub fn of_user() -> Option<TrustedDemos> {
        directory_of_user("XDG_CONFIG_HOME", ".config").map(|config| TrustedDemos::below(&config))
    }

    fn below(config: &Path) -> TrustedDemos {
        TrustedDemos { path: config.join("prony/trusted-demos") }
    }

    /// True for a demo whose hash is listed, or that a listed key has signed: `DEMO.minisig` beside it. `file`: the demo as it is read.
    /// Only a file that belongs to the user, and that no other user may write, is looked at.
    ///
    /// # Errors
    /// [`TrustedError`] when the list cannot be read, or not be believed.
    pub fn contains(&self, demo: &Path, file: &File) -> Result<bool, TrustedError> {
        let entries = self.entries()?;
        if entries.is_empty() || !is_only_ours(file) {
            return Ok(false);
        }
        let signature = signature_of(demo);
        let mut keys = Vec::new();
        for entry in &entries {
            if let (Entry::Key(key), Some(signature)) = (entry, &signature)
                && let Ok(verifier) = key.verify_stream(signature)
            {
                keys.push(verifier);
            }
        }
        let mut hash = Sha256::new();
        let read = each_piece(file, |piece| {
            hash.update(piece);
            keys.iter_mut().for_each(|key| key.update(piece));
        });
        read.map_err(|error| TrustedError::Read { path: demo.to_owned(), error })?;
        let hash: [u8; 32] = hash.finalize().into();
        let is_listed = entries.iter().any(|entry| matches!(entry, Entry::Hash(listed) if *listed == hash));
        Ok(is_listed || keys.into_iter().any(|mut key| key.finalize().is_ok()))
    }

    fn entries(&self) -> Result<Vec<Entry>, TrustedError> {
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        let opened = own::check_directory(folder, 0o755).and_then(|()| own::open(&self.path, Ownership::Ours));
        let list = match opened {
            Ok(list) => list,
            Err(NotOurs::Io { error, .. }) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error.into()),
        };
        let read = |error| TrustedError::Read { path: self.path.clone(), error };
        let found = list.metadata().map_err(read)?.mode() & 0o7777;
        if found & WRITABLE_BY_OTHERS != 0 {
            return Err(NotOurs::Permissions { path: self.path.clone(), expected: 0o644, found }.into());
        }
        let mut text = String::new();
        list.take(LIST_BYTES_MOST).read_to_string(&mut text).map_err(read)?;
        let mut entries = Vec::new();
        for (number, line) in text.lines().enumerate() {
            // A comment is whatever follows the first word.
            let word = line.split_whitespace().next().unwrap_or("");
            if word.is_empty() || word.starts_with('#') {
                continue;
            }
            let entry = Entry::of(word);
            entries.push(entry.ok_or_else(|| TrustedError::Line { path: self.path.clone(), line: number + 1 })?);
        }
        Ok(entries)
    }
}

/// The detached signature of a demo, as `minisign -S` leaves it. One that is there and is none signs nothing.
fn signature_of(demo: &Path) -> Option<Signature> {
    let mut path = demo.as_os_str().to_owned();
    path.push(".minisig");
    let (file, _) = regular::open(Path::new(&path)).ok()?;
    let mut text = String::new();
    file.take(SIGNATURE_BYTES_MOST).read_to_string(&mut text).ok()?;
    Signature::decode(&text).ok()
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// Made by `minisign -G` and `minisign -S` of minisign 0.11 for a file with the content "a demo\n".
    const KEY: &str = include_str!("trusted/test-key");
    const SIGNATURE: &str = include_str!("trusted/test-signature");
    /// `sha256sum` of the same.
    const HASH: &str = include_str!("trusted/test-hash");

    struct Sandbox {
        directory: tempfile::TempDir,
        trusted: TrustedDemos,
    }

    impl Sandbox {
        fn new(list: &str) -> Sandbox {
            let directory = tempfile::tempdir().expect("the temporary directory is writable");
            fs::create_dir(directory.path().join("prony")).expect("it is new");
            let trusted = TrustedDemos::below(directory.path());
            fs::write(&trusted.path, list).expect("the directory is writable");
            // Whatever the umask of the tests is.
            for (path, mode) in [(trusted.path.clone(), 0o644), (directory.path().join("prony"), 0o755)] {
                fs::set_permissions(path, Permissions::from_mode(mode)).expect("it is ours");
            }
            Sandbox { directory, trusted }
        }

        fn demo(&self, content: &str) -> PathBuf {
            let path = self.directory.path().join("x.demo");
            fs::write(&path, content).expect("the directory is writable");
            fs::set_permissions(&path, Permissions::from_mode(0o644)).expect("it is ours");
            path
        }

        fn trusts(&self, demo: &Path) -> Result<bool, TrustedError> {
            self.trusted.contains(demo, &File::open(demo).expect("it is there"))
        }
    }

    #[test]
    fn a_demo_is_trusted_by_its_hash_alone() {
        let list = format!("# demos of our repository\n\nsha256:{}  dm1, recorded in May\n", HASH.trim());
        let place = Sandbox::new(&list);
        assert!(place.trusts(&place.demo("a demo\n")).expect("a list"));
        assert!(!place.trusts(&place.demo("a demo.\n")).expect("a list"), "one byte more");
        let demo = place.demo("a demo\n");
        fs::set_permissions(&demo, Permissions::from_mode(0o664)).expect("it is ours");
        assert!(!place.trusts(&demo).expect("a list"), "others could change it after this");
        assert!(!Sandbox::new("").trusts(&demo).expect("an empty list"));
        fs::remove_file(&place.trusted.path).expect("it is ours");
        assert!(!place.trusts(&demo).expect("no list is no error"));
    }

    #[test]
    fn a_demo_is_trusted_by_a_signature_of_a_listed_key() {
        let place = Sandbox::new(&format!("minisign:{}\n", KEY.trim()));
        let demo = place.demo("a demo\n");
        assert!(!place.trusts(&demo).expect("a list"), "no signature");
        let signature = place.directory.path().join("x.demo.minisig");
        fs::write(&signature, SIGNATURE).expect("the directory is writable");
        assert!(place.trusts(&demo).expect("a list"));
        assert!(!place.trusts(&place.demo("another demo\n")).expect("a list"), "a signature of another file");
        let demo = place.demo("a demo\n");
        let another = SIGNATURE.replace("a test", "forged");
        assert_ne!(another, SIGNATURE);
        fs::write(&signature, another).expect("the directory is writable");
        assert!(!place.trusts(&demo).expect("a list"), "the trusted comment is signed, too");
        fs::write(&signature, SIGNATURE).expect("the directory is writable");
        let unlisted = Sandbox::new(&format!("sha256:{}\n", "0".repeat(64)));
        assert!(!unlisted.trusts(&demo).expect("a list"), "the key is not listed");
    }

    #[test]
    fn a_list_that_cannot_be_believed_trusts_nothing() {
        let good = format!("sha256:{}\n", HASH.trim());
        for bad in ["sha256:12", "sha256", "md5:0123", "minisign:none", &good.trim().replace(':', ":+")] {
            let place = Sandbox::new(&format!("{good}{bad}\n"));
            let error = place.trusts(&place.demo("a demo\n")).expect_err(bad).to_string();
            assert!(error.contains("trusted-demos, line 2: expected `sha256:`"), "{error}");
        }
        let place = Sandbox::new(&good);
        let demo = place.demo("a demo\n");
        fs::set_permissions(&place.trusted.path, Permissions::from_mode(0o664)).expect("it is ours");
        let error = place.trusts(&demo).expect_err("the group may write").to_string();
        assert!(error.ends_with("trusted-demos: expected permissions 644 or fewer, found 664"), "{error}");
        fs::set_permissions(&place.trusted.path, Permissions::from_mode(0o644)).expect("it is ours");
        fs::set_permissions(place.directory.path().join("prony"), Permissions::from_mode(0o777)).expect("it is ours");
        assert!(place.trusts(&demo).is_err(), "others may replace the list");
    }
}
