// The metrics page, as far as this page shows it.

const FAMILIES = [
  "plimsoll_requests_total",
  "plimsoll_requests_in_flight",
  "plimsoll_prompt_tokens_total",
  "plimsoll_cached_prompt_tokens_total",
  "plimsoll_completion_tokens_total",
  "plimsoll_time_to_first_token_seconds_bucket",
  "plimsoll_time_per_output_token_seconds_bucket",
  "plimsoll_queue_depth",
  "plimsoll_worker_up",
  "plimsoll_worker_eligible",
  "plimsoll_worker_breaker_state",
  "plimsoll_worker_in_flight",
];

/** The series of each family: a list of their labels and values. */
function readPage(text) {
  const page = new Map(FAMILIES.map((name) => [name, []]));
  for (const line of text.split("\n")) {
    const name = /^\w*/.exec(line)[0];
    const value = Number(line.slice(line.lastIndexOf(" ") + 1));
    page.get(name)?.push({ labels: readLabels(line.slice(name.length)), value });
  }
  return page;
}

function readLabels(text) {
  const labels = {};
  for (const [, name, value] of text.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)) {
    labels[name] = value.replace(/\\(.)/g, (_, escaped) => (escaped === "n" ? "\n" : escaped));
  }
  return labels;
}

/** The values of a family, added up by what `key` makes of their labels. */
function sums(page, family, key) {
  const sums = {};
  for (const { labels, value } of page.get(family)) {
    sums[key(labels)] = (sums[key(labels)] ?? 0) + value;
  }
  return sums;
}

function sum(page, family) {
  return page.get(family).reduce((sum, { value }) => sum + value, 0);
}

/** What the router says of each worker, by role and URL. */
function readWorkers(page) {
  const workers = {};
  for (const member of ["up", "eligible", "breaker_state", "in_flight"]) {
    for (const { labels, value } of page.get(`plimsoll_worker_${member}`)) {
      const worker = (workers[`${labels.role} ${labels.worker}`] ??= {});
      worker[member] = value;
    }
  }
  return workers;
}

/** The value below which a share of a histogram's observations lie, by cumulated buckets. */
function quantile(share, buckets) {
  const total = buckets["+Inf"];
  if (!(total > 0)) return null;
  const bounds = Object.keys(buckets).filter((bound) => bound !== "+Inf");
  let [low, below] = [0, 0];
  for (const bound of bounds.sort((a, b) => a - b)) {
    const upTo = buckets[bound];
    if (upTo >= share * total) {
      return low + ((bound - low) * (share * total - below)) / (upTo - below);
    }
    [low, below] = [Number(bound), upTo];
  }
  return low;
}
