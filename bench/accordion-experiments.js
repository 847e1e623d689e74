// Accordion's evaluation once more (§4.3 and §4.4, Figs. 3 and 5 to 9): malleable pipelines beside SLO-Conforming, Fastest, BBS and 1-Stage on six streams
// of queries, three SLOs, and several offered loads; docs/experiments.md explains the tables.
// `node bench/accordion-experiments.js headline|streams|timeline|dropout|reconfiguration|all` after a build; options, of which the first three may be repeated:
// `--timing paper|pipelined`, `--slo strict|moderate|relaxed`, `--load 0.8`; `--seeds 5`, `--low 0.2`, `--dropout arrival`; and of `timeline`, which prints tab-separated values, `--stream 3`.
//
// What the paper leaves open, and what stands here for it:
//  - Models: Table 1, by `stratagem compile` as any user would; depths between those printed are interpolated linearly. 64 places, at most 8 for a query.
//  - Timing: `paper` is T(B) = B L / S(N), as its figures imply; `pipelined` is T(B) = L + (B - 1) L / S(N), where depth never speeds one instance up.
//  - Streams: the paper prints a curve without an axis. Here the rate over 10 minutes is low + (high - low) (1 - cos(2 pi p t / 600 s)) / 2 with p = 2 or 5 peaks and
//    low = 0.2 high (`--low`): the peaks are 1.67 times the mean. Given how many they are, the arrivals of a Poisson process of such a rate are independent draws from that density: so they are drawn.
//  - Offered load: sum of B L over all queries / (64 places x 600 s): 1 is what the places could just carry if each ran one query at a time. Queries (model, batch,
//    priority) are drawn one after the other until their work reaches the load, so every seed has the same load; a higher load adds queries to a lower one.
//  - Batches: log-normal, sigma of the logarithm 0.5, rounded, at least 1 (so the mean of stream 1 is 1.16). Models and priorities uniform.
//  - SLO: 10, 25 or 50 % of the longest one-place time of the stream at hand, the same for all its queries.
//  - Dropping: queries of low priority that would take longer than the SLO are dropped under every method (§3.2), which counts as a violation. The baselines and `settled`
//    foretell it when a query comes, by Algorithm 1; `accordion` drops once it is certain (policy.dropout: turn), and `--dropout turn` lets the baselines do so too.
//  - A method's violations are means over streams and seeds of its rates; "mean baseline" is the mean of the four baselines.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { drawQueries } from "../compiler/dist/methods/accordion/simulate/queries.js";
import { simulateAccordion } from "../compiler/dist/methods/accordion/simulate/simulate.js";
import { Rng } from "../runtime/dist/core/rng.js";
import { loadBundle } from "../runtime/dist/load-bundle.js";

const CLI = new URL("../compiler/dist/cli.js", import.meta.url).pathname;
const DURATION_MS = 600_000;
const PLACES = 64;
const MAX_BATCH = 1024;
const ARRIVAL_STREAM = 7;
const STEP_MS = 1000;

/** Table 1: seconds on one place, and speed-ups. */
const MODELS = {
  ResNet50: { ms: 1400, speedups: { 2: 1.33, 4: 2.19, 8: 3.29 } },
  VGG16: { ms: 690, speedups: { 2: 1.43, 4: 2.71, 8: 3.47 } },
  ResNet152: { ms: 4820, speedups: { 2: 1.94, 4: 2.06, 8: 5.66 } },
};
const STREAMS = [
  { peaks: 2, meanBatch: 1 },
  { peaks: 2, meanBatch: 20 },
  { peaks: 2, meanBatch: 100 },
  { peaks: 5, meanBatch: 20 },
  { peaks: 5, meanBatch: 50 },
  { peaks: 5, meanBatch: 70 },
];
const SLOS = { strict: 0.1, moderate: 0.25, relaxed: 0.5 };
const BASELINES = ["slo-conforming", "fastest", "bbs", "one-stage"];

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    seeds: { type: "string", default: "5" },
    low: { type: "string", default: "0.2" },
    dropout: { type: "string", default: "arrival" },
    timing: { type: "string", multiple: true, default: ["paper", "pipelined"] },
    load: { type: "string", multiple: true },
    stream: { type: "string", default: "3" },
    slo: { type: "string", multiple: true },
  },
});
const seeds = Array.from({ length: Number(values.seeds) }, (_, index) => index + 1);
const low = Number(values.low);
const loads = (values.load ?? ["0.6", "0.8", "1.0", "1.2"]).map(Number);
/** Of experiments that do without the others unless they are asked for. */
const mainLoads = values.load === undefined ? [1] : loads;
const slos = values.slo ?? Object.keys(SLOS);
/** Ours as policies have it by default, and as the paper's Algorithms 1 and 2 have it, settled. */
const ACCORDIONS = {
  accordion: { scheduler: "accordion", regrow: true, backfill: true, dropout: "turn" },
  settled: { scheduler: "accordion", regrow: false, backfill: false, dropout: "arrival" },
};
const METHODS = {
  ...ACCORDIONS,
  ...Object.fromEntries(
    BASELINES.map((scheduler) => [scheduler, { scheduler, dropout: values.dropout }]),
  ),
};
const TIMELINE_METHODS = ["accordion", ...BASELINES];
const experiments = { headline, streams, timeline, dropout, reconfiguration };
const [name = "all"] = positionals;

