// Cores and instances that change under load: steady traffic, a burst of more than twice as much, and steady traffic again, in one run of two minutes on
// a live server; beside it what a simulation of the same arrivals says. `node bench/scale-serving.js [BUNDLE [MODEL_FOLDER [STEADY_QPS [BURST_QPS]]]]`
// after a build; server, workers and load generator share the machine. Left out: the scaling policy of this repository, its models, a burst of nine tenths
// of what its highest level is for, and 2.25 times less. Ends with 1 if a request was lost.
import { spawn } from "node:child_process";
import { cpus, loadavg } from "node:os";
import { setTimeout as pause } from "node:timers/promises";
import { runLoad } from "../compiler/dist/load/run-load.js";
import { simulateThemis } from "../compiler/dist/methods/themis/simulate/simulate.js";
import { drawArrivals } from "../compiler/dist/simulate/graph/drawn-requests.js";
import { tossVisits } from "../compiler/dist/simulate/graph/visits.js";
import { taskGraphOf } from "../runtime/dist/core/graph/task-graph.js";
import { loadBundle } from "../runtime/dist/load-bundle.js";
import { drawImages, IMAGE_BYTES } from "../tools/image-classification/dataset.js";
import { drawScenes, SCENE_BYTES } from "../tools/scenes/dataset.js";
import { listening } from "./listening.js";

const [
  path = "policies/scaling/bundle.msgpack",
  models = "models/scaling",
  steadyText = "",
  burstText = "",
] = process.argv.slice(2);
const { bundle } = await loadBundle(path);
const sloMs = bundle.slo.latencyMs;
const BURST_RATIO = 2.25;
const burstQps = Number(burstText) || Math.round(0.9 * (bundle.levels.at(-1)?.capacityQps ?? 0));
const steadyQps = Number(steadyText) || Math.round(burstQps / BURST_RATIO);
/** A server begins with the plan of its highest level: the first phase is for it to come down. */
const PHASES = [
  { name: "start", seconds: 30, qps: steadyQps },
  { name: "steady", seconds: 20, qps: steadyQps },
  { name: "burst", seconds: 25, qps: burstQps },
  { name: "after", seconds: 45, qps: steadyQps },
];
const SEED = 7;
const POLL_MS = 100;
const TIMEOUT_MS = 10_000;
const ROW_COUNT = 500;

const inputs = drawnInputs();
const server = spawn(process.execPath, ["bench/recorded-scales.js", path, models], {
  stdio: ["ignore", "pipe", "inherit"],
});
const changes = [];
try {
  const { url, originMs } = await listening(server, (told) => changes.push(told));
  console.log(`${cpus().length} cores, ${cpus()[0]?.model}, Node ${process.version}`);
  console.log(`load average before: ${loadavg()[0].toFixed(2)}`);
  for (const line of statedLines()) console.log(line);
  if (bundle.policy.predictor === "lstm") {
    console.log("the server's forecasts are a model's, those of the simulation the last maximum");
  }
  const startMs = performance.now();
  const watch = watchScales(url, startMs);
  const measured = await loaded(url, startMs);
  const samples = await watch.end();
  report(measured, samples, simulated());
  reportTimeline(samples);
  reportChanges(performance.timeOrigin + startMs - originMs);
  await reportTotals(url, measured);
} finally {
  server.kill("SIGTERM");
}

/** What the bundle promises at each of its levels. */
function statedLines() {
  return bundle.levels.map(({ loadQps, feasible, steady }, level) => {
    const { cores, expected } = steady;
    const held = stagesText(steady.stages);
    return `level ${level}, ${loadQps} requests/s${feasible ? "" : ", more than the cores carry"}: ${held}; ${coresText(cores)} in all; p99 ${expected.latencyMsP99.toFixed(1)} ms, violations ${percent(expected.violationRate)} simulated`;
  });
}

function stagesText(stages) {
  return stages
    .map(({ instances, cores, batch }, task) => {
      return `${bundle.tasks[task].name} ${instances} of ${coresText(cores)}, batches up to ${batch}`;
    })
    .join(", ");
}

/** Every phase begins when it is due, whatever is still on its way. */
async function loaded(url, startMs) {
  const results = [];
  let beginMs = startMs;
  for (const [index, { seconds, qps }] of PHASES.entries()) {
    await pause(Math.max(0, beginMs - performance.now()));
    results.push(
      runLoad({
        url,
        model: null,
        arrivals: { kind: "poisson", qps },
        durationMs: 1000 * seconds,
        seed: SEED + index,
        sloMs,
        inputs,
        maxOutstanding: 4096,
        warmUpQueries: 0,
        timeoutMs: TIMEOUT_MS,
        nowMs: () => performance.now(),
        onProgress: () => {},
        signal: AbortSignal.timeout(1000 * seconds + 60_000),
      }),
    );
    beginMs += 1000 * seconds;
  }
  return Promise.all(results);
}

