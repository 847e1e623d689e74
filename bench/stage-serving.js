// A live cascade: load of a level, a burst above it, and back, in one run of two and a half minutes, beside what a simulation of the same phases says;
// replicas as they come and go; and of the held-out images, how many were rightly named. `node bench/stage-serving.js` after a build; server, workers
// and load generator share the machine.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { simulateInferline } from "../compiler/dist/methods/inferline/simulate/simulate.js";
import { drawRequests } from "../compiler/dist/simulate/graph/drawn-requests.js";
import { taskGraphOf } from "../runtime/dist/core/graph/task-graph.js";
import { loadBundle } from "../runtime/dist/load-bundle.js";
import {
  CLASS_NAMES,
  drawImages,
  HELD_OUT_COUNT,
  HELD_OUT_SEED,
  IMAGE_BYTES,
} from "../tools/image-classification/dataset.js";
import { listening } from "./listening.js";

const CLI = "compiler/dist/cli.js";
const BUNDLE = "policies/cascade/bundle.msgpack";
const MODELS = "models/cascade";
/** Seconds and requests per second. After the burst the last minute's envelope has to forget it, and 15 s have to be quiet, before replicas go. */
const PHASES = [
  { name: "steady", seconds: 30, qps: 250 },
  { name: "burst", seconds: 20, qps: 450 },
  { name: "after", seconds: 100, qps: 125 },
];
/** Each phase has a load generator of its own, which is slow until its code is compiled: seconds at a rate that it can bear, counted to the phase. */
const RAMP = { seconds: 3, qps: 100 };
const WARM_UP = [
  { seconds: 5, qps: 30 },
  { seconds: 5, qps: 100 },
];
const SEED = 7;
const POLL_MS = 250;
const ROWS_PER_REQUEST = 50;

const { bundle } = await loadBundle(BUNDLE);
const sloMs = bundle.slo.latencyMs;
const images = drawImages(HELD_OUT_SEED, HELD_OUT_COUNT);
const folder = mkdtempSync(join(tmpdir(), "stage-serving-"));
const inputs = join(folder, "images.bin");
writeFileSync(inputs, images.pixels);
const server = spawn(process.execPath, ["bench/recorded-stages.js", BUNDLE, MODELS], {
  stdio: ["ignore", "pipe", "inherit"],
});
const activations = [];
try {
  const { url } = await listening(server, (told) => activations.push(told));
  console.log(`${cpus().length} cores, ${cpus()[0]?.model}, Node ${process.version}`);
  console.log(`load average before: ${loadavg()[0].toFixed(2)}`);
  for (const line of statedLines()) console.log(line);
  await bench(url, WARM_UP);
  const watch = watchReplicas(url);
  const measured = [];
  for (const phase of PHASES) measured.push(await bench(url, ratesOf(phase)));
  const changes = await watch.end();
  report(measured, simulated());
  console.log(`replicas, when they changed:\n${changes.join("\n")}`);
  for (const line of activationLines()) console.log(line);
  await checkTruth(url);
} finally {
  server.kill("SIGTERM");
  rmSync(folder, { recursive: true });
}

/** What the bundle promises at each of its levels. */
function statedLines() {
  return bundle.levels.map(({ loadQps, plan, sample, expected }) => {
    const stages = plan.stages.map(
      ({ replicas, batch }, task) =>
        `${bundle.tasks[task].name} ${replicas} x batches up to ${batch}`,
    );
    return `bundle at ${loadQps} requests/s: ${stages.join(", ")}; p99 ${sample.estimate.p99Ms.toFixed(1)} ms estimated, ${expected.latencyMsP99.toFixed(1)} ms simulated, violations ${percent(expected.violationRate)}`;
  });
}

/** @returns {{ seconds: number, qps: number }[]} */
function ratesOf({ seconds, qps }) {
  return [RAMP, { seconds: seconds - RAMP.seconds, qps }];
}

