//! Levels of a curve: where it is flat, and where it steps.

/// A part of a curve on which values hardly change.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Level {
    /// The first size that belongs to it, in bytes.
    pub from: f64,
    /// Last size of the level.
    pub to: f64,
    /// The middle value of its points.
    pub value: f64,
    /// Number of points on the plateau.
    pub points: usize,
}

/// Neighbours on a level differ less than this factor; two caches differ more.
const FLAT: f64 = 1.25;
/// A level is two points and more: one alone may be on the way from one level to the next.
const POINTS_MIN: usize = 2;

/// The levels of a curve of latency or bandwidth over sizes.
///
/// `points`: sizes in bytes, ascending, and a value above 0 for each. A level is the longest run of points that all lie within a
/// quarter of its first; what is steeper lies between levels.
pub fn plateaus(points: &[(f64, f64)]) -> Vec<Level> {
    let mut levels = Vec::new();
    let mut rest = points;
    while let Some((&(from, first), _)) = rest.split_first() {
        let near = |value: f64| value > 0.0 && (value / first).max(first / value) < FLAT;
        let length = rest.iter().take_while(|(_, value)| near(*value)).count().max(1);
        let (level, after) = rest.split_at(length);
        if level.len() >= POINTS_MIN {
            let mut values: Vec<f64> = level.iter().map(|point| point.1).collect();
            values.sort_by(f64::total_cmp);
            let value = values[values.len() / 2];
            levels.push(Level { from, to: level[level.len() - 1].0, value, points: level.len() });
        }
        rest = after;
    }
    levels
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_caches_and_memory_are_four_levels() {
        let latency = [4.0, 4.0, 4.1, 12.0, 12.5, 13.0, 30.0, 47.0, 48.0, 50.0, 120.0, 290.0, 300.0];
        let points: Vec<(f64, f64)> =
            latency.iter().enumerate().map(|(place, &value)| (f64::from(4096 << place), value)).collect();
        let levels = plateaus(&points);
        assert_eq!(levels.iter().map(|level| level.value).collect::<Vec<_>>(), [4.0, 12.5, 48.0, 300.0]);
        assert_eq!((levels[1].from, levels[1].to, levels[1].points), (32768.0, 131_072.0, 3));
    }

    #[test]
    fn a_slope_has_no_level_and_nothing_has_none() {
        let slope: Vec<(f64, f64)> = (0..9).map(|place| (f64::from(place), 2f64.powi(place))).collect();
        assert!(plateaus(&slope).is_empty());
        assert!(plateaus(&[]).is_empty());
        assert!(plateaus(&[(1.0, f64::NAN), (2.0, 0.0), (3.0, -1.0)]).is_empty());
    }
}
