// Malleable pipelines under load: queries of all models, sizes and priorities against a live server, every change of the places of a running query, and
// beside what was measured what a simulation of the same queries says. `node bench/place-serving.js BUNDLE [MODEL_FOLDER [QPS [SECONDS]]]` after a build;
// server, workers and load generator share the machine. Left out: the bundle's folder, the load of its highest level, and 60 s. Ends with 1 if a query was
// lost.
import { spawn } from "node:child_process";
import { cpus, loadavg } from "node:os";
import { dirname } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { drawQueries } from "../compiler/dist/methods/accordion/simulate/queries.js";
import { simulateAccordion } from "../compiler/dist/methods/accordion/simulate/simulate.js";
import { Rng } from "../runtime/dist/core/rng.js";
import { loadBundle } from "../runtime/dist/load-bundle.js";
import { datatypeOf } from "../runtime/dist/server/datatypes.js";
import { listening } from "./listening.js";

const [path, folder, qpsText = "", secondsText = ""] = process.argv.slice(2);
const { bundle } = await loadBundle(path);
const [{ variants }] = bundle.tasks;
const sloMs = bundle.slo.latencyMs;
const qps = Number(qpsText) || bundle.levels.at(-1).loadQps;
const durationMs = 1000 * (Number(secondsText) || 60);
const SEED = 7;
/** Time for what the server has told to get here. */
const TOLD_MS = 500;
const ELEMENT_BYTES = { FP32: 4, FP64: 8, INT64: 8, INT32: 4, UINT8: 1, FP16: 2 };

const queries = drawQueries(bundle, { kind: "poisson", qps }, durationMs, SEED);
const rng = new Rng(SEED, 99);
/** What its scheduler was told and answered. */
const log = [];
const server = spawn(
  process.execPath,
  ["bench/recorded-places.js", path, folder || dirname(path)],
  { stdio: ["ignore", "pipe", "inherit"] },
);
try {
  const { url, originMs } = await listening(server, (told) => log.push(told));
  console.log(`${cpus().length} cores, ${cpus()[0]?.model}, Node ${process.version}`);
  console.log(`load average before: ${loadavg()[0].toFixed(2)}`);
  for (const line of statedLines()) console.log(line);
  await warmUp(url);
  const startMs = performance.now();
  const answers = await loaded(url, startMs);
  await pause(TOLD_MS);
  const simulated = simulateAccordion(bundle, {
    arrivals: { kind: "queries", queries },
    durationMs,
    seed: SEED,
    withLatencies: true,
  });
  reportReshapes(performance.timeOrigin + startMs - originMs);
  report(answers, simulated);
  await reportTotals(url, answers, simulated);
} finally {
  server.kill("SIGTERM");
}

/** What the bundle promises of its models, and of the level nearest to the load. */
function statedLines() {
  const { executionPlaces, scheduler, regrow, timing } = bundle.policy;
  const level = bundle.levels.findLast(({ loadQps }) => loadQps <= qps) ?? bundle.levels[0];
  const { expected } = level;
  return [
    `${executionPlaces} places, SLO ${sloMs} ms, ${scheduler}${regrow ? " with regrowth" : ""}, ${timing}; ${qps} queries/s for ${durationMs / 1000} s`,
    ...variants.map(({ name, pipelines, layerCount }) => {
      const stages = pipelines.map((pipeline, shape) => {
        if (pipeline === null) return "";
        return `${bundle.shapes.shape[1] === 1 ? shape + 1 : `shape ${shape}`}: ${pipeline.stageMs.map((ms) => ms.toFixed(1)).join("+")} ms, step ${pipeline.stepMs.toFixed(1)}`;
      });
      return `${name}, ${layerCount} layers; ${stages.filter((text) => text !== "").join("; ")}`;
    }),
    `level of ${level.loadQps} queries/s: violations ${percent(expected.violationRate)}, dropped ${percent(expected.droppedRate)}, p99 ${expected.latencyMsP99.toFixed(1)} ms simulated`,
  ];
}

/** Every shape of every path is warm in the workers; this is for the server's own code. */
async function warmUp(url) {
  for (const [model] of variants.entries()) {
    for (let round = 0; round < 5; round++) await infer(url, requestOf(model, 1, true));
  }
  await pause(TOLD_MS);
  log.length = 0;
}

