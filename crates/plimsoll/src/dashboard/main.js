// Asks the router every two seconds, and shows what it says.

const EVERY = 2000;
/** After so long without an answer the router counts as gone. */
const PATIENCE = 5000;

let past = new Past();
let roles = [];
let charts = [];
const place = (id) => document.getElementById(id);
let lastAnswer = null;

async function ask(path) {
  const response = await fetch(path, { cache: "no-store", signal: AbortSignal.timeout(PATIENCE) });
  if (!response.ok) throw new Error(`${path} answers ${response.status}`);
  return response;
}

async function look() {
  const time = Date.now() / 1000;
  try {
    const [kv, metrics] = await Promise.all([ask("kv"), ask("metrics")]);
    const [report, page] = [await kv.json(), readPage(await metrics.text())];
    return { time, report, page };
  } catch (error) {
    return { time, error };
  }
}

async function watch() {
  try {
    take(await look());
  } finally {
    // What cannot be shown once may be shown the next time.
    setTimeout(watch, EVERY);
  }
}

function take({ time, report, page, error }) {
  if (error) {
    past.break(time);
    const old = lastAnswer ? ` What is shown is of ${clock(lastAnswer)}.` : "";
    say("gone", `The router does not answer (${error.message}).${old} Asking again every two seconds.`);
  } else {
    begin(rolesOf(report));
    past.add(sample(report, page, time));
    lastAnswer = time;
    show(report, page);
  }
  charts.forEach((chart) => chart.show(past.points));
}

/** New charts, if a router of other roles is there than before. */
function begin(now) {
  if (now.join() === roles.join()) return;
  past = new Past();
  roles = now;
  charts = chartsOf(roles);
  place("charts").replaceChildren(...charts.map(({ figure }) => figure));
}

function show(report, page) {
  place("version").textContent = report.plimsoll;
  replace("fullness", ...fullnessOf(report));
  replace("workers", tableOf(report, readWorkers(page)));
  const { length: all } = report.workers;
  const troubled = report.workers.filter(({ state }) => state !== "ok").length;
  const workers = all === 1 ? "1 worker" : `${all} workers`;
  if (all === 0) say("troubled", "no workers: none is named, or their names are not found yet");
  else if (troubled) say("troubled", `${workers}, ${troubled} without a full reading`);
  else say("live", `${workers}, all read`);
}

/** New content, unless someone is selecting some of the old. */
function replace(id, ...content) {
  const selection = getSelection();
  const isSelected = !selection.isCollapsed && place(id).contains(selection.anchorNode);
  if (!isSelected) place(id).replaceChildren(...content);
}

function say(state, text) {
  document.body.dataset.state = state;
  if (place("status").textContent !== text) place("status").textContent = text;
}

watch();
