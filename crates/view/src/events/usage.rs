//! What a run takes of the machine, as curves.

use std::time::{Duration, Instant};

use fluvial::core::limits::resident;
use fluvial::tensor::memory;

/// Between two points of a curve.
const PAUSE: Duration = Duration::from_secs(1);

/// What a second of a core is in the numbers of the system: Linux shows hundredths, whatever it counts in.
const TICKS: f64 = 100.0;

/// Looks at the machine from time to time.
#[derive(Default)]
pub struct Usage {
    before: Option<(Instant, Times)>,
}

/// Seconds of cores.
#[derive(Clone, Copy)]
struct Times {
    own: f64,
    all: f64,
}

impl Usage {
    /// Points of the curves `machine/…`, unless the last ones are less than a second old: gigabytes of the process and
    /// of its tensors, and how many cores the process and all processes keep busy. What the system does not tell is left out.
    pub fn look(&mut self) -> Vec<(&'static str, f32)> {
        let now = Instant::now();
        if let Some((before, _)) = self.before
            && now - before < PAUSE
        {
            return Vec::new();
        }
        let gigabytes = |bytes: u64| (bytes as f64 / 1e9) as f32;
        let mut found = vec![("machine/tensors_gb", gigabytes(memory::stats().live_bytes))];
        found.extend(resident().map(|bytes| ("machine/memory_gb", gigabytes(bytes))));
        let Some(times) = times() else { return found };
        if let Some((before, earlier)) = self.before.replace((now, times)) {
            let seconds = (now - before).as_secs_f64();
            found.push(("machine/cores", ((times.own - earlier.own) / seconds) as f32));
            found.push(("machine/cores_of_all", ((times.all - earlier.all) / seconds) as f32));
        }
        found
    }
}

/// The time that this process and all processes have had so far, where the system tells.
fn times() -> Option<Times> {
    let own = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the process, which may have blanks, ends at the last parenthesis; 12 fields later comes its time.
    let own = own.rsplit_once(')')?.1;
    let own: f64 = own.split_whitespace().skip(11).take(2).filter_map(ticks).sum();
    let all = std::fs::read_to_string("/proc/stat").ok()?;
    let all = all.lines().next()?.strip_prefix("cpu ")?;
    let fields: Vec<f64> = all.split_whitespace().filter_map(ticks).take(8).collect();
    // User, nice, system, idle, waiting for disks, interrupts of both kinds, taken by other machines.
    let busy = fields.iter().enumerate().filter(|(i, _)| ![3, 4].contains(i));
    Some(Times { own, all: busy.map(|(_, time)| time).sum() })
}

fn ticks(text: &str) -> Option<f64> {
    text.parse::<f64>().ok().map(|ticks| ticks / TICKS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_tell_of_this_process() {
        let mut usage = Usage::default();
        let first = usage.look();
        assert!(usage.look().is_empty(), "a second has not passed");
        if times().is_none() || resident().is_none() {
            return;
        }
        let names: Vec<&str> = first.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["machine/tensors_gb", "machine/memory_gb"]);
        assert!(first[1].1 > 0.0);
        let (start, work) = usage.before.unwrap();
        usage.before = Some((start - PAUSE, Times { own: work.own - 0.5, all: work.all - 1.0 }));
        let second = usage.look();
        assert!(second[2].1 > 0.1 && second[3].1 > 0.2, "{second:?}");
    }
}
