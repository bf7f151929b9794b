//! Curves: many points, of which a picture needs few.

use serde_json::{Value as Json, json};

/// A point of a curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// The step.
    pub step: i64,
    /// When, in seconds since 1970.
    pub time: f64,
    /// The number; it may be infinite or none.
    pub value: f64,
}

/// A curve.
#[derive(Clone, Debug, Default)]
pub struct Series {
    points: Vec<Point>,
    is_sorted: bool,
    n_back: usize,
}

/// How often it is told that a curve goes back: where several write it at once, it does so all the time.
const MOST_BACK: usize = 10;

/// What a picture shows of a curve.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// The first and the last place, if not all are shown.
    pub range: Option<(f64, f64)>,
    /// Into how many parts it is cut; of each, the least and the largest number are shown.
    pub parts: usize,
    /// How much of a point is what was before it, from 0 to 1.
    pub smoothing: f64,
    /// Whether places are seconds from this time on instead of steps.
    pub since: Option<f64>,
}

impl Series {
    /// Adds a point, and returns the step before if it was a later one, the first few times.
    pub fn push(&mut self, point: Point) -> Option<i64> {
        let before = self.points.last().map(|last| last.step);
        let is_back = before.filter(|&before| before > point.step);
        self.is_sorted = (self.is_sorted || self.points.is_empty()) && is_back.is_none();
        self.points.push(point);
        self.n_back += usize::from(is_back.is_some());
        is_back.filter(|_| self.n_back <= MOST_BACK)
    }

    /// How many points there are.
    pub fn len(&self) -> usize {
        self.points.len()
    }

    /// The point that was added last.
    pub fn last(&self) -> Option<&Point> {
        self.points.last()
    }

    /// All points in order of steps, and of times where a run was begun again from an earlier step.
    fn sorted(&self) -> std::borrow::Cow<'_, [Point]> {
        if self.is_sorted {
            return self.points.as_slice().into();
        }
        let mut points = self.points.clone();
        points.sort_by(|a, b| a.step.cmp(&b.step).then(a.time.total_cmp(&b.time)));
        points.into()
    }

    /// What a window shows: places, numbers as they are, and smoothed ones if asked for. Where there is no finite
    /// number stands null, so that the curve has a gap.
    pub fn window(&self, window: &Window) -> Json {
        let points = self.sorted();
        let place = |point: &Point| match window.since {
            Some(since) => point.time - since,
            None => point.step as f64,
        };
        let smooth = (window.smoothing > 0.0).then(|| smoothed(&points, window.smoothing));
        // Smoothed numbers are means of what stands before, also before the window.
        let shown = match window.range {
            Some((from, to)) if window.since.is_none() => {
                let first = points.partition_point(|p| place(p) < from).saturating_sub(1);
                let end = points.partition_point(|p| place(p) <= to);
                first..(end + 1).min(points.len()).max(first)
            }
            _ => 0..points.len(),
        };
        let is_in = |i: usize| match (window.range, window.since) {
            (Some((from, to)), Some(_)) => (from..=to).contains(&place(&points[i])),
            _ => true,
        };
        let chosen: Vec<usize> = shown.filter(|&i| is_in(i)).collect();
        let by = |i: usize| smooth.as_ref().map_or(points[i].value, |smooth| smooth[i]);
        let chosen = thinned(&chosen, window.parts.clamp(2, 20_000), |i| points[i].value, by);
        let number = |x: f64| if x.is_finite() { json!(x) } else { Json::Null };
        let column = |of: &dyn Fn(usize) -> f64| -> Vec<Json> {
            chosen.iter().map(|&i| number(of(i))).collect()
        };
        let mut answer = json!({
            "x": column(&|i| place(&points[i])),
            "y": column(&|i| points[i].value),
            "step": chosen.iter().map(|&i| points[i].step).collect::<Vec<_>>(),
            "time": column(&|i| points[i].time),
            "n": points.len(),
        });
        if let Some(smooth) = &smooth {
            answer["smooth"] = Json::from(column(&|i| smooth[i]));
        }
        answer
    }

    /// The points as a table for other programs.
    pub fn csv(&self) -> String {
        let mut text = "step,time,value\n".to_string();
        for Point { step, time, value } in self.sorted().iter() {
            text += &format!("{step},{time},{value}\n");
        }
        text
    }
}

