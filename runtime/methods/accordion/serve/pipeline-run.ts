/** Streams the instances of a query through the stages of its pipeline. */
import { assert } from "../../../core/assert.ts";
import type { BatchResult } from "../../../exec/models/executor.ts";
import type { ExecutionPlace, Tenant } from "./execution-place.ts";
import type { AccordionRequest, InstanceValue } from "./request.ts";
import type { AccordionStage } from "./served-models.ts";

/** Events of a run, which may be given other places in the call. */
interface RunListener {
  /** The next row of the request is done. */
  onInstance(run: PipelineRun): void;
  /** An instance cannot be done. */
  onFailed(run: PipelineRun, message: string): void;
}

/** Values of one row on its way, by name. */
type Instance = Map<string, InstanceValue>;

/**
 * A query whose instances stream through the stages of its pipeline, in order: each stage runs one
 * at a time, and goes on while at most one finished instance waits for the next stage, so that
 * stages whose times vary do not block one another. After a change of stages it resumes with the
 * first row that is not done; instances in progress are discarded.
 */
export class PipelineRun {
  /** The scheduler's name for it. */
  readonly query: number;
  readonly request: AccordionRequest;
  readonly #listener: RunListener;
  /** Seats in the order of the stages; empty while it waits. */
  #seats: readonly Seat[] = [];
  /** Row that enters next. */
  #next = 0;

  constructor(query: number, request: AccordionRequest, listener: RunListener) {
    this.query = query;
    this.request = request;
    this.#listener = listener;
  }

  get placeCount(): number {
    return this.#seats.length;
  }

  has(place: ExecutionPlace): boolean {
    return this.#seats.some((seat) => seat.place === place);
  }

  /** Takes the places, one for each stage; nothing runs before `pump`. */
  begin(stages: readonly AccordionStage[], places: readonly ExecutionPlace[]): void {
    assert(stages.length === places.length, "every stage has a place");
    this.halt();
    this.#seats = places.map((place, index) => {
      const stage = stages[index];
      assert(stage !== undefined, "every place has a stage");
      return new Seat(this, stage, place);
    });
    for (const seat of this.#seats) seat.place.give(seat);
  }

  /** Leaves all places; instances on their way are forgotten. */
  halt(): void {
    for (const seat of this.#seats) seat.place.leave(seat);
    this.#seats = [];
    this.#next = this.request.doneRows;
  }

  /** Runs every stage that can: the last first, which makes room for those before. */
  pump(): void {
    const seats = this.#seats;
    for (let stage = seats.length - 1; stage >= 0; stage--) {
      const seat = seats[stage];
      const before = seats[stage - 1];
      if (seat === undefined || !seat.canRun) continue;
      const instance = before === undefined ? this.#entering() : before.hand();
      if (instance !== null) seat.run(instance);
      // The call may have changed the places.
      if (this.#seats !== seats) return;
    }
  }

  onStageDone(seat: Seat, instance: Instance): void {
    if (seat !== this.#seats.at(-1)) {
      seat.done.push(instance);
      this.pump();
      return;
    }
    const problem = this.request.take(instance);
    if (problem !== undefined) {
      this.#listener.onFailed(this, problem);
      return;
    }
    this.#listener.onInstance(this);
    this.pump();
  }

  onStageFailed(message: string): void {
    this.#listener.onFailed(this, message);
  }

  #entering(): Instance | null {
    return this.#next < this.request.rows ? this.request.inputsOf(this.#next++) : null;
  }
}

/** A stage on its place. */
class Seat implements Tenant {
  readonly place: ExecutionPlace;
  /** Instances that wait for the next stage. */
  readonly done: Instance[] = [];
  readonly #run: PipelineRun;
  readonly #stage: AccordionStage;
  /** The instance that runs. */
  #running: Instance | null = null;

  constructor(run: PipelineRun, stage: AccordionStage, place: ExecutionPlace) {
    this.#run = run;
    this.#stage = stage;
    this.place = place;
  }

  get canRun(): boolean {
    return this.done.length < 2 && this.#running === null && this.place.isVacant;
  }

  /** Passes the first finished instance on. */
  hand(): Instance | null {
    return this.done.shift() ?? null;
  }

  run(instance: Instance): void {
    this.#running = instance;
    const { stageModel: variant, inputs: names, stays, p99Ms } = this.#stage;
    const values = names.map((name) => kept(instance, name));
    const inputs = values.map(({ bytes, stayed }) => (stayed === undefined ? [bytes] : []));
    const stayed = values.map((value) => value.stayed);
    const { deadlineMs } = this.#run.request;
    const batch = {
      variant,
      rows: 1,
      inputs,
      p99Ms,
      deadlineMs,
      ...(stays.size === 0 ? {} : { stays }),
    };
    const isElsewhere = stayed.some((one) => one !== undefined);
    this.place.run(this, isElsewhere ? { ...batch, stayed } : batch);
  }

  onResult({ outputs }: BatchResult): void {
    const instance = this.#running;
    assert(instance !== null, "a result is of an instance that runs");
    this.#running = null;
    for (const [index, name] of this.#stage.outputs.entries()) {
      const value = outputs[index];
      assert(value !== undefined, "a stage gives every output");
      instance.set(name, value);
    }
    for (const name of instance.keys()) if (!this.#stage.keeps.has(name)) instance.delete(name);
    this.#run.onStageDone(this, instance);
  }

  onRefused(error: unknown): void {
    this.#run.onStageFailed(error instanceof Error ? error.message : String(error));
  }

  onVacant(): void {
    this.#run.pump();
  }
}

function kept(instance: Instance, name: string): InstanceValue {
  const value = instance.get(name);
  assert(value !== undefined, "what a stage needs is kept for it");
  return value;
}
