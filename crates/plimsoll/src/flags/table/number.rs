//! Numbers with a range.

use std::{fmt, ops::RangeInclusive};

/// A type that number flags hold.
pub(crate) trait Number:
    Copy + fmt::Debug + fmt::Display + PartialOrd + Send + Sync + 'static
{
    /// What a user calls such a number.
    const NAME: &'static str;

    /// Reads a finite number.
    fn read(text: &str) -> Option<Self>;
}

/// A text is not a number of the wanted kind and range.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NumberError<T: Number> {
    /// Outside a range with two ends, or no number.
    #[error("expected {} from {least} to {most}", T::NAME)]
    Outside {
        /// Smallest number accepted.
        least: T,
        /// Greatest number accepted.
        most: T,
    },
    /// Below a range without upper end, or no number.
    #[error("expected {}, at least {least}", T::NAME)]
    Below {
        /// Smallest number accepted.
        least: T,
    },
}

/// A value parser for numbers in `range`.
pub(crate) fn within<T: Number>(
    range: RangeInclusive<T>,
) -> impl Fn(&str) -> Result<T, NumberError<T>> + Clone + Send + Sync + 'static {
    move |text| {
        let (least, most) = (*range.start(), *range.end());
        T::read(text)
            .filter(|number| range.contains(number))
            .ok_or(NumberError::Outside { least, most })
    }
}

/// A value parser for numbers from `least` upwards.
pub(crate) fn at_least<T: Number>(
    least: T,
) -> impl Fn(&str) -> Result<T, NumberError<T>> + Clone + Send + Sync + 'static {
    move |text| T::read(text).filter(|number| *number >= least).ok_or(NumberError::Below { least })
}

macro_rules! whole_numbers {
    ($($integer:ty),*) => {$(
        impl Number for $integer {
            const NAME: &'static str = "a whole number";

            fn read(text: &str) -> Option<Self> {
                text.parse().ok()
            }
        }
    )*};
}

whole_numbers!(u16, u32, u64, usize, i64);

impl Number for f64 {
    const NAME: &'static str = "a number";

    fn read(text: &str) -> Option<Self> {
        text.parse().ok().filter(|number: &f64| number.is_finite())
    }
}