/** Sends every query when it is due, whatever is still on its way. @returns in the order of the queries. */
async function loaded(url, startMs) {
  const answers = [];
  for (const [query, atMs] of queries.arrivalMs.entries()) {
    const request = requestOf(
      queries.model[query],
      queries.batch[query],
      queries.isHigh[query] === 1,
    );
    const dueMs = startMs + atMs;
    await pause(Math.max(0, dueMs - performance.now()));
    const lagMs = performance.now() - dueMs;
    answers.push(infer(url, request).then((answer) => ({ ...answer, lagMs })));
  }
  return Promise.all(answers);
}

/** A request of random rows, in the binary form. */
function requestOf(model, rows, isHigh) {
  const { name, model: file } = variants[model];
  const tensors = file.inputs.map(({ name: input, dtype, shape }) => {
    const datatype = datatypeOf(dtype);
    const elements = rows * shape.slice(1).reduce((size, axis) => size * axis, 1);
    const bytes = randomBytes(datatype, elements);
    const head = { name: input, datatype, shape: [rows, ...shape.slice(1)] };
    return { bytes, head: { ...head, parameters: { binary_data_size: bytes.length } } };
  });
  const parameters = { priority: isHigh ? 1 : 2, binary_data_output: true };
  const head = Buffer.from(
    JSON.stringify({ parameters, inputs: tensors.map((tensor) => tensor.head) }),
  );
  const body = Buffer.concat([head, ...tensors.map(({ bytes }) => bytes)]);
  return { name, rows, body, headBytes: head.length };
}

function randomBytes(datatype, elements) {
  const bytes = Buffer.alloc(elements * (ELEMENT_BYTES[datatype] ?? 0));
  if (datatype === "FP32") {
    for (let at = 0; at < elements; at++) bytes.writeFloatLE(rng.nextFloat(), 4 * at);
  } else if (datatype === "UINT8") {
    for (let at = 0; at < elements; at++) bytes[at] = Math.floor(256 * rng.nextFloat());
  }
  return bytes;
}

async function infer(url, { name, rows, body, headBytes }) {
  const sentMs = performance.now();
  try {
    const reply = await fetch(`${url}/v2/models/${name}/infer`, {
      method: "POST",
      headers: { "inference-header-content-length": String(headBytes) },
      body,
    });
    const bytes = Buffer.from(await reply.arrayBuffer());
    const latencyMs = performance.now() - sentMs;
    if (reply.status !== 200) return { status: reply.status, latencyMs };
    const length = Number(reply.headers.get("inference-header-content-length"));
    const { outputs } = JSON.parse(bytes.subarray(0, length).toString());
    const isWhole = outputs.every(({ shape }) => shape[0] === rows);
    return { status: isWhole ? 200 : 0, latencyMs };
  } catch {
    return { status: 0, latencyMs: Number.NaN };
  }
}

/** @param shiftMs of our zero on the server's clock. */
function reportReshapes(shiftMs) {
  const open = new Map();
  const counts = { start: 0, shrink: 0, grow: 0, move: 0 };
  const tookMs = [];
  let nowMs = 0;
  let number = 0;
  console.log("changes of the places of running queries:");
  for (const entry of log) {
    // A command carries the time of the event that it answers.
    nowMs = entry.nowMs ?? nowMs;
    const query = open.get(entry.query);
    if (entry.kind === "query") {
      open.set(entry.query, { ...entry, number: number++, places: 0, sinceMs: Number.NaN });
    } else if (entry.kind === "start") {
      counts.start++;
      query.places = entry.places.length;
    } else if (entry.kind === "reshape") {
      const change = changeOf(query.places, entry.places.length);
      counts[change]++;
      const who = `query ${query.number} (${variants[query.model].name}, ${query.batch} instances, ${query.isHigh ? "high" : "low"})`;
      console.log(
        `  ${seconds(nowMs - shiftMs)}: ${who} ${query.places} -> ${entry.places.length} places, goes on at instance ${entry.resumeAt}`,
      );
      query.places = entry.places.length;
      query.sinceMs = nowMs;
      query.pipeline = entry.shape;
    } else if (entry.kind === "instance-done" && !Number.isNaN(query.sinceMs)) {
      const alone = bundleMs(query.model, query.pipeline);
      tookMs.push(nowMs - query.sinceMs - alone);
      query.sinceMs = Number.NaN;
    }
  }
  console.log(
    `${counts.start} starts, ${counts.shrink} shrinks, ${counts.grow} growths, ${counts.move} others`,
  );
  if (tookMs.length === 0) return;
  tookMs.sort((a, b) => a - b);
  console.log(
    `after a change the next instance took longer than on those places from a start by ${ms(quantile(tookMs, 0.5))} median, ${ms(quantile(tookMs, 0.99))} p99; the policy counts with ${ms(bundle.policy.reconfigurationMs)}`,
  );
}

