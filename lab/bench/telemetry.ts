/**
 * What the access log and traces cost: requests per second and latency of servers that keep them,
 * as ratios to one that keeps none, in rounds of one run. `npm run bench:telemetry`
 *
 * Servers, their workers, the receiver of traces and this load generator share the machine.
 */
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type LiveServer, machineLines, startServe } from "../experiments/harness/live.ts";
import { ascending } from "../experiments/harness/numbers.ts";
import { closedLoop, inferMessage, openLoop } from "../experiments/harness/raw-client.ts";
import { MODEL, meanBundle } from "./mean-bundle.ts";

/** Float32 numbers in a row: 12 KB. */
const WIDTH = 3072;
const ROUNDS = 5;
const WARM_UP = 10_000;
const CLOSED_REQUESTS = 15_000;
const OPEN_REQUESTS = 2500;
const OPEN_QPS = 500;
const CONNECTIONS = 64;

const folder = mkdtempSync(join(tmpdir(), "telemetry-bench-"));

interface Measured {
  readonly name: string;
  readonly server: LiveServer;
  readonly perSecond: number[];
  readonly p50Ms: number[];
  readonly p99Ms: number[];
}

/** Takes and forgets what is sent. */
async function receiver() {
  const taken = { messages: 0, bytes: 0 };
  const server = createServer((request, response) => {
    taken.messages++;
    request.on("data", (chunk: Buffer) => {
      taken.bytes += chunk.length;
    });
    request.on("end", () => response.end("{}"));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return { server, taken, url: `http://127.0.0.1:${port}` };
}

async function round({ server, perSecond, p50Ms, p99Ms }: Measured): Promise<void> {
  const to = { port: Number(new URL(server.url).port), message: inferMessage(MODEL, WIDTH) };
  const closed = { ...to, connections: CONNECTIONS, requests: CLOSED_REQUESTS };
  perSecond.push((await closedLoop(closed)).requestsPerSecond);
  const times = ascending(await openLoop({ ...to, qps: OPEN_QPS, requests: OPEN_REQUESTS }));
  p50Ms.push(quantile(times, 0.5));
  p99Ms.push(quantile(times, 0.99));
}

function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}

function median(values: readonly number[]): number {
  return quantile(ascending([...values]), 0.5);
}

function lineOf(one: Measured, off: Measured): string {
  const share = one.perSecond.map((value, at) => value / (off.perSecond[at] ?? Number.NaN));
  const added = (times: readonly number[], of: readonly number[]) =>
    median(times.map((value, at) => value - (of[at] ?? Number.NaN))).toFixed(2);
  return (
    `${one.name}: ${median(one.perSecond).toFixed(0)} requests/s, ` +
    `${(100 * median(share)).toFixed(0)}% of off; at ${OPEN_QPS}/s p50 ` +
    `${median(one.p50Ms).toFixed(2)} ms (added ${added(one.p50Ms, off.p50Ms)}), p99 ` +
    `${median(one.p99Ms).toFixed(2)} ms (added ${added(one.p99Ms, off.p99Ms)})`
  );
}

const collector = await receiver();
const log = join(folder, "access.log");
const logged = ["--access-log", log];
const traced = ["--otlp-endpoint", collector.url];
const ways: readonly (readonly [name: string, args: readonly string[]])[] = [
  ["off", []],
  ["access log", logged],
  ["traces of all", traced],
  ["both", [...logged, ...traced]],
];
const measured: Measured[] = [];
try {
  for (const line of machineLines()) console.log(line);
  const path = await meanBundle(folder, WIDTH, "100 ms");
  for (const [name, args] of ways) {
    const server = await startServe(path, [...args, "--standby", "0", "--no-means-check"], {
      isQuiet: true,
    });
    measured.push({ name, server, perSecond: [], p50Ms: [], p99Ms: [] });
    const port = Number(new URL(server.url).port);
    const message = inferMessage(MODEL, WIDTH);
    await closedLoop({ port, message, connections: CONNECTIONS, requests: WARM_UP });
  }
  for (let count = 0; count < ROUNDS; count++) for (const one of measured) await round(one);
  const [off] = measured;
  for (const one of measured) if (off !== undefined) console.log(lineOf(one, off));
  const { messages, bytes } = collector.taken;
  console.log(
    `access log ${statSync(log).size} bytes; traces ${messages} messages, ${bytes} bytes`,
  );
} finally {
  for (const { server } of measured) await server.stop();
  collector.server.close();
  collector.server.closeAllConnections();
  rmSync(folder, { recursive: true });
}
