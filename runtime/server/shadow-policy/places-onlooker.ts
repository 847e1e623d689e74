/**
 * A scheduler of places that is told what comes to another bundle's, and whose decisions nobody
 * carries out: instances are done when its own bundle foretells it.
 */
import { assert } from "../../core/assert.ts";
import { ANY_VARIANT } from "../../core/wanted-variant.ts";
import type { RecordedEntry, Replayer } from "../decisions/recorded-entry.ts";
import type { LooksOn } from "./looks-on.ts";
import type { SupposedPlaces } from "./onlooker-times.ts";
import type { OutcomeObserver } from "./query-outcomes.ts";
import { TimedEvents } from "./timed-events.ts";

export interface PlacesOnlookerOptions {
  /** Of the bundle that looks on; nothing has been told to it. */
  readonly replayer: Replayer;
  readonly places: SupposedPlaces;
  /** Queries that are under way at most; names of the core are below it. */
  readonly queryCapacity: number;
  /** Added to the deadlines of the bundle that serves, ms. */
  readonly shiftMs: number;
  /** How long after its deadline a query is still in time, ms. */
  readonly graceMs: number;
  /** A model of the bundle that serves, as the one that looks on has it, or ANY_VARIANT. */
  readonly variantHere: (servedVariant: number) => number;
  readonly observer: OutcomeObserver;
}

interface OwnRun {
  readonly original: number;
  readonly serial: number;
  readonly model: number;
  readonly batch: number;
  readonly deadlineMs: number;
  /** Of its places; NaN while it waits. */
  shape: number;
  /** When its first instance on these places began, and those that were done before and since. */
  startMs: number;
  doneBefore: number;
  done: number;
  generation: number;
}

/** What happens between two events; more would be a mistake of the core. */
const MOST_STEPS = 2 ** 20;

export class PlacesOnlooker implements LooksOn {
  readonly #options: PlacesOnlookerOptions;
  readonly #freeNames: number[];
  readonly #runs = new Map<number, OwnRun>();
  readonly #nameByOriginal = new Map<number, number>();
  /** Of an event the worker is the name of a query. */
  readonly #events = new TimedEvents();
  #generations = 0;
  #nowMs = Number.NEGATIVE_INFINITY;

  constructor(options: PlacesOnlookerOptions) {
    this.#options = options;
    const { queryCapacity } = options;
    this.#freeNames = Array.from({ length: queryCapacity }, (_, at) => queryCapacity - 1 - at);
  }

  /** All its places are there. */
  open(nowMs: number): void {
    this.#nowMs = nowMs;
    const { count } = this.#options.places;
    for (let place = 0; place < count; place++) this.#say({ kind: "ready", place, nowMs });
  }

  take(entry: RecordedEntry, serial: number): void {
    const { kind, nowMs } = entry;
    if ((kind !== "query" && kind !== "cancel") || nowMs === undefined) return;
    this.passTo(nowMs);
    if (kind === "query") this.#arrive(entry, serial);
    else this.#cancel(entry);
  }

  passTo(nowMs: number): void {
    for (let steps = 0; ; steps++) {
      assert(steps < MOST_STEPS, "a core wants to be woken so many times at most");
      const eventMs = this.#events.nextMs;
      const wakeMs = Math.max(this.#options.replayer.wakeMs, this.#nowMs);
      const nextMs = Math.min(eventMs, wakeMs);
      if (!(nextMs < nowMs)) break;
      this.#nowMs = Math.max(this.#nowMs, nextMs);
      if (eventMs <= wakeMs) this.#happen();
      else this.#say({ kind: "wake", nowMs: this.#nowMs });
    }
    this.#nowMs = Math.max(this.#nowMs, nowMs);
  }

  #arrive(entry: RecordedEntry, serial: number): void {
    const { query: original = 0, batch = 1, deadlineMs = Number.NaN, isHigh = false } = entry;
    const { shiftMs, variantHere, observer } = this.#options;
    const model = variantHere(entry.model ?? 0);
    const query = model === ANY_VARIANT ? undefined : this.#freeNames.pop();
    this.#nameByOriginal.delete(original);
    if (query === undefined) {
      observer.onDropped(serial);
      return;
    }
    const own = { original, serial, model, batch, deadlineMs: deadlineMs + shiftMs };
    const run = { shape: Number.NaN, startMs: 0, doneBefore: 0, done: 0, generation: 0 };
    this.#runs.set(query, { ...own, ...run });
    this.#nameByOriginal.set(original, query);
    const asked = { model, batch, isHigh, deadlineMs: own.deadlineMs };
    this.#say({ kind: "query", query, ...asked, nowMs: this.#nowMs });
  }

  #cancel({ query: original = 0 }: RecordedEntry): void {
    const query = this.#nameByOriginal.get(original);
    const run = query === undefined ? undefined : this.#runs.get(query);
    if (query === undefined || run === undefined) return;
    this.#forget(query, run);
    this.#options.observer.onCancelled(run.serial);
    this.#say({ kind: "cancel", query, nowMs: this.#nowMs });
  }

  #say(event: RecordedEntry): void {
    for (const command of this.#options.replayer.tell(event)) this.#suppose(command);
  }

  /** What would be if somebody carried a command out. */
  #suppose({ kind, query = 0, shape = 0, resumeAt = 0 }: RecordedEntry): void {
    const run = this.#runs.get(query);
    if (run === undefined) return;
    const { observer, places } = this.#options;
    if (kind === "drop") {
      this.#forget(query, run);
      observer.onDropped(run.serial);
      return;
    }
    if (kind === "start") observer.onBatch(run.model, Number.NaN, run.batch);
    run.shape = shape;
    run.startMs = this.#nowMs + (kind === "reshape" ? places.reconfigurationMs : 0);
    run.doneBefore = resumeAt;
    run.done = 0;
    this.#expectInstance(query, run);
  }

  #expectInstance(query: number, run: OwnRun): void {
    const { model, shape, done, startMs } = run;
    const ms = this.#options.places.instanceMs(model, shape, done + 1);
    assert(ms >= 0, "an instance takes a time");
    run.generation = ++this.#generations;
    const { generation } = run;
    this.#events.add({ atMs: startMs + ms, kind: "done", worker: query, generation });
  }

  #happen(): void {
    const event = this.#events.take();
    if (event === undefined) return;
    const { worker: query, generation } = event;
    const run = this.#runs.get(query);
    if (run?.generation !== generation) return;
    run.done++;
    const nowMs = this.#nowMs;
    const isOver = run.doneBefore + run.done >= run.batch;
    if (isOver) {
      const { observer, graceMs } = this.#options;
      this.#forget(query, run);
      observer.onAnswered(run.serial, run.model, nowMs > run.deadlineMs + graceMs);
    } else this.#expectInstance(query, run);
    this.#say({ kind: "instance-done", query, nowMs });
  }

  #forget(query: number, { original }: OwnRun): void {
    this.#runs.delete(query);
    this.#freeNames.push(query);
    if (this.#nameByOriginal.get(original) === query) this.#nameByOriginal.delete(original);
  }
}