/** Time of one instance. */
function bundleMs(model, shape) {
  return variants[model].latencyMs.data[shape * bundle.policy.maxBatch];
}

function changeOf(before, after) {
  if (after === before) return "move";
  return after < before ? "shrink" : "grow";
}

function report(answers, { latencyMsByQuery }) {
  const all = [...answers.keys()];
  reportGroup("all", all, answers, latencyMsByQuery);
  for (const [model, { name }] of variants.entries()) {
    const own = all.filter((query) => queries.model[query] === model);
    reportGroup(name, own, answers, latencyMsByQuery);
  }
  for (const [name, isHigh] of [
    ["high priority", 1],
    ["low priority", 0],
  ]) {
    const own = all.filter((query) => queries.isHigh[query] === isHigh);
    reportGroup(name, own, answers, latencyMsByQuery);
  }
}

function reportGroup(name, own, answers, simulatedMs) {
  const measured = fates(
    own.map((query) => (answers[query].status === 200 ? answers[query].latencyMs : Number.NaN)),
  );
  const expected = fates(own.map((query) => simulatedMs[query]));
  console.log(
    `${name}: ${own.length} queries; measured (simulated): late ${measured.late} (${expected.late}), not served ${measured.dropped} (${expected.dropped}), violations ${percent(measured.violationRate)} (${percent(expected.violationRate)}); mean ${ms(measured.meanMs)} (${ms(expected.meanMs)}), p50 ${ms(measured.p50)} (${ms(expected.p50)}), p99 ${ms(measured.p99)} (${ms(expected.p99)})`,
  );
}

/** @param latencies NaN for what was not served. */
function fates(latencies) {
  const served = latencies.filter((value) => !Number.isNaN(value)).sort((a, b) => a - b);
  const late = served.filter((value) => value > sloMs).length;
  const dropped = latencies.length - served.length;
  return {
    late,
    dropped,
    violationRate: (late + dropped) / latencies.length,
    meanMs: served.reduce((sum, value) => sum + value, 0) / served.length,
    p50: quantile(served, 0.5),
    p99: quantile(served, 0.99),
  };
}

async function reportTotals(url, answers, simulated) {
  const text = await (await fetch(`${url}/metrics`)).text();
  const sumOf = (name) =>
    [...text.matchAll(new RegExp(`^stratagem_${name}\\{[^}]*\\} (\\d+)$`, "gm"))].reduce(
      (sum, [, count]) => sum + Number(count),
      0,
    );
  console.log(
    `instances ${sumOf("instances_total")} done, ${sumOf("instances_redone_total")} of them twice (simulated ${simulated.instances} and ${simulated.instancesRedone}, ${simulated.shrinks} shrinks, ${simulated.grows} growths)`,
  );
  const lags = answers.map(({ lagMs }) => lagMs).sort((a, b) => a - b);
  const byStatus = new Map();
  for (const { status } of answers) byStatus.set(status, (byStatus.get(status) ?? 0) + 1);
  const statuses = [...byStatus].map(([status, count]) => `${status}: ${count}`);
  const lost = answers.filter(({ status }) => status !== 200 && status !== 503).length;
  console.log(
    `${answers.length} queries sent (send lag p99 ${ms(quantile(lags, 0.99))}), answers by status ${statuses.join(", ")}; ${lost} lost`,
  );
  if (lost > 0) process.exitCode = 1;
}

/** Nearest rank. */
function quantile(sorted, share) {
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}

function percent(share) {
  return `${(100 * share).toFixed(2)} %`;
}

function ms(value) {
  return `${value.toFixed(1)} ms`;
}

function seconds(atMs) {
  return `${(atMs / 1000).toFixed(2).padStart(7)} s`;
}
