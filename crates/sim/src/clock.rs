//! Wall-clock times as the engine writes them.

use std::time::{SystemTime, UNIX_EPOCH};

const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const DAY: u64 = 86_400;

/// Seconds since 1970, with a fraction.
pub(crate) fn unix() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

/// Whole seconds since 1970.
pub(crate) fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// A `date` header: `Sun, 29 Nov 2026 15:31:34 GMT`.
pub(crate) fn http_date(seconds: u64) -> String {
    let (year, month, day) = civil(seconds / DAY);
    let (hour, minute, second) = time_of_day(seconds);
    let weekday = DAYS[(seconds / DAY % 7) as usize];
    let month = MONTHS[month as usize - 1];
    format!("{weekday}, {day:02} {month} {year} {hour:02}:{minute:02}:{second:02} GMT")
}

/// Python's `isoformat` in UTC: `2026-11-29T15:32:18.666524+00:00`.
pub(crate) fn iso(unix: f64) -> String {
    let micros = (unix * 1e6) as u64;
    let seconds = micros / 1_000_000;
    let (year, month, day) = civil(seconds / DAY);
    let (hour, minute, second) = time_of_day(seconds);
    let fraction = micros % 1_000_000;
    format!("{year}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{fraction:06}+00:00")
}

fn time_of_day(seconds: u64) -> (u64, u64, u64) {
    (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60)
}

/// Year, month and day of a day counted from 1970-01-01 (Hinnant's `civil_from_days`).
fn civil(days: u64) -> (u64, u64, u64) {
    let z = days + 719_468;
    let era = z / 146_097;
    let day_of_era = z % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (year_of_era + era * 400 + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_read_as_recorded() {
        assert_eq!(http_date(1_795_966_294), "Sun, 29 Nov 2026 15:31:34 GMT");
        assert_eq!(iso(1_795_966_338.666_524), "2026-11-29T15:32:18.666524+00:00");
        assert_eq!(http_date(951_782_400), "Tue, 29 Feb 2000 00:00:00 GMT");
    }
}
