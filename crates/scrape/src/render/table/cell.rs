//! One cell, and how numbers look in it.

use std::fmt;

/// What stands for a value that is not known.
const UNKNOWN: &str = "-";

/// How many characters a bar has.
const BAR: usize = 10;

/// Where a ratio is no longer all well, and where it is critical.
const YELLOW_FROM: f64 = 0.7;
const RED_FROM: f64 = 0.9;

/// A text with its colour.
#[derive(Debug)]
pub(super) struct Cell {
    pub(super) text: String,
    tint: Option<Tint>,
}

/// A colour of ANSI terminals.
#[derive(Clone, Copy, Debug)]
pub(super) enum Tint {
    Green,
    Yellow,
    Red,
}

/// The side of its column that a cell is at.
#[derive(Clone, Copy, Debug)]
pub(super) enum Align {
    Left,
    Right,
}

// === impl Cell ===

impl Cell {
    /// A text from anywhere: what would control the terminal is escaped.
    pub(super) fn new(text: &str) -> Self {
        let mut safe = String::with_capacity(text.len());
        for c in text.chars() {
            if c.is_control() { safe.extend(c.escape_default()) } else { safe.push(c) }
        }
        Self { text: safe, tint: None }
    }

    pub(super) fn known(text: Option<&str>) -> Self {
        Self::new(text.unwrap_or(UNKNOWN))
    }

    /// A count, its thousands separated.
    pub(super) fn count(value: Option<u64>) -> Self {
        let Some(value) = value else { return Self::new(UNKNOWN) };
        let digits = value.to_string();
        let mut text = String::with_capacity(digits.len() + digits.len() / 3);
        for (index, digit) in digits.chars().enumerate() {
            if index > 0 && (digits.len() - index) % 3 == 0 {
                text.push(',');
            }
            text.push(digit);
        }
        Self::new(&text)
    }

    /// A ratio in percent; `~` marks a mean that is not weighted.
    pub(super) fn percent(ratio: Option<f64>, unweighted: bool) -> Self {
        let Some(ratio) = ratio else { return Self::new(UNKNOWN) };
        let mark = if unweighted { "~" } else { "" };
        Self::new(&format!("{mark}{:.1} %", ratio * 100.0)).tinted(Some(Tint::of(ratio)))
    }

    /// A ratio as a bar.
    pub(super) fn bar(ratio: Option<f64>) -> Self {
        let Some(ratio) = ratio else { return Self::new("") };
        let cells = (ratio.clamp(0.0, 1.0) * BAR as f64).round() as usize;
        let text = format!("{}{}", "█".repeat(cells), "░".repeat(BAR - cells));
        Self::new(&text).tinted(Some(Tint::of(ratio)))
    }

    pub(super) fn tinted(self, tint: Option<Tint>) -> Self {
        Self { tint, ..self }
    }

    /// Writes the cell with its padding, which is outside the colour.
    pub(super) fn write(
        &self,
        f: &mut fmt::Formatter<'_>,
        column: usize,
        align: Align,
        is_coloured: bool,
    ) -> fmt::Result {
        let padding = column.saturating_sub(width(&self.text));
        let (before, after) = match align {
            Align::Left => (0, padding),
            Align::Right => (padding, 0),
        };
        let (on, off) = match self.tint.filter(|_| is_coloured && !self.text.is_empty()) {
            Some(tint) => (tint.code(), "\x1b[0m"),
            None => ("", ""),
        };
        write!(f, "{:before$}{on}{}{off}{:after$}", "", self.text, "")
    }
}

// === impl Tint ===

impl Tint {
    fn of(ratio: f64) -> Self {
        match ratio {
            _ if ratio < YELLOW_FROM => Self::Green,
            _ if ratio < RED_FROM => Self::Yellow,
            _ => Self::Red,
        }
    }

    const fn code(self) -> &'static str {
        match self {
            Self::Green => "\x1b[32m",
            Self::Yellow => "\x1b[33m",
            Self::Red => "\x1b[31m",
        }
    }
}

/// Characters, each as wide as any other.
pub(super) fn width(text: &str) -> usize {
    text.chars().count()
}
