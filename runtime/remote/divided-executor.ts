/** Combines executors for local pools and for remote pools into one. */
import { assert } from "../core/assert.ts";
import type { Batch, BatchResult, OnComputed } from "../exec/models/executor.ts";
import type {
  AssignedProcessExecutor,
  AssignedProcessHandlers,
} from "../exec/pool/assigned-pool.ts";
import type { ProcessExecutor, ProcessExecutorHandlers } from "../exec/pool/worker-pool.ts";

/** Starts an executor whose slots are numbered from 0. */
type Start<E, H> = (handlers: H) => Promise<E>;

/** Global slots of one executor, and the function that starts it. */
export interface ExecutorPart<E, H> {
  readonly slots: readonly number[];
  readonly start: Start<E, H>;
}

interface StartedPart<E> {
  readonly slots: readonly number[];
  readonly executor: E;
}

/**
 * Starts the executors sequentially. @throws the error of one of them, after closing the others.
 */
export async function startDivided(
  parts: readonly ExecutorPart<ProcessExecutor, ProcessExecutorHandlers>[],
  handlers: ProcessExecutorHandlers,
): Promise<ProcessExecutor> {
  return new DividedExecutor(await startAll(parts, (slots) => handlersOf(handlers, slots)));
}

/** Variant of `startDivided` for workers with assigned models. */
export async function startDividedAssigned(
  parts: readonly ExecutorPart<AssignedProcessExecutor, AssignedProcessHandlers>[],
  handlers: AssignedProcessHandlers,
): Promise<AssignedProcessExecutor> {
  return new DividedAssigned(
    await startAll(parts, (slots) => ({
      ...handlersOf(handlers, slots),
      onModelReady: (slot, loads) => handlers.onModelReady(slotOf(slots, slot), loads),
      onResized: (slot, cores) => handlers.onResized?.(slotOf(slots, slot), cores),
    })),
  );
}

async function startAll<E extends ProcessExecutor, H>(
  parts: readonly ExecutorPart<E, H>[],
  handlersFor: (slots: readonly number[]) => H,
): Promise<StartedPart<E>[]> {
  const started: StartedPart<E>[] = [];
  try {
    for (const { slots, start } of parts) {
      if (slots.length > 0) started.push({ slots, executor: await start(handlersFor(slots)) });
    }
    return started;
  } catch (error) {
    await Promise.all(started.map(({ executor }) => executor.close()));
    throw error;
  }
}

/** Translates slots of one executor into global slots. */
function handlersOf(
  handlers: ProcessExecutorHandlers,
  slots: readonly number[],
): ProcessExecutorHandlers {
  const { onReplaced, onRun } = handlers;
  return {
    ...handlers,
    onReady: (slot) => handlers.onReady(slotOf(slots, slot)),
    onLost: (slot, ...why) => handlers.onLost(slotOf(slots, slot), ...why),
    ...(onReplaced === undefined
      ? {}
      : { onReplaced: (slot, ...why) => onReplaced(slotOf(slots, slot), ...why) }),
    ...(onRun === undefined ? {} : { onRun: (slot, rows) => onRun(slotOf(slots, slot), rows) }),
  };
}

function slotOf(slots: readonly number[], own: number): number {
  const slot = slots[own];
  assert(slot !== undefined, "an executor reports its own slots");
  return slot;
}

interface Place<E> {
  readonly executor: E;
  /** Slot number within its executor. */
  readonly own: number;
}

class DividedExecutor<E extends ProcessExecutor> implements ProcessExecutor {
  readonly #parts: readonly StartedPart<E>[];
  readonly #places = new Map<number, Place<E>>();

  constructor(parts: readonly StartedPart<E>[]) {
    this.#parts = parts;
    for (const { slots, executor } of parts) {
      for (const [own, slot] of slots.entries()) this.#places.set(slot, { executor, own });
    }
  }

  run(slot: number, batch: Batch, onComputed?: OnComputed): Promise<BatchResult> {
    const { executor, own } = this.placeOf(slot);
    // Outputs cannot stay on a worker if stages run on different executors.
    const { stays: _, ...comingBack } = batch;
    return executor.run(own, this.#parts.length > 1 ? comingBack : batch, onComputed);
  }

  recycle(slot: number, reason: string): void {
    const { executor, own } = this.placeOf(slot);
    executor.recycle(own, reason);
  }

  pids() {
    const pidsByExecutor = new Map(this.#parts.map(({ executor }) => [executor, executor.pids()]));
    const slots = Array.from({ length: this.#places.size }, (_, slot) => {
      const { executor, own } = this.placeOf(slot);
      return pidsByExecutor.get(executor)?.slots[own];
    });
    return { slots, standbys: [...pidsByExecutor.values()].flatMap(({ standbys }) => standbys) };
  }

  async close(): Promise<void> {
    await Promise.all(this.#parts.map(({ executor }) => executor.close()));
  }

  protected placeOf(slot: number): Place<E> {
    const place = this.#places.get(slot);
    assert(place !== undefined, "a worker slot exists");
    return place;
  }
}

class DividedAssigned
  extends DividedExecutor<AssignedProcessExecutor>
  implements AssignedProcessExecutor
{
  assign(slot: number, variants: readonly number[], cores?: number): void {
    const { executor, own } = this.placeOf(slot);
    executor.assign(own, variants, cores);
  }

  resize(slot: number, cores: number): void {
    const { executor, own } = this.placeOf(slot);
    executor.resize(own, cores);
  }

  release(slot: number): void {
    const { executor, own } = this.placeOf(slot);
    executor.release(own);
  }
}
