// Themis' evaluation once more (§6.1 and §6.3): its scaling, FA2 and extended Sponge beside Stratagem's default, on the burst slice of the Twitter trace that the
// authors' figures hold, and on other traffic; docs/experiments.md explains the tables.
// `node bench/themis-experiments.js poisson|end-to-end|dropping|ablation|days|all` after a build; the measurements are where STRATAGEM_REFERENCE says.
//
// What differs from the paper: everything runs on the simulator, on the authors' fitted latencies; requests arrive by a Poisson process within each second of the
// slice, divided for each pipeline as in the authors' code; plans are exact where theirs are by dynamic programming.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { rescaled, themisBaseline } from "../compiler/dist/methods/themis/baselines.js";
import { lookHistories } from "../compiler/dist/methods/themis/simulate/look-histories.js";
import { simulateThemis } from "../compiler/dist/methods/themis/simulate/simulate.js";
import { drawArrivals } from "../compiler/dist/simulate/graph/drawn-requests.js";
import { openOnnxForecaster } from "../runtime/dist/exec/onnx-forecaster.js";
import { loadBundle } from "../runtime/dist/load-bundle.js";

const CLI = new URL("../compiler/dist/cli.js", import.meta.url).pathname;
const LSTM = new URL("../runtime/models/lstm.onnx", import.meta.url).pathname;
const reference = process.env.STRATAGEM_REFERENCE;
if (reference === undefined) throw new Error("STRATAGEM_REFERENCE names no folder");
const { pipelines, traces } = JSON.parse(
  readFileSync(join(reference, "themis", "inputs.json"), "utf8"),
);
const { rps } = traces.twitterSlice570;
const dividers = traces.evalSlice.dividersPaperEra;

const SEEDS = [1, 2, 3, 4, 5];
/** Requests that a plan is tried with, for each seed. */
const STEADY_REQUESTS = 40_000;
const MOST_VIOLATIONS = 0.01;
/** Seconds from the start of a slice to that of the next. */
const EVERY_SECONDS = 2 * 3600;
const DROPPING_SECONDS = 100;
/** By pipeline: loads of the levels, and the time a new instance takes to come up. */
const SETUPS = {
  video: { title: "video monitoring, 780 ms", loads: range(1, 150, 1), coldStart: "5 s" },
  sentiment: { title: "audio sentiment, 1350 ms", loads: range(0.5, 75, 0.5), coldStart: "5 s" },
  nlp: { title: "language processing, 2550 ms", loads: range(0.25, 37.5, 0.25), coldStart: "10 s" },
};

const experiments = { poisson, "end-to-end": endToEnd, dropping, ablation, days };
const [name = "all"] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), "themis-experiments-"));
try {
  if (name !== "all" && experiments[name] === undefined) throw new Error(`no experiment "${name}"`);
  for (const one of name === "all" ? Object.keys(experiments) : [name]) await experiments[one]();
} finally {
  rmSync(folder, { recursive: true });
}

