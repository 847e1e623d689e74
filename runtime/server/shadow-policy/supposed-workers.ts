/** Workers that are not there: what they would be doing, and what is to happen to them. */
import { assert } from "../../core/assert.ts";
import type { OwnQuery } from "./own-queries.ts";
import { type TimedEvent, TimedEvents } from "./timed-events.ts";

export interface SupposedRun {
  readonly variant: number;
  readonly queries: readonly OwnQuery[];
}

interface SupposedWorker {
  isUp: boolean;
  /** Undefined while it computes nothing. */
  run: SupposedRun | undefined;
  cores: number;
  /** Of its events by their kind: those of earlier ones do not come to be. */
  readonly generation: Record<TimedEvent["kind"], number>;
}

export class SupposedWorkers {
  readonly #workers: readonly SupposedWorker[];
  readonly #events = new TimedEvents();
  #busyCount = 0;

  constructor(count: number) {
    this.#workers = Array.from({ length: count }, () => ({
      isUp: false,
      run: undefined,
      cores: 0,
      generation: { done: 0, "model-ready": 0, resized: 0 },
    }));
  }

  get count(): number {
    return this.#workers.length;
  }

  /** Workers that compute. */
  get busyCount(): number {
    return this.#busyCount;
  }

  /** When something is to happen next; infinite for never. */
  get nextMs(): number {
    return this.#events.nextMs;
  }

  has(worker: number): boolean {
    return this.#workers[worker] !== undefined;
  }

  isUp(worker: number): boolean {
    return this.#workers[worker]?.isUp === true;
  }

  coresOf(worker: number): number {
    return this.#at(worker).cores;
  }

  setCores(worker: number, cores: number): void {
    this.#at(worker).cores = cores;
  }

  up(worker: number): void {
    this.#at(worker).isUp = true;
  }

  /** @returns what it computed. */
  down(worker: number): SupposedRun | undefined {
    const known = this.#at(worker);
    known.isUp = false;
    for (const kind of ["done", "model-ready", "resized"] as const) this.callOff(kind, worker);
    return known.run === undefined ? undefined : this.end(worker);
  }

  begin(worker: number, run: SupposedRun): void {
    this.#at(worker).run = run;
    this.#busyCount++;
  }

  /** @returns what it has computed. */
  end(worker: number): SupposedRun {
    const known = this.#at(worker);
    const { run } = known;
    assert(run !== undefined, "a worker that ends a batch has one");
    known.run = undefined;
    this.#busyCount--;
    return run;
  }

  /** Something happens to a worker at a time, in place of what was to of its kind. */
  expect(kind: TimedEvent["kind"], worker: number, atMs: number): void {
    const generation = ++this.#at(worker).generation[kind];
    this.#events.add({ atMs, kind, worker, generation });
  }

  /** What was to happen does not. */
  callOff(kind: TimedEvent["kind"], worker: number): void {
    this.#at(worker).generation[kind]++;
  }

  /** Takes what is next; undefined where it does not come to be. */
  take(): TimedEvent | undefined {
    const event = this.#events.take();
    if (event === undefined) return undefined;
    const { kind, worker, generation } = event;
    return this.#at(worker).generation[kind] === generation ? event : undefined;
  }

  #at(worker: number): SupposedWorker {
    const known = this.#workers[worker];
    assert(known !== undefined, "what is said is about a worker of the bundle");
    return known;
  }
}
