/**
 * What serving costs: added latency, requests per second, memory over a million requests. `npm run
 * bench:serving -- [PART]...`
 *
 * The model takes 0.02 ms, so what is measured is the way to it and back. Server, worker and this
 * load generator share the machine.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { InferenceSession, Tensor } from "onnxruntime-node";
import { compiled } from "../experiments/harness/cli.ts";
import {
  type LiveServer,
  machineLines,
  startServe,
  startServer,
  withServer,
} from "../experiments/harness/live.ts";
import { ascending, mean } from "../experiments/harness/numbers.ts";
import { meanModel } from "../test/support/onnx-model.ts";
import { closedLoop, inferMessage, openLoop } from "./raw-client.ts";

/** Float32 numbers in a row: 12 KB, a small image; 602 KB, one of 224 x 224. */
const SMALL = 3072;
const LARGE = 150_528;
const MODEL = "mean";
const BARE = fileURLToPath(new URL("./bare-server.js", import.meta.url));

const folder = mkdtempSync(join(tmpdir(), "serving-bench-"));
const parts: Readonly<Record<string, () => Promise<void>>> = {
  latency,
  small: () => throughput("12 KB", SMALL, 64, 30_000, 80_000),
  large: () => throughput("602 KB", LARGE, 16, 3000, 8000),
  memory,
};
const asked = process.argv.slice(2);
try {
  for (const line of machineLines()) console.log(line);
  for (const part of asked.length > 0 ? asked : Object.keys(parts)) {
    const measure = parts[part];
    if (measure === undefined) {
      throw new RangeError(`found ${part}, expected one of ${Object.keys(parts).join(", ")}`);
    }
    await measure();
  }
} finally {
  rmSync(folder, { recursive: true });
}

/** Added to a direct call of the model, at 500 requests/s. */
async function latency(): Promise<void> {
  const direct = await directMs(SMALL);
  await withServer(serve(SMALL), async (server) => {
    const to = { port: portOf(server), message: inferMessage(MODEL, SMALL), qps: 500 };
    await openLoop({ ...to, requests: 5000 });
    const served = await openLoop({ ...to, requests: 15_000 });
    const bare = await withServer(startServer([BARE]), (other) =>
      openLoop({ ...to, port: portOf(other), requests: 5000 }),
    );
    const half = (times: readonly number[]) => quantile(times, 0.5);
    const most = (times: readonly number[]) => quantile(times, 0.99);
    const both = (times: readonly number[]) => `p50 ${ms(half(times))} p99 ${ms(most(times))}`;
    console.log(
      `latency at 500 requests/s of 12 KB, ms: direct ${both(direct)}; served ${both(served)}; ` +
        `added p50 ${ms(half(served) - half(direct))} p99 ${ms(most(served) - half(direct))}; ` +
        `bare node:http ${both(bare)}`,
    );
  });
}

/** Requests per second, and as a share of what node:http without a model does with the same. */
async function throughput(
  name: string,
  width: number,
  connections: number,
  warmUp: number,
  requests: number,
): Promise<void> {
  const message = inferMessage(MODEL, width);
  const loaded = async (server: LiveServer) => {
    const to = { port: portOf(server), message, connections };
    await closedLoop({ ...to, requests: warmUp });
    return closedLoop({ ...to, requests });
  };
  const served = await withServer(serve(width), loaded);
  const bare = await withServer(startServer([BARE]), loaded);
  const share = (100 * served.requestsPerSecond) / bare.requestsPerSecond;
  const times =
    `p50 ${ms(quantile(served.latenciesMs, 0.5))} ms, ` +
    `p99 ${ms(quantile(served.latenciesMs, 0.99))} ms`;
  console.log(
    `${name}, ${connections} connections: ${served.requestsPerSecond.toFixed(0)} ` +
      `requests/s, ${times}; ` +
      `bare node:http ${bare.requestsPerSecond.toFixed(0)} requests/s: ${share.toFixed(0)}%`,
  );
}

/** Resident memory over a million requests: the slope of the line through its second half. */
async function memory(): Promise<void> {
  const message = inferMessage(MODEL, SMALL);
  await withServer(serve(SMALL), async (server) => {
    const samples: [thousands: number, mb: number][] = [];
    for (let thousands = 50; thousands <= 1000; thousands += 50) {
      await closedLoop({ port: portOf(server), message, connections: 64, requests: 50_000 });
      samples.push([thousands, residentMb(server.pid)]);
    }
    const late = samples.filter(([thousands]) => thousands > 500);
    const all = samples.map(([thousands, mb]) => `${thousands}k ${mb.toFixed(0)}`).join(", ");
    console.log(
      `memory, MB after requests: ${all}; slope of the second half ` +
        `${slope(late).toFixed(4)} MB per 1000 requests`,
    );
  });
}

async function directMs(width: number): Promise<number[]> {
  const session = await InferenceSession.create(modelFile(width), {
    intraOpNumThreads: 1,
    extra: { session: { intra_op: { allow_spinning: "0" } } },
  });
  const x = new Tensor("float32", new Float32Array(width), [1, width]);
  const timesMs: number[] = [];
  for (let run = 0; run < 5000; run++) {
    const startMs = performance.now();
    await session.run({ x });
    if (run >= 1000) timesMs.push(performance.now() - startMs);
  }
  return ascending(timesMs);
}

function modelFile(width: number): string {
  const path = join(folder, `mean-${width}.onnx`);
  writeFileSync(path, meanModel(width, 10));
  return path;
}

/** Compiles a bundle for the model and serves it. */
async function serve(width: number): Promise<LiveServer> {
  const write = (name: string, value: object) =>
    writeFileSync(join(folder, name), JSON.stringify(value));
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
  const { path } = await compiled("ramsis", join(folder, "app.json"));
  return startServe(path, [], { isQuiet: true });
}

function portOf({ url }: LiveServer): number {
  return Number(new URL(url).port);
}

function residentMb(pid: number): number {
  const kb = /(?<=VmRSS:\s*)\d+/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[0];
  return Number(kb) / 1024;
}

/** Of the least-squares line. */
function slope(points: readonly (readonly [x: number, y: number])[]): number {
  const [x, y] = [mean(points.map(([px]) => px)), mean(points.map(([, py]) => py))];
  const both = mean(points.map(([px, py]) => (px - x) * (py - y)));
  return both / mean(points.map(([px]) => (px - x) ** 2));
}

function quantile(times: readonly number[], share: number): number {
  return times[Math.min(times.length - 1, Math.floor(share * times.length))] ?? Number.NaN;
}

function ms(value: number): string {
  return value.toFixed(2);
}
