/** Workers of a RAMSIS cluster: their states, their paces, and which takes the next batch. */
import type { RamsisBundle } from "../../../bundle/schema.ts";
import { assert } from "../../../core/assert.ts";
import { beatMsOf } from "../../../core/beat.ts";
import { PaceMonitor, PaceReference, type ReferenceMode } from "../../../core/pace.ts";
import type { ClassSpan } from "./line-queues.ts";

/** States of a worker. */
export const DOWN = 0;
export const IDLE = 1;
export const BUSY = 2;

export function workerCountOf({ cluster }: Pick<RamsisBundle, "cluster">): number {
  return cluster.pools.reduce((sum, { workers }) => sum + workers, 0);
}

/** One state for each worker in the pools of a bundle. */
export function workerStates(bundle: RamsisBundle, ready: boolean): Uint8Array {
  return new Uint8Array(workerCountOf(bundle)).fill(ready ? IDLE : DOWN);
}

/** Every worker serves every class. */
export class ClassWorkers {
  readonly count: number;
  idleCount = 0;
  upCount = 0;
  readonly #stateByWorker: Uint8Array;
  /** Class that the batch of a busy worker counts for. */
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

  /** Sets the class that the batch of a taken worker counts for. */
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
 * Workers that are reserved for queues which wait for larger batches.
 *
 * If queries of several buckets share the workers, a queue that waits until the last moment for its
 * batch could find that a later deadline of another queue has taken the worker. So each queue that
 * waits has one idle worker reserved from the time at which it will act: others may use it only for
 * batches that end before.
 */
export class KeptWorkers {
  #count = 0;
  #fromMs = Number.POSITIVE_INFINITY;

  /** Forgets the queues that waited. */
  begin(): void {
    this.#count = 0;
    this.#fromMs = Number.POSITIVE_INFINITY;
  }

  /**
   * Reserves a worker for a waiting queue. @param actMs when the queue will act without other
   * events.
   */
  keep(actMs: number): void {
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

export interface PaceOptions {
  /** Whether decisions follow the pace; default true. */
  readonly adapt?: boolean;
  /** Expected times on a machine as profiled; the measured means by default. */
  readonly reference?: ReferenceMode;
  /** Whether workers compete for processors; default true. */
  readonly contends?: boolean;
}

/** Compares each batch with the profile of its variant, size and bucket. */
export class WorkerPaces {
  readonly monitor: PaceMonitor;
  /** One reference for each bucket; a single one without buckets. */
  #references: readonly PaceReference[];
  readonly #options: PaceOptions;
  /** Variant, size, bucket and busy workers of the batch on each worker. */
  readonly #variant: Uint16Array;
  readonly #batch: Uint32Array;
  readonly #bucket: Uint8Array;
  readonly #busy: Uint32Array;

  constructor(bundle: RamsisBundle, workerCount: number, ready: boolean, options: PaceOptions) {
    const { adapt = true } = options;
    this.#options = options;
    this.#references = referencesOf(bundle, options);
    const cellCount = Math.max(...this.#references.map((one) => one.cellCount));
    const knowsMeans = this.#references.every((one) => one.knowsMeans);
    this.monitor = new PaceMonitor(workerCount, cellCount, {
      adapt,
      mayBeFaster: knowsMeans,
      beatMs: beatMsOf(bundle.slo),
      serving: bundle.cluster.serving,
    });
    this.#variant = new Uint16Array(workerCount);
    this.#batch = new Uint32Array(workerCount);
    this.#bucket = new Uint8Array(workerCount);
    this.#busy = new Uint32Array(workerCount);
    if (ready) for (let worker = 0; worker < workerCount; worker++) this.monitor.onReady(worker);
  }

  /** Compares with other profiles from now on; measurements are kept. */
  replaceBundle(bundle: RamsisBundle): void {
    this.#references = referencesOf(bundle, this.#options);
  }

  /** A worker starts a batch. @param busyWorkers that run one, this one included. */
  started(worker: number, variant: number, batch: number, busyWorkers: number, bucket = 0): void {
    this.#variant[worker] = variant;
    this.#batch[worker] = batch;
    this.#bucket[worker] = bucket;
    this.#busy[worker] = busyWorkers;
  }

  /** Called when a worker has ended its batch. @param ranMs time in the worker; NaN if unknown. */
  done(worker: number, ranMs: number, busyWorkers: number, nowMs: number): void {
    if (!(ranMs >= 0)) return;
    const variant = this.#variant[worker]!;
    const batch = this.#batch[worker]!;
    const reference = this.#references[this.#bucket[worker]!] ?? this.#references[0]!;
    const busy = Math.max(busyWorkers, this.#busy[worker]!);
    const expectedMs = reference.expectedMs(variant, batch, busy);
    const variance = reference.variance(variant, batch);
    const cell = reference.cellOf(variant, batch);
    const rareMs = expectedMs * reference.rare(variant, batch);
    this.monitor.onRun(worker, ranMs, expectedMs, variance, cell, nowMs, rareMs);
  }
}

function referencesOf(
  { buckets, tasks, cluster }: RamsisBundle,
  { reference = "measured", contends }: PaceOptions,
): readonly PaceReference[] {
  return (buckets ?? tasks).map(({ serviceTimes }) => {
    return new PaceReference(serviceTimes, cluster, reference, contends);
  });
}
