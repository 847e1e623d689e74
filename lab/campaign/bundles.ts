/** Bundles that are almost right: every one is refused by name, or works. */
import { type ChildProcess, fork } from "node:child_process";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { processorTime } from "../experiments/harness/processor-time.ts";
import { originals } from "./bundles/trial.ts";
import { type Counts, type Order, STALL_MS, type Told } from "./bundles/trials.ts";
import type { Attack, Outcome, Part } from "./part.ts";

/** Processor time of one mutant after which it is given up, and time in which it waits for it. */
const GIVEN_UP_MS = 5 * STALL_MS;
const LOST_MS = 120_000;
const CHUNK = 2000;
const SAID_EVERY = 50;

export const BUNDLES: Part = {
  name: "bundles",
  about: "re-signed mutants of bundles of every method: verify, inspect, simulate, serve, reload",
  unit: "mutants",
  sizes: { full: 1_000_000, short: 2_200 },
  minutes: 120,
  run: attackBundles,
};

async function attackBundles({ size, seed, say }: Attack): Promise<Outcome> {
  const root = process.cwd();
  const files = originals(root);
  const orders: Order[] = [];
  const chunk = Math.min(CHUNK, Math.ceil(size / files.length));
  for (let stream = 0, left = size; left > 0; stream++, left -= chunk) {
    const count = Math.min(chunk, left);
    orders.push({ root, original: stream % files.length, seed, stream, count });
  }
  const lost: string[] = [];
  const counts: Counts[] = [];
  let next = 0;
  const row = async (): Promise<void> => {
    for (let order = orders[next++]; order !== undefined; order = orders[next++]) {
      counts.push(await runOne(order, lost));
      if (counts.length % SAID_EVERY === 0) say(`${counts.length} of ${orders.length} chunks`);
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, row));
  const tried = counts.reduce((sum, one) => sum + one.tried, 0);
  return { tried, lost, figures: figuresOf(counts) };
}

/** Mutants of one bundle in a process of their own; what holds it up costs the rest of them. */
function runOne(order: Order, lost: string[]): Promise<Counts> {
  return new Promise((resolve) => {
    const path = fileURLToPath(new URL("./bundles/trials.js", import.meta.url));
    const child = fork(path, [], { env: { ...process.env, STRATAGEM_TRIALS: "1" } });
    let driving: string | null = null;
    let timer: NodeJS.Timeout | undefined;
    const watch = () => {
      const [usedMs, startMs] = [processorMs(child), performance.now()];
      timer = setInterval(() => {
        const isOver = processorMs(child) - usedMs > GIVEN_UP_MS;
        if (isOver || performance.now() - startMs > LOST_MS) stop(child);
      }, STALL_MS);
    };
    let counts: Counts = { method: "ramsis", tried: 0, accepted: 0, served: 0 };
    const at = `seed ${order.seed}, stream ${order.stream}`;
    child.on("message", (told: Told) => {
      clearInterval(timer);
      if (told.kind === "lost") lost.push(told.reason);
      else if (told.kind === "over") counts = told;
      else if (told.kind === "done") driving = null;
      else {
        driving = told.told;
        watch();
      }
    });
    child.on("exit", (code, signal) => {
      clearInterval(timer);
      const reason = signal === null ? `ended with ${code}` : "took too long";
      if (code !== 0) lost.push(`${at}: ${driving ?? "between two"}: ${reason}`);
      resolve(counts);
    });
    child.send(order);
  });
}

function processorMs({ pid = 0 }: ChildProcess): number {
  try {
    return processorTime(pid).ownMs;
  } catch {
    // It has ended, which it says by itself.
    return 0;
  }
}

function stop(child: ChildProcess): void {
  child.kill("SIGKILL");
}

/** Of each method how many were tried, and of these accepted and served. */
function figuresOf(counts: readonly Counts[]): Record<string, string> {
  const figures: Record<string, string> = {};
  for (const method of new Set(counts.map((one) => one.method))) {
    const own = counts.filter((one) => one.method === method);
    const sum = (of: (one: Counts) => number) => own.reduce((total, one) => total + of(one), 0);
    const [tried, accepted, served] = [
      sum((one) => one.tried),
      sum((one) => one.accepted),
      sum((one) => one.served),
    ];
    figures[method] = `${accepted} accepted of ${tried}, ${served} served`;
  }
  return figures;
}
