// InferLine's evaluation once more (Figs. 6 to 13): its planner, greedy and exact, and its tuner, relative and as printed, beside coarse-grained plans and
// tuning; docs/experiments.md explains them. `node bench/inferline-experiments.js fig6|fig7|…|fig13|all` after a build; the authors' measurements are where
// STRATAGEM_REFERENCE says.
//
// What differs from the paper: its Social Media and TF Cascade pipelines have no published profiles, so the PyTorch cascade (alexnet, res152 for half of the
// requests) stands for them; everything runs on the simulator, with CPUs and K80s as in the paper's cluster; a replica comes up in 5 s, and a unit of the
// coarse-grained baseline no slower; the AutoScale traces of Fig. 7 are drawn after their description.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { arrivalSource } from "../dist/compiler/simulate/arrivals.js";
import { CoarseTuner } from "../dist/compiler/simulate/stages/coarse-tuner.js";
import { simulateStages } from "../dist/compiler/simulate/stages/simulate-stages.js";
import { tossVisits } from "../dist/compiler/simulate/stages/visits.js";
import { coarsePlan } from "../dist/compiler/solvers/inferline/baselines/coarse-plan.js";
import { SampleTraces } from "../dist/compiler/solvers/inferline/sample-traces.js";
import { Rng } from "../dist/runtime/core/rng.js";
import { stageGraphOf } from "../dist/runtime/core/stages/stage-graph.js";
import { loadBundle } from "../dist/runtime/load-bundle.js";
import { writeReference } from "./inferline-pipelines.js";

const CLI = new URL("../dist/compiler/cli.js", import.meta.url).pathname;
const WORKERS = { cpu: 1000, k80: 128, v100: 0 };
const SAMPLE_MS = 120_000;
/** Of the traffic that is served; plans are made with seed 1, margins and held-out traces from a million on. */
const SEED = 4242;
const STEADY_MS = 300_000;
const MAX_QPS = 300;

const experiments = { fig6, fig7, fig8, fig9, fig10, fig11, fig12, fig13 };
const folder = mkdtempSync(join(tmpdir(), "inferline-experiments-"));
const compiled = new Map();
try {
  const names = process.argv.slice(2).filter((name) => name !== "all");
  for (const name of names.length > 0 ? names : Object.keys(experiments)) {
    if (experiments[name] === undefined) throw new Error(`no experiment "${name}"`);
    await experiments[name]();
  }
} finally {
  rmSync(folder, { recursive: true });
}

/** Fig. 6: plans alone, on traffic like the sample. */
async function fig6() {
  for (const [pipeline, sloMs] of [
    ["image", 150],
    ["cascade", 150],
  ]) {
    const loads = [50, 100, 150, 200, 300];
    const rows = [];
    for (const cv2 of [1, 4]) {
      const spec = { pipeline, sloMs, cv2, loads };
      const own = await planned({ ...spec, policy: { refine: "exact" } });
      const greedy = await planned({ ...spec, policy: { refine: "none" } });
      const roomy = await planned({ ...spec, policy: { refine: "exact", margin: "auto" } });
      for (const [index, qps] of loads.entries()) {
        const trace = gammaTrace(own, [{ ms: STEADY_MS, qps, cv2 }], SEED);
        const plans = [
          only(greedy, index),
          only(own, index),
          only(roomy, index),
          coarse(only(own, index), "mean"),
          coarse(only(own, index), "peak"),
        ];
        const cells = plans.flatMap((bundle) => {
          if (bundle === null) return ["-", "-"];
          const { costPerHour, violationRate } = serve(bundle, trace, "none");
          return [costPerHour.toFixed(2), percent(violationRate)];
        });
        rows.push([qps, cv2, ...cells]);
      }
    }
    console.log(`\nFig. 6, ${pipeline}, ${sloMs} ms: $/h and misses of plans alone`);
    print(
      ["qps", "CV²", "greedy", "", "exact", "", "margin: auto", "", "CG-Mean", "", "CG-Peak", ""],
      rows,
    );
  }
}

/** Fig. 7: an hour's rates, each for half a minute, of which the first quarter is planned with. */
async function fig7() {
  for (const [name, shape] of [
    ["big spike", bigSpike],
    ["dual phase", dualPhase],
  ]) {
    const rates = Array.from({ length: 60 }, (_, minute) => shape(minute));
    const scale = MAX_QPS / Math.max(...rates);
    const pieces = rates.map((rate) => ({ ms: 30_000, qps: scale * rate, cv2: 1 }));
    const arrivalMs = gammaArrivals(pieces, SEED);
    const cutMs = 450_000;
    const sample = arrivalMs.filter((ms) => ms < cutMs);
    const live = arrivalMs.filter((ms) => ms >= cutMs).map((ms) => ms - cutMs);
    await compareTuning(`Fig. 7, cascade, 150 ms, ${name}`, {
      spec: { pipeline: "cascade", sloMs: 150, recorded: sample, sampleMs: cutMs },
      live,
      durationMs: 30_000 * 60 - cutMs,
    });
  }
}

