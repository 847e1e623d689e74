/** Measures the pace of the workers of a pipeline from the batches that they run. */
import type { Cluster, ModelFile, ServiceTimes, Slo } from "../../bundle/schema.ts";
import { beatMsOf } from "../beat.ts";
import { PaceMonitor, PaceReference } from "../pace.ts";
import type { PipelineDispatcherOptions } from "./pipeline-dispatcher.ts";

interface TimedVariant {
  readonly model: Pick<ModelFile, "buckets"> | null;
  /** In the order of the pools; null where the variant cannot run. */
  readonly profiles: readonly ({ readonly serviceTimes: ServiceTimes } | null)[];
}

/** Compares each batch with the profile of its variant in the pool of its worker. */
export class PipelinePaces {
  readonly monitor: PaceMonitor;
  /** [variantCount, poolCount] */
  readonly #references: readonly (PaceReference | null)[];
  /** First cell of each of them. */
  readonly #firstCell: Uint32Array;
  readonly #poolCount: number;
  readonly #poolByWorker: Uint32Array;
  /** Variant and size of the batch on each worker; size 0 for an idle worker. */
  readonly #variant: Uint32Array;
  readonly #batch: Uint32Array;
  readonly #busy: Uint32Array;
  #busyCount = 0;

  /** @param variants of all tasks, in the order of the tasks. */
  constructor(
    variants: readonly TimedVariant[],
    { cluster, slo }: { readonly cluster: Cluster; readonly slo: Slo },
    poolByWorker: Uint32Array,
    { adapt = true, reference = "measured", contends = true }: PipelineDispatcherOptions,
  ) {
    this.#poolCount = cluster.pools.length;
    this.#poolByWorker = poolByWorker;
    this.#references = variants.flatMap(({ profiles }) =>
      profiles.map(
        (one) => one && new PaceReference(one.serviceTimes, cluster, reference, contends),
      ),
    );
    this.#firstCell = new Uint32Array(this.#references.length);
    let cells = 0;
    // Batches of smaller rows than profiled do not show that workers are faster.
    let mayBeFaster = variants.every(({ model }) => model?.buckets === undefined);
    for (const [index, one] of this.#references.entries()) {
      this.#firstCell[index] = cells;
      cells += one?.cellCount ?? 0;
      mayBeFaster &&= one?.knowsMeans ?? true;
    }
    const workerCount = poolByWorker.length;
    this.monitor = new PaceMonitor(workerCount, cells, {
      adapt,
      mayBeFaster,
      beatMs: beatMsOf(slo),
      serving: cluster.serving,
    });
    this.#variant = new Uint32Array(workerCount);
    this.#batch = new Uint32Array(workerCount);
    this.#busy = new Uint32Array(workerCount);
  }

  /** Called when a worker starts a batch. @param variant index among those of all tasks. */
  started(worker: number, variant: number, batch: number): void {
    this.#busyCount++;
    this.#variant[worker] = variant;
    this.#batch[worker] = batch;
    this.#busy[worker] = this.#busyCount;
  }

  /** Called when a worker has ended its batch. @param ranMs time in the worker; NaN if unknown. */
  done(worker: number, ranMs: number, nowMs: number): void {
    const busy = Math.max(this.#busyCount, this.#busy[worker]!);
    const batch = this.#end(worker);
    if (batch === 0 || !(ranMs >= 0)) return;
    const variant = this.#variant[worker]! * this.#poolCount + this.#poolByWorker[worker]!;
    const reference = this.#references[variant];
    if (reference == null) return;
    const expectedMs = reference.expectedMs(0, batch, busy);
    const cell = this.#firstCell[variant]! + reference.cellOf(0, batch);
    const variance = reference.variance(0, batch);
    const rareMs = expectedMs * reference.rare(0, batch);
    this.monitor.onRun(worker, ranMs, expectedMs, variance, cell, nowMs, rareMs);
  }

  /** A worker has gone down. */
  lost(worker: number): void {
    this.#end(worker);
    this.monitor.onLost(worker);
  }

  /** @returns the batch that the worker ran, 0 for none. */
  #end(worker: number): number {
    const batch = this.#batch[worker]!;
    if (batch > 0) this.#busyCount--;
    this.#batch[worker] = 0;
    return batch;
  }
}
