/**
 * What a server of several processes does, and what each of them takes for a request: `npm run
 * bench:processes`
 *
 * Servers, their workers and this load generator share the machine, so that with few cores the
 * requests per second tell little; the time that the process that decides takes for a request is
 * what bounds them where there are cores enough.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { childrenOf } from "../experiments/campaign/load/process-watch.ts";
import { type LiveServer, machineLines, startServe } from "../experiments/harness/live.ts";
import { ascending } from "../experiments/harness/numbers.ts";
import { closedLoop, inferMessage } from "../experiments/harness/raw-client.ts";
import { MODEL, meanBundle } from "./mean-bundle.ts";

/** Float32 numbers in a row: 12 KB. */
const WIDTH = 3072;
const PROCESSES = [1, 2, 3];
const ROUNDS = 5;
const WARM_UP = 10_000;
const REQUESTS = 15_000;
const CONNECTIONS = 64;
/** Of the times in `/proc`. */
const TICKS_PER_S = 100;

interface Taken {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Processor time for a request, µs. */
  readonly deciding: number;
  readonly accepting: number;
  readonly working: number;
}

const folder = mkdtempSync(join(tmpdir(), "processes-bench-"));
try {
  for (const line of machineLines()) console.log(line);
  const policy = await meanBundle(folder, WIDTH, "1 s");
  const rounds = new Map(PROCESSES.map((count) => [count, [] as Taken[]]));
  const servers = new Map<number, LiveServer>();
  for (const count of PROCESSES) {
    const args = ["--processes", String(count), "--no-means-check", "--standby", "0"];
    const server = await startServe(policy, args, { isQuiet: true });
    servers.set(count, server);
    await closedLoop({ ...loadOf(server), requests: WARM_UP });
  }
  for (let round = 0; round < ROUNDS; round++) {
    for (const [count, server] of servers) rounds.get(count)?.push(await measured(server));
  }
  for (const [count, taken] of rounds) console.log(line(count, taken));
  for (const server of servers.values()) await server.stop();
} finally {
  rmSync(folder, { recursive: true });
}

async function measured(server: LiveServer): Promise<Taken> {
  const before = cpuOf(server.pid);
  const { requestsPerSecond, latenciesMs } = await closedLoop(loadOf(server));
  const after = cpuOf(server.pid);
  const us = (part: keyof typeof before) => (1e6 * (after[part] - before[part])) / REQUESTS;
  return {
    perSecond: requestsPerSecond,
    p50Ms: quantile(latenciesMs, 0.5),
    p99Ms: quantile(latenciesMs, 0.99),
    deciding: us("deciding"),
    accepting: us("accepting"),
    working: us("working"),
  };
}

/** Seconds of a server, of its processes that accept, and of its workers. */
function cpuOf(pid: number) {
  const children = childrenOf(pid);
  const isAcceptor = (child: number) => {
    return readFileSync(`/proc/${child}/cmdline`, "latin1").includes("acceptor-main");
  };
  const sum = (pids: readonly number[]) => pids.reduce((total, one) => total + secondsOf(one), 0);
  return {
    deciding: secondsOf(pid),
    accepting: sum(children.filter(isAcceptor)),
    working: sum(children.filter((child) => !isAcceptor(child))),
  };
}

function secondsOf(pid: number): number {
  const text = readFileSync(`/proc/${pid}/stat`, "latin1");
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_S;
}

function loadOf({ url }: LiveServer) {
  const port = Number(new URL(url).port);
  const message = inferMessage(MODEL, WIDTH);
  return { port, message, connections: CONNECTIONS, requests: REQUESTS };
}

function line(count: number, rounds: readonly Taken[]): string {
  const middle = (of: (taken: Taken) => number) => quantile(ascending(rounds.map(of)), 0.5);
  const us = (of: (taken: Taken) => number) => `${middle(of).toFixed(0)} µs`;
  const ceiling = 1e6 / middle(({ deciding }) => deciding);
  return (
    `--processes ${count}: ${middle(({ perSecond }) => perSecond).toFixed(0)} requests/s, ` +
    `p50 ${middle(({ p50Ms }) => p50Ms).toFixed(1)} ms, ` +
    `p99 ${middle(({ p99Ms }) => p99Ms).toFixed(1)} ms; for a request: ` +
    `process that decides ${us(({ deciding }) => deciding)}, ` +
    `those that accept ${us(({ accepting }) => accepting)}, ` +
    `workers ${us(({ working }) => working)}; ` +
    `one core deciding: at most ${ceiling.toFixed(0)} requests/s`
  );
}

function quantile(times: readonly number[], share: number): number {
  return times[Math.min(times.length - 1, Math.floor(share * times.length))] ?? Number.NaN;
}
