/** Which workers are idle, busy for a class, or kept for a queue that waits. */
import type { RamsisBundle } from "../../../bundle/schema.ts";
import { assert } from "../../../core/assert.ts";
import type { PaceMonitor } from "../../../core/pace.ts";
import type { ClassSpan } from "./line-queues.ts";
import { BUSY, DOWN, IDLE, workerStates } from "./worker-states.ts";

/** Every worker serves every class. */
export class ClassWorkers {
  readonly count: number;
  idleCount = 0;
  upCount = 0;
  readonly #stateByWorker: Uint8Array;
  /** Of a busy worker: the class that its batch counts for. */
  readonly #classByWorker: Uint8Array;
  readonly #busyByClass: Uint32Array;
  /** The idle ones, the one that became so last on top: it has the model in its cache. */
  readonly #idle: Uint32Array;
  /** Position among the idle ones of the one that takes the next batch. */
  #next = 0;

  /** @param ready whether all are up from the start. */
  constructor(bundle: RamsisBundle, classCount: number, ready: boolean) {
    this.#stateByWorker = workerStates(bundle, ready);
    this.count = this.#stateByWorker.length;
    this.#classByWorker = new Uint8Array(this.count);
    this.#busyByClass = new Uint32Array(classCount);
    this.#idle = new Uint32Array(this.count);
    if (!ready) return;
    this.upCount = this.count;
    for (let worker = this.count - 1; worker >= 0; worker--) this.#pushIdle(worker);
  }

  /** The fastest idle worker; of equally fast ones that which became idle last. */
  choose(pace: PaceMonitor): number {
    let next = this.idleCount - 1;
    if (!pace.isEven) {
      for (let position = next - 1; position >= 0; position--) {
        if (pace.meanPaceOf(this.#idle[position]!) < pace.meanPaceOf(this.#idle[next]!))
          next = position;
      }
    }
    this.#next = next;
    return this.#idle[next]!;
  }

  /** The worker that was chosen, which is idle. It is busy from now on. */
  take(): number {
    const worker = this.#idle[this.#next]!;
    this.#idle.copyWithin(this.#next, this.#next + 1, this.idleCount);
    this.idleCount--;
    this.#next = this.idleCount - 1;
    this.#stateByWorker[worker] = BUSY;
    return worker;
  }

  /** Says which class the batch counts for that a worker was taken for. */
  assign(worker: number, sloClass: number): void {
    this.#classByWorker[worker] = sloClass;
    this.#busyByClass[sloClass]!++;
  }

  onBatchDone(worker: number): void {
    assert(this.#stateByWorker[worker] === BUSY, "a worker that is done was busy");
    this.#stateByWorker[worker] = IDLE;
    this.#busyByClass[this.#classByWorker[worker]!]!--;
    this.#pushIdle(worker);
  }

  onReady(worker: number): void {
    assert(this.#stateByWorker[worker] === DOWN, "a worker that comes up was down");
    this.#stateByWorker[worker] = IDLE;
    this.upCount++;
    this.#pushIdle(worker);
  }

  onLost(worker: number): void {
    const state = this.#stateByWorker[worker];
    assert(state !== DOWN, "a worker that goes down was up");
    if (state === IDLE) this.#removeIdle(worker);
    else this.#busyByClass[this.#classByWorker[worker]!]!--;
    this.#stateByWorker[worker] = DOWN;
    this.upCount--;
  }

  /** Batches under way that count for classes. */
  busyCount({ first, end }: ClassSpan): number {
    let busy = 0;
    for (let sloClass = first; sloClass < end; sloClass++) busy += this.#busyByClass[sloClass]!;
    return busy;
  }

  #pushIdle(worker: number): void {
    this.#idle[this.idleCount++] = worker;
  }

  #removeIdle(worker: number): void {
    const idle = this.#idle;
    const position = idle.indexOf(worker);
    assert(position >= 0 && position < this.idleCount, "an idle worker is on the stack");
    idle.copyWithin(position, position + 1, this.idleCount);
    this.idleCount--;
  }
}

/**
 * Workers that are kept for queues which wait for larger batches.
 *
 * Where queries of several buckets share the workers, a queue that waits until the last moment for
 * its batch would find that a later deadline of another queue has taken the worker. So each queue
 * that waits has one idle worker kept for it from the time at which it will act: others may use it
 * only for batches that end before.
 */
export class KeptWorkers {
  readonly #isKeeping: boolean;
  #count = 0;
  #fromMs = Number.POSITIVE_INFINITY;

  /** @param isKeeping false where nothing is ever kept. */
  constructor(isKeeping: boolean) {
    this.#isKeeping = isKeeping;
  }

  /** Nobody waits yet. */
  begin(): void {
    this.#count = 0;
    this.#fromMs = Number.POSITIVE_INFINITY;
  }

  /** A queue waits. @param actMs when it will act if nothing else happens. */
  keep(actMs: number): void {
    if (!this.#isKeeping) return;
    this.#count++;
    this.#fromMs = Math.min(this.#fromMs, actMs);
  }

  /** Whether all idle workers may run batches that end at any time. */
  get isFree(): boolean {
    return this.#count === 0;
  }

  /** Whether an idle worker may run a batch that ends at a time. @param idleCount at least one. */
  mayTake(idleCount: number, endMs: number): boolean {
    return idleCount > this.#count || endMs <= this.#fromMs;
  }
}