/** Images or scenes where the first model takes one; else null, for zeros. */
function drawnInputs() {
  const [{ dtype, shape }] = bundle.tasks[0].variants[0].model.inputs;
  const rowBytes = dtype === "uint8" ? shape.slice(1).reduce((size, axis) => size * axis, 1) : 0;
  const draw = { [IMAGE_BYTES]: drawImages, [SCENE_BYTES]: drawScenes }[rowBytes];
  if (draw === undefined) return null;
  const { pixels } = draw(SEED, ROW_COUNT);
  return (index) => {
    const first = (index % ROW_COUNT) * rowBytes;
    return { bytes: pixels.subarray(first, first + rowBytes), label: null };
  };
}

/** The same arrivals on a virtual clock, in one run; which way each request goes is drawn by the shares of the edges. */
function simulated() {
  const arrivalMs = [];
  const counts = [];
  let beginMs = 0;
  for (const [index, { seconds, qps }] of PHASES.entries()) {
    const drawn = drawArrivals({ kind: "poisson", qps }, 1000 * seconds, SEED + index);
    for (const ms of drawn) arrivalMs.push(beginMs + ms);
    counts.push(drawn.length);
    beginMs += 1000 * seconds;
  }
  const graph = taskGraphOf(bundle);
  const trace = {
    arrivalMs: Float64Array.from(arrivalMs),
    takenByEdge: tossVisits(graph, arrivalMs.length, SEED),
  };
  const result = simulateThemis(bundle, {
    arrivals: { kind: "requests", trace },
    durationMs: beginMs,
    seed: SEED,
    startLevel: bundle.levels.length - 1,
    timeline: true,
    withLatencies: true,
  });
  const phases = phasesOf(result, counts);
  return { phases, scaling: result.scaling };
}

function phasesOf({ timeline, latencyMsByRequest }, counts) {
  const phases = [];
  let request = 0;
  let second = 0;
  for (const [index, { seconds }] of PHASES.entries()) {
    const latencyMs = latencyMsByRequest.slice(request, request + counts[index]);
    const late = latencyMs.filter((ms) => !(ms <= sloMs)).length;
    const served = latencyMs.filter((ms) => !Number.isNaN(ms)).sort();
    const held = timeline.slice(second, second + seconds).map(({ cores }) => cores);
    phases.push({
      violationRate: late / latencyMs.length,
      p50: served[Math.ceil(0.5 * served.length) - 1],
      p99: served[Math.ceil(0.99 * served.length) - 1],
      dropped: latencyMs.length - served.length,
      cores: held.reduce((sum, cores) => sum + cores, 0) / held.length,
      mostCores: Math.max(...held),
    });
    request += counts[index];
    second += seconds;
  }
  return phases;
}

function report(measured, samples, { phases, scaling }) {
  let beginMs = 0;
  for (const [index, { name, seconds, qps }] of PHASES.entries()) {
    const { queries, late, violationRate, latencyMs, sendLagMs, errors } = measured[index];
    const expected = phases[index];
    const endMs = beginMs + 1000 * seconds;
    const cores = samples
      .filter(({ atMs }) => atMs >= beginMs && atMs < endMs)
      .map(({ tasks }) => sum(tasks.map(({ held }) => held)));
    beginMs = endMs;
    const fates = fatesOf(errors);
    console.log(
      `${name}, ${qps} requests/s for ${seconds} s: ${queries} requests, ${late} late, ${fates.dropped} given up, ${fates.failed} failed, ${fates.lost} lost; violations ${percent(violationRate)} measured, ${percent(expected.violationRate)} simulated; p50 ${ms(latencyMs.p50)}, ${ms(expected.p50)}; p99 ${ms(latencyMs.p99)}, ${ms(expected.p99)}; cores ${(sum(cores) / cores.length).toFixed(2)} (most ${Math.max(...cores)}), ${expected.cores.toFixed(2)} (most ${expected.mostCores}); send lag p99 ${ms(sendLagMs.p99)}`,
    );
    if (Object.keys(errors).length > 0) console.log(`  ${JSON.stringify(errors)}`);
  }
  console.log(
    `simulated in all: ${scaling.bursts} bursts met, ${scaling.settled} plans settled on, ${scaling.resizes} resizes, ${scaling.up} instances started, ${scaling.down} stopped`,
  );
}

