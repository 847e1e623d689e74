/** Failed batches run on another worker, and workers that fail them are taken out. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import {
  type Batch,
  type BatchResult,
  InferenceError,
  RowsRefusedError,
  WorkerLostError,
} from "../../../../runtime/exec/models/executor.ts";
import {
  startGuarded,
  startGuardedAssigned,
} from "../../../../runtime/exec/pool/guarded-executor.ts";
import type {
  ProcessExecutor,
  ProcessExecutorHandlers,
} from "../../../../runtime/exec/pool/worker-pool.ts";

const TENSOR = { name: "x", dtype: "uint8", shape: [-1, 1] };
const VARIANTS = ["a", "b"].map((name) => ({
  ...{ name, path: `${name}.onnx`, inputs: [TENSOR], outputs: [TENSOR], warmBatches: [] },
}));
/** Row that no worker can run. */
const BAD = 255;

/** What a worker does with a batch: runs it, or fails it with this error. */
type Behaviour = (batch: Batch) => Error | null;
const works: Behaviour = ({ inputs }) => {
  const rows = [...Buffer.concat(inputs[0] ?? [])];
  return rows.includes(BAD) ? new InferenceError("a", "a bad row") : null;
};
const fails: Behaviour = () => new InferenceError("a", "it is broken");

class Workers implements ProcessExecutor {
  readonly ran: string[] = [];
  readonly recycled: number[] = [];
  readonly handlers: ProcessExecutorHandlers;
  readonly behaviours: Behaviour[];
  readonly #computing = new Set<number>();

  constructor(behaviours: readonly Behaviour[], handlers: ProcessExecutorHandlers) {
    this.behaviours = [...behaviours];
    this.handlers = handlers;
  }

