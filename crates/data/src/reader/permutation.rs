//! Random orders, of which each place can be asked for alone.

use std::collections::HashMap;
use std::sync::Arc;

use super::access::Place;

/// Up to this many numbers an order is written down; above, it is computed place by place.
const MAX_TABLE: u64 = 1 << 16;

/// Numbers of all tables that are kept.
const MAX_KEPT: usize = 1 << 22;

/// SplitMix64's finaliser: every bit of the result depends on every bit of `x`.
pub(super) fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

/// SplitMix64.
#[derive(Clone)]
pub(super) struct Random(u64);

impl Random {
    /// The numbers of a pass.
    pub(super) fn new(seed: u64, epoch: u64) -> Random {
        let seed = mix(seed.wrapping_add(0x9E37_79B9_7F4A_7C15));
        Random(mix(seed ^ mix(epoch.wrapping_add(0xD1B5_4A32_D192_ED03))))
    }

    /// The numbers of one result of a pass, for one of several purposes.
    pub(super) fn at(seed: u64, purpose: u64, place: Place) -> Random {
        let Random(pass) = Random::new(seed ^ mix(purpose), place.epoch);
        Random(mix(pass ^ mix(place.index.wrapping_add(0x8CB9_2BA7_2F3D_8DD7))))
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.0)
    }

    /// A number below `n`, which is not 0. Multiplying instead of dividing prefers none by more than one
    /// part in 2^64 / n.
    pub(super) fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u64
    }

    /// A number from 0 to 1, without 1.
    pub(super) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Seed, pass, and how many numbers there are.
type Key = (u64, u64, u64);

/// The orders that a cursor has needed.
#[derive(Default)]
pub(super) struct Tables {
    kept: HashMap<Key, Arc<[u32]>>,
    n_numbers: usize,
    last: Option<(Key, Order)>,
}

/// An order of the numbers below a length.
enum Order {
    Table(Arc<[u32]>),
    Network(Network),
}

impl Order {
    fn at(&self, index: u64) -> u64 {
        match self {
            Order::Table(table) => u64::from(table[index as usize]),
            Order::Network(network) => network.at(index),
        }
    }
}

impl Tables {
    /// What stands at a place of the order of the numbers below `len`, by seed and pass. `index` must be
    /// below `len`.
    pub(super) fn at(&mut self, seed: u64, epoch: u64, len: u64, index: u64) -> u64 {
        let key = (seed, epoch, len);
        match &self.last {
            Some((last, order)) if *last == key => order.at(index),
            _ => {
                let order = match len > MAX_TABLE {
                    true => Order::Network(Network::new(seed, epoch, len)),
                    false => Order::Table(self.table(key)),
                };
                let number = order.at(index);
                self.last = Some((key, order));
                number
            }
        }
    }

    fn table(&mut self, key: Key) -> Arc<[u32]> {
        let (seed, epoch, len) = key;
        if let Some(table) = self.kept.get(&key) {
            return table.clone();
        }
        if self.n_numbers + len as usize > MAX_KEPT {
            self.kept.clear();
            self.n_numbers = 0;
        }
        let mut random = Random::new(seed, epoch);
        let mut table: Vec<u32> = (0..len as u32).collect();
        for i in (1..table.len()).rev() {
            table.swap(i, random.below(i as u64 + 1) as usize);
        }
        let table: Arc<[u32]> = table.into();
        self.kept.insert(key, table.clone());
        self.n_numbers += len as usize;
        table
    }
}

/// A Feistel network over the numbers of as many bits as the largest needs. Whoever lands outside goes on
/// from there until inside, which keeps it a permutation.
struct Network {
    keys: [u64; ROUNDS],
    len: u64,
    high_bits: u32,
    low_bits: u32,
}

/// Even, so that both halves end as wide as they were.
const ROUNDS: usize = 6;

