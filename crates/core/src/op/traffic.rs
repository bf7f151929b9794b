//! What an exchange between ranks costs, for predictions.

use fluvial_tensor::Type;

/// What crosses the link of one rank in an exchange. Of exchanges among all ranks it is what the usual algorithms need:
/// halves and doubles for sums, so that each element is sent about twice, whatever the number of ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// The bytes that the rank sends.
    pub sent: u64,
    /// The bytes that it receives.
    pub received: u64,
    /// How many messages follow one another, each of which waits for the link's latency.
    pub rounds: u64,
}

impl Traffic {
    /// Values of so many bytes become one on all of `world` ranks.
    pub fn all_reduce(bytes: u64, world: usize) -> Traffic {
        let half = Traffic::reduce_scatter(bytes, world);
        Traffic { sent: 2 * half.sent, received: 2 * half.received, rounds: 2 * half.rounds }
    }

    /// Values of so many bytes become one, of which each of `world` ranks gets a part.
    pub fn reduce_scatter(bytes: u64, world: usize) -> Traffic {
        let own = bytes.div_ceil(world.max(1) as u64);
        Traffic::symmetric(bytes.saturating_sub(own), doublings(world))
    }

    /// Each of `world` ranks brings so many bytes, and all get the bytes of all.
    pub fn all_gather(bytes: u64, world: usize) -> Traffic {
        Traffic::symmetric(bytes * (world.max(1) as u64 - 1), doublings(world))
    }

    /// Each of `world` ranks has so many bytes, a part of them for each of the others.
    pub fn all_to_all(bytes: u64, world: usize) -> Traffic {
        let own = bytes.div_ceil(world.max(1) as u64);
        Traffic::symmetric(bytes.saturating_sub(own), world.max(1) as u64 - 1)
    }

    /// So many bytes come from one rank to all of `world`.
    pub fn broadcast(bytes: u64, world: usize) -> Traffic {
        Traffic::symmetric(if world > 1 { bytes } else { 0 }, doublings(world))
    }

    /// The rank sends so many bytes to each of some others.
    pub fn sent(bytes: u64, others: usize) -> Traffic {
        Traffic { sent: bytes * others as u64, received: 0, rounds: others as u64 }
    }

    /// The rank gets so many bytes from each of some others.
    pub fn received(bytes: u64, others: usize) -> Traffic {
        Traffic { sent: 0, received: bytes * others as u64, rounds: others as u64 }
    }

    fn symmetric(bytes: u64, rounds: u64) -> Traffic {
        Traffic { sent: bytes, received: bytes, rounds }
    }

    /// The bytes of the busier direction of a link that carries both at once.
    pub fn most(self) -> u64 {
        self.sent.max(self.received)
    }
}

/// The bytes of tensors of known sizes.
pub fn bytes_of<'a>(types: impl IntoIterator<Item = &'a Type>) -> u64 {
    let bytes = |ty: &Type| match ty.numel().filter(|_| !ty.is_list()) {
        Some(numel) => numel.saturating_mul(ty.dtype().size()) as u64,
        None => 0,
    };
    types.into_iter().map(bytes).sum()
}

/// How often one becomes twice as many until all have it.
fn doublings(world: usize) -> u64 {
    u64::from(world.max(1).next_power_of_two().trailing_zeros())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_element_is_sent_about_twice() {
        let two = Traffic { sent: 1000, received: 1000, rounds: 2 };
        assert_eq!(Traffic::all_reduce(1000, 2), two);
        assert_eq!(Traffic::all_reduce(1000, 512).sent, 2 * 998);
        assert_eq!(Traffic::all_reduce(1000, 512).rounds, 18);
        assert_eq!(Traffic::all_reduce(1000, 1), Traffic::default());
        let (cut, put_together) = (Traffic::reduce_scatter(4096, 4), Traffic::all_gather(1024, 4));
        assert_eq!(cut, put_together);
        assert_eq!(Traffic::all_to_all(4096, 4).rounds, 3);
        assert_eq!(Traffic::broadcast(10, 1), Traffic::default());
        assert_eq!(Traffic::received(10, 3), Traffic { sent: 0, received: 30, rounds: 3 });
    }
}