  async run(slot: number, batch: Batch): Promise<BatchResult> {
    expect(this.#computing.has(slot)).toBe(false);
    this.#computing.add(slot);
    await nextTurn();
    this.#computing.delete(slot);
    const bytes = Uint8Array.from(Buffer.concat(batch.inputs[0] ?? []));
    this.ran.push(`${slot}: ${[...bytes].join(" ")}`);
    const error = this.behaviours[slot]?.(batch) ?? null;
    if (error !== null) throw error;
    return { outputs: [{ shape: [batch.rows, 1], bytes }], wallMs: 1, cpuMs: 1, cores: 1 };
  }

  /** The worker is lost; the next one of its slot is ready at once. */
  recycle(slot: number, reason: string): void {
    this.recycled.push(slot);
    setImmediate(() => {
      this.handlers.onLost(slot, reason, "failing");
      this.handlers.onReady(slot);
    });
  }

  pids() {
    return { slots: [], standbys: [] };
  }

  async close(): Promise<void> {}
}

let nowMs = 0;
const told: string[] = [];
const notices: string[] = [];

beforeEach(() => {
  nowMs = 0;
  told.length = 0;
  notices.length = 0;
});
afterEach(() => {
  vi.useRealTimers();
});

const HANDLERS: ProcessExecutorHandlers = {
  onReady: (slot) => told.push(`ready ${slot}`),
  onLost: (slot, reason, cause) => told.push(`lost ${slot}: ${reason} (${cause})`),
  onRetried: (slot, rows) => told.push(`retried ${rows} of ${slot}`),
};
const guardOptions = (workerCount: number) => ({
  ...{ variants: VARIANTS, workerCount, poolBySlot: new Array(workerCount).fill(0) },
  ...{ nowMs: () => nowMs, onNotice: (message: string) => notices.push(message) },
});

async function guarded(behaviours: readonly Behaviour[]) {
  let workers: Workers | undefined;
  const executor = await startGuarded(guardOptions(behaviours.length), HANDLERS, async (own) => {
    workers = new Workers(behaviours, own);
    return workers;
  });
  if (workers === undefined) throw new Error("the executor was not started");
  for (const slot of behaviours.keys()) workers.handlers.onReady(slot);
  told.length = 0;
  return { executor, workers };
}

const batchOf = (...rows: number[]): Batch => ({
  ...{ variant: 0, rows: rows.length, inputs: [[Uint8Array.from(rows)]], deadlineMs: 100 },
});
const rowsOf = ({ outputs }: BatchResult) => [...(outputs[0]?.bytes ?? [])];

describe("a worker that fails its batches", () => {
  test.each<[string, Behaviour]>([
    ["answers with an error", fails],
    ["refuses every input", () => new InferenceError("a", "status 400", true)],
  ])("and %s is taken out after three, and every batch is answered", async (_, failing) => {
    const { executor, workers } = await guarded([failing, works]);
    for (let batch = 0; batch < 3; batch++) {
      expect(rowsOf(await executor.run(0, batchOf(1, 2)))).toEqual([1, 2]);
    }
    expect(workers.recycled).toEqual([0]);
    // A batch for its slot runs elsewhere until the next worker is ready.
    expect(rowsOf(await executor.run(0, batchOf(3)))).toEqual([3]);
    expect(workers.ran.at(-1)).toBe("1: 3");
    await nextTurn();
    expect(told.slice(3)).toEqual([
      expect.stringMatching(/^lost 0: it fails batches that others run: a: .* \(failing\)$/),
      "ready 0",
    ]);
  });

  test("whose rows are not those of the batch, too", async () => {
    const { executor, workers } = await guarded([works, works]);
    const run = workers.run.bind(workers);
    workers.run = async (slot, batch) => {
      const result = await run(slot, batch);
      const outputs = result.outputs.map((output) => ({ ...output, shape: [7, 1] }));
      return slot === 0 ? { ...result, outputs } : result;
    };
    expect(rowsOf(await executor.run(0, batchOf(4)))).toEqual([4]);
    expect(told).toEqual(["retried 1 of 0"]);
  });

  test("is taken out at its first failure after that, and waits longer each time", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const { executor, workers } = await guarded([fails, works]);
    for (let batch = 0; batch < 3; batch++) await executor.run(0, batchOf(1));
    await nextTurn();
    for (const waitMs of [1000, 2000, 4000]) {
      expect(told.at(-1)).toBe("ready 0");
      await executor.run(0, batchOf(1));
      await nextTurn();
      vi.advanceTimersByTime(waitMs - 1);
      expect(told.at(-1)).toMatch(/^lost 0/);
      vi.advanceTimersByTime(1);
    }
    expect(workers.recycled).toEqual([0, 0, 0, 0]);
    workers.behaviours[0] = works;
    expect(rowsOf(await executor.run(0, batchOf(5)))).toEqual([5]);
    expect(workers.ran.at(-1)).toBe("0: 5");
  });

  test("is found among others that fail, and computes one batch at a time", async () => {
    const { executor, workers } = await guarded([fails, fails, works]);
    const isAnswered: boolean[] = [];
    for (let round = 0; round < 6; round++) {
      const runs = [0, 1, 2].map((slot) => executor.run(slot, batchOf(round, slot)));
      const results = await Promise.allSettled(runs);
      isAnswered.push(results.every(({ status }) => status === "fulfilled"));
    }
    expect(isAnswered.slice(1)).toEqual([true, true, true, true, true]);
    expect(new Set(workers.recycled)).toEqual(new Set([0, 1]));
  });

  test("runs nothing again after its deadline, or without one", async () => {
    const { executor, workers } = await guarded([fails, works]);
    nowMs = 100;
    await expect(executor.run(0, batchOf(1))).rejects.toThrow("a: it is broken");
    const { deadlineMs: _, ...batch } = batchOf(1);
    await expect(executor.run(0, batch)).rejects.toThrow("a: it is broken");
    expect(workers.ran).toHaveLength(2);
  });
});

