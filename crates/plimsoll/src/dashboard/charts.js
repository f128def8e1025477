// The charts of the last minutes.

const CHARTS = [
  { member: "full", title: "KV cache full, by role", lines: [], text: percent },
  { member: "tokens", title: "Tokens a second", lines: TOKENS, text: count },
  { member: "requests", title: "Requests", lines: ["in flight", "queued"], text: count },
  { member: "firstToken", title: "Time to first token", lines: ["p50", "p95"], text: duration },
  { member: "perToken", title: "Time per output token", lines: ["p50", "p95"], text: duration },
  { member: "outcomes", title: "Requests ended a second, by outcome", lines: OUTCOMES, text: count },
];

/** All charts; the first has a line for each role. */
function chartsOf(roles) {
  const [full, ...others] = CHARTS;
  return [{ ...full, lines: roles }, ...others].map((chart) => new Chart(chart));
}

const HEIGHT = 170;

/** One chart within a figure of its own, as wide as that is. */
class Chart {
  constructor({ member, title, lines, text }) {
    this.member = member;
    this.lines = lines;
    this.text = text;
    this.place = element("div");
    this.figure = element("figure", { id: member }, element("figcaption", {}, title), this.place);
    new ResizeObserver(() => this.#fit()).observe(this.place);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#begin());
  }

  show(points) {
    const times = points.map(({ time }) => time);
    const values = this.lines.map((_, index) => points.map((at) => at[this.member]?.[index] ?? null));
    this.data = [times, ...values];
    if (this.plot) this.plot.setData(this.data);
    else this.#begin();
  }

  #fit() {
    this.plot?.setSize({ width: this.place.clientWidth, height: HEIGHT });
  }

  /** Draws it anew, in the colours of the moment. */
  #begin() {
    this.plot?.destroy();
    const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`);
    const axis = { stroke: colour("quiet"), grid: { stroke: colour("line") }, ticks: { stroke: colour("line") } };
    // Beneath the chart stand the values under the cursor, or the newest ones.
    const at = (plot, value, line, index) => (index === null ? plot.data[line].at(-1) : value);
    const text = (...place) => known(at(...place), this.text);
    const series = this.lines.map((label, index) => ({
      label,
      stroke: colour(`line-${index + 1}`),
      width: 1.5,
      value: text,
      points: { show: false },
    }));
    const options = {
      width: this.place.clientWidth,
      height: HEIGHT,
      legend: { live: true },
      cursor: { y: false },
      scales: { y: { range: (_, low, high) => [0, high > 0 ? high * 1.1 : 1] } },
      axes: [axis, { ...axis, size: 62, values: (_, values) => values.map(this.text) }],
      series: [{ label: "at", value: (...place) => known(at(...place), clock) }, ...series],
    };
    this.plot = new uPlot(options, this.data, this.place);
  }
}
