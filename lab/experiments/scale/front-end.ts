/** Where one front end with remote workers ends: what it answers, and what it takes of a core. */
import { mkdirSync } from "node:fs";
import { loadavg } from "node:os";
import { join } from "node:path";
import type { Experiment, Run } from "../harness/experiment.ts";
import { machineLines } from "../harness/live.ts";
import { ascending } from "../harness/numbers.ts";
import { processorTime } from "../harness/processor-time.ts";
import { closedLoop, inferMessage, openLoop } from "../harness/raw-client.ts";
import { MODEL, type Site, smallPolicy, WORKERS, withSite } from "./front-end-site.ts";
import { ceilingQps, isSteady } from "./steadiness.ts";

interface Size {
  readonly name: string;
  /** Float32 numbers in a row. */
  readonly width: number;
  readonly connections: number;
  readonly warmUp: number;
  readonly requests: number;
}

interface Taken {
  readonly perSecond: number;
  readonly p99Ms: number;
  /** µs of a processor for a request, of the front end's process alone. */
  readonly frontEndUs: number;
  /** The same of all that runs the models: agents and their processes, or its own workers. */
  readonly workersUs: number;
}

const SIZES: readonly Size[] = [
  { name: "12 KB", width: 3072, connections: 64, warmUp: 6000, requests: 8000 },
  { name: "602 KB", width: 150_528, connections: 16, warmUp: 500, requests: 800 },
];
const ROUNDS = 3;
/** Of what the closed loop reached, and no more; the highest that is steady counts. */
const SHARES = [1, 0.9, 0.8, 0.7, 0.6, 0.5];
const OPEN_S = 3;
/** Where as many wait, a queue has grown. */
const MOST_WAITING = 500;

export const frontEnd: Experiment = {
  name: "front-end",
  about: "requests/s of one front end with two agents, and what its process takes for each",
  takes: "a minute and a half; it measures this machine",
  isExtra: true,
  run: measureAll,
};

async function measureAll({ page, folder }: Run): Promise<void> {
  for (const line of machineLines()) page.say(line);
  page.say(
    `these cores are shared by the front end, ${WORKERS} agents with a process each (or the ` +
      "front end's own workers), and what sends",
  );
  const rows: (string | number)[][] = [];
  const openRows: (string | number)[][] = [];
  for (const size of SIZES) {
    const own = join(folder, String(size.width));
    mkdirSync(own);
    const policy = await smallPolicy(own, size.width);
    const { remote, local, openly } = await withSite(policy, true, (agents) =>
      withSite(policy, false, async (alone) => {
        const rounds = await inTurn(agents, alone, size);
        return {
          ...rounds,
          openly: await steadyRate(agents, size, middle(rounds.remote).perSecond),
        };
      }),
    );
    const [far, near] = [middle(remote), middle(local)];
    rows.push(rowOf(size, "agents", far), rowOf(size, "own workers", near));
    const ratio = (of: (taken: Taken) => number) => (of(far) / of(near)).toFixed(2);
    const [speed, cost] = [ratio((one) => one.perSecond), ratio((one) => one.frontEndUs)];
    rows.push([size.name, "ratio", speed, "", cost, "", ""]);
    openRows.push([size.name, ...openly]);
  }
  page.say(`\nas many requests as connections at a time, medians of ${ROUNDS} rounds`);
  const told = ["p99 ms", "front end µs", "workers µs", "of one core"];
  page.table(["body", "with", "requests/s", ...told], rows);
  page.say(
    `\nagents, Poisson arrivals of ${OPEN_S} s: the highest without a growing queue, downwards`,
  );
  page.table(["body", "sent/s", "p50 ms", "p99 ms", "front end µs"], openRows);
  page.say(`load average after: ${loadavg()[0]?.toFixed(2)}`);
}

/** Both in turn, whoever was last first in the next round. */
async function inTurn(agents: Site, alone: Site, size: Size) {
  for (const site of [agents, alone]) await loaded(site, size, size.warmUp);
  const [remote, local]: [Taken[], Taken[]] = [[], []];
  for (let round = 0; round < ROUNDS; round++) {
    if (round % 2 === 0) remote.push(await loaded(agents, size, size.requests));
    local.push(await loaded(alone, size, size.requests));
    if (round % 2 === 1) remote.push(await loaded(agents, size, size.requests));
  }
  return { remote, local };
}

async function loaded(site: Site, size: Size, requests: number): Promise<Taken> {
  const message = inferMessage(MODEL, size.width);
  const { connections } = size;
  const before = usedOf(site);
  const load = { port: portOf(site), message, connections, requests };
  const { requestsPerSecond, latenciesMs } = await closedLoop(load);
  const after = usedOf(site);
  return {
    perSecond: requestsPerSecond,
    p99Ms: quantile(latenciesMs, 0.99),
    frontEndUs: (1000 * (after.frontEndMs - before.frontEndMs)) / requests,
    workersUs: (1000 * (after.workersMs - before.workersMs)) / requests,
  };
}

/** From the rate of the closed loop downwards, until nothing is left over at the end. */
async function steadyRate(site: Site, { width }: Size, mostQps: number): Promise<string[]> {
  const message = inferMessage(MODEL, width);
  for (const share of SHARES) {
    const qps = Math.round(share * mostQps);
    const requests = OPEN_S * qps;
    const before = usedOf(site);
    const startMs = performance.now();
    const load = { port: portOf(site), message, qps, requests, mostWaiting: MOST_WAITING };
    const latenciesMs = await openLoop(load);
    const seconds = (performance.now() - startMs) / 1000;
    if (latenciesMs.length < requests || !isSteady({ qps, requests, seconds })) continue;
    const us = (1000 * (usedOf(site).frontEndMs - before.frontEndMs)) / requests;
    const times = [0.5, 0.99].map((level) => quantile(latenciesMs, level).toFixed(1));
    return [String(qps), ...times, us.toFixed(0)];
  }
  return ["none was", "", "", ""];
}

/** The times that the processes of a site have had so far, ms. */
function usedOf({ frontEnd: { pid }, agents }: Site) {
  const own = processorTime(pid);
  const workersMs = agents
    .map((agent) => processorTime(agent.pid))
    .reduce((sum, { ownMs, childrenMs }) => sum + ownMs + childrenMs, own.childrenMs);
  return { frontEndMs: own.ownMs, workersMs };
}

function rowOf({ name }: Size, what: string, taken: Taken): string[] {
  const { perSecond, p99Ms, frontEndUs, workersUs } = taken;
  const whole = [frontEndUs, workersUs, ceilingQps(frontEndUs)].map((one) => one.toFixed(0));
  return [name, what, perSecond.toFixed(0), p99Ms.toFixed(1), ...whole];
}

function middle(rounds: readonly Taken[]): Taken {
  const of = (value: (taken: Taken) => number) => quantile(ascending(rounds.map(value)), 0.5);
  return {
    perSecond: of(({ perSecond }) => perSecond),
    p99Ms: of(({ p99Ms }) => p99Ms),
    frontEndUs: of(({ frontEndUs }) => frontEndUs),
    workersUs: of(({ workersUs }) => workersUs),
  };
}

function portOf({ frontEnd: { url } }: Site): number {
  return Number(new URL(url).port);
}

function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}