let simulations = 0;
let simulatedMs = 0;
const folder = mkdtempSync(join(tmpdir(), "accordion-experiments-"));
try {
  if (name !== "all" && experiments[name] === undefined) throw new Error(`no experiment "${name}"`);
  const names = Object.keys(experiments).filter((one) => one !== "timeline");
  for (const one of name === "all" ? names : [name]) await experiments[one]();
  console.error(
    `${simulations} simulations of 10-minute streams, ${(simulatedMs / simulations).toFixed(1)} ms each`,
  );
} finally {
  rmSync(folder, { recursive: true });
}

/** Everything on average over the streams, held against §4.4's figures. */
async function headline() {
  for (const timing of values.timing) {
    const bundle = await compiled(timing);
    for (const slo of slos) {
      console.log(`\nAll streams, ${sloText(slo)}, ${timing} timing, ${seeds.length} seeds`);
      const byLoad = loads.map((load) => {
        console.error(`${timing}, ${slo}, load ${load}`);
        return STREAMS.map((_, stream) => cellsOf(bundle, { stream, slo, load }));
      });
      table("violations", byLoad, ({ violationRate }) => violationRate, percent, "fewer");
      table(
        "  of them served late",
        byLoad,
        ({ late, queries }) => late / queries,
        percent,
        "fewer",
      );
      // Means over streams whose times differ a hundredfold: each counts as a multiple of its SLO.
      table("latency / SLO", byLoad, ({ latencyInSlos }) => latencyInSlos, fixed2, "lower");
      table("high priority alone", byLoad, ({ highInSlos }) => highInSlos, fixed2, "lower");
      table("queries served/s over those of 1-Stage", byLoad, normalQps, fixed2, "higher");
      table("active queries", byLoad, ({ active }) => active, fixed1, "higher");
      table("places busy", byLoad, ({ occupancy }) => occupancy, percent, "higher");
    }
  }
}

/** Fig. 5, 6 and 8, and what Figs. 7 and 9 say in a number: stream by stream. */
async function streams() {
  for (const timing of values.timing) {
    const bundle = await compiled(timing);
    for (const load of mainLoads) {
      for (const slo of slos) {
        console.log(
          `\nOffered load ${load.toFixed(1)}, ${sloText(slo)}, ${timing} timing, ${seeds.length} seeds`,
        );
        const cells = STREAMS.map((_, stream) =>
          cellsOf(bundle, { stream, slo, load }, { timelineStepMs: STEP_MS }),
        );
        perStream("queries", cells, ({ queries }) => queries, fixed0);
        perStream("SLO, s", cells, ({ sloMs }) => sloMs / 1000, fixed1);
        perMethod("violations (Fig. 6)", cells, ({ violationRate }) => violationRate, percent);
        perMethod("served late", cells, ({ late, queries }) => late / queries, percent);
        perMethod("latency, s (Fig. 5)", cells, ({ latencyMs }) => latencyMs / 1000, fixed1);
        perMethod("queries served/s over 1-Stage (Fig. 8)", cells, normalQps, fixed2);
        perMethod("active queries", cells, ({ active }) => active, fixed1);
        perMethod("places busy", cells, ({ occupancy }) => occupancy, percent);
        perMethod("all places busy, of the time (Fig. 9)", cells, ({ full }) => full, percent);
        perMethod("all served after, s", cells, ({ makespanMs }) => makespanMs / 1000, fixed0);
      }
    }
  }
}

