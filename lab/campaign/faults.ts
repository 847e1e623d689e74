/**
 * Faults of the workers of every method under load: half of them die, die again, stand still, fail
 * or are slow, and what clients see before, meanwhile and after.
 */
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { compiled } from "../experiments/harness/cli.ts";
import { type LiveServer, startServe } from "../experiments/harness/live.ts";
import { type Metrics, metricsOf, sumOf } from "../experiments/harness/metrics.ts";
import { HUNG_CASES, type HungCase } from "./hung-cases.ts";
import { Span, wellAfterMs } from "./load/fault-span.ts";
import { workersOf } from "./load/process-watch.ts";
import { isChosen } from "./load/served-method.ts";
import { keepAtMost, pulse, signal, WorkerFaults } from "./load/worker-faults.ts";
import { OpenLoad } from "./open-load.ts";
import type { Attack, Outcome, Part } from "./part.ts";

/** Before a fault, and after it. */
const CALM_MS = 5000;
const AFTER_MS = 10_000;
/** Time in which the server finds out and adapts; what it does then counts. */
const ADAPT_MS = 3000;
/** Until the service is as before, workers and level included. */
const RECOVERY_MS = 8000;
/** The same where workers were killed again and again: the pauses between starts have grown. */
const BACKOFF_MS = 40_000;
/** More of the requests may be late or refused than without the fault. */
const MORE_BAD = 0.05;
/** Above this a machine is too busy for times to say anything: nothing is made of them. */
const BUSY_BAD = 0.15;
/** The longest that an answer may take, good or bad; and on a machine that is too busy. */
const ANSWER_MS = 5000;
const BUSY_ANSWER_MS = 20_000;
const LOOK_MS = 100;
/** Letters on four workers: the committed policy has one. */
const MANY_LETTERS = "lab/experiments/cluster/letters.yaml";

/** What is served and whose workers become faulty. */
interface House {
  readonly server: LiveServer;
  readonly workers: readonly number[];
  readonly half: readonly number[];
  readonly faults: WorkerFaults;
}

interface Fault {
  readonly name: string;
  /** @returns what ends it. */
  readonly begin: (house: House) => () => void;
  /** Requests that its beginning may cost, in batches; Infinity where all may be refused. */
  readonly batches: (house: House) => number;
  readonly recoveryMs?: number;
}

const none = () => {};

const FAULTS: readonly Fault[] = [
  {
    name: "half killed",
    begin: ({ half }) => {
      signal(half, "SIGKILL");
      return none;
    },
    batches: ({ half }) => half.length,
  },
  {
    name: "half kept dead",
    begin: ({ server, workers }) => keepAtMost(server.pid, Math.ceil(workers.length / 2)),
    // Each that comes up may take a batch before it is killed.
    batches: ({ half }) => 4 * half.length,
    recoveryMs: BACKOFF_MS,
  },
  {
    name: "half stand still",
    begin: ({ half }) => {
      signal(half, "SIGSTOP");
      return () => signal(half, "SIGCONT");
    },
    batches: ({ half }) => 2 * half.length,
  },
  {
    name: "half stopped half of the time",
    begin: ({ half }) => pulse(half),
    batches: ({ half }) => half.length,
  },
  {
    name: "one takes 4 times as long",
    begin: ({ faults, workers }) => {
      faults.slow(4, workers.slice(0, 1));
      return () => faults.heal();
    },
    batches: () => 1,
  },
  {
    name: "all take twice as long",
    begin: ({ faults }) => {
      faults.slow(2);
      return () => faults.heal();
    },
    batches: () => 1,
  },
  {
    name: "half fail at once",
    begin: ({ faults, half }) => {
      faults.fail(half);
      return () => faults.heal();
    },
    batches: ({ half }) => 4 * half.length,
    recoveryMs: BACKOFF_MS,
  },
  {
    name: "all fail at once",
    begin: ({ faults }) => {
      faults.fail();
      return () => faults.heal();
    },
    batches: () => Number.POSITIVE_INFINITY,
    recoveryMs: BACKOFF_MS,
  },
];

export const FAULTS_OF_WORKERS: Part = {
  name: "faults",
  about: "kills, stops, slows and fails workers of every method under load",
  unit: "s for each fault",
  sizes: { full: 10, short: 1 },
  minutes: 20,
  run,
};

async function run(attack: Attack): Promise<Outcome> {
  const lost: string[] = [];
  const figures: Record<string, string> = {};
  let tried = 0;
  for (const one of HUNG_CASES.filter(isChosen)) {
    const {
      tried: faults,
      untimed,
      harms,
    } = await attackOne(await withPolicy(one, attack), attack);
    tried += faults;
    lost.push(...harms);
    figures[one.name] = `${faults} faults, ${untimed} on a machine too busy for times`;
  }
  return { tried, lost, figures };
}

