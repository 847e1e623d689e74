/** Time limits that the workers of one executor share and learn from one another. */
import { BatchPace } from "./batch-pace.ts";
import { LoadPace } from "./load-pace.ts";
import type { WorkerLimits } from "./worker-limits.ts";

export class WorkerPaces {
  readonly batches: BatchPace;
  readonly starts: LoadPace;
  readonly loads: LoadPace;

  constructor(limits: WorkerLimits) {
    this.batches = new BatchPace(limits);
    this.starts = new LoadPace(limits);
    this.loads = new LoadPace(limits);
  }
}
