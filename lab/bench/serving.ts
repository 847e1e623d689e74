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
import { meanModel } from "../../test/support/onnx-model.ts";
import { compiled } from "../experiments/harness/cli.ts";
import {
  type LiveServer,
  machineLines,
  startServe,
  startServer,
  withServer,
} from "../experiments/harness/live.ts";
import { ascending, mean } from "../experiments/harness/numbers.ts";
import { processorTime } from "../experiments/harness/processor-time.ts";
import { closedLoop, inferMessage, openLoop } from "../experiments/harness/raw-client.ts";

/** Float32 numbers in a row: 12 KB, a small image; 602 KB, one of 224 x 224. */
const SMALL = 3072;
const LARGE = 150_528;
const MODEL = "mean";
/** Rounds of each measurement: the machine may be busy in some of them. */
const ROUNDS = 5;
const BARE = fileURLToPath(new URL("./bare-server.js", import.meta.url));

const folder = mkdtempSync(join(tmpdir(), "serving-bench-"));
const parts: Readonly<Record<string, () => Promise<void>>> = {
  latency,
  small: () => throughput("12 KB", SMALL, 64, 30_000, 20_000),
  large: () => throughput("602 KB", LARGE, 16, 3000, 2000),
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

/** Added to a direct call of the model, at 500 requests/s; beside it node:http, round by round. */
async function latency(): Promise<void> {
  const direct = await directMs(SMALL);
  const message = inferMessage(MODEL, SMALL);
  const openly = (server: LiveServer, requests: number) =>
    openLoop({ port: portOf(server), message, qps: 500, requests });
  await beside(SMALL, async (served, bare) => {
    for (const server of [served, bare]) await openly(server, 5000);
    const rounds = await inRounds(served, bare, (server) => openly(server, 5000));
    const directP50 = quantile(direct, 0.5);
    const ours = (share: number) => rounds.map((round) => quantile(round.ours, share));
    const others = (share: number) => rounds.map((round) => quantile(round.bare, share));
    const [p50, p99] = [ours(0.5), ours(0.99)];
    const added = (times: readonly number[]) => spread(times.map((time) => time - directP50));
    console.log(
      `latency at 500 requests/s of 12 KB, ms, median of ${ROUNDS} rounds [least..most]: ` +
        `direct p50 ${ms(directP50)} p99 ${ms(quantile(direct, 0.99))}; ` +
        `served p50 ${spread(p50)} p99 ${spread(p99)}; ` +
        `added p50 ${added(p50)} p99 ${added(p99)}; ` +
        `bare node:http p50 ${spread(others(0.5))} p99 ${spread(others(0.99))}`,
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
  const loaded = async (server: LiveServer, count: number) => {
    const before = processorTime(server.pid);
    const to = { port: portOf(server), message, connections, requests: count };
    const { requestsPerSecond, latenciesMs } = await closedLoop(to);
    const after = processorTime(server.pid);
    const perRequest = (used: number) => (1000 * used) / count;
    return {
      requestsPerSecond,
      p99Ms: quantile(latenciesMs, 0.99),
      ownUs: perRequest(after.ownMs - before.ownMs),
      childrenUs: perRequest(after.childrenMs - before.childrenMs),
    };
  };
  await beside(width, async (served, bare) => {
    for (const server of [served, bare]) await loaded(server, warmUp);
    const rounds = await inRounds(served, bare, (server) => loaded(server, requests));
    const ours = rounds.map((round) => round.ours);
    const others = rounds.map((round) => round.bare);
    const shares = rounds.map((round) => {
      return (100 * round.ours.requestsPerSecond) / round.bare.requestsPerSecond;
    });
    console.log(
      `${name}, ${connections} connections, median of ${ROUNDS} rounds [least..most]: ` +
        `${whole(ours.map((one) => one.requestsPerSecond))} requests/s, ` +
        `p99 ${spread(ours.map((one) => one.p99Ms))} ms; bare node:http ` +
        `${whole(others.map((one) => one.requestsPerSecond))} requests/s: ${whole(shares)} %; ` +
        `processor per request: server ${whole(ours.map((one) => one.ownUs))} µs, ` +
        `worker ${whole(ours.map((one) => one.childrenUs))} µs, ` +
        `bare ${whole(others.map((one) => one.ownUs))} µs`,
    );
  });
}

interface Round<T> {
  readonly ours: T;
  readonly bare: T;
}

/** Both servers in turn, whoever was last first in the next round. */
async function inRounds<T>(
  served: LiveServer,
  bare: LiveServer,
  measure: (server: LiveServer) => Promise<T>,
): Promise<Round<T>[]> {
  const rounds: Round<T>[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    if (round % 2 === 0) {
      const ours = await measure(served);
      rounds.push({ ours, bare: await measure(bare) });
    } else {
      const other = await measure(bare);
      rounds.push({ ours: await measure(served), bare: other });
    }
  }
  return rounds;
}

/** Runs something with a server of a bundle, and one that is nothing but node:http. */
function beside(
  width: number,
  use: (served: LiveServer, bare: LiveServer) => Promise<void>,
): Promise<void> {
  return withServer(serve(width), (served) =>
    withServer(startServer([BARE]), (bare) => use(served, bare)),
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
    // Wide, so that a machine with other work is slow, and refuses nothing.
    slo: { latency: "3 s" },
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

/** Median, least and most. */
function spread(values: readonly number[], digits = 2): string {
  const sorted = ascending([...values]);
  const [least, most] = [sorted[0] ?? Number.NaN, sorted.at(-1) ?? Number.NaN];
  const texts = [quantile(sorted, 0.5), least, most].map((value) => value.toFixed(digits));
  return `${texts[0]} [${texts[1]}..${texts[2]}]`;
}

function whole(values: readonly number[]): string {
  return spread(values, 0);
}

function ms(value: number): string {
  return value.toFixed(2);
}
