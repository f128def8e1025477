// How numbers are written, and elements made.

/** What is not known is never 0. */
function known(value, text, unknown = "not known") {
  return value === null || value === undefined ? unknown : text(value);
}

const FEW = new Intl.NumberFormat("en", { maximumFractionDigits: 2 });
const SOME = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const MANY = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

/** 1234567 as 1.2M. */
function count(value) {
  return (value < 10 ? FEW : value < 10_000 ? SOME : MANY).format(value);
}

function percent(ratio) {
  return `${(100 * ratio).toFixed(1)} %`;
}

/** Seconds, in the unit that suits. */
function duration(seconds) {
  if (seconds === 0) return "0 s";
  if (seconds >= 1) return `${seconds.toFixed(seconds < 10 ? 2 : 0)} s`;
  return `${(seconds * 1000).toFixed(seconds < 0.01 ? 2 : 0)} ms`;
}

function clock(time) {
  return new Date(time * 1000).toLocaleTimeString("en-GB");
}

/** An element. What comes from elsewhere goes in as text, never as markup. */
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}
