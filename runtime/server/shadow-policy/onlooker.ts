/**
 * A core that is told what comes to another bundle's, and whose decisions nobody carries out: its
 * batches take what its own bundle says, on the clock of the events.
 */
import { assert } from "../../core/assert.ts";
import { NO_PARENT } from "../../core/graph/pipeline-dispatcher.ts";
import { ANY_VARIANT, isNamed, sameVariant } from "../../core/wanted-variant.ts";
import type { RecordedEntry, Replayer } from "../decisions/recorded-entry.ts";
import type { LooksOn } from "./looks-on.ts";
import type { OnlookerTimes } from "./onlooker-times.ts";
import { type HeldEntry, hold, OwnQueries, type OwnQuery, taken } from "./own-queries.ts";
import type { OutcomeObserver } from "./query-outcomes.ts";
import { SupposedWorkers } from "./supposed-workers.ts";

export interface OnlookerOptions {
  /** Of the bundle that looks on; nothing has been told to it. */
  readonly replayer: Replayer;
  readonly times: OnlookerTimes;
  readonly workerCount: number;
  /** Whether its workers are those of the bundle that serves, and are lost when these are. */
  readonly sharesWorkers: boolean;
  /** Queries that are under way at most; names of the core are below it. */
  readonly queryCapacity: number;
  /** Added to the deadlines of the bundle that serves, ms, by class. */
  readonly shiftMs: (sloClass: number) => number;
  /** How long after its deadline a query is still in time, ms. */
  readonly graceMs: number;
  /** A variant of the bundle that serves, as the one that looks on has it, or ANY_VARIANT. */
  readonly variantHere: (servedVariant: number) => number;
  readonly observer: OutcomeObserver;
}

/** Wakes between two events; more would be a mistake of the core. */
const MOST_STEPS = 2 ** 20;

