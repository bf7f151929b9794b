//! Decoded chunks that are kept in memory.

use std::any::Any;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Decoded chunks of one or more files, up to a number of bytes. What was not used for longest goes first.
#[derive(Debug)]
pub struct Cache {
    limit: usize,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    /// The chunks of each file, by number.
    files: HashMap<u64, Vec<Option<Entry>>>,
    bytes: usize,
    clock: u64,
}

#[derive(Debug)]
struct Entry {
    value: Arc<dyn Any + Send + Sync>,
    bytes: usize,
    used: u64,
}

impl Cache {
    /// The limit where none is given: 512 MiB.
    pub const DEFAULT: usize = 512 << 20;

    /// A cache of so many bytes; 0 keeps nothing.
    pub fn new(limit: usize) -> Arc<Cache> {
        Arc::new(Cache { limit, kept: Mutex::default() })
    }

    /// The bytes that are in use.
    pub fn bytes(&self) -> usize {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).bytes
    }

    /// A number for a file that uses the cache.
    pub(crate) fn next_file() -> u64 {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        NEXT.fetch_add(1, Ordering::Relaxed)
    }

    /// Looks up several chunks of a file at once.
    pub(crate) fn get<T: Any + Send + Sync>(
        &self,
        file: u64,
        chunks: impl Iterator<Item = usize>,
    ) -> Vec<Option<Arc<T>>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.clock += 1;
        let clock = kept.clock;
        let Some(entries) = kept.files.get_mut(&file) else {
            return chunks.map(|_| None).collect();
        };
        let look_up = |chunk: usize| {
            let entry = entries.get_mut(chunk)?.as_mut()?;
            entry.used = clock;
            entry.value.clone().downcast().ok()
        };
        chunks.map(look_up).collect()
    }

    /// Keeps a chunk.
    pub(crate) fn put<T: Any + Send + Sync>(
        &self,
        file: u64,
        chunk: usize,
        value: &Arc<T>,
        bytes: usize,
    ) {
        if bytes > self.limit {
            return;
        }
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.clock += 1;
        let entry = Entry { value: value.clone(), bytes, used: kept.clock };
        kept.bytes += bytes;
        let entries = kept.files.entry(file).or_default();
        if entries.len() <= chunk {
            entries.resize_with(chunk + 1, || None);
        }
        if let Some(before) = entries[chunk].replace(entry) {
            kept.bytes -= before.bytes;
        }
        if kept.bytes > self.limit {
            kept.evict(self.limit - self.limit / 8);
        }
    }
}

impl Kept {
    /// Gives back what was not used for longest. It makes more room than is needed, so that it runs rarely.
    fn evict(&mut self, target: usize) {
        let mut oldest = Vec::new();
        for (&file, entries) in &self.files {
            let used =
                |(chunk, entry): (usize, &Option<Entry>)| Some((entry.as_ref()?.used, file, chunk));
            oldest.extend(entries.iter().enumerate().filter_map(used));
        }
        oldest.sort_unstable();
        for (_, file, chunk) in oldest {
            if self.bytes <= target {
                break;
            }
            let entry = self.files.get_mut(&file).and_then(|entries| entries[chunk].take());
            self.bytes -= entry.map_or(0, |entry| entry.bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_used_for_longest_goes_first() {
        let cache = Cache::new(800);
        let file = Cache::next_file();
        for chunk in 0..8 {
            cache.put(file, chunk, &Arc::new(chunk), 100);
        }
        assert_eq!(cache.bytes(), 800);
        assert!(cache.get::<usize>(file, [0].into_iter())[0].is_some());
        cache.put(file, 8, &Arc::new(8_usize), 100);
        assert_eq!(cache.bytes(), 700);
        let found = cache.get::<usize>(file, 0..9);
        let there: Vec<usize> = found.into_iter().flatten().map(|value| *value).collect();
        assert_eq!(there, [0, 3, 4, 5, 6, 7, 8]);
    }

    #[test]
    fn the_limit_holds() {
        let cache = Cache::new(100);
        cache.put(0, 0, &Arc::new(0), 101);
        assert_eq!(cache.bytes(), 0);
        cache.put(0, 1, &Arc::new(1), 60);
        cache.put(0, 1, &Arc::new(1), 60);
        assert_eq!(cache.bytes(), 60);
        cache.put(1, 1, &Arc::new(1), 60);
        assert_eq!(cache.bytes(), 60);
        assert!(cache.get::<i32>(0, [1].into_iter())[0].is_none());
        assert!(cache.get::<i32>(1, [1].into_iter())[0].is_some());
    }
}