/** Fig. 7 and 9 of one stream, one seed: tab-separated means of every second. */
async function timeline() {
  const stream = Number(values.stream) - 1;
  const [timing] = values.timing;
  const [slo] = values.slo ?? ["moderate"];
  const [load] = mainLoads;
  const bundle = await compiled(timing);
  const drawn = streamOf(bundle, { stream, slo, load, seed: 1 });
  const series = TIMELINE_METHODS.map(
    (method) => simulated(drawn, METHODS[method], { timelineStepMs: STEP_MS }).timeline,
  );
  const heads = TIMELINE_METHODS.flatMap((method) => [`${method} active`, `${method} busy`]);
  console.log(["s", "arrivals", ...heads].join("\t"));
  const seconds = Math.max(...series.map(({ busyPlaces }) => busyPlaces.length));
  const arrivals = new Uint32Array(seconds);
  for (const ms of drawn.queries.arrivalMs) arrivals[Math.floor(ms / STEP_MS)]++;
  for (let second = 0; second < seconds; second++) {
    const cells = series.flatMap(({ activeQueries, busyPlaces }) => [
      (activeQueries[second] ?? 0).toFixed(2),
      (busyPlaces[second] ?? 0).toFixed(2),
    ]);
    console.log([second, arrivals[second], ...cells].join("\t"));
  }
}

/** Fig. 3: what dropping does for those of high priority, by the age from which queries are given up. */
async function dropout() {
  const windows = [0.5, 1, 1.5, 2, 3, null];
  for (const timing of values.timing) {
    const bundle = await compiled(timing);
    for (const [method, load] of Object.keys(ACCORDIONS).flatMap((one) =>
      [0.8, 1, 1.2].map((load) => [one, load]),
    )) {
      console.log(
        `\nDropping, ${method}, moderate SLO, load ${load.toFixed(1)}, ${timing} timing: low priority given up beyond k x SLO`,
      );
      row(
        "k",
        windows.map((window) => String(window ?? "never")),
      );
      const all = windows.map((dropAfterSlos) =>
        STREAMS.flatMap((_, stream) =>
          seeds.map((seed) => {
            const drawn = streamOf(bundle, { stream, slo: "moderate", load, seed });
            const result = simulated(
              drawn,
              { ...METHODS[method], dropAfterSlos },
              { withLatencies: true },
            );
            return { drawn, result };
          }),
        ),
      );
      const never = all.at(-1);
      const cells = (of) => all.map((runs) => of(runs));
      row(
        "violations",
        cells((runs) => percent(meanOf(runs, violationsOf))),
      );
      row(
        "  high priority",
        cells((runs) => percent(meanOf(runs, highViolations))),
      );
      row(
        "  low priority",
        cells((runs) => percent(meanOf(runs, lowViolations))),
      );
      row(
        "dropped",
        cells((runs) => percent(meanOf(runs, droppedOf))),
      );
      row(
        "high latency/SLO",
        cells((runs) => fixed2(meanOf(runs, highInSlosOf))),
      );
      row(
        "high ones faster",
        cells((runs) => percent(changedShare(runs, never, -1))),
      );
      row(
        "high ones slower",
        cells((runs) => percent(changedShare(runs, never, 1))),
      );
    }
  }
}

/** What reconfiguring costs, how often it is done, and what the floor of the paper's 0.9 % of the instances is here. */
async function reconfiguration() {
  const costs = [0, 5, 50, 500, 5000];
  for (const timing of values.timing) {
    const bundle = await compiled(timing);
    for (const method of Object.keys(ACCORDIONS)) {
      for (const load of [0.8, 1]) {
        console.log(
          `\nReconfiguration, ${method}, moderate SLO, load ${load.toFixed(1)}, ${timing} timing`,
        );
        row("cost, ms", costs.map(String));
        const all = costs.map((reconfigurationMs) =>
          STREAMS.flatMap((_, stream) =>
            seeds.map((seed) => {
              const drawn = streamOf(bundle, { stream, slo: "moderate", load, seed });
              const policy = { ...METHODS[method], reconfigurationMs };
              return { drawn, stream, result: simulated(drawn, policy) };
            }),
          ),
        );
        row(
          "violations",
          all.map((runs) => percent(meanOf(runs, violationsOf))),
        );
        row(
          "changes/query",
          all.map((runs) => fixed2(meanOf(runs, changesOf))),
        );
        row(
          "changes/instance",
          all.map((runs) => percent(meanOf(runs, changesPerInstance))),
        );
        const without = all.map((runs) => runs.filter(({ stream }) => stream > 0));
        row(
          " without stream 1",
          without.map((runs) => percent(meanOf(runs, changesPerInstance))),
        );
        row(
          "instances redone",
          all.map((runs) => percent(meanOf(runs, redoneOf))),
        );
      }
    }
  }
}

function violationsOf({ result }) {
  return result.violationRate;
}