async function attackOne(one: HungCase, { size, seed, folder, say }: Attack) {
  const faults = new WorkerFaults(join(folder, `${one.name}.faults`));
  const args = ["--models", one.models, "--no-means-check", ...faults.serveArgs];
  const server = await startServe(one.policy, args, { isQuiet: true });
  const load = new OpenLoad(server.url, one, seed);
  const judged: (() => { said: string; isBusy: boolean; harms: string[] })[] = [];
  try {
    await load.begin();
    // Workers come up one by one, and their first batches are slow.
    await pause(CALM_MS);
    for (const fault of chosenFaults()) {
      const before = await metricsOf(server.url);
      const workers = workersOf(server.pid);
      const half = workers.slice(0, Math.ceil(workers.length / 2));
      const house = { server, workers, half, faults };
      const calmMs = performance.now();
      await pause(CALM_MS);
      const fromMs = performance.now();
      const end = fault.begin(house);
      await pause(1000 * size);
      end();
      const endMs = performance.now();
      const { recoveryMs = RECOVERY_MS } = fault;
      const whole = await untilWhole(server.url, before, recoveryMs);
      await pause(Math.max(0, AFTER_MS - (performance.now() - endMs)));
      const overMs = performance.now();
      judged.push(() => {
        const calm = new Span(load.asked, one.sloMs, calmMs, fromMs);
        const begun = new Span(load.asked, one.sloMs, fromMs, fromMs + ADAPT_MS);
        const during = new Span(load.asked, one.sloMs, fromMs + ADAPT_MS, endMs);
        const wellMs = wellAfterMs(load.asked, one.sloMs, endMs, overMs, calm.badShare + MORE_BAD);
        const spans = { calm, begun, during, wellMs, whole };
        const name = `${one.name}, ${fault.name}`;
        const allowed = one.batch * fault.batches(house);
        const harms = harmsOf(spans, allowed, recoveryMs).map((harm) => `${name}: ${harm}`);
        const said =
          `${fault.name}: before ${calm.told}; first ${ADAPT_MS / 1000} s ${begun.told}; ` +
          `then ${during.told}; well after ${told(wellMs)}, whole ${whole.told}`;
        return { said, isBusy: isBusy(calm), harms };
      });
    }
    await load.end();
    const results = judged.map((judge) => judge());
    for (const { said, harms } of results) {
      say(`${one.name}: ${said}${harms.length === 0 ? "" : ` LOST ${harms.join("; ")}`}`);
    }
    return {
      tried: results.length,
      untimed: results.filter(({ isBusy }) => isBusy).length,
      harms: results.flatMap(({ harms }) => harms),
    };
  } finally {
    await load.end();
    await server.stop();
  }
}

/** Those with the words of CAMPAIGN_FAULT in their names; all without it. */
function chosenFaults(): readonly Fault[] {
  return FAULTS.filter(({ name }) => name.includes(process.env["CAMPAIGN_FAULT"] ?? ""));
}

/** With more workers, where the committed policy has one. */
async function withPolicy(one: HungCase, { folder }: Attack): Promise<HungCase> {
  if (one.name !== "ramsis") return one;
  const { path, bundle } = await compiled("ramsis", MANY_LETTERS, join(folder, "letters.msgpack"));
  return { ...one, policy: path, sloMs: bundle.slo.latencyMs };
}

/** How long it takes until all workers are ready, and the level is as before. */
async function untilWhole(url: string, before: Metrics, limitMs: number) {
  const startMs = performance.now();
  const ready = (metrics: Metrics) => sumOf(metrics, "workers", 'state="ready"');
  for (;;) {
    const metrics = await metricsOf(url);
    const hasAll = ready(metrics) >= ready(before);
    const tookMs = performance.now() - startMs;
    if (hasAll && levelOf(metrics) <= levelOf(before)) {
      return { hasAll, isSo: true, told: `after ${told(tookMs)}` };
    }
    if (tookMs > limitMs) {
      const [workers, levels] = [ready, levelOf].map((of) => `${of(metrics)} of ${of(before)}`);
      const state = `ready ${workers}, level ${levels}`;
      return { hasAll, isSo: false, told: `not ${told(tookMs)} after it: ${state}` };
    }
    await pause(LOOK_MS);
  }
}

function levelOf(metrics: Metrics): number {
  return metrics.get("stratagem_level") ?? 0;
}

interface Spans {
  readonly calm: Span;
  readonly begun: Span;
  readonly during: Span;
  readonly wellMs: number;
  readonly whole: Awaited<ReturnType<typeof untilWhole>>;
}

function isBusy({ badShare }: Span): boolean {
  return badShare > BUSY_BAD;
}

/** What must hold, and did not. @param allowed requests that the fault may cost. */
function harmsOf(
  { calm, begun, during, wellMs, whole }: Spans,
  allowed: number,
  recoveryMs: number,
): string[] {
  const harms: string[] = [];
  const mostMs = isBusy(calm) ? BUSY_ANSWER_MS : ANSWER_MS;
  for (const span of [calm, begun, during]) {
    if (span.unanswered > 0) harms.push(`${span.unanswered} requests were not answered`);
    if (span.unreasoned > 0) harms.push(`${span.unreasoned} were refused without a reason`);
    if (span.longestMs > mostMs) harms.push(`an answer took ${span.longestMs.toFixed(0)} ms`);
  }
  const isAll = allowed === Number.POSITIVE_INFINITY;
  if (!isAll && begun.failed + during.failed > allowed) {
    harms.push(`${begun.failed + during.failed} failed, more than ${allowed}`);
  }
  if (!whole.hasAll) harms.push(`whole ${whole.told}`);
  if (isBusy(calm)) return harms;
  if (!isAll && during.badShare > calm.badShare + MORE_BAD) {
    harms.push(`${percent(during.badShare)} late or refused, before it ${percent(calm.badShare)}`);
  }
  if (wellMs > recoveryMs) harms.push(`not well ${told(wellMs)} after it`);
  if (whole.hasAll && !whole.isSo) harms.push(`whole ${whole.told}`);
  return harms;
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}

function told(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