impl Network {
    fn new(seed: u64, epoch: u64, len: u64) -> Network {
        let mut random = Random::new(seed, epoch);
        let bits = u64::BITS - (len - 1).leading_zeros();
        let keys = std::array::from_fn(|_| random.next());
        Network { keys, len, high_bits: bits / 2, low_bits: bits - bits / 2 }
    }

    fn at(&self, index: u64) -> u64 {
        let mut x = index;
        loop {
            let (mut high_bits, mut low_bits) = (self.high_bits, self.low_bits);
            let (mut high, mut low) = (x >> low_bits, x & mask(low_bits));
            for key in self.keys {
                let next = high ^ (mix(low ^ key) & mask(high_bits));
                (high, low) = (low, next);
                (high_bits, low_bits) = (low_bits, high_bits);
            }
            x = (high << low_bits) | low;
            if x < self.len {
                return x;
            }
        }
    }
}

fn mask(bits: u32) -> u64 {
    (1 << bits) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_comes_once() {
        let mut tables = Tables::default();
        for len in [1, 2, 3, 10, 1000, MAX_TABLE, MAX_TABLE + 1, 100_003, 1 << 17, (1 << 17) + 1] {
            for epoch in [0, 5] {
                let mut seen = vec![false; len as usize];
                for index in 0..len {
                    let number = tables.at(3, epoch, len, index) as usize;
                    assert!(!std::mem::replace(&mut seen[number], true), "{len}: {number} twice");
                }
            }
        }
    }

    #[test]
    fn orders_are_fixed_and_differ_by_seed_and_pass() {
        let order = |seed, epoch, len: u64| -> Vec<u64> {
            let mut tables = Tables::default();
            (0..8).map(|index| tables.at(seed, epoch, len, index)).collect()
        };
        for len in [1000, 1_000_000, u64::MAX] {
            let orders = [order(1, 0, len), order(1, 1, len), order(2, 0, len), order(0, 1, len)];
            for (i, a) in orders.iter().enumerate() {
                assert!(a.iter().all(|&number| number < len));
                assert!(orders[..i].iter().all(|b| a != b));
            }
        }
        // Stored positions count on these.
        assert_eq!(order(7, 0, 10), ORDER_OF_TEN);
        assert_eq!(order(7, 0, 1_000_000), ORDER_OF_A_MILLION);
    }

    const ORDER_OF_TEN: [u64; 8] = [1, 2, 0, 4, 6, 5, 7, 8];
    const ORDER_OF_A_MILLION: [u64; 8] =
        [358520, 97032, 121790, 616959, 257485, 80979, 529358, 607750];

    #[test]
    fn all_orders_of_few_come_about_equally_often() {
        let mut counts = HashMap::new();
        let mut tables = Tables::default();
        for epoch in 0..6000 {
            let order: Vec<u64> = (0..3).map(|index| tables.at(1, epoch, 3, index)).collect();
            *counts.entry(order).or_insert(0) += 1;
        }
        assert_eq!(counts.len(), 6);
        assert!(counts.values().all(|n| (850..1150).contains(n)), "{counts:?}");
    }

    #[test]
    fn places_far_apart_are_unrelated_in_large_orders() {
        let mut tables = Tables::default();
        let len = 1_000_000_u64;
        let numbers: Vec<f64> =
            (0..20_000).map(|i| tables.at(9, 0, len, i) as f64 / len as f64).collect();
        let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
        let product = |lag: usize| {
            let pairs = numbers.iter().zip(&numbers[lag..]);
            pairs.map(|(a, b)| (a - 0.5) * (b - 0.5)).sum::<f64>() / numbers.len() as f64 * 12.0
        };
        assert!((mean - 0.5).abs() < 0.01, "{mean}");
        for lag in [1, 2, 3, 7, 1000] {
            assert!(product(lag).abs() < 0.04, "lag {lag}: {}", product(lag));
        }
    }

    #[test]
    fn kept_tables_are_bounded() {
        let mut tables = Tables::default();
        for epoch in 0..80 {
            tables.at(1, epoch, MAX_TABLE, 0);
            assert!(tables.n_numbers <= MAX_KEPT);
        }
    }
}
