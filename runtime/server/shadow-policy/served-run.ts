/** Reads what becomes of queries out of what is recorded of the bundle that serves. */
import type { RecordedEntry } from "../decisions/recorded-entry.ts";
import type { OutcomeObserver } from "./query-outcomes.ts";

interface OpenQuery {
  readonly serial: number;
  readonly deadlineMs: number;
  /** Of a query that is answered instance by instance: its model, and how many are to come. */
  readonly model: number;
  left: number;
  isRunning: boolean;
}

interface RunningBatch {
  readonly variant: number;
  readonly queries: readonly OpenQuery[];
}

export class ServedRun {
  readonly #observer: OutcomeObserver;
  readonly #graceMs: number;
  /** By the names that the core knows them by, of which there are so many. */
  readonly #open = new Map<number, OpenQuery>();
  readonly #batchByWorker = new Map<number, RunningBatch>();
  readonly #take: Readonly<Record<string, (entry: RecordedEntry) => void>> = {
    "start-batch": (entry) => this.#start(entry),
    done: (entry) => this.#finish(entry),
    start: (entry) => this.#startAlone(entry),
    "instance-done": (entry) => this.#finishInstance(entry),
    lost: ({ worker = 0 }) => void this.#batchByWorker.delete(worker),
    drop: (entry) => this.#drop(entry),
    retry: (entry) => this.#retry(entry),
    cancel: (entry) => this.#cancel(entry),
    refused: ({ queries }) => {
      if (typeof queries === "number") this.#observer.onRefused(queries);
    },
  };

  /** @param graceMs how long after its deadline a query is still in time. */
  constructor(observer: OutcomeObserver, graceMs: number) {
    this.#observer = observer;
    this.#graceMs = graceMs;
  }

  /** A query has come. @param serial by which both sides know it. */
  open(query: number, serial: number, { deadlineMs = Number.NaN, model, batch }: RecordedEntry) {
    const own = { serial, deadlineMs, model: model ?? 0, left: batch ?? 1, isRunning: false };
    this.#open.set(query, own);
  }

  /** Anything else that was recorded. */
  take(entry: RecordedEntry): void {
    const { kind } = entry;
    if (Object.hasOwn(this.#take, kind)) this.#take[kind]?.(entry);
  }

  #start({ worker = 0, variant = 0, level = 0, queries }: RecordedEntry): void {
    if (typeof queries !== "object") return;
    const batch = queries.flatMap((query) => this.#open.get(query) ?? []);
    for (const query of batch) query.isRunning = true;
    this.#batchByWorker.set(worker, { variant, queries: batch });
    this.#observer.onBatch(variant, level, queries.length);
  }

  #finish({ worker = 0, nowMs = Number.NaN }: RecordedEntry): void {
    const batch = this.#batchByWorker.get(worker);
    this.#batchByWorker.delete(worker);
    for (const { serial, deadlineMs } of batch?.queries ?? []) {
      this.#observer.onAnswered(serial, batch?.variant ?? 0, nowMs > deadlineMs + this.#graceMs);
    }
  }

  #startAlone({ query = 0 }: RecordedEntry): void {
    const started = this.#open.get(query);
    if (started !== undefined) this.#observer.onBatch(started.model, Number.NaN, started.left);
  }

  #finishInstance({ query = 0, nowMs = Number.NaN }: RecordedEntry): void {
    const run = this.#open.get(query);
    if (run === undefined || --run.left > 0) return;
    this.#open.delete(query);
    const isLate = nowMs > run.deadlineMs + this.#graceMs;
    this.#observer.onAnswered(run.serial, run.model, isLate);
  }

  #drop({ query = 0 }: RecordedEntry): void {
    const dropped = this.#open.get(query);
    this.#open.delete(query);
    if (dropped !== undefined) this.#observer.onDropped(dropped.serial);
  }

  #retry({ query = 0 }: RecordedEntry): void {
    const again = this.#open.get(query);
    if (again !== undefined) again.isRunning = false;
  }

  #cancel({ query = 0 }: RecordedEntry): void {
    const cancelled = this.#open.get(query);
    // What runs is answered, if to nobody.
    if (cancelled === undefined || cancelled.isRunning) return;
    this.#open.delete(query);
    this.#observer.onCancelled(cancelled.serial);
  }
}