describe("an input that no worker can run", () => {
  test("takes no worker out, and fails alone", async () => {
    const { executor, workers } = await guarded([works, works]);
    for (let attack = 0; attack < 50; attack++) {
      const slot = attack % 2;
      const found = await executor.run(slot, batchOf(1, 2, BAD, 3, 4, 5, 6, 7)).catch((e) => e);
      expect(found).toBeInstanceOf(RowsRefusedError);
      expect(found).toMatchObject({ rows: [2], isRefusal: false, message: "a: a bad row" });
      await expect(executor.run(slot, batchOf(BAD))).rejects.toThrow(InferenceError);
      await executor.run(slot, batchOf(1));
    }
    expect(workers.recycled).toEqual([]);
  });

  test("is refused if every worker says that the input is at fault", async () => {
    const refuses: Behaviour = (batch) =>
      works(batch) === null ? null : new InferenceError("a", "status 400", true);
    const { executor } = await guarded([refuses, refuses]);
    const found = await executor.run(0, batchOf(BAD)).catch((error) => error);
    expect(found).toBeInstanceOf(RowsRefusedError);
    expect(found).toMatchObject({ rows: [0], isRefusal: true });
    const several = await executor.run(1, batchOf(1, BAD)).catch((error) => error);
    expect(several).toMatchObject({ rows: [1], isRefusal: true });
  });
});

describe("a batch that fails on every worker", () => {
  test("is reported once a minute, and takes no worker out that can run zeros", async () => {
    const { executor, workers } = await guarded([works, works]);
    for (nowMs = 0; nowMs < 100_000; nowMs += 1000) {
      const batch = { ...batchOf(BAD), deadlineMs: Number.POSITIVE_INFINITY };
      await expect(executor.run(0, batch)).rejects.toThrow("a: a bad row");
    }
    const notice = "a batch fails on every worker, so its input or the model is at fault";
    expect(notices).toEqual([`${notice}: a: a bad row`, `${notice}: a: a bad row`]);
    expect(workers.recycled).toEqual([]);
  });

  test("shows workers that fail an input which ran before, even a single one", async () => {
    const { executor, workers } = await guarded([works]);
    await executor.run(0, batchOf(7, 8));
    for (let attack = 0; attack < 9; attack++) {
      await expect(executor.run(0, batchOf(BAD))).rejects.toThrow("a bad row");
    }
    expect(workers.recycled).toEqual([]);
    workers.behaviours[0] = fails;
    let failures = 0;
    for (; workers.recycled.length === 0; failures++) {
      await expect(executor.run(0, batchOf(1))).rejects.toThrow("it is broken");
    }
    expect(failures).toBeLessThanOrEqual(3);
    expect(workers.ran.at(-1)).toBe("0: 7");
    await expect(executor.run(0, batchOf(1))).rejects.toThrow(WorkerLostError);
    workers.behaviours[0] = works;
    await nextTurn();
    expect(told.at(-1)).toBe("ready 0");
    expect(rowsOf(await executor.run(0, batchOf(1)))).toEqual([1]);
  });
});

test("an assigned batch runs again only on a worker that holds its variant", async () => {
  let workers: Workers | undefined;
  const handlers = { ...HANDLERS, onModelReady: () => {} };
  const executor = await startGuardedAssigned(guardOptions(3), handlers, async (own) => {
    workers = new Workers([fails, works, works], own);
    const assign = (slot: number) => own.onModelReady(slot, 1);
    return Object.assign(workers, { assign, resize: () => {}, release: () => {} });
  });
  for (const slot of [0, 1, 2]) workers?.handlers.onReady(slot);
  executor.assign(0, [0]);
  executor.assign(1, [1]);
  await expect(executor.run(0, batchOf(1))).rejects.toThrow("it is broken");
  executor.assign(2, [0, 1]);
  expect(rowsOf(await executor.run(0, batchOf(1)))).toEqual([1]);
  expect(workers?.ran).toEqual(["0: 1", "0: 1", "2: 1"]);
  executor.release(2);
  await expect(executor.run(0, batchOf(1))).rejects.toThrow("it is broken");
});