function highViolations({ result }) {
  return result.byPriority.high.violationRate;
}

function lowViolations({ result }) {
  return result.byPriority.low.violationRate;
}

function droppedOf({ result }) {
  return result.dropped / result.queries;
}

function highInSlosOf({ drawn, result }) {
  return (result.byPriority.high.latencyMs?.mean ?? Number.NaN) / drawn.bundle.slo.latencyMs;
}

function changesOf({ result }) {
  return result.reconfigurations / result.queries;
}

function changesPerInstance({ result }) {
  return result.reconfigurations / result.instances;
}

function redoneOf({ result }) {
  return result.instancesRedone / result.instances;
}

/** Of the queries of high priority the share whose latency differs from that in other runs by over 0.1 %, in a direction. */
function changedShare(runs, others, sign) {
  let changed = 0;
  let count = 0;
  for (const [index, { drawn, result }] of runs.entries()) {
    const other = others[index].result.latencyMsByQuery;
    for (const [query, ms] of result.latencyMsByQuery.entries()) {
      if (drawn.queries.isHigh[query] === 0) continue;
      count++;
      if (sign * (ms - other[query]) > 0.001 * other[query]) changed++;
    }
  }
  return changed / count;
}

/** Means over the seeds of what becomes of a stream, by method. */
function cellsOf(bundle, { stream, slo, load }, options = {}) {
  const drawn = seeds.map((seed) => streamOf(bundle, { stream, slo, load, seed }));
  return Object.fromEntries(
    Object.entries(METHODS).map(([method, policy]) => {
      const runs = drawn.map((one) => figuresOf(one, simulated(one, policy, options)));
      const keys = Object.keys(runs[0]);
      return [
        method,
        Object.fromEntries(keys.map((key) => [key, meanOf(runs, (run) => run[key])])),
      ];
    }),
  );
}

function figuresOf({ bundle }, result) {
  const sloMs = bundle.slo.latencyMs;
  const latencyMs = result.latencyMs?.mean ?? Number.NaN;
  return {
    sloMs,
    queries: result.queries,
    violationRate: result.violationRate,
    late: result.late,
    latencyMs,
    latencyInSlos: latencyMs / sloMs,
    highInSlos: (result.byPriority.high.latencyMs?.mean ?? Number.NaN) / sloMs,
    throughputQps: result.throughputQps,
    active: result.activeQueries.mean,
    occupancy: result.occupancy,
    full: meanOf([...(result.timeline?.busyPlaces ?? [])], (busy) => (busy > PLACES - 0.5 ? 1 : 0)),
    makespanMs: result.makespanMs,
  };
}

function simulated({ bundle, queries }, policy, options = {}) {
  const one = { ...bundle, policy: { ...bundle.policy, ...policy } };
  const arrivals = { kind: "queries", queries };
  const startMs = performance.now();
  const result = simulateAccordion(one, { arrivals, durationMs: DURATION_MS, seed: 1, ...options });
  simulatedMs += performance.now() - startMs;
  simulations++;
  return result;
}

/** A stream of an offered load, and the bundle for its batches and its SLO. */
function streamOf(bundle, { stream, slo, load, seed }) {
  const { peaks, meanBatch } = STREAMS[stream];
  const wholeMs = Object.values(MODELS).map(({ ms }) => ms);
  const meanMs = wholeMs.reduce((sum, ms) => sum + ms, 0) / wholeMs.length;
  const withBatches = { ...bundle, policy: { ...bundle.policy, meanBatch } };
  const targetMs = load * PLACES * DURATION_MS;
  // Half as many again as are needed on average, and some more: the work of a few may vary a lot.
  const likely = 1.5 * (targetMs / (meanBatch * meanMs)) + 200;
  const many = { kind: "poisson", qps: (1000 * likely) / DURATION_MS };
  const pool = drawQueries(withBatches, many, DURATION_MS, seed);
  let count = 0;
  let workMs = 0;
  let longestMs = 0;
  while (workMs < targetMs) {
    if (count === pool.batch.length) throw new Error("more queries are needed for the load");
    const ms = pool.batch[count] * wholeMs[pool.model[count]];
    workMs += ms;
    longestMs = Math.max(longestMs, ms);
    count++;
  }
  const sloMs = SLOS[slo] * longestMs;
  const arrivalMs = arrivalsOf(peaks, count, seed);
  return {
    bundle: { ...withBatches, slo: { ...bundle.slo, latencyMs: sloMs } },
    queries: {
      arrivalMs,
      model: pool.model.slice(0, count),
      batch: pool.batch.slice(0, count),
      isHigh: pool.isHigh.slice(0, count),
      deadlineMs: arrivalMs.map((ms) => ms + sloMs),
    },
  };
}

