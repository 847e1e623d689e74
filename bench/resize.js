// Ways to give a running worker more or fewer cores, side by side: a session for each thread count kept in one process, the processor affinity of the
// process, its cgroup quota, another process. Latency on one core and on two, memory, and time from the call until it is in force. Then the executor,
// which does the first: its changes, and a worker that is resized while batches follow one another without a gap.
// `node bench/resize.js` after a build, on a machine with at least two cores and nothing else to do.
import { execFile, fork } from "node:child_process";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { InferenceSession, Tensor } from "onnxruntime-node";
import { startAssignedExecutor } from "../runtime/dist/exec/assigned-pool.js";
import { readModelFile } from "../runtime/dist/exec/model-file.js";
import { bytes, integer, string } from "../tools/onnx-protobuf.js";

const ROUNDS = 12;
/** Batches of a way in a row: the first of them is not counted, for the cache is another's. */
const RUNS = 5;
/** Threads that spin after their batch have stopped by then. */
const SETTLE_MS = 30;
const CHANGES = 40;
/** Of what loads models or starts processes. */
const SLOW_CHANGES = 8;
const DEMONSTRATION = { seconds: 10, everyMs: 250 };
const PERIOD_US = 100_000;
const FIRST_CORES = { 1: "0", 2: "0,1" };

const [mode] = process.argv.slice(2);
if (mode === "worker") serveBench();
else await compare();

/** What a worker does here: loads sessions by name, runs batches on them, and says what it takes. */
function serveBench() {
  const sessions = new Map();
  const commands = {
    async load({ name, path, threads, spinning, rows: warm }) {
      const before = process.memoryUsage.rss();
      const startMs = performance.now();
      const session = await InferenceSession.create(path, {
        intraOpNumThreads: threads,
        interOpNumThreads: 1,
        extra: { session: { intra_op: { allow_spinning: spinning ? "1" : "0" } } },
      });
      const createMs = performance.now() - startMs;
      sessions.set(name, session);
      for (const rows of warm)
        for (let run = 0; run < 2; run++) await session.run(zeros(session, rows));
      const warmMs = performance.now() - startMs - createMs;
      return { createMs, warmMs, mib: (process.memoryUsage.rss() - before) / 2 ** 20 };
    },
    async run({ name, rows, runs }) {
      const session = sessions.get(name);
      const feeds = zeros(session, rows);
      const wallMs = [];
      const cpu = process.cpuUsage();
      for (let run = 0; run < runs; run++) {
        const startMs = performance.now();
        await session.run(feeds);
        wallMs.push(performance.now() - startMs);
      }
      const { user, system } = process.cpuUsage(cpu);
      return { wallMs, cpuMs: (user + system) / 1000 / runs };
    },
  };
  process.on("message", async ({ id, command, ...options }) => {
    process.send({ id, result: await commands[command](options) });
  });
}

function zeros(session, rows) {
  const [{ name, type, shape }] = session.inputMetadata;
  const dims = [rows, ...shape.slice(1)];
  const size = dims.reduce((product, axis) => product * axis);
  const data = type === "uint8" ? new Uint8Array(size) : new Float32Array(size);
  return { [name]: new Tensor(type, data, dims) };
}

/** A worker process of ours. */
function startWorker() {
  const child = fork(new URL(import.meta.url), ["worker"]);
  const waiting = new Map();
  let lastId = 0;
  child.once("exit", (code) => {
    for (const { reject } of waiting.values()) reject(new Error(`a worker ended with ${code}`));
  });
  child.on("message", ({ id, result }) => {
    waiting.get(id).resolve(result);
    waiting.delete(id);
  });
  return {
    pid: child.pid,
    ask: (command, options) =>
      new Promise((resolve, reject) => {
        waiting.set(++lastId, { resolve, reject });
        child.send({ id: lastId, command, ...options });
      }),
    end: () =>
      new Promise((resolve) => {
        child.once("exit", resolve);
        child.kill("SIGKILL");
      }),
  };
}

