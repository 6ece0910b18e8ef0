//! Objects of the JIT kept on disk, by what they are made of, so that a program that has not changed is linked and not compiled again.
//!
//! The name of an entry is a hash of everything its object depends on: the module before optimisation, the options, LLVM's version, the
//! processor and its features, this compiler's version and its build. An entry says what it holds and how long it is, with a checksum: what does
//! not fit is a miss, and is made again. Entries are written under a name of their own and renamed, so that processes side by side
//! see whole entries or none. Nothing here fails: a cache that cannot be read or written is as if it were empty.

use crate::Options;
use crate::host::Cpu;
use inkwell::module::Module;
use std::collections::hash_map::DefaultHasher;
use std::fs::{self, File};
use std::hash::Hasher;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

/// What an entry begins with; another layout has another.
const MAGIC: &[u8; 8] = b"adc-obj1";

/// Magic, name, length, checksum.
const HEADER: usize = 8 + 32 + 8 + 8;

/// The bytes that entries may take together, unless told otherwise. Above it the entries that were not used for longest go, down to the half.
pub const BOUND: u64 = 256 << 20;

/// A file left half written by a process that died is removed after this.
const ABANDONED: Duration = Duration::from_secs(3600);

/// A directory of objects.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cache {
    pub dir: PathBuf,
    /// Bytes.
    pub bound: u64,
}

/// What an object is known by.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Key(String);

impl Cache {
    /// The cache in this directory, which is made when the first entry is written.
    pub fn new(dir: PathBuf) -> Cache {
        Cache { dir, bound: BOUND }
    }

    /// The object of this key, if it is there and whole.
    pub fn load(&self, key: &Key) -> Option<Vec<u8>> {
        let path = self.path(key);
        // A pipe would be waited for, a device read without end.
        fs::symlink_metadata(&path).ok().filter(|m| m.is_file() && m.len() <= self.bound)?;
        let bytes = fs::read(&path).ok()?;
        match object(&bytes, key) {
            Some(object) => {
                // Used now: it stays longer than others.
                if let Ok(file) = File::options().append(true).open(&path) {
                    let _ = file.set_modified(SystemTime::now());
                }
                Some(object.to_vec())
            }
            None => {
                let _ = fs::remove_file(path);
                None
            }
        }
    }

    /// Keeps an object, and the bound.
    pub fn store(&self, key: &Key, object: &[u8]) {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        if private_dir(&self.dir).is_err() {
            return;
        }
        let k = COUNT.fetch_add(1, Ordering::Relaxed);
        let own = self.dir.join(format!("{}.{}-{k}.tmp", key.0, std::process::id()));
        let mut entry = MAGIC.to_vec();
        entry.extend(key.0.as_bytes());
        entry.extend((object.len() as u64).to_le_bytes());
        entry.extend(hash(0, &[object]).to_le_bytes());
        entry.extend(object);
        let written = File::create(&own).and_then(|mut file| file.write_all(&entry));
        if written.and_then(|()| fs::rename(&own, self.path(key))).is_err() {
            let _ = fs::remove_file(own);
        }
        self.evict();
    }

    fn path(&self, key: &Key) -> PathBuf {
        self.dir.join(format!("{}.obj", key.0))
    }

    fn evict(&self) {
        let entries = fs::read_dir(&self.dir).into_iter().flatten().flatten();
        let files = entries.filter_map(|e| {
            let meta = e.metadata().ok()?;
            Some((meta.modified().ok()?, meta.len(), e.path()))
        });
        let is = |path: &Path, extension: &str| path.extension().is_some_and(|e| e == extension);
        let mut objects = vec![];
        for (used, length, path) in files {
            let old = used.elapsed().is_ok_and(|age| age > ABANDONED);
            if is(&path, "obj") {
                objects.push((used, length, path));
            } else if is(&path, "tmp") && old {
                let _ = fs::remove_file(path);
            }
        }
        let mut total: u64 = objects.iter().map(|(_, length, _)| length).sum();
        if total <= self.bound {
            return;
        }
        objects.sort();
        for (_, length, path) in objects {
            if total <= self.bound / 2 {
                return;
            }
            let _ = fs::remove_file(path);
            total -= length;
        }
    }
}

/// The object in an entry for this key.
fn object<'b>(bytes: &'b [u8], key: &Key) -> Option<&'b [u8]> {
    let (header, object) = bytes.split_at_checked(HEADER)?;
    let number = |at: usize| header.get(at..at + 8)?.try_into().ok().map(u64::from_le_bytes);
    let whole = header.starts_with(MAGIC)
        && &header[8..40] == key.0.as_bytes()
        && number(40)? == object.len() as u64
        && number(48)? == hash(0, &[object]);
    whole.then_some(object)
}

/// A directory that others cannot write to.
fn private_dir(dir: &Path) -> std::io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir)
}

/// The key of what this module is compiled to with these options on this machine, by the compiler of this version.
pub(crate) fn key(module: &Module, options: &Options, cpu: &Cpu) -> Key {
    key_of(module.print_to_string().to_bytes(), options, &cpu.name, &cpu.features, &version())
}

fn key_of(module: &[u8], options: &Options, cpu: &str, features: &str, version: &str) -> Key {
    let options = format!("{options:?}");
    let parts = [module, options.as_bytes(), cpu.as_bytes(), features.as_bytes(), version.as_bytes()];
    Key(format!("{:016x}{:016x}", hash(1, &parts), hash(2, &parts)))
}

