use std::fmt;

use crate::{load::Load, proxies::Proxy};

/// The figures of all rounds, printed as markdown: a row for each proxy, a column for each load.
#[derive(Debug)]
pub(crate) struct Table<'a> {
    loads: &'a [Load],
    rows: Vec<Row>,
}

#[derive(Debug)]
struct Row {
    proxy: &'static Proxy,
    /// The figures of each load, one a round.
    loads: Vec<Vec<f64>>,
}

// === impl Table ===

impl<'a> Table<'a> {
    pub(crate) fn new(proxies: &[&'static Proxy], loads: &'a [Load]) -> Self {
        let row = |&proxy| Row { proxy, loads: vec![Vec::new(); loads.len()] };
        Self { loads, rows: proxies.iter().map(row).collect() }
    }

    /// Adds a figure of one more round.
    pub(crate) fn add(&mut self, proxy: usize, load: usize, figure: f64) {
        self.rows[proxy].loads[load].push(figure);
    }
}

impl fmt::Display for Table<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { loads, rows } = self;
        let names: Vec<_> = loads.iter().map(|load| load.name).collect();
        let head = format!("{} |\n|{}", names.join(" | "), "---|".repeat(names.len() + 1));
        writeln!(f, "| µs of CPU, median (least to most) | {head}")?;
        for Row { proxy, loads } in rows {
            let cells = loads.iter().map(|rounds| {
                let [least, middle, most] = spread(rounds.clone());
                format!(" **{}** ({} to {}) |", short(middle), short(least), short(most))
            });
            writeln!(f, "| {} |{}", proxy.name, cells.collect::<String>())?;
        }
        let ratios: String = rows.iter().flat_map(|row| row.ratios(rows)).collect();
        match &*ratios {
            "" => Ok(()),
            ratios => write!(f, "\n| ratio within a round, median | {head}\n{ratios}"),
        }
    }
}

// === impl Row ===

impl Row {
    /// What it took of what each of those took that it is compared with.
    fn ratios(&self, rows: &[Self]) -> impl Iterator<Item = String> {
        let bases = self.proxy.bases();
        let bases = bases.filter_map(|base| rows.iter().find(|row| row.proxy.name == base.name));
        bases.map(|base| {
            let cells = self.loads.iter().zip(&base.loads).map(|(rounds, base)| {
                let ratios = rounds.iter().zip(base).map(|(one, base)| one / base);
                format!(" {:.2} |", spread(ratios.collect())[1])
            });
            let cells: String = cells.collect();
            format!("| {} / {} |{cells}\n", self.proxy.name, base.proxy.name)
        })
    }
}

fn spread(mut figures: Vec<f64>) -> [f64; 3] {
    figures.sort_unstable_by(f64::total_cmp);
    [0, figures.len() / 2, figures.len() - 1].map(|at| figures[at])
}

/// Three digits that count, or all before the point.
fn short(figure: f64) -> String {
    let digits = if figure < 10.0 { 2 } else { usize::from(figure < 100.0) };
    format!("{figure:.digits$}")
}
