// Every worker, its state and what to do about it.

const COLUMNS = ["Worker", "Role", "Model", "Full", "Used / capacity", "Running", "Queued", "In flight", "Router", "State"];

function tableOf({ workers }, states) {
  const head = element("tr", {}, ...COLUMNS.map((title) => element("th", { scope: "col" }, title)));
  const rows = workers.map((worker) => rowOf(worker, states[`${worker.role} ${worker.worker}`] ?? {}));
  return element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows));
}

function rowOf(worker, router) {
  // A dash for what is not known: the state beside it says why.
  const short = (value, text) => known(value, text, "–");
  const state = element("span", { class: `state ${worker.state === "ok" ? "good" : "bad"}` }, worker.state);
  const may = standing(router);
  const cells = [
    worker.worker,
    worker.role,
    worker.model ?? "–",
    short(worker.usage_ratio, percent),
    `${short(worker.used_tokens, count)} / ${short(worker.capacity_tokens, count)}`,
    short(worker.running_requests, count),
    short(worker.queued_requests, count),
    short(router.in_flight, count),
    element("span", { class: `state ${may === "eligible" ? "good" : "bad"}` }, may),
    element("div", {}, state, ...(worker.hint ? [element("small", {}, worker.hint)] : [])),
  ];
  const cellOf = (content, index) => element("td", { "data-column": COLUMNS[index] }, content);
  return element("tr", { "data-worker": worker.worker }, ...cells.map(cellOf));
}

/** Whether the router sends requests to a worker, and why not. */
function standing({ eligible, up, breaker_state: breaker }) {
  if (eligible === undefined) return "–";
  if (eligible) return "eligible";
  if (!up) return "down";
  return breaker ? "breaker open" : "draining";
}
