/**
 * A compressed day: the recorded trace below capacity, with reloads, kills of workers and clients
 * that do wrong mixed in; of every method. Memory and descriptors stay, and the books agree.
 */
import { setTimeout as pause } from "node:timers/promises";
import { startServe, withServer } from "../experiments/harness/live.ts";
import { metricsOf } from "../experiments/harness/metrics.ts";
import { BAD_CLIENTS } from "./load/bad-clients.ts";
import { findCapacityQps } from "./load/capacity.ts";
import { DAY_SOURCE, dayPhases } from "./load/day.ts";
import { grew, slopeText } from "./load/line-fit.ts";
import { Generator, layoutText, pinServer } from "./load/pinned.ts";
import { childrenOf, ProcessWatch } from "./load/process-watch.ts";
import type { LoadPhase } from "./load/report.ts";
import { chosenMethods, requestsOf, type ServedMethod, untilReady } from "./load/served-method.ts";
import { SoakBooks } from "./load/soak-books.ts";
import type { Attack, Outcome, Part } from "./part.ts";

/** Of capacity, the highest load of the day. */
const PEAK_SHARE = 0.4;
const PROBE_SECONDS = 3;
const CONNECTIONS = 512;
/** In a day: reloads, kills of a worker, clients that do wrong. */
const RELOADS = 48;
const KILLS = 24;
const BAD = 960;
/** Of the day, before memory is looked at. */
const WARM_UP = 1 / 3;
/** After the load, until connections are closed. */
const QUIET_MS = 2000;
/** Descriptors more than before at the end: connections of the asking itself, a worker starting. */
const SPARE_DESCRIPTORS = 8;

export const SOAK: Part = {
  name: "soak",
  about: "a compressed day with reloads, kills and bad clients, of every method",
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

async function soaked(served: ServedMethod, { size, seed, say }: Attack) {
  const { sloMs, messages } = await requestsOf(served);
  const generator = new Generator();
  const books = new SoakBooks();
  const starting = startServe(served.policy, ["--models", served.models], { isQuiet: true });
  const tell = (line: string) => say(`${served.method}: ${line}`);
  try {
    return await withServer(starting, async ({ url, pid }) => {
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
      const mischief = new Mischief(pid, port, messages, books, seed);
      const [reports] = await Promise.all([
        send(dayPhases(PEAK_SHARE * capacityQps, size)),
        mischief.goOn(size),
      ]);
      const endMs = startMs + 1000 * size;
      await pause(QUIET_MS);
      const { descriptors: before = 0 } = watch.samples[0] ?? {};
      watch.end();
      const { descriptors: after = 0 } = watch.samples.at(-1) ?? {};
      books.onAnswer("200");
      const lost = books.differences(await metricsOf(url));
      const good = reports.reduce((sum, report) => sum + report.good, 0);
      for (const fate of ["lost", "unanswered"]) {
        const count = books.byStatus.get(fate) ?? 0;
        if (count > 0) lost.push(`${count} requests ${fate}`);
      }
      const own = watch.fit(({ ownMb }) => ownMb, startMs + (endMs - startMs) * WARM_UP, endMs);
      if (grew(own, (size * (1 - WARM_UP)) / 60)) {
        lost.push(`memory of the server grew by ${slopeText(own)} MB a minute`);
      }
      // A plan of more workers is no leak; more memory of each is one.
      const workers = watch.fit(
        ({ childrenMb, children }) => childrenMb / Math.max(1, children),
        startMs + (endMs - startMs) * WARM_UP,
        endMs,
      );
      if (grew(workers, (size * (1 - WARM_UP)) / 60)) {
        lost.push(`memory of a worker grew by ${slopeText(workers)} MB a minute`);
      }
      if (after > before + SPARE_DESCRIPTORS) lost.push(`descriptors ${before} to ${after}`);
      const [ownText, workersText] = [own, workers].map(
        (fit) => `${slopeText(fit)} of ${fit.mean.toFixed(0)}`,
      );
      const numbers = watch.samples.map(({ children }) => children);
      const counts = `${Math.min(...numbers)} to ${Math.max(...numbers)}`;
      const told =
        `peak ${(PEAK_SHARE * capacityQps).toFixed(0)}/s, ${books.sent} requests, ` +
        `${fatesText(books)}, in time ${good}, ${mischief.told()}; ` +
        `MB/min server ${ownText}, a worker of ${counts} ${workersText}; ` +
        `descriptors ${before} to ${after}`;
      tell(told);
      return { lost, told, sent: books.sent };
    });
  } finally {
    generator.close();
  }
}

function fatesText({ byStatus, left }: SoakBooks): string {
  const fates = [...byStatus].sort(([one], [other]) => (one < other ? -1 : 1));
  return [...fates, ["left", left] as const].map(([fate, count]) => `${fate}: ${count}`).join(" ");
}

/** What else happens in the day, at even times. */
class Mischief {
  readonly #pid: number;
  readonly #port: number;
  readonly #messages: readonly Uint8Array[];
  readonly #books: SoakBooks;
  readonly #seed: number;
  #reloads = 0;
  #kills = 0;

  constructor(
    pid: number,
    port: number,
    messages: readonly Uint8Array[],
    books: SoakBooks,
    seed: number,
  ) {
    this.#pid = pid;
    this.#port = port;
    this.#messages = messages;
    this.#books = books;
    this.#seed = seed;
  }

  async goOn(seconds: number): Promise<void> {
    const every = (count: number, act: (at: number) => void | Promise<void>) =>
      evenly(count, seconds, act);
    await Promise.all([
      every(RELOADS, () => {
        process.kill(this.#pid, "SIGHUP");
        this.#reloads++;
      }),
      every(KILLS, (at) => this.#kill(at)),
      every(BAD, (at) => this.#misbehave(at)),
    ]);
  }

  told(): string {
    return `${this.#reloads} reloads, ${this.#kills} kills, ${BAD} bad clients`;
  }

  #kill(at: number): void {
    const children = childrenOf(this.#pid);
    const child = children[(at + this.#seed) % children.length];
    if (child === undefined) return;
    process.kill(child, "SIGKILL");
    this.#kills++;
  }

  async #misbehave(at: number): Promise<void> {
    const client = BAD_CLIENTS[at % BAD_CLIENTS.length];
    const message = this.#messages[at % this.#messages.length];
    if (client === undefined || message === undefined) return;
    const status = await client.act(this.#port, message);
    if (client.isInference) this.#books.inferences++;
    if (status === undefined) this.#books.left++;
    else this.#books.onAnswer(status);
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
