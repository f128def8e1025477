// How full the KV caches are: a card for each role and model, a bar for each worker.

/** Workers shown as bars, the fullest first; all are in the table. */
const BARS = 12;

function fullnessOf({ roles, workers }) {
  const fullest = workers.reduce((most, next) => (ratioOf(next) > Math.max(0, ratioOf(most)) ? next : most), {});
  // What is known stands first.
  const sorted = roles.toSorted((a, b) => (a.usage_ratio === null) - (b.usage_ratio === null));
  return sorted.map((role) => {
    const own = workers.filter(({ role: its, model }) => its === role.role && model === role.model);
    const byRatio = own.toSorted((a, b) => ratioOf(b) - ratioOf(a));
    const rest = byRatio.length - BARS;
    return element(
      "article",
      { class: "role", "data-role": role.role },
      element("h3", {}, role.role, element("small", {}, role.model ?? "model not known")),
      element("p", { class: "figure" }, known(role.usage_ratio, percent), ...coverageOf(role)),
      barOf(role),
      legendOf(role),
      ...byRatio.slice(0, BARS).map((worker) => workerBar(worker, worker === fullest)),
      ...(rest > 0 ? [element("p", { class: "quiet" }, `and ${rest} more`)] : []),
    );
  });
}

/** How full the fullest pool is; below all that are known where it is not. */
function ratioOf(load) {
  return load.usage_ratio_max ?? load.usage_ratio ?? -1;
}

/** How full the fullest pool is, where that is not what is shown anyway. */
function otherPool({ usage_ratio_max: max, usage_ratio: ratio }) {
  return max === ratio ? null : max;
}

function coverageOf(role) {
  const { ranks_reporting: reporting, ranks_expected: expected } = role;
  const [notes, max] = [[], otherPool(role)];
  if (reporting < expected) notes.push(`${reporting} of ${expected} ranks report`);
  if (max !== null) notes.push(`fullest pool ${percent(max)}`);
  return notes.map((note) => element("small", {}, note));
}

function barOf(load) {
  const share = (tokens) => (load.capacity_tokens ? (tokens ?? 0) / load.capacity_tokens : 0);
  const used = load.usage_ratio ?? share(load.used_tokens);
  const parts = [part("used", used), part("evictable", share(load.evictable_tokens))];
  const max = otherPool(load);
  if (max !== null) parts.push(mark(max));
  const kind = load.usage_ratio === null ? "bar unknown" : "bar";
  const label = `full: ${known(load.usage_ratio, percent)}`;
  return element("div", { class: kind, role: "img", "aria-label": label }, ...parts);
}

function part(name, ratio) {
  const made = element("span", { class: name });
  made.style.width = `${Math.min(100, 100 * ratio)}%`;
  return made;
}

/** Where the fullest pool of several stands. */
function mark(ratio) {
  const made = element("i", { title: `fullest pool: ${percent(ratio)}` });
  made.style.left = `${Math.min(100, 100 * ratio)}%`;
  return made;
}

function legendOf(load) {
  if (load.capacity_tokens === null) return element("p", { class: "legend" }, "tokens not known");
  const entry = (name, label, tokens) => element("span", { class: `key ${name}` }, `${label} ${known(tokens, count)}`);
  return element(
    "p",
    { class: "legend" },
    entry("used", "used", load.used_tokens),
    entry("evictable", "evictable", load.evictable_tokens),
    entry("free", "free", load.available_tokens),
    `of ${count(load.capacity_tokens)} tokens`,
  );
}

function workerBar(worker, isFullest) {
  const name = element("span", { class: "name" }, worker.worker);
  if (isFullest) name.append(element("b", { class: "fullest" }, "fullest pool"));
  const value = worker.usage_ratio === null ? worker.state : percent(worker.usage_ratio);
  return element("div", { class: "worker", "data-worker": worker.worker }, name, barOf(worker), element("span", { class: "value" }, value));
}
