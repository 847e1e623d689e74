// InferLine's evaluation once more (Figs. 6 to 13): its planner, greedy and exact, and its tuner, relative and as printed, beside coarse-grained plans and
// tuning; docs/experiments.md explains them. `node bench/inferline-experiments.js fig6|fig7|…|fig13|steady|all` after a build, `all` with two figures at a time; the
// authors' measurements are where STRATAGEM_REFERENCE says.
//
// What differs from the paper: its Social Media and TF Cascade pipelines have no published profiles, so the PyTorch cascade (alexnet, res152 for half of the
// requests) stands for them; everything runs on the simulator, with CPUs and K80s as in the paper's cluster; a replica comes up in 5 s, and a unit of the
// coarse-grained baseline no slower; the AutoScale traces of Fig. 7 are drawn after their description.
import { execFile, execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { CoarseTuner } from "../compiler/dist/methods/inferline/simulate/coarse-tuner.js";
import { simulateInferline } from "../compiler/dist/methods/inferline/simulate/simulate.js";
import { coarsePlan } from "../compiler/dist/methods/inferline/solve/baselines/coarse-plan.js";
import { SampleTraces } from "../compiler/dist/methods/inferline/solve/sample-traces.js";
import { arrivalSource } from "../compiler/dist/simulate/arrivals.js";
import { tossVisits } from "../compiler/dist/simulate/graph/visits.js";
import { taskGraphOf } from "../runtime/dist/core/graph/task-graph.js";
import { Rng } from "../runtime/dist/core/rng.js";
import { loadBundle } from "../runtime/dist/load-bundle.js";
import { writeReference } from "./inferline-pipelines.js";

const CLI = new URL("../compiler/dist/cli.js", import.meta.url).pathname;
const WORKERS = { cpu: 1000, k80: 128, v100: 0 };
const SAMPLE_MS = 120_000;
/** Of the traffic that is served; plans are made with seed 1, margins and held-out traces from a million on. */
const SEEDS = [4242, 5242, 6242];
const AUTO = { margin: "auto" };
const STEADY_MS = 300_000;
const MAX_QPS = 300;

const experiments = { fig6, fig7, fig8, fig9, fig10, fig11, fig12, fig13, steady };
const names = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), "inferline-experiments-"));
const compiled = new Map();
try {
  if (names.length === 0 || names.includes("all")) await inPairs(Object.keys(experiments));
  else for (const name of names) await experimentOf(name)();
} finally {
  rmSync(folder, { recursive: true });
}

function experimentOf(name) {
  if (experiments[name] === undefined) throw new Error(`no experiment "${name}"`);
  return experiments[name];
}

