//! A bounded cache: what was used longest ago goes first.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// A few values by key, of which those stay that were used last. Threads may share it; a value that two of them
/// miss at once is made twice, and the later one stays.
///
/// It looks through its entries from the latest on, which for some dozens is faster than hashing.
///
/// ```
/// use fluvial_core::Cache;
///
/// let squares: Cache<u64, u64> = Cache::new(2);
/// let square = |n: u64| squares.get_or(&n, || Ok::<u64, ()>(n * n));
/// assert_eq!((square(3), square(4), square(3), square(5)), (Ok(9), Ok(16), Ok(9), Ok(25)));
/// assert_eq!((squares.get(&3), squares.get(&4)), (Some(9), None));
/// ```
#[derive(Debug)]
pub struct Cache<K, V> {
    limit: usize,
    /// The latest first.
    entries: Mutex<Vec<(K, V)>>,
}

impl<K: PartialEq + Clone, V: Clone> Cache<K, V> {
    /// For so many values.
    pub const fn new(limit: usize) -> Cache<K, V> {
        Cache { limit, entries: Mutex::new(Vec::new()) }
    }

    /// The value of a key, which is now the latest one.
    pub fn get(&self, key: &K) -> Option<V> {
        let mut entries = self.lock();
        let at = entries.iter().position(|(known, _)| known == key)?;
        entries[..=at].rotate_right(1);
        Some(entries[0].1.clone())
    }

    /// The value of a key, made if it is not there. Nobody waits meanwhile, and an error leaves nothing behind.
    pub fn get_or<E>(&self, key: &K, make: impl FnOnce() -> Result<V, E>) -> Result<V, E> {
        if let Some(known) = self.get(key) {
            return Ok(known);
        }
        let made = make()?;
        self.insert(key.clone(), made.clone());
        Ok(made)
    }

    /// Puts a value in, in place of one of the same key.
    pub fn insert(&self, key: K, value: V) {
        let mut entries = self.lock();
        let known = entries.iter().position(|(known, _)| *known == key);
        let old = match known {
            Some(at) => Some(entries.remove(at)),
            None if entries.len() >= self.limit => entries.pop(),
            None => None,
        };
        entries.insert(0, (key, value));
        drop(entries);
        // What is freed may run code of others, which must not find the lock taken.
        drop(old);
    }

    /// The latest value for which `is` holds, which is now the latest one of all.
    pub fn find(&self, is: impl Fn(&K, &V) -> bool) -> Option<V> {
        let mut entries = self.lock();
        let at = entries.iter().position(|(key, value)| is(key, value))?;
        entries[..=at].rotate_right(1);
        Some(entries[0].1.clone())
    }

    /// All values, the latest first.
    pub fn values(&self) -> Vec<V> {
        self.lock().iter().map(|(_, value)| value.clone()).collect()
    }

    /// Forgets everything.
    pub fn clear(&self) {
        let old = std::mem::take(&mut *self.lock());
        drop(old);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(K, V)>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_longest_ago_goes_first() {
        let cache = Cache::new(3);
        for key in [1, 2, 3] {
            cache.insert(key, key * 10);
        }
        assert_eq!(cache.get(&1), Some(10));
        cache.insert(4, 40);
        let kept: Vec<Option<i32>> = (1..=4).map(|key| cache.get(&key)).collect();
        assert_eq!(kept, [Some(10), None, Some(30), Some(40)]);
        cache.insert(3, 31);
        assert_eq!((cache.get(&3), cache.get(&1)), (Some(31), Some(10)));
        assert_eq!(cache.find(|_, value| *value == 40), Some(40));
        cache.clear();
        assert_eq!(cache.get(&1), None);
    }

    #[test]
    fn an_error_leaves_nothing_behind() {
        let cache: Cache<i32, i32> = Cache::new(1);
        assert_eq!(cache.get_or(&1, || Err("no")), Err("no"));
        assert_eq!(cache.get_or(&1, || Ok::<i32, &str>(5)), Ok(5));
        assert_eq!(cache.get_or(&1, || Err("not called")), Ok(5));
    }
}
