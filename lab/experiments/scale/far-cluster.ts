/** A dispatcher whose workers lie at distances of their own. */
import { CommandBuffer, DROP } from "stratagem-runtime/internal/core/command-buffer";
import type { Dispatcher } from "stratagem-runtime/internal/methods/ramsis/core/dispatcher";

type Deciding = Pick<
  Dispatcher,
  | "workerCount"
  | "waitingCapacity"
  | "commandCapacity"
  | "wakeMs"
  | "onArrival"
  | "onBatchDone"
  | "onWake"
>;

interface Sent {
  readonly startMs: number;
  readonly worker: number;
  readonly variant: number;
  readonly level: number;
  readonly queries: readonly number[];
}

/**
 * What was decided for a worker begins there later, by what its way takes there and back beyond the
 * time that every batch has: to whoever waits it is all the same on which way the time is lost.
 */
export class FarCluster {
  readonly workerCount: number;
  readonly waitingCapacity: number;
  readonly commandCapacity: number;
  readonly #core: Deciding;
  readonly #extraMs: readonly number[];
  readonly #inner: CommandBuffer;
  /** On their way, of each distance, in the order of their starts. */
  readonly #sent = new Map<number, Sent[]>();

  /**
   * @param extraMs [worker]: of a way there and back.
   * @param maxBatch queries of a batch at most.
   */
  constructor(core: Deciding, extraMs: readonly number[], maxBatch: number) {
    this.#core = core;
    this.#extraMs = extraMs;
    this.#inner = new CommandBuffer(core.commandCapacity, core.waitingCapacity);
    for (const ms of extraMs) if (ms > 0) this.#sent.set(ms, []);
    this.workerCount = core.workerCount;
    // What is on its way waits as well, to whoever simulates.
    this.waitingCapacity = core.waitingCapacity + core.workerCount * maxBatch;
    this.commandCapacity = core.commandCapacity + core.workerCount;
  }

  get wakeMs(): number {
    let nextMs = this.#core.wakeMs;
    for (const [first] of this.#sent.values()) {
      if (first !== undefined) nextMs = Math.min(nextMs, first.startMs);
    }
    return nextMs;
  }

  onArrival(query: number, deadlineMs: number, nowMs: number, out: CommandBuffer): void {
    this.#core.onArrival(query, deadlineMs, nowMs, this.#inner);
    this.#pass(nowMs, out);
  }

  onBatchDone(worker: number, nowMs: number, out: CommandBuffer): void {
    this.#core.onBatchDone(worker, nowMs, this.#inner);
    this.#pass(nowMs, out);
  }

  onWake(nowMs: number, out: CommandBuffer): void {
    for (const queue of this.#sent.values()) {
      for (let first = queue[0]; first !== undefined && first.startMs <= nowMs; first = queue[0]) {
        start(first, out);
        queue.shift();
      }
    }
    if (this.#core.wakeMs > nowMs) return;
    this.#core.onWake(nowMs, this.#inner);
    this.#pass(nowMs, out);
  }

  #pass(nowMs: number, out: CommandBuffer): void {
    const inner = this.#inner;
    for (let command = 0; command < inner.count; command++) {
      const worker = inner.worker(command);
      const queries = Array.from({ length: inner.queryCount(command) }, (_, at) =>
        inner.query(command, at),
      );
      if (inner.kind(command) === DROP) {
        for (const query of queries) out.drop(worker, query, inner.reason(command));
        continue;
      }
      const extraMs = this.#extraMs[worker] ?? 0;
      const [variant, level] = [inner.variant(command), inner.level(command)];
      const sent = { startMs: nowMs + extraMs, worker, variant, level, queries };
      const queue = this.#sent.get(extraMs);
      if (queue === undefined) start(sent, out);
      else queue.push(sent);
    }
    inner.clear();
  }
}

function start({ worker, variant, level, queries }: Sent, out: CommandBuffer): void {
  out.startBatch(worker, variant, level);
  for (const query of queries) out.appendQuery(query);
}
