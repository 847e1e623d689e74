// What serving costs: added latency, requests per second, memory over a million requests. `node bench/serving.js [part]...` after a build.
//
// The model takes 0.02 ms, so what is measured is the way to it and back. Server, worker and this load generator share the machine.
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { InferenceSession, Tensor } from "onnxruntime-node";
import { meanModel } from "../test/support/onnx-model.js";
import { closedLoop, inferMessage, openLoop } from "./raw-client.js";

const CLI = "compiler/dist/cli.js";
/** Float32 numbers in a row: 12 KB, a small image; 602 KB, one of 224 x 224. */
const SMALL = 3072;
const LARGE = 150_528;
const MODEL = "mean";

const folder = mkdtempSync(join(tmpdir(), "serving-bench-"));
const parts = { latency, small, large, memory };
const asked = process.argv.slice(2);
try {
  console.log(`${cpus().length} cores, ${cpus()[0]?.model}, Node ${process.version}`);
  for (const part of asked.length > 0 ? asked : Object.keys(parts)) await parts[part]();
} finally {
  rmSync(folder, { recursive: true });
}

/** Added to a direct call of the model, at 500 requests/s. */
async function latency() {
  const direct = await directMs(SMALL);
  await withServer(SMALL, async ({ port }) => {
    const message = inferMessage(MODEL, SMALL);
    await openLoop({ port, message, qps: 500, requests: 5000 });
    const served = await openLoop({ port, message, qps: 500, requests: 15_000 });
    const bare = await withBareServer((barePort) =>
      openLoop({ port: barePort, message, qps: 500, requests: 5000 }),
    );
    console.log(
      `latency at 500 requests/s of 12 KB, ms: direct p50 ${ms(quantile(direct, 0.5))} p99 ${ms(quantile(direct, 0.99))}; ` +
        `served p50 ${ms(quantile(served, 0.5))} p99 ${ms(quantile(served, 0.99))}; ` +
        `added p50 ${ms(quantile(served, 0.5) - quantile(direct, 0.5))} p99 ${ms(quantile(served, 0.99) - quantile(direct, 0.5))}; ` +
        `bare node:http p50 ${ms(quantile(bare, 0.5))} p99 ${ms(quantile(bare, 0.99))}`,
    );
  });
}

async function small() {
  await throughput("12 KB", SMALL, 64, 30_000, 80_000);
}

async function large() {
  await throughput("602 KB", LARGE, 16, 3000, 8000);
}

/** Requests per second, and as a share of what node:http without a model does with the same requests. */
async function throughput(name, width, connections, warmUp, requests) {
  const message = inferMessage(MODEL, width);
  const served = await withServer(width, async ({ port }) => {
    await closedLoop({ port, message, connections, requests: warmUp });
    return closedLoop({ port, message, connections, requests });
  });
  const bare = await withBareServer(async (port) => {
    await closedLoop({ port, message, connections, requests: warmUp });
    return closedLoop({ port, message, connections, requests });
  });
  const share = served.requestsPerSecond / bare.requestsPerSecond;
  console.log(
    `${name}, ${connections} connections: ${served.requestsPerSecond.toFixed(0)} requests/s, p50 ${ms(quantile(served.latenciesMs, 0.5))} ms, ` +
      `p99 ${ms(quantile(served.latenciesMs, 0.99))} ms; bare node:http ${bare.requestsPerSecond.toFixed(0)} requests/s: ${(100 * share).toFixed(0)}%`,
  );
}

/** Resident memory of the server over a million requests: the slope of the line through its second half. */
async function memory() {
  const message = inferMessage(MODEL, SMALL);
  await withServer(SMALL, async ({ port, pid }) => {
    const samples = [];
    for (let thousands = 50; thousands <= 1000; thousands += 50) {
      await closedLoop({ port, message, connections: 64, requests: 50_000 });
      samples.push([thousands, residentMb(pid)]);
    }
    const late = samples.filter(([thousands]) => thousands > 500);
    const all = samples.map(([thousands, mb]) => `${thousands}k ${mb.toFixed(0)}`).join(", ");
    console.log(
      `memory, MB after requests: ${all}; slope of the second half ${slope(late).toFixed(4)} MB per 1000 requests`,
    );
  });
}

async function directMs(width) {
  const session = await InferenceSession.create(modelFile(width), {
    intraOpNumThreads: 1,
    extra: { session: { intra_op: { allow_spinning: "0" } } },
  });
  const x = new Tensor("float32", new Float32Array(width), [1, width]);
  const timesMs = [];
  for (let run = 0; run < 5000; run++) {
    const startMs = performance.now();
    await session.run({ x });
    if (run >= 1000) timesMs.push(performance.now() - startMs);
  }
  return timesMs.sort((a, b) => a - b);
}

function modelFile(width) {
  const path = join(folder, `mean-${width}.onnx`);
  writeFileSync(path, meanModel(width, 10));
  return path;
}

/** Compiles a bundle for the model and serves it while `use` runs. */
async function withServer(width, use) {
  const write = (name, value) => writeFileSync(join(folder, name), JSON.stringify(value));
  const latencyMs = { 1: 0.3, 32: 1, 400: 8 };
  write("profile.json", {
    format: "latency-profile/1",
    hardware: "assumed",
    variants: { [MODEL]: { accuracy: 0.5, latencyMs } },
  });
  const variant = { name: MODEL, model: modelFile(width), profile: `profile.json#${MODEL}` };
  write("app.json", {
    version: 1,
    application: MODEL,
    slo: { latency: "100 ms" },
    workload: { loads: [10_000], arrivals: { process: "poisson" } },
    cluster: { workers: 1 },
    tasks: [{ name: "only", variants: [variant] }],
    policy: { method: "ramsis", maxQueue: 400 },
  });
  const bundle = join(folder, "bundle.msgpack");
  const compiled = spawnSync(process.execPath, [
    CLI,
    "compile",
    join(folder, "app.json"),
    "-o",
    bundle,
  ]);
  if (compiled.status !== 0) throw new Error(String(compiled.stderr));
  const args = [CLI, "serve", "--policy", bundle, "--http", "127.0.0.1:0", "--json"];
  return withProcess(args, ({ url }, pid) => use({ port: Number(new URL(url).port), pid }));
}

function withBareServer(use) {
  return withProcess(["bench/bare-server.js"], ({ port }) => use(port));
}

/** Runs a program that first says in JSON where it listens. */
async function withProcess(args, use) {
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "ignore"] });
  try {
    let text = "";
    for await (const chunk of child.stdout) {
      text += chunk;
      if (text.includes("\n}")) break;
    }
    return await use(JSON.parse(text), child.pid);
  } finally {
    child.kill("SIGTERM");
  }
}

function residentMb(pid) {
  const [kb] = /(?<=VmRSS:\s*)\d+/.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
  return Number(kb) / 1024;
}

/** Of the least-squares line. */
function slope(points) {
  const mean = (of) => points.reduce((sum, point) => sum + of(point), 0) / points.length;
  const [x, y] = [mean(([x]) => x), mean(([, y]) => y)];
  return mean(([px, py]) => (px - x) * (py - y)) / mean(([px]) => (px - x) ** 2);
}

function quantile(ascending, share) {
  return ascending[Math.min(ascending.length - 1, Math.floor(share * ascending.length))];
}

function ms(value) {
  return value.toFixed(2);
}