async function bench(url, rates) {
  const trace = join(folder, "rates.txt");
  const perSecond = rates.flatMap(({ seconds, qps }) => new Array(seconds).fill(qps));
  writeFileSync(trace, perSecond.map((qps, second) => `${second} ${qps}\n`).join(""));
  const load = [
    "--trace",
    trace,
    "--seed",
    String(SEED),
    "--slo",
    `${sloMs}ms`,
    "--inputs",
    inputs,
  ];
  const args = [CLI, "bench", url, ...load, "--json"];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  let text = "";
  for await (const chunk of child.stdout) text += chunk;
  return JSON.parse(text);
}

function traceOf(rates) {
  let endMs = 0;
  const startMs = rates.map(({ seconds }) => {
    endMs += 1000 * seconds;
    return endMs - 1000 * seconds;
  });
  const qps = Float64Array.from(rates, (rate) => rate.qps);
  return { kind: "rates", startMs: Float64Array.from(startMs), qps, endMs };
}

/** The same phases on a virtual clock, in one run: what each phase came to. */
function simulated() {
  const trace = traceOf(PHASES.flatMap(ratesOf));
  const requests = drawRequests(taskGraphOf(bundle), { kind: "trace", trace }, trace.endMs, SEED);
  const { timeline, latencyMsByRequest, byTask } = simulateInferline(bundle, {
    // Of requests as they are no rate is known beforehand, so that it begins with the highest level, as the server does.
    arrivals: { kind: "requests", trace: requests },
    durationMs: trace.endMs,
    seed: SEED,
    serviceTimes: "p95",
    timeline: true,
    withLatencies: true,
  });
  const phases = [];
  let first = 0;
  let second = 0;
  for (const phase of PHASES) {
    const inPhase = timeline.slice(second, second + phase.seconds);
    const count = inPhase.reduce((sum, { requests }) => sum + requests, 0);
    const latencyMs = latencyMsByRequest.slice(first, first + count).sort();
    phases.push({
      p99: latencyMs[Math.ceil(0.99 * count) - 1],
      violationRate: latencyMs.filter((ms) => ms > sloMs).length / count,
      mostReplicas: Math.max(...inPhase.map(({ servers }) => servers)),
      lastReplicas: inPhase.at(-1).servers,
    });
    first += count;
    second += phase.seconds;
  }
  const [gate, accurate] = Object.values(byTask);
  return { phases, escalated: accurate.queries / gate.queries };
}

function report(measured, { phases, escalated }) {
  for (const [index, { name, seconds, qps }] of PHASES.entries()) {
    const result = measured[index];
    const expected = phases[index];
    const { queries, late, latencyMs, sendLagMs } = result;
    console.log(
      `${name}, ${qps} requests/s for ${seconds} s: p99 ${latencyMs.p99.toFixed(1)} ms measured (p50 ${latencyMs.p50.toFixed(1)}, max ${latencyMs.max.toFixed(1)}), ${expected.p99.toFixed(1)} ms simulated; violations ${percent(result.violationRate)}, ${percent(expected.violationRate)}; replicas simulated ${expected.mostReplicas} at most, ${expected.lastReplicas} at the end; ${queries} requests, ${late} late, errors ${JSON.stringify(result.errors)}; send lag p99 ${sendLagMs.p99.toFixed(1)} ms`,
    );
  }
  const sent = sum(measured.map(({ queries }) => queries));
  const answered = sum(measured.map(({ queries, dropped }) => queries - dropped));
  const toAccurate = sum(measured.map(({ byVariant }) => byVariant["cnn-xl"]?.queries ?? 0));
  const stated = bundle.tasks[1].edges[0].share;
  console.log(
    `${sent} requests, ${answered} answered, ${sent - answered} lost; escalated ${percent(toAccurate / answered)}, stated ${percent(stated)}, simulated ${percent(escalated)}`,
  );
  if (answered !== sent) process.exitCode = 1;
}

