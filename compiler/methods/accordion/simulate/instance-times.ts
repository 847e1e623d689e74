/** Interface for the times at which the instances of a run leave their pipeline. */
import type { PipelineTable } from "stratagem-runtime/internal/methods/accordion/core/pipeline-table";

/** Instance times of runs, by slot; a run is a query on the same places. */
export interface InstanceTimes {
  /** Begins a run, after the end of the previous run of the slot, if any. */
  begin(slot: number, model: number, shape: number): void;
  /**
   * Returns when an instance is finished without contention, in ms from the start of the run.
   * Instances must be requested in order.
   * @param instance from 1 on.
   */
  doneMs(slot: number, instance: number): number;
  end(slot: number): void;
}

/** Times of the latency table that schedulers look up. */
export class TableTimes implements InstanceTimes {
  readonly #table: PipelineTable;
  readonly #model: Uint16Array;
  readonly #shape: Uint16Array;

  constructor(table: PipelineTable, slotCount: number) {
    this.#table = table;
    this.#model = new Uint16Array(slotCount);
    this.#shape = new Uint16Array(slotCount);
  }

  begin(slot: number, model: number, shape: number): void {
    this.#model[slot] = model;
    this.#shape[slot] = shape;
  }

  doneMs(slot: number, instance: number): number {
    const table = this.#table;
    // Contention between places is simulated separately.
    return (
      table.latencyMs(this.#model[slot] ?? 0, this.#shape[slot] ?? 0, instance) / table.stretch
    );
  }

  end(): void {}
}