/// This compiler and LLVM: their versions, and the build that is running, since one version is built many times while it is worked on.
fn version() -> String {
    static BUILD: OnceLock<String> = OnceLock::new();
    let build = BUILD.get_or_init(|| {
        let meta = std::env::current_exe().and_then(fs::metadata);
        let changed = meta.as_ref().ok().and_then(|m| m.modified().ok());
        let age = changed.and_then(|t| t.duration_since(SystemTime::UNIX_EPOCH).ok());
        format!("{:?} {:?}", meta.ok().map(|m| m.len()), age)
    });
    format!("{} {:?} {build}", env!("CARGO_PKG_VERSION"), inkwell::support::get_llvm_version())
}

/// One of a family of hashes; the parts' lengths count.
fn hash(which: u64, parts: &[&[u8]]) -> u64 {
    let mut h = DefaultHasher::new();
    h.write_u64(which);
    for part in parts {
        h.write_usize(part.len());
        h.write(part);
    }
    h.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(name: &str, bound: u64) -> Cache {
        let dir = std::env::temp_dir().join(format!("adc-cache-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        Cache { dir, bound }
    }

    fn numbered(k: u64) -> Key {
        Key(format!("{k:032x}"))
    }

    #[test]
    fn what_is_stored_is_loaded_and_nothing_else() {
        let cache = cache("stored", BOUND);
        assert_eq!(cache.load(&numbered(1)), None);
        cache.store(&numbered(1), b"an object");
        cache.store(&numbered(2), b"");
        assert_eq!(cache.load(&numbered(1)).as_deref(), Some(&b"an object"[..]));
        assert_eq!(cache.load(&numbered(2)).as_deref(), Some(&b""[..]));
        assert_eq!(cache.load(&numbered(3)), None);
        // No half-written files stay.
        assert_eq!(fs::read_dir(&cache.dir).unwrap().count(), 2);
        fs::remove_dir_all(&cache.dir).unwrap();
    }

    #[test]
    fn a_damaged_entry_is_a_miss_and_is_removed() {
        let cache = cache("damaged", BOUND);
        let path = cache.path(&numbered(1));
        let damages: [&dyn Fn(&mut Vec<u8>); 6] = [
            &|b| b[0] ^= 1,
            &|b| b[20] ^= 1,
            &|b| b[41] ^= 1,
            &|b| *b.last_mut().unwrap() ^= 0x80,
            &|b| b.truncate(b.len() - 1),
            &|b| b.clear(),
        ];
        for damage in damages {
            cache.store(&numbered(1), b"an object");
            let mut bytes = fs::read(&path).unwrap();
            damage(&mut bytes);
            fs::write(&path, bytes).unwrap();
            assert_eq!(cache.load(&numbered(1)), None);
            assert!(!path.exists());
        }
        // An entry under the name of another.
        cache.store(&numbered(2), b"another");
        fs::rename(cache.path(&numbered(2)), &path).unwrap();
        assert_eq!(cache.load(&numbered(1)), None);
        fs::remove_dir_all(&cache.dir).unwrap();
    }

    #[test]
    fn the_entries_used_last_stay_within_the_bound() {
        let length = (HEADER + 100) as u64;
        let cache = cache("bound", 4 * length);
        let age = |k: u64, seconds: u64| {
            let file = File::options().append(true).open(cache.path(&numbered(k))).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(seconds)).unwrap();
        };
        for k in 0..4 {
            cache.store(&numbered(k), &[0; 100]);
            age(k, 100 - k);
        }
        assert!((0..4).all(|k| cache.path(&numbered(k)).exists()));
        // Used now, though it is the oldest.
        assert!(cache.load(&numbered(0)).is_some());
        cache.store(&numbered(4), &[0; 100]);
        let left: Vec<u64> = (0..5).filter(|k| cache.path(&numbered(*k)).exists()).collect();
        assert_eq!(left, [0, 4]);
        fs::remove_dir_all(&cache.dir).unwrap();
    }

    #[test]
    fn writers_side_by_side_leave_whole_entries() {
        let cache = cache("writers", BOUND);
        let object = |k: usize| vec![k as u8; 10_000 + k];
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for k in 0..50 {
                        cache.store(&numbered(k as u64 % 5), &object(k % 5));
                        let found = cache.load(&numbered(k as u64 % 5));
                        assert_eq!(found, Some(object(k % 5)));
                    }
                });
            }
        });
        fs::remove_dir_all(&cache.dir).unwrap();
    }

    #[test]
    fn everything_an_object_depends_on_is_in_its_key() {
        let o = Options::default();
        let keys = [
            key_of(b"m", &o, "cpu", "+avx", "1"),
            key_of(b"n", &o, "cpu", "+avx", "1"),
            key_of(b"m", &Options { strict: true, ..o }, "cpu", "+avx", "1"),
            key_of(b"m", &Options { scalar_math: true, ..o }, "cpu", "+avx", "1"),
            key_of(b"m", &Options { fast_math: true, ..o }, "cpu", "+avx", "1"),
            key_of(b"m", &Options { opt_level: 1, ..o }, "cpu", "+avx", "1"),
            key_of(b"m", &o, "other", "+avx", "1"),
            key_of(b"m", &o, "cpu", "+avx,+fma", "1"),
            key_of(b"m", &o, "cpu", "+avx", "2"),
            // What belongs to one part is not taken for the beginning of the next.
            key_of(b"m", &o, "cpu+", "avx", "1"),
        ];
        for (i, a) in keys.iter().enumerate() {
            for b in &keys[..i] {
                assert_ne!(a, b);
            }
        }
        assert_eq!(keys[0], key_of(b"m", &o, "cpu", "+avx", "1"));
    }
}
