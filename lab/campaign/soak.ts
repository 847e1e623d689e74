/**
 * A compressed day of every method within a memory limit: the recorded trace below capacity, with
 * reloads, workers that die, stand still, fail and are slow, and clients that do wrong. Memory and
 * descriptors stay, no request holds the event loop, and the books agree.
 */
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { startServe, withServer } from "../experiments/harness/live.ts";
import { metricsOf } from "../experiments/harness/metrics.ts";
import { BAD_CLIENTS, BAD_GRPC_CLIENTS } from "./load/bad-clients.ts";
import { findCapacityQps } from "./load/capacity.ts";
import { DAY_SOURCE, dayPhases } from "./load/day.ts";
import { grew, slopeText } from "./load/line-fit.ts";
import { HOLD_MS, LoopHolds } from "./load/loop-holds.ts";
import { memoryLimit } from "./load/memory-limit.ts";
import { Generator, layoutText, pinServer } from "./load/pinned.ts";
import { ProcessWatch, workersOf } from "./load/process-watch.ts";
import type { LoadPhase, PhaseReport } from "./load/report.ts";
import { chosenMethods, requestsOf, type ServedMethod, untilReady } from "./load/served-method.ts";
import { SoakBooks } from "./load/soak-books.ts";
import { signal, WorkerFaults } from "./load/worker-faults.ts";
import type { Attack, Outcome, Part } from "./part.ts";

/** Of capacity, the highest load of the day. */
const PEAK_SHARE = 0.4;
const PROBE_SECONDS = 3;
const CONNECTIONS = 512;
/** For all processes together. */
const LIMIT_MIB = 1024;
/** Seconds from one to the next: mischief of a kind. */
const EVERY_SECONDS = {
  ...{ reload: 20, kill: 15, stop: 25, fail: 30, slow: 40 },
  ...{ bad: 0.5, badGrpc: 5 },
};
/** A worker stands still for longer than a batch may take; it fails or is slow for less. */
const STOPPED_MS = 2000;
const FAULTY_MS = 1500;
const SLOW_FACTOR = 3;
/** Of the day, before memory is looked at. */
const WARM_UP = 1 / 3;
/** After the load, until connections are closed. */
const QUIET_MS = 2000;
const UNANSWERED = "gRPC calls that were not ended";
/** Descriptors more than before at the end: connections of the asking itself, a worker starting. */
const SPARE_DESCRIPTORS = 8;

export const SOAK: Part = {
  name: "soak",
  about: "a compressed day in 1 GiB: reloads, kills, stops, failing workers, bad clients",
  unit: "s for each method",
  sizes: { full: 3600, short: 20 },
  minutes: 310,
  run,
};

async function run(attack: Attack): Promise<Outcome> {
  const lost: string[] = [];
  const figures: Record<string, string> = { layout: layoutText(), load: DAY_SOURCE };
  let tried = 0;
  for (const served of chosenMethods().filter(({ spec }) => spec === undefined)) {
    const day = await soaked(served, attack);
    tried += day.sent;
    lost.push(...day.lost.map((one) => `${served.method}, ${one}`));
    figures[served.method] = day.told;
  }
  return { tried, lost, figures };
}

