/** Orders when instances leave their pipelines, on places that may contend for processors. */
import type { AccordionBundle, LayerPipeline } from "stratagem-runtime/internal/bundle/schema";
import type { AccordionCommands } from "stratagem-runtime/internal/methods/accordion/core/commands";
import { NONE } from "stratagem-runtime/internal/methods/accordion/core/pipeline-table";
import type { MachinePaces } from "../../../simulate/serving/machine-state.ts";
import { NO_WORKER } from "../../../simulate/serving/processor-queues.ts";
import { DEMAND_PARTS, type WorkerEvents } from "../../../simulate/serving/worker-events.ts";
import type { RunningQueries } from "./running-queries.ts";

/** Processor use of a pipeline. */
interface PipelineWork {
  /** Time of one instance in all stages, ms. */
  readonly instanceMs: number;
  readonly stepMs: number;
  /** Places whose stages were measured side by side. */
  readonly measuredPlaces: number;
}

/**
 * The next instance of every running query. If places contend, those of a query keep as many
 * processors busy as its work needs, spread over its run: for n instances that take W in all stages
 * and follow each other in steps of τ, n W / (W + (n − 1) τ). Stages were measured side by side, as
 * many as the machine has processors for, so the contention in the measurement is removed before
 * the simulated one is applied.
 */
export class PlaceEvents {
  readonly #workers: WorkerEvents;
  readonly #running: RunningQueries;
  /** Indexed by pipeline of the running queries; null without contention. */
  readonly #work: readonly (PipelineWork | null)[] | null;
  /** [slotCount]: whether its run has yet to begin; processors that it keeps busy. */
  readonly #isDue: Uint8Array;
  readonly #demand: Float64Array;
  /** Null if places are as profiled. */
  readonly #paces: MachinePaces | null;
  /** Places of each running query, by its slot. */
  readonly #places = new Map<number, number[]>();

  /**
   * @param workers one for each slot.
   * @param paces of the places; the slowest sets the step of a pipeline.
   */
  constructor(
    { tasks, cluster }: Pick<AccordionBundle, "tasks" | "cluster">,
    workers: WorkerEvents,
    running: RunningQueries,
    slotCount: number,
    paces: MachinePaces | null,
  ) {
    this.#paces = paces;
    this.#workers = workers;
    this.#running = running;
    const processors = cluster.serving?.processors ?? 1;
    const variants = tasks[0]?.variants ?? [];
    const isByStep = !workers.areForeknown || paces !== null;
    this.#work = isByStep
      ? variants.flatMap(({ pipelines }) => pipelines.map((one) => workOf(one, processors)))
      : null;
    this.#isDue = new Uint8Array(isByStep ? slotCount : 0);
    this.#demand = new Float64Array(isByStep ? slotCount : 0);
  }

  get nextMs(): number {
    return this.#workers.nextMs;
  }

  /** Records the places of a query from a start or reshape command. */
  hold(slot: number, commands: AccordionCommands, command: number): void {
    const places = this.#places.get(slot) ?? [];
    places.length = commands.placeCount(command);
    for (let stage = 0; stage < places.length; stage++) {
      places[stage] = commands.place(command, stage);
    }
    this.#places.set(slot, places);
  }

  /** Returns the query on a place, or NONE. */
  holderOf(place: number): number {
    for (const [slot, places] of this.#places) if (places.includes(place)) return slot;
    return NONE;
  }

  /** Records that a query has released its places. */
  end(slot: number): void {
    this.#places.delete(slot);
  }

  /** Starts a run, now or at a future time. */
  begin(slot: number, nowMs: number, startMs: number): void {
    if (this.#work === null) {
      this.#workers.push(this.#running.nextMs(slot), slot);
      return;
    }
    this.#demand[slot] = this.#demandOf(slot);
    if (startMs > nowMs) {
      this.#isDue[slot] = 1;
      this.#workers.push(startMs, slot);
    } else this.#run(slot, nowMs);
  }

  /** Starts the next instance of a run. */
  goOn(slot: number, nowMs: number): void {
    if (this.#work === null) this.#workers.push(this.#running.nextMs(slot), slot);
    else this.#run(slot, nowMs);
  }

  /**
   * Takes the next event.
   * @returns the slot whose instance has left the pipeline, or NONE.
   */
  pop(nowMs: number): number {
    const slot = this.#workers.pop();
    if (slot === NO_WORKER) return NONE;
    if (this.#isDue[slot] !== 1) return slot;
    this.#isDue[slot] = 0;
    this.#run(slot, nowMs);
    return NONE;
  }

  cancel(slot: number, nowMs: number): void {
    this.#workers.cancel(slot, nowMs);
    if (this.#work !== null) this.#isDue[slot] = 0;
  }

  #run(slot: number, nowMs: number): void {
    const workers = this.#workers;
    const demand = this.#demand[slot] ?? 1;
    const { measuredPlaces = 1 } = this.#work?.[this.#running.pipeline(slot)] ?? {};
    const aloneMs =
      (this.#running.stepMs(slot) * workers.aloneFactor(demand)) /
      workers.aloneFactor(measuredPlaces);
    workers.run(nowMs, slot, this.#pacedMs(slot, nowMs, aloneMs), 0, demand);
  }

  #pacedMs(slot: number, nowMs: number, aloneMs: number): number {
    const places = this.#places.get(slot);
    if (this.#paces === null || places === undefined) return aloneMs;
    let slowestMs = 0;
    for (const place of places) {
      slowestMs = Math.max(slowestMs, this.#paces.takesMs(place, nowMs, aloneMs));
    }
    return slowestMs;
  }

  #demandOf(slot: number): number {
    const work = this.#work?.[this.#running.pipeline(slot)];
    if (!work) return 1;
    const count = this.#running.instances(slot);
    const demand = (count * work.instanceMs) / (work.instanceMs + (count - 1) * work.stepMs);
    return Math.max(1, Math.round(demand * DEMAND_PARTS)) / DEMAND_PARTS;
  }
}

function workOf(pipeline: LayerPipeline | null, processors: number): PipelineWork | null {
  if (pipeline === null) return null;
  const { pools, stageMs, stepMs, stageSpreads } = pipeline;
  const places = pools.length;
  const sum = (times: readonly number[]) => times.reduce((total, ms) => total + ms, 0);
  // Stages may be known at a higher quantile than steps; each step has at most one.
  const knownMs = sum(stageSpreads?.map(({ mean }) => mean) ?? stageMs);
  const mostMs = places * stepMs;
  const instanceMs = stageMs.length === 0 ? mostMs : Math.min(knownMs, mostMs);
  return { instanceMs, stepMs, measuredPlaces: Math.min(places, processors) };
}