/** The reference's steady cases: plans as they are, on requests that they were not chosen with. */
async function poisson() {
  const { cases } = JSON.parse(
    readFileSync(join(reference, "themis", "poisson-cases.json"), "utf8"),
  );
  const methods = {
    deterministic: { queueing: "paper" },
    "quantile 0.95": { quantile: 0.95 },
    auto: {},
  };
  console.log(
    `Steady Poisson arrivals: cores and simulated violations, ${SEEDS.length} x ${STEADY_REQUESTS} requests; Themis as the reference has it\n`,
  );
  const names = ["Themis", ...Object.keys(methods)];
  console.log(
    `  ${"case".padEnd(18)}${names.map((one) => one.padStart(18)).join("")}   auto states`,
  );
  const cells = Object.fromEntries(names.map((one) => [one, []]));
  for (const pipeline of Object.keys(SETUPS)) {
    const own = cases.filter((one) => one.pipeline === pipeline);
    const loads = own.map(({ lam }) => lam);
    const bundles = [];
    for (const policy of Object.values(methods)) {
      bundles.push(await compiled(pipeline, { loads, ...policy }));
    }
    for (const [level, one] of own.entries()) {
      cells.Themis.push({ cores: one.themisCores, violationRate: one.themisViolationRate });
      for (const [index, method] of Object.keys(methods).entries()) {
        cells[method].push(steady(bundles[index], level));
      }
      const row = names.map((method) => cellOf(cells[method].at(-1)).padStart(18)).join("");
      const stated = bundles.at(-1).levels[level].steady.expected.violationRate;
      console.log(
        `  ${`${pipeline} ${one.lam}/s`.padEnd(18)}${row}${percent(stated).padStart(14)}`,
      );
    }
  }
  for (const method of names) {
    const all = cells[method];
    const cores = all.reduce((sum, one) => sum + one.cores, 0);
    const mean = all.reduce((sum, { violationRate }) => sum + violationRate, 0) / all.length;
    const held = all.filter(({ violationRate }) => violationRate <= MOST_VIOLATIONS).length;
    console.log(
      `  ${method.padEnd(14)} ${cores} cores, mean violations ${percent(mean)}, at most 1 % in ${held} of ${all.length} (${percent(held / all.length)})`,
    );
  }
  console.log();
}

function cellOf({ cores, violationRate }) {
  return `${cores} ${percent(violationRate).padStart(8)}`;
}

function steady(bundle, level) {
  const { steady, loadQps } = bundle.levels[level];
  const durationMs = (1000 * STEADY_REQUESTS) / loadQps;
  const rates = SEEDS.map((seed) => {
    const arrivals = { kind: "poisson", qps: loadQps };
    return simulateThemis(bundle, { arrivals, durationMs, seed: 100 + seed, level }).violationRate;
  });
  const violationRate = rates.reduce((sum, one) => sum + one, 0) / rates.length;
  return { cores: steady.cores, violationRate };
}

async function endToEnd() {
  console.log(`§6.1: ${rps.length} s of the slice, means over ${SEEDS.length} seeds\n`);
  for (const pipeline of Object.keys(SETUPS)) {
    const bundle = await compiled(pipeline);
    console.log(`${SETUPS[pipeline].title}; ${describe(pipeline)}`);
    header();
    const rows = {
      "FA2, horizontal": themisBaseline(bundle, "fa2"),
      "Sponge, vertical": themisBaseline(bundle, "sponge"),
      Themis: withPolicy(themisBaseline(bundle, "themis"), { predictor: "lstm" }),
      Stratagem: bundle,
    };
    const rates = {};
    for (const [label, one] of Object.entries(rows)) rates[label] = await row(label, one, pipeline);
    const better = Math.min(rates["FA2, horizontal"], rates["Sponge, vertical"]);
    const factor = (label) =>
      rates[label] === 0 ? "none at all" : `${(better / rates[label]).toFixed(1)}x`;
    console.log(
      `  fewer violations than the better baseline: Themis ${factor("Themis")}, Stratagem ${factor("Stratagem")}\n`,
    );
  }
}

async function dropping() {
  console.log(
    "§6.3: the first 100 s of the video slice, by the age at which requests are dropped\n",
  );
  const bundle = await compiled("video");
  const rows = {
    FA2: themisBaseline(bundle, "fa2"),
    Sponge: themisBaseline(bundle, "sponge"),
    Themis: withPolicy(themisBaseline(bundle, "themis"), { predictor: "lstm" }),
    Stratagem: bundle,
  };
  const rules = { "1 x SLO": 1, "3 x SLO": 3, never: null };
  console.log(
    `  ${"".padEnd(22)}${Object.keys(rules)
      .map((rule) => rule.padStart(12))
      .join("")}`,
  );
  for (const [label, one] of Object.entries(rows)) {
    const cells = [];
    for (const dropAfterSlos of Object.values(rules)) {
      const results = [];
      for (const seed of SEEDS) {
        const first = rps.slice(0, DROPPING_SECONDS);
        results.push(await simulated(withPolicy(one, { dropAfterSlos }), "video", first, seed));
      }
      cells.push(percent(meansOf(results).violationRate).padStart(12));
    }
    console.log(`  ${label.padEnd(22)}${cells.join("")}`);
  }
  console.log();
}