async function compare() {
  console.log(`${cpus().length} cores, ${cpus()[0]?.model}, Node ${process.version}`);
  console.log(`load average before: ${loadavg()[0].toFixed(2)}`);
  const folder = mkdtempSync(join(tmpdir(), "resize-"));
  try {
    const convolutions = join(folder, "convolutions.onnx");
    writeFileSync(convolutions, convolutionModel({ layers: 6, channels: 64, size: 48 }));
    const models = [
      { name: "cnn-xl", path: "models/image-classification/cnn-xl.onnx", batches: [1, 8, 32] },
      { name: "6 convolutions 64 x 48 x 48", path: convolutions, batches: [1, 4, 8] },
    ];
    for (const model of models) await compareOn(model);
    console.log(`\nload average after: ${loadavg()[0].toFixed(2)}`);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function compareOn({ name, path, batches }) {
  const calm = startWorker();
  const spinning = startWorker();
  const quota = quotaOf([calm.pid, spinning.pid]);
  try {
    await reportSessions(name, path, batches, calm);
    await spinning.ask("load", { name: "2", path, threads: 2, spinning: true, rows: batches });
    await reportLatencies(name, batches, waysOf(calm, spinning, quota));
    await reportChanges(name, calm, quota, batches.at(-1));
  } finally {
    await Promise.all([calm.end(), spinning.end()]);
    quota?.remove();
  }
  await reportExecutor(name, path, batches);
}

async function reportSessions(name, path, batches, worker) {
  const rows = [];
  const options = { path, spinning: false, rows: batches };
  // The first session of a process also loads what all of them share.
  await worker.ask("load", { ...options, name: "first", threads: 1 });
  for (const threads of [1, 2]) {
    const { createMs, warmMs, mib } = await worker.ask("load", {
      ...options,
      name: String(threads),
      threads,
    });
    rows.push([`${threads}`, ms(createMs), ms(warmMs), mib.toFixed(1)]);
  }
  table(`${name}: a session for each thread count in one process`, rows, [
    ...["threads", "created, ms", `warmed on ${batches.join(", ")} rows, ms`, "MiB more"],
  ]);
}

/** How to have a batch run on one core or on two. Every `enter` is undone by `leave`. */
function waysOf(calm, spinning, quota) {
  const nothing = async () => {};
  const pinned = ({ pid }, cores) => ({
    enter: () => pin(pid, FIRST_CORES[cores]),
    leave: () => pin(pid, FIRST_CORES[2]),
  });
  const limited = (cores) => ({
    enter: async () => quota.set(cores),
    leave: async () => quota.set(null),
  });
  const free = { enter: nothing, leave: nothing };
  const ways = [
    { way: "session of 1 thread", cores: 1, worker: calm, session: "1", ...free },
    { way: "session of 2 threads", cores: 2, worker: calm, session: "2", ...free },
    { way: "2 threads, affinity", cores: 1, worker: calm, session: "2", ...pinned(calm, 1) },
    {
      way: "2 spinning threads, affinity",
      cores: 1,
      worker: spinning,
      session: "2",
      ...pinned(spinning, 1),
    },
    { way: "2 spinning threads, affinity", cores: 2, worker: spinning, session: "2", ...free },
  ];
  if (quota === null) return ways;
  return [
    ...ways,
    { way: "2 threads, cgroup quota", cores: 1, worker: calm, session: "2", ...limited(1) },
    {
      way: "2 spinning threads, cgroup quota",
      cores: 1,
      worker: spinning,
      session: "2",
      ...limited(1),
    },
  ];
}

/** Interleaved, so that what else the machine does hits all ways alike. */
async function reportLatencies(name, batches, ways) {
  for (const rows of batches) {
    const cells = ways.map(() => ({ wallMs: [], cpuMs: [] }));
    for (let round = 0; round < ROUNDS; round++) {
      for (const [index, { worker, session, enter, leave }] of ways.entries()) {
        await enter();
        const { wallMs, cpuMs } = await worker.ask("run", { name: session, rows, runs: RUNS });
        await leave();
        await pause(SETTLE_MS);
        cells[index].wallMs.push(...wallMs.slice(1));
        cells[index].cpuMs.push(cpuMs);
      }
    }
    table(
      `${name}, ${rows} rows, ${ROUNDS * (RUNS - 1)} batches each`,
      ways.map(({ way, cores }, index) => {
        const { wallMs, cpuMs } = cells[index];
        const quantiles = [0, 0.5, 0.95].map((share) => ms(quantile(wallMs, share)));
        return [way, String(cores), ...quantiles, ms(quantile(cpuMs, 0.5))];
      }),
      ["way", "cores", "min, ms", "p50, ms", "p95, ms", "CPU p50, ms"],
    );
  }
}

/** Affinity and quota; those of sessions are the executor's. */
async function reportChanges(name, worker, quota, rows) {
  const changes = [];
  for (const isBusy of [false, true]) {
    const affinity = [];
    const quotas = [];
    for (let change = 0; change < CHANGES; change++) {
      const cores = (change % 2) + 1;
      const running = isBusy ? worker.ask("run", { name: "2", rows, runs: 1 }) : null;
      if (isBusy) await pause(1);
      affinity.push(await timed(() => pin(worker.pid, FIRST_CORES[cores])));
      if (allowedCores(worker.pid).some((list) => list.length !== (cores === 1 ? 1 : 3))) {
        throw new Error("a thread kept its old cores");
      }
      if (quota !== null) quotas.push(await timed(async () => quota.set(cores)));
      await running;
      quota?.set(null);
    }
    const when = isBusy ? "while a batch runs" : "idle";
    changes.push([`affinity, taskset of all threads, ${when}`, ...spread(affinity)]);
    if (quota !== null) changes.push([`cgroup quota, ${when}`, ...spread(quotas)]);
  }
  await pin(worker.pid, FIRST_CORES[2]);
  table(`${name}: time of a change from outside`, changes, [
    "way",
    "min, ms",
    "p50, ms",
    "p95, ms",
  ]);
}

/** What the product does, from the call until it tells that it is in force. */
async function reportExecutor(name, path, batches) {
  const { inputs, outputs } = await readModelFile(path);
  const model = { name, path, inputs, outputs, warmBatches: batches, outputsAreRows: false };
  const rows = [];
  const byCounts = await startScaled({ ...model, warmCores: [1, 2] });
  const batch = { variant: 0, rows: batches.at(-1), inputs: zeroBytes(inputs, batches.at(-1)) };
  try {
    await byCounts.assign(1);
    rows.push(["warm session, idle", ...spread(await alternate(byCounts, CHANGES, [2, 1]))]);
    const { changes, late } = await alternateBusy(byCounts, batch);
    rows.push(["warm session, while a batch runs, with the rest of the batch", ...spread(changes)]);
    rows.push(["warm session, after the batch that ran", ...spread(late)]);
    console.log(`\n${await demonstration(name, byCounts, batch)}`);
  } finally {
    await byCounts.executor.close();
  }
  const cold = await startScaled({ ...model, warmCores: [] });
  try {
    const starts = [];
    for (let start = 0; start < SLOW_CHANGES; start++) {
      starts.push(await timed(() => cold.assign(1)));
      cold.executor.release(0);
    }
    await cold.assign(1);
    // Two counts are held at a time: the one in force, and the one before it.
    rows.push([
      "session loaded and warmed then",
      ...spread(await alternate(cold, SLOW_CHANGES, [2, 3, 4])),
    ]);
    rows.push(["another process", ...spread(starts)]);
  } finally {
    await cold.executor.close();
  }
  table(`${name}: time until it is in force`, rows, ["way", "min, ms", "p50, ms", "p95, ms"]);
}

async function startScaled(variant) {
  const waiting = { model: () => {}, resized: () => {}, ready: () => {} };
  const ready = new Promise((resolve) => {
    waiting.ready = resolve;
  });
  const executor = await startAssignedExecutor(
    { variants: [variant], workerCount: 1, threadsPerWorker: 1, device: "cpu", deviceIds: [] },
    {
      onReady: () => waiting.ready(),
      onModelReady: () => waiting.model(),
      onResized: (_, cores) => waiting.resized(cores),
      onLost: (_, reason) => {
        throw new Error(`the worker was lost: ${reason}`);
      },
    },
  );
  await ready;
  const told = (what, act) =>
    new Promise((resolve) => {
      waiting[what] = resolve;
      act();
    });
  return {
    executor,
    assign: (cores) => told("model", () => executor.assign(0, [0], cores)),
    resize: (cores) => told("resized", () => executor.resize(0, cores)),
  };
}

/** Times of changes through these counts, again and again. */
async function alternate({ resize }, changes, counts) {
  const times = [];
  for (let change = 0; change < changes; change++) {
    times.push(await timed(() => resize(counts[change % counts.length])));
  }
  return times;
}

async function alternateBusy({ executor, resize }, batch) {
  const changes = [];
  const late = [];
  for (let change = 0; change < CHANGES; change++) {
    const ended = executor.run(0, batch).then(() => performance.now());
    await pause(1);
    const startMs = performance.now();
    await resize(((change + 1) % 2) + 1);
    const inForceMs = performance.now();
    changes.push(inForceMs - startMs);
    late.push(Math.max(0, inForceMs - (await ended)));
  }
  return { changes, late };
}

/** Batches one after the other, and a resize now and then whatever runs. */
async function demonstration(name, { executor }, batch) {
  const wallMs = { 1: [], 2: [] };
  let cores = 1;
  let asked = 0;
  let failed = 0;
  const timer = setInterval(() => {
    cores = 3 - cores;
    asked++;
    executor.resize(0, cores);
  }, DEMONSTRATION.everyMs);
  const endMs = performance.now() + 1000 * DEMONSTRATION.seconds;
  while (performance.now() < endMs) {
    try {
      const result = await executor.run(0, batch);
      wallMs[result.cores].push(result.wallMs);
    } catch {
      failed++;
    }
  }
  clearInterval(timer);
  const told = [1, 2].map((count) => {
    const [p50, p95] = [0.5, 0.95].map((share) => ms(quantile(wallMs[count], share)));
    return `${wallMs[count].length} on ${count} (p50 ${p50}, p95 ${p95} ms)`;
  });
  const run = `${name}, batches of ${batch.rows} without a gap for ${DEMONSTRATION.seconds} s`;
  return `${run}, ${asked} resizes: ${told.join(", ")}, ${failed} failed`;
}

function zeroBytes(inputs, rows) {
  return inputs.map(({ dtype, shape }) => {
    const row = shape.slice(1).reduce((product, axis) => product * axis, 1);
    return [new Uint8Array(rows * row * (dtype === "uint8" ? 1 : 4))];
  });
}

function pin(pid, list) {
  return promisify(execFile)("taskset", ["-a", "-p", "-c", list, String(pid)]);
}

function allowedCores(pid) {
  return readdirSync(`/proc/${pid}/task`).map((thread) => {
    const status = readFileSync(`/proc/${pid}/task/${thread}/status`, "utf8");
    return /^Cpus_allowed_list:\s*(.*)$/m.exec(status)[1];
  });
}

/** A cgroup of ours for these processes, of version 1 or 2; null where none can be made, which is said. */
function quotaOf(pids) {
  const parent = ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup"].find((path) => exists(path));
  try {
    const folder = join(parent, `stratagem-resize-${process.pid}`);
    mkdirSync(folder);
    for (const pid of pids) writeFileSync(join(folder, "cgroup.procs"), String(pid));
    const isFirst = parent.endsWith("cpu");
    const set = (cores) =>
      isFirst
        ? writeFileSync(
            join(folder, "cpu.cfs_quota_us"),
            String(cores === null ? -1 : cores * PERIOD_US),
          )
        : writeFileSync(
            join(folder, "cpu.max"),
            `${cores === null ? "max" : cores * PERIOD_US} ${PERIOD_US}`,
          );
    set(null);
    return { set, remove: () => rmdirSync(folder) };
  } catch (error) {
    console.log(`no cgroup can be made here: ${error.message}`);
    return null;
  }
}

function exists(path) {
  try {
    return readdirSync(path).length > 0;
  } catch {
    return false;
  }
}

async function timed(change) {
  const startMs = performance.now();
  await change();
  return performance.now() - startMs;
}

/** y = the sum of x [rows, channels, size, size] after `layers` convolutions of 3 x 3, each followed by Relu. */
function convolutionModel({ layers, channels, size }) {
  const node = (op, inputs, output, attributes = []) =>
    bytes(1, [
      ...inputs.flatMap((input) => string(1, input)),
      ...string(2, output),
      ...string(4, op),
      ...attributes,
    ]);
  const ints = (name, values) =>
    bytes(5, [
      ...string(1, name),
      ...values.flatMap((value) => integer(8, value)),
      ...integer(20, 7),
    ]);
  const dimension = (size) =>
    bytes(1, typeof size === "string" ? string(2, size) : integer(1, size));
  const tensor = (name, shape) => {
    const type = bytes(1, [...integer(1, 1), ...bytes(2, shape.flatMap(dimension))]);
    return [...string(1, name), ...bytes(2, type)];
  };
  const graph = [];
  let last = "x";
  for (let layer = 0; layer < layers; layer++) {
    const weights = Float32Array.from(
      { length: channels * channels * 9 },
      (_, i) => ((i * 7919) % 23) / 1e4,
    );
    graph.push(...node("Conv", [last, `w${layer}`], `c${layer}`, ints("pads", [1, 1, 1, 1])));
    graph.push(...node("Relu", [`c${layer}`], `r${layer}`));
    const shape = [channels, channels, 3, 3].flatMap((axis) => integer(1, axis));
    const data = bytes(9, new Uint8Array(weights.buffer));
    for (const byte of bytes(5, [...shape, ...integer(2, 1), ...string(8, `w${layer}`), ...data]))
      graph.push(byte);
    last = `r${layer}`;
  }
  graph.push(...node("GlobalAveragePool", [last], "y"), ...string(2, "graph"));
  graph.push(...bytes(11, tensor("x", ["batch", channels, size, size])));
  graph.push(...bytes(12, tensor("y", ["batch", channels, 1, 1])));
  return Uint8Array.from([...integer(1, 8), ...bytes(7, graph), ...bytes(8, integer(2, 13))]);
}

function quantile(values, share) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
}

function spread(values) {
  return [0, 0.5, 0.95].map((share) => ms(quantile(values, share)));
}

function ms(value) {
  return value.toFixed(value < 1 ? 3 : value < 10 ? 2 : 1);
}

function table(title, rows, head) {
  const widths = head.map((cell, column) =>
    Math.max(cell.length, ...rows.map((row) => row[column].length)),
  );
  console.log(`\n${title}`);
  for (const row of [head, ...rows]) {
    console.log(
      row
        .map((cell, column) => cell.padEnd(widths[column]))
        .join("  ")
        .trimEnd(),
    );
  }
}