/** Fig. 8: rates that rise from what is planned for. */
async function fig8() {
  for (const toQps of [200, 250, 300]) {
    const pieces = [
      { ms: 60_000, qps: 150, cv2: 1 },
      ...ramp(150, toQps, 60_000, 1),
      { ms: 120_000, qps: toQps, cv2: 1 },
    ];
    await compareTuning(`Fig. 8, cascade, 150 ms, 150 to ${toQps} qps in a minute`, {
      spec: { pipeline: "cascade", sloMs: 150, cv2: 1, loads: [150] },
      live: gammaArrivals(pieces, SEED),
      durationMs: lengthOf(pieces),
    });
  }
}

/** Fig. 9: what the planner's estimator says of the sample, the simulator with the serving dispatcher of the same requests, and of others. */
async function fig9() {
  const rows = [];
  for (const [pipeline, sloMs] of [
    ["image", 200],
    ["image", 350],
    ["cascade", 150],
    ["cascade", 300],
  ]) {
    const own = await planned({ pipeline, sloMs, cv2: 4, loads: [150] });
    const [level] = own.levels;
    const [sample] = new SampleTraces({ ...own, recorded: null }, level.capacityQps).samples(1);
    const same = serve(own, { trace: sample, durationMs: SAMPLE_MS }, "none");
    const other = serve(own, gammaTrace(own, [{ ms: STEADY_MS, qps: 150, cv2: 4 }], SEED), "none");
    rows.push([
      pipeline,
      sloMs,
      level.sample.estimate.p99Ms.toFixed(3),
      same.latencyMs.p99.toFixed(3),
      other.latencyMs.p99.toFixed(1),
      percent(level.sample.estimate.missRate),
      percent(same.violationRate),
      percent(other.violationRate),
    ]);
  }
  console.log(
    "\nFig. 9, 150 qps, CV² 4: P99 and misses, estimated | simulated on the sample | on another trace",
  );
  print(["pipeline", "SLO ms", "P99", "", "", "misses", "", ""], rows);
}

/** Fig. 10: what plans cost under other loads, burstiness and SLOs. */
async function fig10() {
  const loads = [100, 200, 300];
  const rows = [];
  for (const cv2 of [1, 4]) {
    for (const sloMs of [100, 150, 200, 250, 300, 350]) {
      const own = await planned({ pipeline: "cascade", sloMs, cv2, loads });
      const cells = own.levels.flatMap(({ feasible, plan, solve }) =>
        feasible
          ? [solve.greedyCostPerHour?.toFixed(2) ?? "-", plan.costPerHour.toFixed(2)]
          : ["-", "-"],
      );
      rows.push([sloMs, cv2, ...cells]);
    }
  }
  console.log("\nFig. 10, cascade: $/h of plans, greedy and exact");
  print(["SLO ms", "CV²", ...loads.flatMap((qps) => [`${qps} qps`, "exact"])], rows);
}

/** Fig. 11: from 150 to 250 qps and back, in a time τ each. */
async function fig11() {
  for (const seconds of [15, 30, 60, 120]) {
    const pieces = [
      { ms: 60_000, qps: 150, cv2: 1 },
      ...ramp(150, 250, 1000 * seconds, 1),
      { ms: 120_000, qps: 250, cv2: 1 },
      ...ramp(250, 150, 1000 * seconds, 1),
      { ms: 120_000, qps: 150, cv2: 1 },
    ];
    await sensitivity(`Fig. 11, cascade, 150 ms, 150 → 250 → 150 qps, τ ${seconds} s`, pieces);
  }
}

/** Fig. 12: burstier traffic at the same rate. */
async function fig12() {
  for (const cv2 of [2, 4, 8]) {
    const pieces = [
      { ms: 60_000, qps: 150, cv2: 1 },
      { ms: 180_000, qps: 150, cv2 },
      { ms: 120_000, qps: 150, cv2: 1 },
    ];
    await sensitivity(`Fig. 12, cascade, 150 ms, 150 qps, CV² 1 → ${cv2} → 1`, pieces);
  }
}

/** Fig. 13: what the planner and what the tuner contribute. */
async function fig13() {
  const pieces = [
    { ms: 60_000, qps: 150, cv2: 1 },
    ...ramp(150, 250, 60_000, 1),
    { ms: 180_000, qps: 250, cv2: 1 },
  ];
  await compareTuning("Fig. 13, image, 350 ms, 150 to 250 qps in a minute", {
    spec: { pipeline: "image", sloMs: 350, cv2: 1, loads: [150] },
    live: gammaArrivals(pieces, SEED),
    durationMs: lengthOf(pieces),
  });
}