async function soaked(served: ServedMethod, { size, seed, say, folder }: Attack) {
  const { sloMs, messages } = await requestsOf(served);
  const generator = new Generator();
  const books = new SoakBooks();
  const faults = new WorkerFaults(join(folder, `${served.method}.faults`));
  const holds = new LoopHolds(join(folder, `${served.method}.holds`));
  const limit = memoryLimit(`stratagem-soak-${process.pid}`, LIMIT_MIB);
  const args = ["--models", served.models, "--grpc", "127.0.0.1:0", ...faults.serveArgs];
  const options = { isQuiet: true, prefix: limit.prefix, env: holds.env };
  const starting = startServe(served.policy, args, options);
  const tell = (line: string) => say(`${served.method}: ${line}`);
  try {
    return await withServer(starting, async ({ url, pid, grpcUrl }) => {
      for (let asked = await untilReady(url); asked.length > 0; ) {
        books.onAnswer(String(asked.pop()));
      }
      pinServer(pid);
      const port = Number(new URL(url).port);
      const send = async (phases: readonly LoadPhase[]) => {
        const order = { port, messages, phases, sloMs, connections: CONNECTIONS, seed };
        const reports = await generator.send(order);
        for (const { byStatus, sent } of reports) {
          books.inferences += sent;
          for (const [fate, count] of Object.entries(byStatus)) books.onAnswer(fate, count);
        }
        return reports;
      };
      const capacityQps = await findCapacityQps(send, served.firstQps, PROBE_SECONDS, tell);
      const watch = new ProcessWatch(pid, Math.max(200, (1000 * size) / 1000));
      const startMs = performance.now();
      holds.begin();
      const mischief = new Mischief({ pid, port, grpcUrl, messages, books, faults, seed });
      const [reports] = await Promise.all([
        send(dayPhases(PEAK_SHARE * capacityQps, size)),
        mischief.goOn(size),
      ]);
      const { alone, reloading } = holds.end(mischief.reloadedMs);
      await pause(QUIET_MS);
      const { descriptors: before = 0 } = watch.samples[0] ?? {};
      watch.end();
      const { descriptors: after = 0 } = watch.samples.at(-1) ?? {};
      books.onAnswer("200");
      const metrics = await metricsOf(url);
      const lost = [...books.differences(metrics), ...mischief.lost];
      if (alone > HOLD_MS) lost.push(`the event loop was held for ${alone.toFixed(0)} ms`);
      if (limit.killed() > 0) lost.push(`${limit.killed()} processes killed for their memory`);
      const good = reports.reduce((sum, report) => sum + report.good, 0);
      for (const fate of ["lost", "unanswered"]) {
        const count = books.byStatus.get(fate) ?? 0;
        if (count > 0) lost.push(`${count} requests ${fate}`);
      }
      const { own, workers, grown } = growthOf(watch, startMs, size);
      lost.push(...grown);
      if (after > before + SPARE_DESCRIPTORS) lost.push(`descriptors ${before} to ${after}`);
      const [ownText, workersText] = [own, workers].map(
        (fit) => `${slopeText(fit)} of ${fit.mean.toFixed(0)}`,
      );
      const numbers = watch.samples.map(({ children }) => children);
      const counts = `${Math.min(...numbers)} to ${Math.max(...numbers)}`;
      const told =
        `peak ${(PEAK_SHARE * capacityQps).toFixed(0)}/s, ${books.sent} requests, ` +
        `${fatesText(books)}, in time ${good}; ${reasonsText(reports)}; ${mischief.told()}; ` +
        `limit ${limit.told}, at most ${limit.peakMb().toFixed(0)} MiB; ` +
        `loop held ${heldText(alone)}, by a reload ${heldText(reloading)}; ` +
        `MB/min server ${ownText}, a worker of ${counts} ${workersText}; ` +
        `descriptors ${before} to ${after}`;
      tell(told);
      return { lost, told, sent: books.sent };
    });
  } finally {
    generator.close();
    limit.remove();
  }
}

/** How memory grew after the warm-up, MB a minute: of the server, and of a worker in the mean. */
function growthOf(watch: ProcessWatch, startMs: number, seconds: number) {
  const [fromMs, endMs] = [startMs + 1000 * seconds * WARM_UP, startMs + 1000 * seconds];
  const own = watch.fit(({ ownMb }) => ownMb, fromMs, endMs);
  // A plan of more workers is no leak; more memory of each is one.
  const workers = watch.fit(
    ({ childrenMb, children }) => childrenMb / Math.max(1, children),
    fromMs,
    endMs,
  );
  const minutes = (endMs - fromMs) / 60_000;
  const grown = [["the server", own] as const, ["a worker", workers] as const]
    .filter(([, fit]) => grew(fit, minutes))
    .map(([whose, fit]) => `memory of ${whose} grew by ${slopeText(fit)} MB a minute`);
  return { own, workers, grown };
}

/** Shorter holds are not written down. */
function heldText(ms: number): string {
  return ms === 0 ? "< 15 ms" : `${ms.toFixed(0)} ms`;
}