/** Draws from the density that the rate is, by rejection, in order. */
function arrivalsOf(peaks, count, seed) {
  const rng = new Rng(seed, ARRIVAL_STREAM);
  const times = new Float64Array(count);
  for (let drawn = 0; drawn < count; ) {
    const share = rng.nextFloat();
    const wave = (1 - Math.cos(2 * Math.PI * peaks * share)) / 2;
    if (rng.nextFloat() < low + (1 - low) * wave) {
      times[drawn++] = share * DURATION_MS;
    }
  }
  return times.sort();
}

async function compiled(timing) {
  const profile = {
    format: "latency-profile/1",
    hardware: "alder-lake-p",
    variants: Object.fromEntries(
      Object.entries(MODELS).map(([model, { ms, speedups }]) => [
        model,
        { accuracy: 1, latencyMs: { 1: ms }, speedups },
      ]),
    ),
  };
  writeFileSync(join(folder, "profile.json"), JSON.stringify(profile));
  const application = {
    version: 1,
    application: "table-1",
    slo: { latency: "60 s" },
    workload: { arrivals: { process: "poisson" }, loads: [0.5] },
    cluster: { pools: [{ name: "alder-lake", hardware: "alder-lake-p", workers: PLACES }] },
    tasks: [
      {
        name: "classify",
        variants: Object.keys(MODELS).map((model) => ({
          name: model,
          profile: `profile.json#${model}`,
        })),
      },
    ],
    policy: {
      method: "accordion",
      executionPlaces: PLACES,
      maxDepth: 8,
      maxBatch: MAX_BATCH,
      timing,
      batchSigma: 0.5,
      lowShare: 0.5,
      dropAfter: 1,
    },
  };
  // JSON is YAML.
  writeFileSync(join(folder, "app.yaml"), JSON.stringify(application));
  const path = join(folder, `${timing}.msgpack`);
  execFileSync(process.execPath, [CLI, "compile", join(folder, "app.yaml"), "-o", path], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  const { bundle } = await loadBundle(path);
  return bundle;
}

/** Methods by load, and how much better Accordion is than the mean of the baselines. @param byLoad [load][stream] cells by method */
function table(title, byLoad, of, text, better) {
  console.log(`\n  ${title}`);
  row(
    "offered load",
    loads.map((load) => load.toFixed(1)),
  );
  const means = Object.fromEntries(
    Object.keys(METHODS).map((method) => [
      method,
      byLoad.map((cells) => meanOf(cells, (cell) => of(cell[method], cell))),
    ]),
  );
  for (const [method, row_] of Object.entries(means)) row(method, row_.map(text));
  const baseline = loads.map((_, at) => meanOf(BASELINES, (method) => means[method][at]));
  row("mean baseline", baseline.map(text));
  for (const method of Object.keys(ACCORDIONS)) {
    const factors = means[method].map((own, at) =>
      better === "higher" ? own / baseline[at] : baseline[at] / own,
    );
    row(`${method}: ${better}`, factors.map(times));
  }
}

function perMethod(title, cells, of, text) {
  console.log(`\n  ${title}`);
  row("stream", [...STREAMS.map((_, stream) => String(stream + 1)), "mean"]);
  for (const method of Object.keys(METHODS)) {
    const own = cells.map((cell) => of(cell[method], cell));
    row(method, [...own, meanOf(own, (one) => one)].map(text));
  }
}

function perStream(title, cells, of, text) {
  row(
    title,
    cells.map((cell) => text(of(cell.accordion))),
  );
}

function normalQps({ throughputQps }, cell) {
  return throughputQps / cell["one-stage"].throughputQps;
}

function row(label, cells) {
  console.log(`  ${label.padEnd(26)}${cells.map((cell) => cell.padStart(10)).join("")}`);
}

function meanOf(items, of) {
  return items.reduce((sum, item) => sum + of(item), 0) / items.length;
}

function sloText(slo) {
  return `${slo} SLO (${100 * SLOS[slo]} % of the longest one-place time)`;
}

function percent(ratio) {
  return `${(100 * ratio).toFixed(2)}%`;
}

function times(ratio) {
  return ratio === Number.POSITIVE_INFINITY ? "none" : `${ratio.toFixed(2)}x`;
}

function fixed0(value) {
  return value.toFixed(0);
}

function fixed1(value) {
  return value.toFixed(1);
}

function fixed2(value) {
  return value.toFixed(2);
}
