/** Measures the pace of the workers of a RAMSIS bundle from the batches that they run. */
import type { RamsisBundle } from "../../../bundle/schema.ts";
import { beatMsOf } from "../../../core/beat.ts";
import { PaceMonitor, PaceReference, type ReferenceMode } from "../../../core/pace.ts";

export interface PaceOptions {
  /** Whether decisions follow the pace; true unless said otherwise. */
  readonly adapt?: boolean;
  /** Expected times on a machine as profiled; the measured means by default. */
  readonly reference?: ReferenceMode;
  /** Whether workers take processors from each other; true unless said otherwise. */
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
    });
    this.#variant = new Uint16Array(workerCount);
    this.#batch = new Uint32Array(workerCount);
    this.#bucket = new Uint8Array(workerCount);
    this.#busy = new Uint32Array(workerCount);
    if (ready) for (let worker = 0; worker < workerCount; worker++) this.monitor.onReady(worker);
  }

  /** Compares with other profiles from now on; what was measured stays known. */
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

  /** A worker has ended its batch. @param ranMs time in the worker; NaN where it is not known. */
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