/** Why requests were refused or failed, as their answers say. */
function reasonsText(reports: readonly PhaseReport[]): string {
  const counts = new Map<string, number>();
  for (const { byReason } of reports) {
    for (const [reason, count] of Object.entries(byReason)) {
      counts.set(reason, (counts.get(reason) ?? 0) + count);
    }
  }
  const reasons = [...counts].map(([reason, count]) => `${count} x ${reason}`);
  return `refused: ${reasons.join(", ") || "none"}`;
}

function fatesText({ byStatus, left }: SoakBooks): string {
  const fates = [...byStatus].sort(([one], [other]) => (one < other ? -1 : 1));
  return [...fates, ["left", left] as const].map(([fate, count]) => `${fate}: ${count}`).join(" ");
}

interface Scene {
  readonly pid: number;
  readonly port: number;
  readonly grpcUrl: string;
  readonly messages: readonly Uint8Array[];
  readonly books: SoakBooks;
  readonly faults: WorkerFaults;
  readonly seed: number;
}

/** What else happens in the day, at even times. */
class Mischief {
  /** Times of the epoch. */
  readonly reloadedMs: number[] = [];
  readonly #scene: Scene;
  readonly #counts = new Map<string, number>();

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  async goOn(seconds: number): Promise<void> {
    const every = (name: keyof typeof EVERY_SECONDS, act: (at: number) => void | Promise<void>) => {
      const count = Math.ceil(seconds / EVERY_SECONDS[name]);
      return evenly(count, seconds, (at) => {
        this.#count(name);
        return act(at);
      });
    };
    const { faults, pid } = this.#scene;
    await Promise.all([
      every("reload", () => {
        this.reloadedMs.push(Date.now());
        process.kill(pid, "SIGHUP");
      }),
      every("kill", (at) => signal(this.#worker(at), "SIGKILL")),
      every("stop", (at) => this.#stop(at)),
      every("fail", (at) => this.#faulty(() => faults.fail(this.#worker(at)))),
      every("slow", (at) => this.#faulty(() => faults.slow(SLOW_FACTOR, this.#worker(at)))),
      every("bad", (at) => this.#misbehave(at)),
      every("badGrpc", (at) => this.#misbehaveOverGrpc(at)),
    ]);
  }

  told(): string {
    return [...this.#counts].map(([what, count]) => `${what} ${count}`).join(", ");
  }

  get lost(): string[] {
    const count = this.#counts.get(UNANSWERED);
    return count === undefined ? [] : [`${count} gRPC calls stood still and were not ended`];
  }

  #count(what: string): void {
    this.#counts.set(what, (this.#counts.get(what) ?? 0) + 1);
  }

  #worker(at: number): number[] {
    const workers = workersOf(this.#scene.pid);
    return workers.slice((at + this.#scene.seed) % Math.max(1, workers.length)).slice(0, 1);
  }

  async #stop(at: number): Promise<void> {
    const worker = this.#worker(at);
    signal(worker, "SIGSTOP");
    await pause(STOPPED_MS);
    signal(worker, "SIGCONT");
  }

  async #faulty(begin: () => void): Promise<void> {
    begin();
    await pause(FAULTY_MS);
    this.#scene.faults.heal();
  }

  async #misbehave(at: number): Promise<void> {
    const { messages, port, books } = this.#scene;
    const client = BAD_CLIENTS[at % BAD_CLIENTS.length];
    const message = messages[at % messages.length];
    if (client === undefined || message === undefined) return;
    const status = await client.act(port, message);
    if (client.isInference) books.inferences++;
    if (status === undefined) books.left++;
    else books.onAnswer(status);
  }

  async #misbehaveOverGrpc(at: number): Promise<void> {
    const client = BAD_GRPC_CLIENTS[at % BAD_GRPC_CLIENTS.length];
    const status = await client?.act(this.#scene.grpcUrl);
    this.#count(status === "unanswered" ? UNANSWERED : `${client?.name}: ${status}`);
  }
}

/** Does something so many times in some seconds, whatever became of the last time. */
async function evenly(
  count: number,
  seconds: number,
  act: (at: number) => void | Promise<void>,
): Promise<void> {
  const startMs = performance.now();
  const acts: (void | Promise<void>)[] = [];
  for (let at = 0; at < count; at++) {
    await pause(Math.max(0, startMs + ((at + 0.5) * 1000 * seconds) / count - performance.now()));
    acts.push(act(at));
  }
  await Promise.all(acts);
}
