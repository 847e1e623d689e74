/** Who of the workers is idle, and how many batches of each class are under way. */
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