/// The mean of what has been so far, the latest counting most; numbers that are not finite are passed over.
fn smoothed(points: &[Point], smoothing: f64) -> Vec<f64> {
    let keep = smoothing.clamp(0.0, 0.9999);
    let (mut mean, mut weight) = (0.0, 0.0);
    let next = |point: &Point| {
        if !point.value.is_finite() {
            return point.value;
        }
        mean = mean * keep + point.value * (1.0 - keep);
        // The first points have few before them.
        weight = weight * keep + (1.0 - keep);
        mean / weight
    };
    points.iter().map(next).collect()
}

/// Of each part, the places of the least and the largest number, by both ways to look at them, and of the first one
/// that is not finite.
fn thinned(
    all: &[usize],
    parts: usize,
    value: impl Fn(usize) -> f64,
    smooth: impl Fn(usize) -> f64,
) -> Vec<usize> {
    if all.len() <= 2 * parts {
        return all.to_vec();
    }
    let mut chosen = Vec::with_capacity(4 * parts + 2);
    let size = all.len().div_ceil(parts);
    for part in all.chunks(size) {
        let (mut least, mut largest, mut odd) = (None, None, None);
        for &i in part {
            let x = value(i);
            if !x.is_finite() {
                odd = odd.or(Some(i));
                continue;
            }
            if least.is_none_or(|j| x < value(j)) {
                least = Some(i);
            }
            if largest.is_none_or(|j| x > value(j)) {
                largest = Some(i);
            }
        }
        let middle = part[part.len() / 2];
        let middle = smooth(middle).is_finite().then_some(middle);
        let mut here: Vec<usize> = [least, largest, odd, middle].into_iter().flatten().collect();
        here.sort_unstable();
        here.dedup();
        chosen.extend(here);
    }
    // The ends are what people look at.
    for end in [all.first(), all.last()].into_iter().flatten() {
        if let Err(at) = chosen.binary_search(end) {
            chosen.insert(at, *end);
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(values: impl IntoIterator<Item = f64>) -> Series {
        let mut series = Series::default();
        for (step, value) in values.into_iter().enumerate() {
            series.push(Point { step: step as i64, time: 100.0 + step as f64, value });
        }
        series
    }

    const ALL: Window = Window { range: None, parts: 1000, smoothing: 0.0, since: None };

    #[test]
    fn a_million_points_keep_their_extremes() {
        let all = series((0..1_000_000).map(|i| if i == 777_777 { 9.0 } else { f64::from(i % 7) }));
        let shown = all.window(&ALL);
        let ys = shown["y"].as_array().unwrap();
        assert!(ys.len() <= 4002, "{}", ys.len());
        assert!(ys.contains(&json!(9.0)));
        assert_eq!(shown["x"][0], json!(0.0));
        assert_eq!(shown["x"].as_array().unwrap().last(), Some(&json!(999_999.0)));
        let near = all.window(&Window { range: Some((777_770.0, 777_780.0)), ..ALL });
        assert_eq!(near["x"].as_array().unwrap().len(), 13);
    }

    #[test]
    fn what_is_not_finite_is_a_gap() {
        let shown = series([1.0, f64::NAN, 3.0]).window(&Window { smoothing: 0.5, ..ALL });
        assert_eq!(shown["y"], json!([1.0, null, 3.0]));
        assert_eq!(shown["smooth"][0], json!(1.0));
        assert_eq!(shown["smooth"][1], Json::Null);
        // (1 * 0.25 + 3 * 0.5) / 0.75
        assert!((shown["smooth"][2].as_f64().unwrap() - 7.0 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn steps_that_go_back_are_put_in_order() {
        let mut all = series([1.0, 2.0, 3.0]);
        assert_eq!(all.push(Point { step: 1, time: 200.0, value: 5.0 }), Some(2));
        assert_eq!(all.window(&ALL)["y"], json!([1.0, 2.0, 5.0, 3.0]));
        let by_time = all.window(&Window { since: Some(100.0), range: Some((1.0, 2.0)), ..ALL });
        assert_eq!(by_time["x"], json!([1.0, 2.0]));
        assert_eq!(all.csv().lines().nth(1), Some("0,100,1"));
    }
}
