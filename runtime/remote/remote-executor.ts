/**
 * The executor over v2 servers of other machines that hold every variant: one inference request per
 * batch.
 */
import { assert } from "../core/assert.ts";
import type { Batch, BatchResult, OnComputed } from "../exec/models/executor.ts";
import type { ProcessExecutor, ProcessExecutorHandlers } from "../exec/pool/worker-pool.ts";
import type { RemoteOptions } from "./remote-options.ts";
import { RemoteSlots } from "./remote-slots.ts";

/**
 * Looks once at each worker that there is, and waits for those that are away no longer: `onReady`
 * is called for a slot once a worker of its pool is there. A worker that says three heartbeats long
 * that it is not ready, or says nothing, is lost, and so is one whose connection ends under a
 * batch, or that does not answer it in time; what stands by takes its slot.
 * @throws RemoteMistake naming the worker if one of those there has another model, or makes batches
 * of its own.
 */
export async function startRemoteExecutor(
  options: RemoteOptions,
  handlers: ProcessExecutorHandlers,
): Promise<ProcessExecutor> {
  assert(options.workerCount > 0, "an executor has at least one worker");
  assert(options.pools.length === options.workerCount, "each worker slot has a pool");
  const slots = new RemoteSlots(options, false, {
    onReady: handlers.onReady,
    onLost: (slot, reason, isHung, next) => {
      if (next !== null && handlers.onReplaced !== undefined) {
        handlers.onReplaced(slot, reason, isHung);
        return;
      }
      handlers.onLost(slot, reason, isHung);
      if (next !== null) handlers.onReady(slot);
    },
  });
  await slots.start();
  slots.open();
  return new RemoteExecutor(slots, options, handlers);
}

class RemoteExecutor implements ProcessExecutor {
  readonly #slots: RemoteSlots;
  readonly #slotCount: number;
  readonly #handlers: ProcessExecutorHandlers;

  constructor(slots: RemoteSlots, options: RemoteOptions, handlers: ProcessExecutorHandlers) {
    this.#slots = slots;
    this.#slotCount = options.workerCount;
    this.#handlers = handlers;
  }

  async run(slot: number, batch: Batch, onComputed?: OnComputed): Promise<BatchResult> {
    this.#handlers.onRun?.(slot, batch.rows);
    const asked = this.#slots.keepTensors ? batch : allComingBack(batch);
    return this.#slots.run(slot, asked, onComputed);
  }

  /** No process of this machine. */
  pids() {
    const slots = new Array<number | undefined>(this.#slotCount).fill(undefined);
    return { slots, standbys: [] };
  }

  async close(): Promise<void> {
    this.#slots.close();
  }
}

/** A batch of which no output stays on its worker. */
function allComingBack({ stays: _, ...batch }: Batch): Batch {
  return batch;
}