export class Onlooker implements LooksOn {
  readonly #options: OnlookerOptions;
  readonly #queries: OwnQueries;
  readonly #workers: SupposedWorkers;
  #nowMs = Number.NEGATIVE_INFINITY;
  /** Name of the first of those that arrive at once; NaN between them. */
  #jointFirst = Number.NaN;
  #hasArrived = false;
  readonly #tell: Readonly<Record<string, (entry: RecordedEntry, serial: number) => void>> = {
    arrival: (entry, serial) => this.#arrive(entry, serial),
    "joint-arrival": (entry, serial) => this.#arriveJointly(entry, serial),
    "joint-end": (entry) => {
      this.#say(entry);
      this.#jointFirst = Number.NaN;
    },
    refused: (entry) => this.#say(entry),
    request: (entry) => this.#say(entry),
    forecast: (entry) => this.#say(entry),
    share: (entry) => this.#say(entry),
    query: (entry, serial) => this.#handIn(entry, serial),
    fanout: (entry) => this.#handOut(entry),
    cancel: (entry) => this.#cancel(entry),
    ready: ({ worker = 0 }) => this.#comeUp(worker),
    lost: ({ worker = 0 }) => this.#goDown(worker),
  };

  constructor(options: OnlookerOptions) {
    this.#options = options;
    this.#queries = new OwnQueries(options.queryCapacity);
    this.#workers = new SupposedWorkers(options.workerCount);
  }

  /** All its workers are there, and hold what they are assigned. */
  open(nowMs: number): void {
    this.#nowMs = nowMs;
    for (let worker = 0; worker < this.#workers.count; worker++) {
      this.#workers.up(worker);
      this.#say({ kind: "ready", worker, nowMs });
    }
  }

  take(entry: RecordedEntry, serial: number): void {
    const { kind, nowMs } = entry;
    if (!Object.hasOwn(this.#tell, kind)) return;
    if (nowMs !== undefined) this.passTo(nowMs);
    this.#tell[kind]?.(entry, serial);
  }

  passTo(nowMs: number): void {
    for (let steps = 0; ; steps++) {
      assert(steps < MOST_STEPS, "a core wants to be woken so many times at most");
      const eventMs = this.#workers.nextMs;
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
    const own = this.#opened(entry, serial);
    if (own !== undefined) this.#sayOf(own, entry);
  }

  #arriveJointly(entry: RecordedEntry, serial: number): void {
    const own = this.#opened(entry, serial);
    if (own === undefined) return;
    if (Number.isNaN(this.#jointFirst)) this.#jointFirst = own.name;
    own.wanted = this.#wantedHere(entry.wanted ?? ANY_VARIANT);
    this.#sayOf(own, entry);
  }

  #wantedHere(wanted: number): number {
    if (wanted === ANY_VARIANT) return ANY_VARIANT;
    return isNamed(wanted) ? this.#options.variantHere(wanted) : sameVariant(this.#jointFirst);
  }

  /** A query of a task: once the one that it came from is done here too. */
  #handIn(entry: RecordedEntry, serial: number): void {
    const { parent = NO_PARENT } = entry;
    if (parent === NO_PARENT) {
      this.#arrive(entry, serial);
      return;
    }
    const from = this.#queries.ofOriginal(parent);
    // Of one that came before this looked on, or that was given up here, nothing follows.
    if (from === undefined || from.state === "gone") {
      this.#queries.forget(entry.query ?? 0);
      this.#options.observer.onCancelled(serial);
      return;
    }
    const own = this.#opened(entry, serial);
    if (own === undefined) return;
    const { name: query, deadlineMs } = own;
    this.#follow(from, {
      entry: { ...entry, query, deadlineMs, parent: from.name },
      follower: own,
    });
  }

  /** How many came out of a query. */
  #handOut(entry: RecordedEntry): void {
    const from = this.#queries.ofOriginal(entry.query ?? 0);
    if (from === undefined || from.state === "gone") return;
    this.#follow(from, { entry: { ...entry, query: from.name }, follower: undefined });
  }

  #follow(from: OwnQuery, held: HeldEntry): void {
    if (from.state === "answered") this.#say(held.entry);
    else hold(from, held);
  }

  #cancel(entry: RecordedEntry): void {
    const own = this.#queries.ofOriginal(entry.query ?? 0);
    if (own?.state !== "waits") return;
    this.#queries.settle(own, "gone");
    this.#say({ kind: "cancel", query: own.name, nowMs: this.#nowMs });
    this.#options.observer.onCancelled(own.serial);
  }

  #comeUp(worker: number): void {
    const workers = this.#workers;
    if (!this.#options.sharesWorkers || !workers.has(worker) || workers.isUp(worker)) return;
    workers.up(worker);
    this.#say({ kind: "ready", worker, nowMs: this.#nowMs });
  }

  /** What it ran is tried again if there is time. */
  #goDown(worker: number): void {
    if (!this.#options.sharesWorkers || !this.#workers.isUp(worker)) return;
    const run = this.#workers.down(worker);
    this.#say({ kind: "lost", worker, nowMs: this.#nowMs });
    for (const query of run?.queries ?? []) this.#tryAgain(query, run?.variant ?? ANY_VARIANT);
  }

  /** @param ran the variant that was to answer it. */
  #tryAgain(query: OwnQuery, ran: number): void {
    if (query.deadlineMs <= this.#nowMs) {
      this.#drop(query);
      return;
    }
    query.state = "waits";
    const { wanted = ANY_VARIANT } = query;
    // Queries that one variant is to answer have one by now.
    query.wanted = wanted === ANY_VARIANT || isNamed(wanted) ? wanted : ran;
    this.#sayOf(query, { kind: "retry", nowMs: this.#nowMs });
  }

  #opened(entry: RecordedEntry, serial: number): OwnQuery | undefined {
    this.#hasArrived = true;
    const { query = 0, deadlineMs = Number.NaN, sloClass, task } = entry;
    const { shiftMs, observer } = this.#options;
    const ownDeadlineMs = deadlineMs + shiftMs(sloClass ?? 0);
    const facts = { serial, deadlineMs: ownDeadlineMs, sloClass, task };
    const own = this.#queries.open(query, facts);
    if (own === undefined) observer.onDropped(serial);
    return own;
  }

  /** Tells the core something of a query. */
  #sayOf(own: OwnQuery, entry: RecordedEntry): void {
    const { name: query, deadlineMs, wanted, sloClass, task } = own;
    const { kind, nowMs = this.#nowMs } = entry;
    if (wanted === undefined && sloClass === undefined && task === undefined) {
      this.#say({ kind, query, deadlineMs, nowMs });
      return;
    }
    this.#say({
      ...entry,
      query,
      deadlineMs,
      ...(wanted === undefined ? {} : { wanted }),
      ...(sloClass === undefined ? {} : { sloClass }),
      ...(task === undefined ? {} : { task }),
    });
  }

  #say(event: RecordedEntry): void {
    for (const command of this.#options.replayer.tell(event)) this.#suppose(command);
  }

  /** What would be if somebody carried a command out. */
  #suppose(command: RecordedEntry): void {
    const { kind, worker = 0, query = 0 } = command;
    if (kind === "start-batch") this.#start(command);
    else if (kind === "drop") {
      const dropped = this.#queries.named(query);
      if (dropped !== undefined) this.#drop(dropped);
    } else if (kind === "assign") {
      this.#workers.setCores(worker, command.cores ?? 0);
      // Before anything came there was all the time.
      const loadMs = this.#hasArrived ? this.#options.times.loadMs : 0;
      this.#workers.expect("model-ready", worker, this.#nowMs + loadMs);
    } else if (kind === "resize") {
      this.#workers.setCores(worker, command.cores ?? 0);
      this.#workers.expect("resized", worker, this.#nowMs + this.#options.times.resizeMs);
    } else if (kind === "release") this.#workers.callOff("model-ready", worker);
  }

  #start({ worker = 0, variant = 0, level = 0, queries: names }: RecordedEntry): void {
    assert(typeof names === "object", "a batch has queries");
    const queries = names.flatMap((name) => this.#queries.named(name) ?? []);
    for (const query of queries) query.state = "runs";
    const workers = this.#workers;
    workers.begin(worker, { variant, queries });
    const ms = this.#options.times.batchMs({
      worker,
      variant,
      rows: names.length,
      sloClass: queries[0]?.sloClass ?? 0,
      cores: workers.coresOf(worker),
      busyWorkers: workers.busyCount,
    });
    assert(ms >= 0, "a batch takes a time");
    this.#options.observer.onBatch(variant, level, names.length);
    workers.expect("done", worker, this.#nowMs + ms);
  }

  #happen(): void {
    const event = this.#workers.take();
    if (event === undefined) return;
    const { kind, worker } = event;
    if (kind === "done") this.#finish(worker);
    else this.#say({ kind, worker, nowMs: this.#nowMs });
  }

  #finish(worker: number): void {
    const { variant, queries } = this.#workers.end(worker);
    const nowMs = this.#nowMs;
    this.#say({ kind: "done", worker, nowMs });
    const { observer, graceMs } = this.#options;
    for (const query of queries) {
      observer.onAnswered(query.serial, variant, nowMs > query.deadlineMs + graceMs);
      query.state = "answered";
      for (const held of taken(query)) this.#release(held);
      this.#queries.settle(query, "answered");
    }
  }

  /** What came out of a query can be told now. */
  #release({ entry, follower }: HeldEntry): void {
    if (follower !== undefined && follower.state !== "waits") return;
    this.#say(entry.nowMs === undefined ? entry : { ...entry, nowMs: this.#nowMs });
  }

  /** With all that came out of the original. */
  #drop(query: OwnQuery): void {
    const { observer } = this.#options;
    observer.onDropped(query.serial);
    this.#queries.settle(query, "gone");
    const lost = [...taken(query)];
    for (const { follower } of lost) {
      if (follower?.state !== "waits") continue;
      this.#queries.settle(follower, "gone");
      observer.onCancelled(follower.serial);
      lost.push(...taken(follower));
    }
  }
}
