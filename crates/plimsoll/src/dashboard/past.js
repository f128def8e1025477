// The last minutes, from one look at the metrics page to the next.

/** Seconds kept, and those over which a rate and a quantile are taken. */
const KEPT = 15 * 60;
const RATE_OVER = 10;
const QUANTILES_OVER = 60;

const TOKENS = ["prompt", "cached", "completion"];
const OUTCOMES = [
  "complete",
  "client_error",
  "upstream_error",
  "truncated",
  "client_disconnect",
  "rejected",
];

/** Which caches are shown: pairs and plain workers do not go together. */
function rolesOf({ workers }) {
  return workers.some(({ role }) => role === "plain") ? ["plain"] : ["prefill", "decode"];
}

/** How full a role is; of several models the fullest. */
function fullest({ roles }, role) {
  const ratios = roles.filter((one) => one.role === role).map(({ usage_ratio }) => usage_ratio);
  return ratios.reduce((most, next) => (next !== null && next > (most ?? -1) ? next : most), null);
}

/** The counts of one moment. */
function sample(report, page, time) {
  const buckets = (family) => sums(page, `${family}_bucket`, ({ le }) => le);
  return {
    time,
    full: rolesOf(report).map((role) => fullest(report, role)),
    tokens: {
      prompt: sum(page, "plimsoll_prompt_tokens_total"),
      cached: sum(page, "plimsoll_cached_prompt_tokens_total"),
      completion: sum(page, "plimsoll_completion_tokens_total"),
    },
    outcomes: sums(page, "plimsoll_requests_total", ({ outcome }) => outcome),
    firstToken: buckets("plimsoll_time_to_first_token_seconds"),
    perToken: buckets("plimsoll_time_per_output_token_seconds"),
    inFlight: sum(page, "plimsoll_requests_in_flight"),
    queued: sum(page, "plimsoll_queue_depth"),
  };
}

/** What has been added to each count since an earlier moment; nothing if the router began anew. */
function added(later, earlier) {
  const counts = {};
  for (const [name, count] of Object.entries(later)) {
    counts[name] = count - (earlier[name] ?? 0);
    if (counts[name] < 0) return null;
  }
  return counts;
}

class Past {
  samples = [];
  /** What the charts show of each moment. */
  points = [];

  add(next) {
    this.samples.push(next);
    this.#note(this.#point(next));
  }

  /** The router could not be asked: the lines have a gap here, and no rate reaches across it. */
  break(time) {
    this.samples = [];
    this.#note({ time });
  }

  #note(point) {
    this.points.push(point);
    for (const list of [this.samples, this.points]) {
      while (list.length && point.time - list[0].time > KEPT) list.shift();
    }
  }

  /** The newest sample that is at least so old, else the oldest. */
  #before(next, seconds) {
    return this.samples.findLast(({ time }) => next.time - time >= seconds) ?? this.samples[0];
  }

  #point(next) {
    const earlier = this.#before(next, RATE_OVER);
    const seconds = next.time - earlier.time;
    const rate = (member, name) => {
      const counts = seconds > 0 && added(next[member], earlier[member]);
      return counts ? (counts[name] ?? 0) / seconds : null;
    };
    const quantiles = (member) => {
      const counts = added(next[member], this.#before(next, QUANTILES_OVER)[member]);
      return counts ? [quantile(0.5, counts), quantile(0.95, counts)] : [null, null];
    };
    return {
      time: next.time,
      full: next.full,
      tokens: TOKENS.map((name) => rate("tokens", name)),
      outcomes: OUTCOMES.map((name) => rate("outcomes", name)),
      firstToken: quantiles("firstToken"),
      perToken: quantiles("perToken"),
      requests: [next.inFlight, next.queued],
    };
  }
}
