//! The calendar of the European Central Bank: the days on which it publishes reference rates (`rates.md`, "Guard against
//! slips").
//!
//! These are the days of TARGET since 2002: all but weekends and six holidays. All functions are pure.

use jiff::civil::{Date, Weekday};
use jiff::{Span, ToSpan};

/// The age in business days at which a reference rate is stale: by then, the next one should have come.
pub(crate) const STALE_DAYS: u32 = 2;

/// The most days to count; a rate that is older counts as that old.
const MAX_DAYS: u32 = 10_000;

/// Returns how many business days have begun since a day; 0 for a day that is not over.
pub(crate) fn business_days_since(day: Date, today: Date) -> u32 {
    let mut count = 0;
    let mut next = day;
    for _ in 0..MAX_DAYS {
        next = next.saturating_add(1.day());
        if next > today {
            break;
        }
        count += u32::from(is_business_day(next));
    }
    count
}

/// Returns the day before which rates are stale: the last business day but one.
pub(crate) fn stale_before(today: Date) -> Date {
    let (mut day, mut left) = (today, STALE_DAYS);
    for _ in 0..MAX_DAYS {
        left -= u32::from(is_business_day(day));
        if left == 0 {
            break;
        }
        day = day.saturating_sub(1.day());
    }
    day
}

/// Returns whether the bank publishes rates on a day.
pub(crate) fn is_business_day(day: Date) -> bool {
    let is_weekend = matches!(day.weekday(), Weekday::Saturday | Weekday::Sunday);
    let is_fixed = matches!((day.month(), day.day()), (1 | 5, 1) | (12, 25 | 26));
    !is_weekend && !is_fixed && !is_of_easter(day)
}

/// Returns whether a day is Good Friday or Easter Monday.
fn is_of_easter(day: Date) -> bool {
    let Some(sunday) = easter(day.year()) else {
        return false;
    };
    let is_away = |span: Span| day == sunday.saturating_add(span);
    is_away(-2.days()) || is_away(1.day())
}

/// Returns Easter Sunday of a Gregorian year, by the method that Butcher published in 1876.
fn easter(year: i16) -> Option<Date> {
    let year = i32::from(year);
    let (golden, century, of_century) = (year % 19, year / 100, year % 100);
    let moon_steps = (century - (century + 8) / 25 + 1) / 3;
    let epact = (19 * golden + century - century / 4 - moon_steps + 15) % 30;
    let weekday = (32 + 2 * (century % 4) + 2 * (of_century / 4) - epact - of_century % 4) % 7;
    let late = (golden + 11 * epact + 22 * weekday) / 451;
    let days = epact + weekday - 7 * late + 114;
    let number = |number: i32| i8::try_from(number).ok();
    let year = i16::try_from(year).ok()?;
    Date::new(year, number(days / 31)?, number(days % 31 + 1)?).ok()
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    #[test]
    fn easter_is_where_the_church_has_it() {
        let rows = [
            (1999, 4, 4),
            (2000, 4, 23),
            (2002, 3, 31),
            (2008, 3, 23),
            (2011, 4, 24),
            (2016, 3, 27),
            (2019, 4, 21),
            (2024, 3, 31),
            (2025, 4, 20),
            (2026, 4, 5),
            (2027, 3, 28),
            (2038, 4, 25),
            (2049, 4, 18),
            (2076, 4, 19),
            (2099, 4, 12),
        ];
        for (year, month, day) in rows {
            assert_eq!(easter(year), Some(date(year, month, day)));
        }
        for year in 1900..2300 {
            assert_eq!(easter(year).map(Date::weekday), Some(Weekday::Sunday));
        }
    }

    #[test]
    fn the_bank_rests_on_weekends_and_six_holidays() {
        let rests = [
            date(2026, 1, 1),
            date(2026, 4, 3),
            date(2026, 4, 6),
            date(2026, 5, 1),
            date(2026, 12, 25),
            date(2025, 12, 26),
            date(2026, 11, 21),
            date(2026, 11, 22),
        ];
        assert!(rests.into_iter().all(|day| !is_business_day(day)));
        // These are holidays in Frankfurt, but not in the calendar.
        let works = [
            date(2026, 1, 6),
            date(2026, 5, 14),
            date(2026, 5, 25),
            date(2026, 10, 2),
            date(2026, 12, 24),
            date(2026, 12, 31),
        ];
        assert!(works.into_iter().all(is_business_day));
        // 365 days, less 104 on weekends and the holidays of 2026 that fall on other days.
        let year = date(2026, 1, 1).series(1.day()).take(365);
        assert_eq!(year.filter(|day| is_business_day(*day)).count(), 256);
    }

    #[test]
    fn what_is_stale_is_two_business_days_old() {
        for today in date(2025, 12, 20).series(1.day()).take(400) {
            let limit = stale_before(today);
            assert_eq!(business_days_since(limit, today), 1, "{today}");
            let stale = limit.saturating_sub(1.day());
            assert_eq!(business_days_since(stale, today), STALE_DAYS, "{today}");
        }
    }

    #[test]
    fn business_days_are_counted_from_the_day_after() {
        let rows = [
            (date(2026, 11, 20), date(2026, 11, 20), 0),
            (date(2026, 11, 20), date(2026, 11, 22), 0),
            (date(2026, 11, 20), date(2026, 11, 23), 1),
            (date(2026, 11, 20), date(2026, 11, 24), 2),
            (date(2026, 4, 2), date(2026, 4, 6), 0),
            (date(2026, 4, 2), date(2026, 4, 7), 1),
            (date(2025, 12, 24), date(2026, 1, 2), 4),
            (date(2026, 11, 20), date(2026, 11, 19), 0),
            (date(2026, 11, 20), date(2027, 11, 20), 256),
        ];
        for (day, today, expected) in rows {
            assert_eq!(business_days_since(day, today), expected, "{day} {today}");
        }
        assert!(business_days_since(date(1999, 1, 4), date(9999, 12, 31)) <= MAX_DAYS);
    }
}