/** Every figure in a process of its own, two at a time, told in order. */
async function inPairs(figures) {
  const left = [...figures];
  const told = new Map();
  const work = async () => {
    for (let name = left.shift(); name !== undefined; name = left.shift()) {
      const { stdout } = await promisify(execFile)(process.execPath, [process.argv[1], name]);
      told.set(name, stdout);
    }
  };
  await Promise.all([work(), work()]);
  for (const name of figures) process.stdout.write(told.get(name));
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
      const own = await planned(spec);
      const greedy = await planned({ ...spec, policy: { refine: "none" } });
      const roomy = await planned({ ...spec, policy: AUTO });
      for (const [index, qps] of loads.entries()) {
        const plans = [
          only(roomy, index),
          only(own, index),
          only(greedy, index),
          coarse(only(own, index), "mean"),
          coarse(only(own, index), "peak"),
        ];
        const cells = plans.flatMap((bundle) => {
          if (bundle === null) return ["-", "-", "-"];
          const misses = SEEDS.map((seed) => {
            const trace = gammaTrace(bundle, [{ ms: STEADY_MS, qps, cv2 }], seed);
            return serve(bundle, trace, { tuner: "none", seed }).violationRate;
          });
          const { costPerHour } = bundle.levels[0].plan;
          return [costPerHour.toFixed(2), percent(mean(misses)), percent(Math.max(...misses))];
        });
        rows.push([qps, cv2, ...cells]);
      }
    }
    console.log(`\nFig. 6, ${pipeline}, ${sloMs} ms: $/h, mean and worst misses of plans alone`);
    const methods = ["margin: auto", "exact", "greedy", "CG-Mean", "CG-Peak"];
    print(["qps", "CV²", ...methods.flatMap((name) => [name, "", ""])], rows);
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
    const cutMs = 450_000;
    const runs = SEEDS.map((seed) => {
      const arrivalMs = gammaArrivals(pieces, seed);
      return {
        seed,
        spec: {
          pipeline: "cascade",
          sloMs: 150,
          recorded: arrivalMs.filter((ms) => ms < cutMs),
          sampleMs: cutMs,
        },
        live: arrivalMs.filter((ms) => ms >= cutMs).map((ms) => ms - cutMs),
      };
    });
    const jumps = rates.flatMap((rate, minute) => {
      const second = 30 * minute - cutMs / 1000;
      return second > 0 && rate > 1.25 * rates[minute - 1] ? [second] : [];
    });
    const durationMs = 30_000 * 60 - cutMs;
    await compareTuning(`Fig. 7, cascade, 150 ms, ${name}`, { runs, durationMs, jumps });
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
      runs: runsOf({ pipeline: "cascade", sloMs: 150, cv2: 1, loads: [150] }, pieces),
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
    const same = serve(own, { trace: sample, durationMs: SAMPLE_MS }, { tuner: "none", seed: 1 });
    const others = SEEDS.map((seed) => {
      const trace = gammaTrace(own, [{ ms: STEADY_MS, qps: 150, cv2: 4 }], seed);
      return serve(own, trace, { tuner: "none", seed });
    });
    const p99Ms = others.map(({ latencyMs }) => latencyMs.p99);
    rows.push([
      pipeline,
      sloMs,
      level.sample.estimate.p99Ms.toFixed(3),
      same.latencyMs.p99.toFixed(3),
      `${Math.min(...p99Ms).toFixed(1)} to ${Math.max(...p99Ms).toFixed(1)}`,
      percent(level.sample.estimate.missRate),
      percent(same.violationRate),
      percent(mean(others.map(({ violationRate }) => violationRate))),
    ]);
  }
  console.log(
    "\nFig. 9, 150 qps, CV² 4: P99 and misses, estimated | simulated on the sample | on other traces",
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
    runs: runsOf({ pipeline: "image", sloMs: 350, cv2: 1, loads: [150] }, pieces),
    durationMs: lengthOf(pieces),
  });
}

/** What tuners make of traffic that is like the sample: nothing would be right. */
async function steady() {
  for (const [pipeline, sloMs] of [
    ["cascade", 150],
    ["image", 350],
  ]) {
    for (const cv2 of [1, 4]) {
      const pieces = [{ ms: STEADY_MS, qps: 150, cv2 }];
      await compareTuning(`Steady, ${pipeline}, ${sloMs} ms, 150 qps, CV² ${cv2}`, {
        runs: runsOf({ pipeline, sloMs, cv2, loads: [150] }, pieces),
        durationMs: STEADY_MS,
      });
    }
  }
}

/**
 * Plans of InferLine and coarse-grained ones, each with several tuners, on the same traces. @param comparison `runs`, each with its `seed`, the `spec` to plan
 * with and the arrivals `live`; `jumps`, the seconds at which the rate leaps.
 */
async function compareTuning(title, { runs, durationMs, jumps }) {
  const outcomes = new Map();
  for (const { seed, spec, live } of runs) {
    const own = await planned({ ...spec, policy: spec.recorded ? inParts(spec) : AUTO });
    const exact = await planned(spec);
    const greedy = await planned({ ...spec, policy: { refine: "none" } });
    const [meanUnits, peakUnits] = ["mean", "peak"].map((sizing) => {
      return coarse(exact, sizing, spec.recorded);
    });
    const methods = [
      ["InferLine: margin auto, relative", own, "relative"],
      ["…, tolerance 1", own, "relative", 1],
      ["…, paper's tuner", own, "paper"],
      ["…, coarse tuner", own, "coarse"],
      ["…, no tuner", own, "none"],
      ["margin 0, relative", exact, "relative"],
      ["margin 0, tolerance 1", exact, "relative", 1],
      ["as printed: greedy, paper's tuner", greedy, "paper"],
      ["CG-Mean, coarse tuner", meanUnits, "coarse"],
      ["CG-Peak, coarse tuner", peakUnits, "coarse"],
      ["CG-Mean, no tuner", meanUnits, "none"],
      ["CG-Peak, no tuner", peakUnits, "none"],
    ];
    serveAll(outcomes, methods, { seed, live, durationMs });
  }
  tell(title, outcomes, jumps);
}

