//! The loss, as it goes.

use fluvial_core::Value;

use crate::inspect;

/// What is known of the losses so far.
#[derive(Default)]
pub struct Losses {
    count: u64,
    mean: f64,
    variance: f64,
    last: Option<f64>,
}

/// So many losses must have been seen before one can be too high.
const MIN_COUNT: u64 = 8;
/// The weight of the latest loss in mean and variance.
const WEIGHT: f64 = 0.1;

impl Losses {
    /// Takes a loss; what to say if it is far above what it was.
    pub fn add(&mut self, loss: f64) -> Option<String> {
        let (mean, deviation) = (self.mean, self.variance.sqrt());
        self.last = Some(loss);
        if !loss.is_finite() {
            return None;
        }
        self.count += 1;
        let weight = WEIGHT.max(1.0 / self.count as f64);
        let off = loss - self.mean;
        self.mean += weight * off;
        self.variance = (1.0 - weight) * (self.variance + weight * off * off);
        let is_spike = self.count > MIN_COUNT && off > 6.0 * deviation && off > 0.5 * mean.abs();
        is_spike.then(|| {
            let (loss, mean) = (inspect::short(loss), inspect::short(mean));
            format!("the loss is {loss}, and it was {mean} before")
        })
    }

    /// The latest loss.
    pub fn last(&self) -> Option<f64> {
        self.last
    }

    /// The latest loss in words.
    pub fn text(&self) -> String {
        self.last.map_or(String::new(), |loss| format!("loss {}", inspect::short(loss)))
    }
}

/// The number that a value of one element is.
pub fn number(value: &Value) -> Option<f64> {
    let tensor = value.tensor().ok().filter(|tensor| tensor.numel() == 1)?;
    tensor.to_f64s().first().copied()
}

/// Whether a name is one of a loss.
pub fn is_loss(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or(name);
    last == "loss" || last == "cost" || last.ends_with("_loss") || last == "avg_cost"
}

#[cfg(test)]
mod tests {
    use super::Losses;

    #[test]
    fn a_spike_is_far_above_what_was() {
        let mut losses = Losses::default();
        for i in 0..50 {
            let noise = f64::from(i * 7 % 5) * 0.02;
            assert_eq!(losses.add(2.0 - 0.02 * f64::from(i) + noise), None, "{i}");
        }
        assert_eq!(losses.add(f64::NAN), None);
        assert!(losses.add(9.0).is_some());
    }
}