/** The server answers 503 for what it gives up; whatever has no HTTP status was lost. */
function fatesOf(errors) {
  const fates = { dropped: 0, failed: 0, lost: 0 };
  for (const [reason, count] of Object.entries(errors)) {
    if (reason === "503") fates.dropped += count;
    else if (/^\d+$/.test(reason)) fates.failed += count;
    else fates.lost += count;
  }
  return fates;
}

/** Level, goal, instances and cores, as often as the server can be asked. */
function watchScales(url, startMs) {
  const samples = [];
  let isEnded = false;
  const watching = (async () => {
    while (!isEnded) {
      const text = await (await fetch(`${url}/metrics`)).text();
      samples.push({ atMs: performance.now() - startMs, ...stateOf(text) });
      await pause(POLL_MS);
    }
  })();
  return {
    async end() {
      isEnded = true;
      await watching;
      return samples;
    },
  };
}

function stateOf(text) {
  const values = new Map(
    text.split("\n").map((line) => {
      const end = line.lastIndexOf(" ");
      return [line.slice(0, end), Number(line.slice(end + 1))];
    }),
  );
  const tasks = bundle.tasks.map(({ name }) => {
    const of = (kind) => values.get(`stratagem_${kind}{task="${name}"}`);
    return {
      name,
      ready: of("instances_ready"),
      assigned: of("instances_assigned"),
      target: of("instances_target"),
      cores: of("instance_cores_target"),
      held: of("cores_held"),
    };
  });
  const level = values.get("stratagem_level");
  return { tasks, level, goal: values.get("stratagem_goal_level") };
}

function reportTimeline(samples) {
  console.log(
    "level (goal); of each task instances up/assigned/target x cores of each, cores held:",
  );
  let known = "";
  for (const { atMs, level, goal, tasks } of samples) {
    const stages = tasks.map(({ name, ready, assigned, target, cores, held }) => {
      return `${name} ${ready}/${assigned}/${target} x ${cores}, ${held}`;
    });
    const state = `${level} (${goal}); ${stages.join("; ")}`;
    if (state !== known) console.log(`  ${seconds(atMs)}: ${state}`);
    known = state;
  }
}

/** @param shiftMs of our zero on the server's clock. */
function reportChanges(shiftMs) {
  const resizes = changes.filter(({ before }) => before > 0);
  for (const { task, worker, before, cores, atMs, tookMs } of changes) {
    const what = before > 0 ? `${before} to ${coresText(cores)}` : `up with ${coresText(cores)}`;
    console.log(
      `  ${seconds(atMs - shiftMs)}: ${task} on worker ${worker}: ${what} in ${ms(tookMs)}`,
    );
  }
  const took = resizes.map(({ tookMs }) => tookMs).sort((a, b) => a - b);
  if (took.length === 0) return;
  console.log(
    `${took.length} resizes: in force after ${ms(took[0])} at least, ${ms(took[Math.floor(took.length / 2)])} median, ${ms(took.at(-1))} at most`,
  );
}

async function reportTotals(url, measured) {
  const text = await (await fetch(`${url}/metrics`)).text();
  const counted = [...text.matchAll(/^stratagem_queries_total{outcome="(\w+)"} (\d+)$/gm)];
  const byOutcome = Object.fromEntries(counted.map(([, outcome, n]) => [outcome, Number(n)]));
  const of = (name) => new RegExp(`^stratagem_${name}_total (\\d+)$`, "m").exec(text)?.[1];
  console.log(
    `measured in all: ${of("bursts")} bursts met, ${of("plans_settled")} plans settled on, ${of("looks")} looks`,
  );
  const fates = measured.map(({ errors }) => fatesOf(errors));
  const [lost, failed] = [sum(fates.map((fate) => fate.lost)), sum(fates.map((f) => f.failed))];
  const sent = sum(measured.map(({ queries }) => queries));
  console.log(
    `${sent} requests sent, ${lost} lost; the server counted ${JSON.stringify(byOutcome)}`,
  );
  // What it counts is answered or given up; what failed is neither.
  if (lost > 0 || sum(Object.values(byOutcome)) + failed !== sent) process.exitCode = 1;
}

function sum(values) {
  return values.reduce((total, value) => total + value, 0);
}

function coresText(cores) {
  return cores === 1 ? "1 core" : `${cores} cores`;
}

function percent(share) {
  return `${(100 * share).toFixed(2)} %`;
}

function ms(value) {
  return `${value.toFixed(1)} ms`;
}

function seconds(atMs) {
  return `${(atMs / 1000).toFixed(1).padStart(6)} s`;
}