/** Target, assigned and ready replicas of every task, a line for each change. */
function watchReplicas(url) {
  const startMs = performance.now();
  const changes = [];
  let isEnded = false;
  const watching = (async () => {
    let known = "";
    while (!isEnded) {
      const text = await (await fetch(`${url}/metrics`)).text();
      const state = stateOf(text);
      if (state !== known) {
        const atSeconds = ((performance.now() - startMs) / 1000).toFixed(1);
        changes.push(`  ${atSeconds.padStart(6)} s: ${state}`);
      }
      known = state;
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  })();
  return {
    async end() {
      isEnded = true;
      await watching;
      return changes;
    },
  };
}

function stateOf(text) {
  const value = (name, labels = "") =>
    Number(
      text
        .split("\n")
        .find((line) => line.startsWith(`${name}${labels} `))
        ?.split(" ")
        .at(-1),
    );
  const tasks = bundle.tasks.map(({ name }) => {
    const counts = ["target", "assigned", "ready"].map((kind) =>
      value(`stratagem_replicas_${kind}`, `{task="${name}"}`),
    );
    return `${name} ${counts.join("/")}`;
  });
  return `target/assigned/ready ${tasks.join(", ")}; level ${value("stratagem_level")}; ${value("stratagem_cost_per_hour")} an hour`;
}

/** From being assigned to holding the model; of the first replicas, whose server had no load, and of those that came while it was served. */
function activationLines() {
  return activations.map(
    ({ task, worker, atMs, activationMs }) =>
      `activation: ${task} on worker ${worker} at ${(atMs / 1000).toFixed(1)} s of the server: ${activationMs.toFixed(1)} ms`,
  );
}

/** Held-out images named by whoever answered last, and how many were escalated. */
async function checkTruth(url) {
  let right = 0;
  let escalated = 0;
  let stated = 0;
  for (let first = 0; first < HELD_OUT_COUNT; first += ROWS_PER_REQUEST) {
    const { outputs, parameters } = await infer(url, first);
    const data = (name) => outputs.find((output) => output.name === name)?.data.flat() ?? [];
    const classes = classesOf(data("gate.logits"));
    const later = classesOf(data("accurate.logits"));
    const rows = data("gate.escalate").flatMap((count, row) => (count === 1 ? [row] : []));
    for (const [index, row] of rows.entries()) classes[row] = later[index];
    for (const [row, found] of classes.entries()) {
      if (found === images.labels[first + row]) right++;
    }
    escalated += rows.length;
    stated += parameters.accuracy * ROWS_PER_REQUEST;
  }
  console.log(
    `by the truth of ${HELD_OUT_COUNT} images: ${percent(right / HELD_OUT_COUNT)} rightly named, stated ${percent(stated / HELD_OUT_COUNT)}; ${percent(escalated / HELD_OUT_COUNT)} escalated`,
  );
}

async function infer(url, first) {
  const pixels = images.pixels.subarray(
    first * IMAGE_BYTES,
    (first + ROWS_PER_REQUEST) * IMAGE_BYTES,
  );
  const input = {
    name: "pixels",
    datatype: "UINT8",
    shape: [ROWS_PER_REQUEST, IMAGE_BYTES],
    data: Array.from(pixels),
  };
  const response = await fetch(`${url}/v2/models/${bundle.application}/infer`, {
    method: "POST",
    body: JSON.stringify({ inputs: [input] }),
  });
  const body = await response.json();
  if (!response.ok) throw new Error(JSON.stringify(body));
  return body;
}

function classesOf(logits) {
  const width = CLASS_NAMES.length;
  return Array.from({ length: logits.length / width }, (_, row) => {
    const values = logits.slice(row * width, (row + 1) * width);
    return values.indexOf(Math.max(...values));
  });
}

function sum(values) {
  return values.reduce((total, value) => total + value, 0);
}

function percent(share) {
  return `${(100 * share).toFixed(2)} %`;
}