/** Plans of InferLine and coarse-grained ones, each with several tuners, on one trace. */
async function compareTuning(title, { spec, live, durationMs }) {
  const exact = await planned(spec);
  const greedy = await planned({ ...spec, policy: { refine: "none" } });
  const roomy = spec.recorded
    ? null
    : await planned({ ...spec, policy: { refine: "exact", margin: "auto" } });
  const [mean, peak] = ["mean", "peak"].map((sizing) => coarse(exact, sizing, spec.recorded));
  const methods = [
    ["exact, relative", exact, "relative"],
    ["greedy, relative", greedy, "relative"],
    ["margin: auto, relative", roomy, "relative"],
    ["exact, paper's tuner", exact, "paper"],
    ["exact, coarse tuner", exact, "coarse"],
    ["exact, no tuner", exact, "none"],
    ["CG-Mean, coarse tuner", mean, "coarse"],
    ["CG-Peak, coarse tuner", peak, "coarse"],
    ["CG-Mean, no tuner", mean, "none"],
    ["CG-Peak, no tuner", peak, "none"],
  ];
  tell(title, methods, (bundle) => withVisits(bundle, live, durationMs, SEED));
}

/** As Figs. 11 and 12 compare: with a tuner, without, and a plan that knew the traffic. */
async function sensitivity(title, pieces) {
  const live = gammaArrivals(pieces, SEED);
  const durationMs = lengthOf(pieces);
  const exact = await planned({ pipeline: "cascade", sloMs: 150, cv2: 1, loads: [150] });
  const oracle = await planned({
    pipeline: "cascade",
    sloMs: 150,
    recorded: live,
    sampleMs: durationMs,
  });
  const methods = [
    ["exact, relative", exact, "relative"],
    ["exact, paper's tuner", exact, "paper"],
    ["oracle's plan, no tuner", oracle, "none"],
    ["exact, no tuner", exact, "none"],
  ];
  tell(title, methods, (bundle) => withVisits(bundle, live, durationMs, SEED));
}

function tell(title, methods, traceFor) {
  const rows = methods
    .filter(([, bundle]) => bundle !== null)
    .map(([name, bundle, tuner]) => {
      const requests = traceFor(bundle);
      const outcome = serve(bundle, requests, tuner);
      const seconds = outcome.timeline.filter(({ requests, violations }) => {
        return requests > 0 && violations > 0.01 * requests;
      });
      return [
        name,
        bundle.levels[0].plan.costPerHour.toFixed(2),
        outcome.costPerHour.toFixed(2),
        ((outcome.costPerHour * requests.durationMs) / 3_600_000).toFixed(3),
        Math.max(...outcome.timeline.map(({ costPerHour }) => costPerHour)).toFixed(2),
        percent(outcome.violationRate),
        seconds.length,
        outcome.scaling.up,
        outcome.scaling.down,
      ];
    });
  console.log(`\n${title}`);
  print(
    ["", "plan $/h", "mean $/h", "$", "most $/h", "misses", "s over 1 %", "started", "stopped"],
    rows,
  );
}

/**
 * The bundle of a spec, compiled once. @param spec `pipeline`, `sloMs`, `policy`, and either `cv2` and `loads` or `recorded`, arrivals of `sampleMs` that are the
 * sample as they are.
 */
async function planned({ pipeline, sloMs, cv2, loads, recorded, sampleMs, policy = {} }) {
  const key = JSON.stringify([
    pipeline,
    sloMs,
    cv2,
    loads,
    recorded?.length,
    recorded?.[0],
    policy,
  ]);
  const known = compiled.get(key);
  if (known !== undefined) return known;
  const dir = join(folder, String(compiled.size));
  const traced = recorded && recordedWorkload(recorded, sampleMs);
  const app = writeReference(
    pipeline,
    {
      sloMs,
      workers: WORKERS,
      loads: traced?.loads ?? loads,
      arrivals: traced ? { process: "trace", file: "sample.csv" } : { process: "gamma", cv2 },
      policy: { sampleDuration: `${sampleMs ?? SAMPLE_MS} ms`, ...policy },
    },
    dir,
  );
  if (traced) writeFileSync(join(dir, "sample.csv"), traced.file);
  const out = join(dir, "bundle.msgpack");
  execFileSync(process.execPath, [CLI, "compile", app, "-o", out], {
    maxBuffer: 1e9,
    stdio: ["ignore", "ignore", "pipe"],
  });
  const { bundle } = await loadBundle(out);
  compiled.set(key, bundle);
  return bundle;
}