/** As Figs. 11 and 12 compare: with a tuner, without, and a plan that knew the traffic. */
async function sensitivity(title, pieces) {
  const durationMs = lengthOf(pieces);
  const outcomes = new Map();
  const spec = { pipeline: "cascade", sloMs: 150, cv2: 1, loads: [150] };
  const own = await planned({ ...spec, policy: AUTO });
  const exact = await planned(spec);
  for (const { seed, live } of runsOf(spec, pieces)) {
    const { pipeline, sloMs } = spec;
    const oracle = await planned({ pipeline, sloMs, recorded: live, sampleMs: durationMs });
    const methods = [
      ["InferLine: margin auto, relative", own, "relative"],
      ["…, tolerance 1", own, "relative", 1],
      ["…, paper's tuner", own, "paper"],
      ["…, no tuner", own, "none"],
      ["margin 0, relative", exact, "relative"],
      ["oracle's plan, no tuner", oracle, "none"],
    ];
    serveAll(outcomes, methods, { seed, live, durationMs });
  }
  tell(title, outcomes);
}

/** The same plans, whatever the seed of the traffic. */
function runsOf(spec, pieces) {
  return SEEDS.map((seed) => ({ seed, spec, live: gammaArrivals(pieces, seed) }));
}

/** A margin needs traces that were not planned with: two fifths of the recorded sample. */
function inParts({ sampleMs }) {
  return { ...AUTO, traces: 3, sampleDuration: `${sampleMs / 5} ms` };
}

/** @param outcomes by the name of the method, one more for each afterwards. */
function serveAll(outcomes, methods, { seed, live, durationMs }) {
  for (const [name, bundle, tuner, tolerance = 0] of methods) {
    if (bundle === null) continue;
    const requests = withVisits(bundle, live, durationMs, seed);
    const outcome = serve(bundle, requests, { tuner, tolerance, seed });
    const { costPerHour } = bundle.levels[0].plan;
    outcomes.set(name, [...(outcomes.get(name) ?? []), { ...outcome, planned: costPerHour }]);
  }
}

function tell(title, outcomes, jumps = null) {
  const rows = [...outcomes].map(([name, runs]) => {
    const misses = runs.map(({ violationRate }) => violationRate);
    const seconds = runs.map(({ timeline }) => {
      return timeline.filter(({ requests, violations }) => violations > 0.01 * requests).length;
    });
    const most = runs.map(({ timeline }) => Math.max(...timeline.map((one) => one.costPerHour)));
    return [
      name,
      mean(runs.map((run) => run.planned)).toFixed(2),
      mean(runs.map(({ costPerHour }) => costPerHour)).toFixed(2),
      mean(most).toFixed(2),
      percent(mean(misses)),
      percent(Math.max(...misses)),
      ...(jumps === null ? [] : [percent(mean(runs.map((run) => missesAfter(jumps, run))))]),
      mean(seconds).toFixed(0),
      mean(runs.map(({ scaling }) => scaling.up)).toFixed(0),
      mean(runs.map(({ scaling }) => scaling.down)).toFixed(0),
    ];
  });
  console.log(`\n${title}`);
  const beyond = jumps === null ? [] : ["beyond 10 s of a jump"];
  const misses = ["misses", "worst", ...beyond, "s over 1 %"];
  print(["", "plan $/h", "mean $/h", "most $/h", ...misses, "started", "stopped"], rows);
}

/** Ratio of all requests that came more than 10 s after a jump and were late. */
function missesAfter(jumps, { timeline, queries }) {
  const misses = timeline.reduce((sum, { violations }, second) => {
    const isJump = jumps.some((jump) => second >= jump && second < jump + 10);
    return isJump ? sum : sum + violations;
  }, 0);
  return misses / queries;
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

function serve(bundle, { trace, durationMs }, { tuner, tolerance = 0, seed }) {
  const isCoarse = tuner === "coarse";
  const policy = { ...bundle.policy, tuner: isCoarse ? "none" : tuner, tolerance };
  const served = { ...bundle, policy };
  return simulateInferline(served, {
    arrivals: { kind: "requests", trace },
    durationMs,
    seed,
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
  const takenByEdge = tossVisits(taskGraphOf(bundle), arrivalMs.length, seed);
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

function mean(values) {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
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
