/** A batch on one core or on two, and a change of cores, where the worker is told nothing of it. */
import { setTimeout as pause } from "node:timers/promises";
import type { Page } from "../../experiments/harness/page.ts";
import { ms, quantile, SPREAD, spread, timed } from "./times.ts";
import { allowedCores, BenchWorker, pin, type Quota, quotaOf } from "./worker-processes.ts";

const ROUNDS = 12;
/** Batches of a way in a row: the first of them is not counted, for the cache is another's. */
const RUNS = 5;
/** Threads that spin after their batch have stopped by then. */
const SETTLE_MS = 30;
const CHANGES = 40;
const FIRST_CORES = { 1: "0", 2: "0,1" } as const;

export interface BenchModel {
  readonly name: string;
  readonly path: string;
  readonly batches: readonly number[];
}

/** How to have a batch run on one core or on two. Every `enter` is undone by `leave`. */
interface Way {
  readonly way: string;
  readonly cores: 1 | 2;
  readonly worker: BenchWorker;
  readonly session: "1" | "2";
  readonly enter?: () => unknown;
  readonly leave?: () => unknown;
}

export async function compareFromOutside(page: Page, model: BenchModel): Promise<void> {
  const calm = new BenchWorker();
  const spinning = new BenchWorker();
  const quota = quotaOf([calm.pid, spinning.pid]);
  try {
    await reportSessions(page, model, calm);
    const { path, batches } = model;
    await spinning.load({ name: "2", path, threads: 2, spinning: true, rows: batches });
    await reportLatencies(page, model, waysOf(calm, spinning, quota));
    await reportChanges(page, model, calm, quota);
  } finally {
    await Promise.all([calm.end(), spinning.end()]);
    quota?.remove();
  }
}

async function reportSessions(
  page: Page,
  { name, path, batches }: BenchModel,
  worker: BenchWorker,
): Promise<void> {
  const options = { path, spinning: false, rows: batches };
  // The first session of a process also loads what all of them share.
  await worker.load({ ...options, name: "first", threads: 1 });
  const rows: string[][] = [];
  for (const threads of [1, 2]) {
    const loaded = await worker.load({ ...options, name: String(threads), threads });
    rows.push([`${threads}`, ms(loaded.createMs), ms(loaded.warmMs), loaded.mib.toFixed(1)]);
  }
  page.say(`\n${name}: a session for each thread count in one process`);
  const warmed = `warmed on ${batches.join(", ")} rows, ms`;
  page.table(["threads", "created, ms", warmed, "MiB more"], rows);
}

function waysOf(calm: BenchWorker, spinning: BenchWorker, quota: Quota | null): Way[] {
  const pinned = ({ pid }: BenchWorker) => ({
    enter: () => pin(pid, FIRST_CORES[1]),
    leave: () => pin(pid, FIRST_CORES[2]),
  });
  const two = "2 threads";
  const twoSpinning = "2 spinning threads";
  const own = { cores: 1, session: "2" } as const;
  const ways: Way[] = [
    { way: "session of 1 thread", cores: 1, worker: calm, session: "1" },
    { way: "session of 2 threads", cores: 2, worker: calm, session: "2" },
    { way: `${two}, affinity`, worker: calm, ...own, ...pinned(calm) },
    { way: `${twoSpinning}, affinity`, worker: spinning, ...own, ...pinned(spinning) },
    { way: `${twoSpinning}, affinity`, cores: 2, worker: spinning, session: "2" },
  ];
  if (quota === null) return ways;
  const limited = { enter: () => quota.set(1), leave: () => quota.set(null) };
  return [
    ...ways,
    { way: `${two}, cgroup quota`, worker: calm, ...own, ...limited },
    { way: `${twoSpinning}, cgroup quota`, worker: spinning, ...own, ...limited },
  ];
}

/** Interleaved, so that what else the machine does hits all ways alike. */
async function reportLatencies(
  page: Page,
  { name, batches }: BenchModel,
  ways: readonly Way[],
): Promise<void> {
  for (const rows of batches) {
    const cells = ways.map((way) => ({ way, wallMs: [] as number[], cpuMs: [] as number[] }));
    for (let round = 0; round < ROUNDS; round++) {
      for (const { way, wallMs, cpuMs } of cells) {
        await way.enter?.();
        const ran = await way.worker.run({ name: way.session, rows, runs: RUNS });
        await way.leave?.();
        await pause(SETTLE_MS);
        wallMs.push(...ran.wallMs.slice(1));
        cpuMs.push(ran.cpuMs);
      }
    }
    page.say(`\n${name}, ${rows} rows, ${ROUNDS * (RUNS - 1)} batches each`);
    page.table(
      ["way", "cores", ...SPREAD, "CPU p50, ms"],
      cells.map(({ way, wallMs, cpuMs }) => {
        return [way.way, way.cores, ...spread(wallMs), ms(quantile(cpuMs, 0.5))];
      }),
    );
  }
}

/** Affinity and quota; those of sessions are the executor's. */
async function reportChanges(
  page: Page,
  { name, batches }: BenchModel,
  worker: BenchWorker,
  quota: Quota | null,
): Promise<void> {
  const rows = batches.at(-1) ?? 1;
  const changes: string[][] = [];
  for (const isBusy of [false, true]) {
    const affinity: number[] = [];
    const quotas: number[] = [];
    for (let change = 0; change < CHANGES; change++) {
      const cores = change % 2 === 0 ? 1 : 2;
      const running = isBusy ? worker.run({ name: "2", rows, runs: 1 }) : null;
      if (isBusy) await pause(1);
      affinity.push(await timed(() => pin(worker.pid, FIRST_CORES[cores])));
      if (allowedCores(worker.pid).some((list) => list.length !== (cores === 1 ? 1 : 3))) {
        throw new Error("a thread kept its old cores");
      }
      if (quota !== null) quotas.push(await timed(() => quota.set(cores)));
      await running;
      quota?.set(null);
    }
    const when = isBusy ? "while a batch runs" : "idle";
    changes.push([`affinity, taskset of all threads, ${when}`, ...spread(affinity)]);
    if (quota !== null) changes.push([`cgroup quota, ${when}`, ...spread(quotas)]);
  }
  await pin(worker.pid, FIRST_CORES[2]);
  page.say(`\n${name}: time of a change from outside`);
  page.table(["way", ...SPREAD], changes);
}