/** Which of what Stratagem does besides Themis is worth what. */
async function ablation() {
  console.log("From Themis to Stratagem, one step at a time\n");
  for (const pipeline of Object.keys(SETUPS)) {
    const bundle = await compiled(pipeline);
    const themis = themisBaseline(bundle, "themis");
    console.log(`${SETUPS[pipeline].title}`);
    header();
    await row("Themis, last maximum", withPolicy(themis, { predictor: "last-max" }), pipeline);
    await row("Themis, LSTM", withPolicy(themis, { predictor: "lstm" }), pipeline);
    await row("room for chance", rescaled(bundle, { scaling: "themis" }), pipeline);
    await row("joint, no room", rescaled(bundle, { queueing: "paper" }), pipeline);
    await row("joint, quantile 0.95", rescaled(bundle, { quantile: 0.95 }), pipeline);
    await row("Stratagem", bundle, pipeline);
    for (const predictor of ["last-max", "ewma", "holt", "lstm"]) {
      await row(`Stratagem, ${predictor}`, withPolicy(bundle, { predictor }), pipeline);
    }
    console.log();
  }
}

/** Slices of two days of the Twitter trace that nothing was chosen with, brought to the mean rate of the burst slice. */
async function days() {
  const file = join(reference, "traces", "twitter-2021-08-counts-per-second.txt.gz");
  const counts = gunzipSync(readFileSync(file)).toString().trim().split("\n").map(Number);
  const held = counts.slice(12 * 86_400);
  const starts = range(0, held.length - EVERY_SECONDS, EVERY_SECONDS);
  // What was not recorded is all zeros.
  const slices = starts
    .map((start) => held.slice(start, start + rps.length))
    .filter((slice) => !slice.includes(0));
  const meanOf = (rates) => rates.reduce((sum, rate) => sum + rate, 0) / rates.length;
  const scale = meanOf(rps) / meanOf(slices.flat());
  console.log(
    `${slices.length} slices of ${rps.length} s from days 13 and 14, one every two hours\n`,
  );
  for (const pipeline of Object.keys(SETUPS)) {
    const bundle = await compiled(pipeline);
    console.log(SETUPS[pipeline].title);
    header();
    const rows = {
      "FA2, horizontal": themisBaseline(bundle, "fa2"),
      "Sponge, vertical": themisBaseline(bundle, "sponge"),
      Themis: withPolicy(themisBaseline(bundle, "themis"), { predictor: "lstm" }),
      Stratagem: bundle,
    };
    for (const [label, one] of Object.entries(rows)) {
      const results = [];
      for (const [seed, slice] of slices.entries()) {
        const rates = slice.map((count) => count * scale);
        results.push(await simulated(one, pipeline, rates, 1 + seed));
      }
      tell(label, results);
    }
    console.log();
  }
}

function header() {
  console.log(
    `  ${"".padEnd(22)}violations  worst seed  dropped   p50 ms   p99 ms  mean cores  most  bursts  plans`,
  );
}

/** @returns the mean violation rate. */
async function row(label, bundle, pipeline) {
  const results = [];
  for (const seed of SEEDS) results.push(await simulated(bundle, pipeline, rps, seed));
  return tell(label, results);
}

