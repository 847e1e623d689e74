/**
 * Served queries that weigh as much as earlier knowledge: enough for the noise of fan-outs to be
 * small beside that of the demand.
 */
const MEMORY_QUERIES = 2000;

/**
 * Mean children by variant and child task as observed, in the layout of `PipelineShape.fanout`:
 * reports are summed, and folded in at a heartbeat.
 *
 * The compiled means are the start; a heartbeat with n served queries has the weight n / (n +
 * 2000), so a mean is trusted as far as it is certain.
 */
export class FanoutMonitor {
  readonly fanout: Float64Array;
  readonly #sum: Float64Array;
  readonly #count: Float64Array;

  constructor(initial: Float64Array) {
    this.fanout = Float64Array.from(initial);
    this.#sum = new Float64Array(initial.length);
    this.#count = new Float64Array(initial.length);
  }

  record(cell: number, count: number): void {
    this.#sum[cell]! += count;
    this.#count[cell]! += 1;
  }

  heartbeat(): void {
    for (let cell = 0; cell < this.fanout.length; cell++) {
      const served = this.#count[cell]!;
      if (served === 0) continue;
      const weight = served / (served + MEMORY_QUERIES);
      this.fanout[cell]! += weight * (this.#sum[cell]! / served - this.fanout[cell]!);
      this.#sum[cell] = 0;
      this.#count[cell] = 0;
    }
  }
}
