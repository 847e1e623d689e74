/** Tells when the instances of a run leave their pipeline. */
import type { PipelineTable } from "stratagem-runtime/internal/methods/accordion/core/pipeline-table";

/** Times of the instances of runs, each of which is a query on the same places; by slot. */
export interface InstanceTimes {
  /** A run begins, after the end of the one before of the same slot, if there was one. */
  begin(slot: number, model: number, shape: number): void;
  /**
   * When an instance is done, from the start of the run, if nothing takes its processors, ms. It is
   * asked for the first, the second and so on.
   * @param instance from 1 on.
   */
  doneMs(slot: number, instance: number): number;
  /** No more of the slot is asked for. */
  end(slot: number): void;
}

/** As the table says that schedulers look up. */
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
    // What places take from each other is simulated by itself.
    return (
      table.latencyMs(this.#model[slot] ?? 0, this.#shape[slot] ?? 0, instance) / table.stretch
    );
  }

  end(): void {}
}
