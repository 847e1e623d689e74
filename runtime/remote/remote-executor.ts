/**
 * Executor over remote v2 servers that hold every variant, with one inference request per batch.
 */
import { assert } from "../core/assert.ts";
import type { Batch, BatchResult, OnComputed } from "../exec/models/executor.ts";
import type { ProcessExecutor, ProcessExecutorHandlers } from "../exec/pool/worker-pool.ts";
import type { RemoteOptions } from "./remote-options.ts";
import { RemoteSlots } from "./remote-slots.ts";

/**
 * Contacts each worker once and does not wait for unreachable ones: `onReady` is called for a slot
 * once a worker of its pool is ready. A worker is lost after three failed heartbeats, and when its
 * connection breaks during a batch or a batch times out; a standby takes its slot.
 * @throws RemoteMistake naming the worker if a reachable one has another model or does its own
 * batching.
 */
export async function startRemoteExecutor(
  options: RemoteOptions,
  handlers: ProcessExecutorHandlers,
): Promise<ProcessExecutor> {
  assert(options.workerCount > 0, "an executor has at least one worker");
  assert(options.pools.length === options.workerCount, "each worker slot has a pool");
  const slots = new RemoteSlots(options, false, {
    onReady: handlers.onReady,
    onLost: (slot, reason, cause, next) => {
      if (next !== null && handlers.onReplaced !== undefined) {
        handlers.onReplaced(slot, reason, cause);
        return;
      }
      handlers.onLost(slot, reason, cause);
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

  recycle(slot: number, reason: string): void {
    this.#slots.recycle(slot, reason);
  }

  /** Empty: there are no local processes. */
  pids() {
    const slots = new Array<number | undefined>(this.#slotCount).fill(undefined);
    return { slots, standbys: [] };
  }

  async close(): Promise<void> {
    this.#slots.close();
  }
}

/** Requests all outputs of a batch. */
function allComingBack({ stays: _, ...batch }: Batch): Batch {
  return batch;
}