/** @returns the mean violation rate. */
function tell(label, results) {
  const mean = meansOf(results);
  const cells = [
    percent(mean.violationRate).padStart(10),
    percent(mean.worst).padStart(12),
    percent(mean.dropRate).padStart(9),
    mean.p50.toFixed(0).padStart(9),
    mean.p99.toFixed(0).padStart(9),
    mean.cores.toFixed(2).padStart(12),
    String(mean.mostCores).padStart(6),
    mean.bursts.toFixed(0).padStart(8),
    mean.settled.toFixed(0).padStart(7),
  ];
  console.log(`  ${label.padEnd(22)}${cells.join("")}`);
  return mean.violationRate;
}

function meansOf(results) {
  const mean = (of) => results.reduce((sum, one) => sum + of(one), 0) / results.length;
  return {
    violationRate: mean(({ violationRate }) => violationRate),
    worst: Math.max(...results.map(({ violationRate }) => violationRate)),
    dropRate: mean(({ dropped, queries }) => dropped / queries),
    p50: mean(({ latencyMs }) => latencyMs?.p50 ?? Number.NaN),
    p99: mean(({ latencyMs }) => latencyMs?.p99 ?? Number.NaN),
    cores: mean(({ cores }) => cores.mean),
    mostCores: Math.max(...results.map(({ cores }) => cores.max)),
    bursts: mean(({ scaling }) => scaling.bursts),
    settled: mean(({ scaling }) => scaling.settled),
  };
}

/** @param rates raw counts per second. */
async function simulated(bundle, pipeline, rates, seed) {
  const durationMs = 1000 * rates.length;
  const qps = rates.map((rate) => rate / dividers[pipeline]);
  const startMs = Float64Array.from(qps, (_, second) => 1000 * second);
  const trace = { kind: "rates", startMs, qps: Float64Array.from(qps), endMs: durationMs };
  const arrivalMs = drawArrivals({ kind: "trace", trace }, durationMs, seed);
  const forecastByLook =
    bundle.policy.predictor === "lstm" ? await foretold(bundle, arrivalMs, durationMs) : undefined;
  return simulateThemis(bundle, {
    arrivals: { kind: "requests", trace: { arrivalMs, takenByEdge: bundle.tasks.map(() => null) } },
    durationMs,
    seed,
    startLevel: 0,
    ...(forecastByLook === undefined ? {} : { forecastByLook }),
  });
}

async function foretold(bundle, arrivalMs, durationMs) {
  const forecaster = await openOnnxForecaster(LSTM);
  try {
    const { perSecondQps } = lookHistories(arrivalMs, bundle.policy.tickMs, durationMs);
    return await forecaster.forecastAll(perSecondQps);
  } finally {
    await forecaster.close();
  }
}

function withPolicy(bundle, options) {
  return { ...bundle, policy: { ...bundle.policy, ...options } };
}

async function compiled(pipeline, { loads = SETUPS[pipeline].loads, ...policy } = {}) {
  const { coldStart } = SETUPS[pipeline];
  const out = join(folder, pipeline);
  execFileSync(process.execPath, [
    join(reference, "apps.mjs"),
    ...["themis", "--pipeline", pipeline, "--loads", loads.join(","), "--out", out],
    ...["--policy", JSON.stringify({ coldStart, ...policy })],
  ]);
  const path = join(out, "bundle.msgpack");
  execFileSync(process.execPath, [CLI, "compile", join(out, "app.yaml"), "-o", path]);
  const { bundle } = await loadBundle(path);
  return bundle;
}

function describe(pipeline) {
  const most = Math.max(...rps) / dividers[pipeline];
  const least = Math.min(...rps) / dividers[pipeline];
  const { sloMs } = pipelines[pipeline];
  return `${least.toFixed(1)} to ${most.toFixed(1)} requests/s, SLO ${sloMs} ms, cold start ${SETUPS[pipeline].coldStart}`;
}

function range(from, to, step) {
  return Array.from({ length: Math.round((to - from) / step) + 1 }, (_, at) => from + at * step);
}

function percent(ratio) {
  return `${(100 * ratio).toFixed(2)}%`;
}