/** A trace file, and the load at which it is not sped up. */
function recordedWorkload(arrivalMs, sampleMs) {
  const firstMs = arrivalMs[0];
  const times = Array.from(arrivalMs, (ms) => ms - firstMs).filter((ms) => ms < sampleMs);
  const qps = (1000 * (times.length - 1)) / times.at(-1);
  return { file: ["arrivalMs", ...times].join("\n"), loads: [qps] };
}

/** A bundle of one of the levels. */
function only(bundle, index) {
  return { ...bundle, levels: [bundle.levels[index]] };
}

/** The same with a coarse-grained plan for the sample of its only level; null where none fits the cluster. @param recorded the sample where it was not drawn. */
function coarse(bundle, sizing, recorded) {
  const [level] = bundle.levels;
  const plan = coarsePlan(bundle, {
    arrivalMs: recorded ?? sampleArrivals(bundle),
    durationMs: level.sample.durationMs,
    scaleFactors: level.plan.stages.map(({ scaleFactor }) => scaleFactor),
    sizing,
  });
  return plan === null ? null : { ...bundle, levels: [{ ...level, plan }] };
}

/** What the level was planned with. */
function sampleArrivals(bundle) {
  const [{ loadQps }] = bundle.levels;
  return new SampleTraces({ ...bundle, recorded: null }, loadQps).samples(1)[0].arrivalMs;
}

function serve(bundle, { trace, durationMs }, tuner) {
  const isCoarse = tuner === "coarse";
  const policy = { ...bundle.policy, tuner: isCoarse ? "none" : tuner };
  const served = { ...bundle, policy };
  return simulateStages(served, {
    arrivals: { kind: "requests", trace },
    durationMs,
    seed: SEED,
    serviceTimes: "p95",
    timeline: true,
    level: 0,
    ...(isCoarse ? { tuner: new CoarseTuner(served, 0) } : {}),
  });
}

function gammaTrace(bundle, pieces, seed) {
  return withVisits(bundle, gammaArrivals(pieces, seed), lengthOf(pieces), seed);
}

function withVisits(bundle, arrivalMs, durationMs, seed) {
  const takenByEdge = tossVisits(stageGraphOf(bundle), arrivalMs.length, seed);
  return { trace: { arrivalMs, takenByEdge }, durationMs };
}

/** Gamma arrivals whose rate and burstiness are those of consecutive pieces: arrivals of rate 1 on a clock that runs at the rate. */
function gammaArrivals(pieces, seed) {
  const times = [];
  let startMs = 0;
  for (let first = 0; first < pieces.length; ) {
    const { cv2 } = pieces[first];
    let end = first;
    while (end < pieces.length && pieces[end].cv2 === cv2) end++;
    const run = pieces.slice(first, end);
    const expected = run.reduce((sum, { ms, qps }) => sum + (ms * qps) / 1000, 0);
    // One per second of the clock; there are never twice as many as expected and some.
    const unit = new Float64Array(Math.ceil(2 * expected) + 1000);
    arrivalSource({ kind: "gamma", qps: 1, cv2 }, new Rng(seed + first, 1)).fill(unit);
    let index = 0;
    let clock = 0;
    for (const { ms, qps } of run) {
      const until = clock + (ms * qps) / 1000;
      for (; unit[index] / 1000 < until; index++) {
        times.push(startMs + ((unit[index] / 1000 - clock) * 1000) / qps);
      }
      clock = until;
      startMs += ms;
    }
    first = end;
  }
  return Float64Array.from(times);
}

/** From one rate to another in steps of a second. */
function ramp(fromQps, toQps, ms, cv2) {
  const steps = ms / 1000;
  return Array.from({ length: steps }, (_, step) => ({
    ms: 1000,
    qps: fromQps + ((toQps - fromQps) * (step + 0.5)) / steps,
    cv2,
  }));
}

function lengthOf(pieces) {
  return pieces.reduce((sum, { ms }) => sum + ms, 0);
}

/** About a third of the peak, and for five minutes far more. */
function bigSpike(minute) {
  const spike = { 34: 0.7, 35: 1, 36: 1, 37: 0.9, 38: 0.55 }[minute];
  return spike ?? 0.33 + 0.05 * Math.sin(minute / 4);
}

/** Two levels, a jump between them, and a low end. */
function dualPhase(minute) {
  if (minute < 20) return 0.35 + 0.05 * Math.sin(minute / 3);
  if (minute < 36) return 0.9 + 0.1 * Math.sin(minute / 2);
  return Math.max(0.12, 0.9 - 0.15 * (minute - 35));
}

function percent(value) {
  return `${(100 * value).toFixed(2)} %`;
}

function print(head, rows) {
  const table = [head, ...rows].map((row) => row.map(String));
  const widths = head.map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0)));
  for (const row of table) {
    console.log(row.map((cell, column) => cell.padStart(widths[column])).join("  "));
  }
}
