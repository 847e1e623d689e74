/** kill -9 of a worker at work: what became of the requests, and when all was well again. */
import { setTimeout as pause } from "node:timers/promises";
import { type LiveServer, withServer } from "../../experiments/harness/live.ts";
import { ms, present } from "../../experiments/harness/numbers.ts";
import { askLetters } from "../letters-client.ts";
import type { Section, Teller } from "../section.ts";
import { compiled, serveOn } from "../served.ts";
import type { Settings } from "../settings.ts";
import { workersOf } from "../worker-processes.ts";

/** Load of the requests, at most; they come one by one at the same distance. */
const MOST_QPS = 200;
const BEFORE_MS = 1500;
const AFTER_MS = 4000;
/** How long a replacement may take to come up. */
const REPLACED_MS = 30_000;
const LOOK_EVERY_MS = 20;

export const kill: Section = {
  name: "kill",
  title: "kill -9 of a busy worker of letters, under load",
  limitSeconds: 75,
  isOfValues: false,
  run: killOne,
};

interface Answer {
  readonly sentMs: number;
  readonly endMs: number;
  readonly status: number;
}

async function killOne(settings: Settings, tell: Teller): Promise<void> {
  const { bundle, asked } = await compiled("letters", settings);
  const qps = Math.min(MOST_QPS, present(asked.loadsQps[0]));
  await withServer(serveOn("letters", bundle, settings), async (server) => {
    await askLetters(server.url);
    const { answers, killedMs, replacedMs } = await underLoad(server, qps);
    const lost = answers.filter(({ status }) => status !== 200);
    const later = answers.filter(({ sentMs, status }) => sentMs >= killedMs && status === 200);
    const firstMs = Math.min(...later.map(({ endMs }) => endMs)) - killedMs;
    const late = answers.filter(({ sentMs, endMs }) => endMs - sentMs > asked.sloMs);
    const lastMs = Math.max(killedMs, ...[...lost, ...late].map(({ endMs }) => endMs)) - killedMs;
    tell.columns("what", "value");
    tell.row(["requests/s", qps]);
    tell.row(["requests", answers.length]);
    tell.row(["answered", answers.length - lost.length], answers.length > lost.length);
    tell.row([`lost (${statusText(lost)})`, lost.length]);
    tell.row([`later than ${asked.sloMs} ms`, late.length]);
    tell.row(["first answer to a request sent after it", ms(firstMs)], Number.isFinite(firstMs));
    tell.row(["last request that was lost or late", ms(lastMs)], lastMs < AFTER_MS);
    tell.row(["another worker stands by again", ms(replacedMs)], Number.isFinite(replacedMs));
  });
}

/** Times are of one clock; the worker that worked most is killed. */
async function underLoad({ url, pid }: LiveServer, qps: number) {
  const answers: Promise<Answer>[] = [];
  const startMs = performance.now();
  const ask = async (): Promise<Answer> => {
    const sentMs = performance.now();
    return { sentMs, status: await askLetters(url), endMs: performance.now() };
  };
  let killedMs = Infinity;
  let replaced = Promise.resolve(Infinity);
  for (let request = 0; performance.now() < killedMs + AFTER_MS; request++) {
    await pause(Math.max(0, startMs + (1000 * request) / qps - performance.now()));
    answers.push(ask());
    if (killedMs !== Infinity || performance.now() < startMs + BEFORE_MS) continue;
    const workers = workersOf(pid);
    const busiest = present(
      workers.toSorted((one, other) => other.ticks - one.ticks)[0],
      "a worker",
    );
    process.kill(busiest.pid, "SIGKILL");
    killedMs = performance.now();
    replaced = replacedMs(pid, busiest.pid, workers.length);
  }
  return { answers: await Promise.all(answers), killedMs, replacedMs: await replaced };
}

/** From now until there are as many workers as before and the newest has nothing more to load. */
async function replacedMs(server: number, killed: number, count: number): Promise<number> {
  const startMs = performance.now();
  let ticks = -1;
  let sinceMs = startMs;
  while (performance.now() < startMs + REPLACED_MS) {
    await pause(LOOK_EVERY_MS);
    const workers = workersOf(server).filter((worker) => worker.pid !== killed);
    const newest = workers.at(-1);
    if (newest === undefined || workers.length < count) continue;
    if (newest.ticks !== ticks) {
      ticks = newest.ticks;
      sinceMs = performance.now();
    } else if (performance.now() > sinceMs + 1000) return sinceMs - startMs;
  }
  return Infinity;
}

function statusText(lost: readonly Answer[]): string {
  const statuses = [...new Set(lost.map(({ status }) => (status === 0 ? "no answer" : status)))];
  return statuses.length === 0 ? "none" : statuses.join(", ");
}
