/** What the next front end of a cluster gives: what each process takes for a request, by how many. */
import { loadavg } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { HAS_NATS_SERVER, NatsServer } from "../../test/support/nats-server.ts";
import type { Experiment, Run } from "../harness/experiment.ts";
import { type LiveServer, machineLines, startServe } from "../harness/live.ts";
import { ascending, quantile, sum } from "../harness/numbers.ts";
import { processorTime } from "../harness/processor-time.ts";
import { closedLoop, inferMessage } from "../harness/raw-client.ts";
import { gaugeOf } from "./broker-traffic.ts";
import { MODEL, smallPolicy, startAgent } from "./front-end-site.ts";
import { ceilingQps } from "./steadiness.ts";

/** Float32 numbers in a row: 12 KB. */
const WIDTH = 3072;
const AGENTS = 4;
const COUNTS = [1, 2, 4];
/** Of all front ends together. */
const CONNECTIONS = 64;
const REQUESTS = 4000;
const WARM_UP = 3000;
const ROUNDS = 3;
const LOOK_MS = 200;
const LATEST_MS = 30_000;

interface Taken {
  readonly perSecond: number;
  /** µs of a processor for a request, of the front ends' processes alone. */
  readonly frontEndUs: number;
}

export const frontEnds: Experiment = {
  name: "front-ends",
  about: `${COUNTS.join(", ")} front ends of a cluster of ${AGENTS} agents, side by side`,
  takes: "a minute and a half; it measures this machine, and needs nats-server",
  isExtra: true,
  run: measureAll,
};

async function measureAll({ page, folder }: Run): Promise<void> {
  if (!HAS_NATS_SERVER) {
    page.say("left out: there is no nats-server on this machine (Debian: nats-server)");
    return;
  }
  for (const line of machineLines()) page.say(line);
  page.say(
    `these cores are shared by front ends, ${AGENTS} agents with a process each, and clients`,
  );
  // Each has but one of the workers, and a machine that is busy answers late.
  const policy = await smallPolicy(folder, WIDTH, AGENTS, "30 s");
  const nats = await NatsServer.start(join(folder, "nats"));
  const cluster = ["--cluster", `nats://127.0.0.1:${nats.port}`];
  const agents: LiveServer[] = [];
  const rows: (string | number)[][] = [];
  try {
    for (let at = 0; at < AGENTS; at++) agents.push(await startAgent(policy, at, cluster));
    for (const count of COUNTS) rows.push(rowOf(count, await measured(policy, count, cluster)));
  } finally {
    for (const agent of agents) await agent.stop();
    await nats.kill();
  }
  page.say(`\n${CONNECTIONS} requests of 12 KB at a time over all, medians of ${ROUNDS} rounds`);
  const told = ["requests/s", "front end µs", "all on cores of their own"];
  page.table(["front ends", ...told], rows);
  page.say(`load average after: ${loadavg()[0]?.toFixed(2)}`);
}

async function measured(policy: string, count: number, cluster: readonly string[]): Promise<Taken> {
  const ends: LiveServer[] = [];
  try {
    for (let at = 0; at < count; at++) {
      const own = ["--no-means-check", "--standby", "0", "--front-end", `f${at}`];
      ends.push(await startServe(policy, [...own, ...cluster], { isQuiet: true }));
    }
    await untilShared(ends);
    await loaded(ends, WARM_UP);
    const rounds: Taken[] = [];
    for (let round = 0; round < ROUNDS; round++) rounds.push(await loaded(ends, REQUESTS));
    const middle = (of: (one: Taken) => number) => {
      return quantile(ascending(rounds.map(of)), 0.5);
    };
    return {
      perSecond: middle(({ perSecond }) => perSecond),
      frontEndUs: middle(({ frontEndUs }) => frontEndUs),
    };
  } finally {
    for (const end of ends) await end.stop();
  }
}

/** All at the same time, each over its part of the connections. */
async function loaded(ends: readonly LiveServer[], requests: number): Promise<Taken> {
  const message = inferMessage(MODEL, WIDTH);
  const own = { message, requests: requests / ends.length };
  const usedMs = () => sum(ends.map(({ pid }) => processorTime(pid).ownMs));
  const beforeMs = usedMs();
  const startMs = performance.now();
  const connections = CONNECTIONS / ends.length;
  await Promise.all(
    ends.map(({ url }) => closedLoop({ ...own, port: Number(new URL(url).port), connections })),
  );
  const seconds = (performance.now() - startMs) / 1000;
  return {
    perSecond: requests / seconds,
    frontEndUs: (1000 * (usedMs() - beforeMs)) / requests,
  };
}

/** Each has as many of the workers as the others. */
async function untilShared(ends: readonly LiveServer[]): Promise<void> {
  const latestMs = performance.now() + LATEST_MS;
  for (;;) {
    const texts = await Promise.all(
      ends.map(async ({ url }) => (await fetch(`${url}/metrics`)).text()),
    );
    const shares = texts.map((text) => gaugeOf(text, "stratagem_cluster_share_workers"));
    const isReady = await Promise.all(
      ends.map(async ({ url }) => (await fetch(`${url}/v2/health/ready`)).ok),
    );
    const isShared = shares.every((share) => share === AGENTS / ends.length);
    if (isShared && isReady.every(Boolean)) return;
    if (performance.now() > latestMs) throw new Error(`front ends hold ${shares} of ${AGENTS}`);
    await pause(LOOK_MS);
  }
}

function rowOf(count: number, { perSecond, frontEndUs }: Taken): string[] {
  const whole = [perSecond, frontEndUs, count * ceilingQps(frontEndUs)];
  return [String(count), ...whole.map((one) => one.toFixed(0))];
}
