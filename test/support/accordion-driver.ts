import type { AccordionBundle } from "../../runtime/bundle/schema.ts";
import {
  AccordionCommands,
  DROP_LATE,
  DROP_NO_PLACE,
  DROP_PLACES_LOST,
  RESHAPE,
  START,
} from "../../runtime/methods/accordion/core/commands.ts";
import { AccordionScheduler } from "../../runtime/methods/accordion/core/scheduler.ts";
import { checkFirstInLine, givenUpAtMs } from "./accordion-first-in-line.ts";
import { AccordionTimes } from "./accordion-times.ts";
import { hold } from "./hold.ts";

/** What a driver needs of a scheduler: the real one, or a twin. */
export type DrivenScheduler = Pick<
  AccordionScheduler,
  | "placeCount"
  | "wakeMs"
  | "activeCount"
  | "waitingCount"
  | "busyPlaceCount"
  | "readyPlaceCount"
  | "onPlaceReady"
  | "onPlaceLost"
  | "onQuery"
  | "onInstanceDone"
  | "onCancel"
  | "onWake"
>;

export interface AccordionDriverOptions {
  readonly queryCapacity?: number;
  readonly scheduler?: DrivenScheduler;
}

/** Left out: the first model, one instance, high priority, due one SLO from now. */
export interface Asked {
  readonly model?: number;
  readonly batch?: number;
  readonly isHigh?: boolean;
  readonly dueInMs?: number;
}

export interface DrivenQuery {
  readonly name: number;
  readonly model: number;
  readonly batch: number;
  readonly isHigh: boolean;
  readonly bornMs: number;
  readonly deadlineMs: number;
  done: number;
  losses: number;
  /** Null while it waits. */
  run: PlaceRun | null;
}

interface PlaceRun {
  readonly shape: number;
  /** In the order of the stages; one that is lost is taken out. */
  readonly places: readonly number[];
  /** Instances done when it began. */
  readonly from: number;
  /** When it began or, after that, when its last instance was done. */
  lastMs: number;
  /** Added by `stall` to the next instance. */
  lateMs: number;
}

const EPSILON_MS = 1e-5;
const NO_QUERY = -1;
const REASONS = ["late", "no-place", "places-lost"];

/**
 * A driver of malleable queries on a virtual clock: instances are done when the bundle's table
 * says, or when a test says. It keeps a log of all commands and ends, and checks what every driver
 * relies on: no place is had twice, places are those of the stages, a query goes on where it was,
 * the first in line starts first, nobody is late for another's sake or gives more than is missing,
 * and what gains nothing does not grow.
 */
export class AccordionDriver {
  readonly scheduler: DrivenScheduler;
  readonly bundle: AccordionBundle;
  readonly times: AccordionTimes;
  /** Lines of: time, what, query, places, instances that were done. */
  readonly log: string[] = [];
  /** All that came and are not over, in the order in which they came. */
  readonly queries = new Map<number, DrivenQuery>();
  readonly ends = new Map<number, "done" | "cancel" | "drop">();
  readonly isUp: boolean[];
  /** Queries that wait; BBS keeps to no order. */
  readonly high: number[] = [];
  readonly low: number[] = [];
  shrinkCount = 0;
  growCount = 0;
  nowMs = 0;
  #asked = 0;
  readonly commands = new AccordionCommands();
  readonly #holder: number[];
  readonly #queryOfName = new Map<number, number>();
  readonly #freeNames: number[];
  #lostBy = NO_QUERY;
  /** Classes of the places that were given up since the last start. */
  #given: number[] = [];

  constructor(
    bundle: AccordionBundle,
    { queryCapacity = 64, scheduler }: AccordionDriverOptions = {},
  ) {
    this.bundle = bundle;
    this.times = new AccordionTimes(bundle);
    this.scheduler = scheduler ?? new AccordionScheduler(bundle, { queryCapacity, adapt: false });
    const placeCount = this.scheduler.placeCount;
    this.isUp = new Array<boolean>(placeCount).fill(false);
    this.#holder = new Array<number>(placeCount).fill(NO_QUERY);
    this.#freeNames = Array.from({ length: queryCapacity }, (_, name) => queryCapacity - 1 - name);
  }

  /** Queries that run, in the order in which they came. */
  get active(): number[] {
    return [...this.queries].flatMap(([query, { run }]) => (run === null ? [] : [query]));
  }

  get freePlaces(): number[] {
    return this.#holder.flatMap((holder, place) =>
      holder === NO_QUERY && this.isUp[place] === true ? [place] : [],
    );
  }

  /** Log lines since the last call. */
  news(): string[] {
    return this.log.splice(0);
  }

  /** Every place comes up. */
  start(): this {
    for (const place of this.isUp.keys()) this.comeUp(place);
    return this;
  }

  comeUp(place: number): void {
    if (this.isUp[place] !== false) return;
    this.isUp[place] = true;
    this.scheduler.onPlaceReady(place, this.nowMs, this.commands);
    this.#carryOut();
  }

  lose(place: number): void {
    if (this.isUp[place] !== true) return;
    this.isUp[place] = false;
    const query = this.#holder[place] ?? NO_QUERY;
    this.#holder[place] = NO_QUERY;
    if (query !== NO_QUERY) this.#takePlace(query, place);
    this.scheduler.onPlaceLost(place, this.nowMs, this.commands);
    this.#carryOut();
  }

  /** @returns the query's number: they are counted from 0. */
  ask({ model = 0, batch = 1, isHigh = true, dueInMs }: Asked = {}): number {
    const name = this.#freeNames.pop();
    if (name === undefined) throw new Error("there are names for all");
    const query = this.#asked++;
    const deadlineMs = this.nowMs + (dueInMs ?? this.bundle.slo.latencyMs);
    const asked = { model, batch, isHigh, deadlineMs };
    this.queries.set(query, {
      ...{ name, ...asked, bornMs: this.nowMs },
      ...{ done: 0, losses: 0, run: null },
    });
    this.#queryOfName.set(name, query);
    (isHigh ? this.high : this.low).push(query);
    this.scheduler.onQuery(name, asked, this.nowMs, this.commands);
    this.#carryOut();
    return query;
  }

  cancel(query: number): void {
    const cancelled = this.query(query);
    this.log.push(`${this.nowMs} cancel ${query}`);
    this.#stop(query);
    this.scheduler.onCancel(cancelled.name, this.nowMs, this.commands);
    this.#carryOut();
    this.#end(query, "cancel");
  }

  /** One more instance of a query is done now. */
  finishInstance(query: number): void {
    const { name, batch, run } = this.query(query);
    if (run === null || run.lastMs > this.nowMs) return;
    run.lastMs = this.nowMs;
    run.lateMs = 0;
    const isLast = ++this.query(query).done === batch;
    if (isLast) {
      this.log.push(`${this.nowMs} done ${query}`);
      this.#stop(query);
    }
    this.scheduler.onInstanceDone(name, this.nowMs, this.commands);
    this.#carryOut(isLast);
    if (isLast) this.#end(query, "done");
  }

  /** The next instance of a query takes longer than it should. */
  stall(query: number, ms: number): void {
    const { run } = this.query(query);
    if (run !== null) run.lateMs += ms;
  }

  /** Wakes the scheduler, whether it wants to be or not. */
  wake(): void {
    this.scheduler.onWake(this.nowMs, this.commands);
    this.#carryOut();
  }

  /** Time passes: instances are done and the scheduler is woken when it is time. */
  passTo(timeMs: number): void {
    for (let next = this.#next(); next.timeMs <= timeMs; next = this.#next()) {
      this.nowMs = Math.max(this.nowMs, next.timeMs);
      if (next.query === NO_QUERY) this.wake();
      else this.finishInstance(next.query);
    }
    this.nowMs = timeMs;
  }

  /** Time passes until all queries are over. @throws Error if one waits for nothing. */
  settle(): void {
    while (this.queries.size > 0) {
      const { timeMs } = this.#next();
      hold(timeMs < Number.POSITIVE_INFINITY, "who waits, waits for something");
      this.passTo(Math.max(this.nowMs, timeMs));
    }
  }

  /** When a query that runs is foretold to be done. */
  finishMs(query: number): number {
    const { model, batch, done, run } = this.query(query);
    if (run === null) return Number.NaN;
    const wholeMs = this.times.latencyMs(model, run.shape, batch - run.from);
    const passedMs = this.times.latencyMs(model, run.shape, done - run.from);
    return Math.max(this.nowMs, run.lastMs + wholeMs - passedMs);
  }

  #next(): { readonly timeMs: number; readonly query: number } {
    let timeMs = this.scheduler.wakeMs;
    let first = NO_QUERY;
    for (const [query, { model, done, run }] of this.queries) {
      if (run === null) continue;
      const stepMs =
        this.times.latencyMs(model, run.shape, done - run.from + 1) -
        this.times.latencyMs(model, run.shape, done - run.from);
      const nextMs = run.lastMs + run.lateMs + stepMs;
      // Of what happens at one time, instances come before the wake.
      if (nextMs > timeMs || (nextMs === timeMs && first !== NO_QUERY)) continue;
      timeMs = nextMs;
      first = query;
    }
    return { timeMs, query: first };
  }

  /** @param isDecided whether the scheduler has looked at who waits. */
  #carryOut(isDecided = true): void {
    const out = this.commands;
    for (let command = 0; command < out.count; command++) {
      const query = this.#queryOfName.get(out.query(command)) ?? NO_QUERY;
      const kind = out.kind(command);
      if (kind === START) this.#begin(command, query);
      else if (kind === RESHAPE) this.#reshape(command, query);
      else this.#drop(query, out.reason(command));
    }
    out.clear();
    hold(this.#given.length === 0, "places are given up for a query that gets them");
    this.#lostBy = NO_QUERY;
    this.#check(isDecided);
  }

  #begin(command: number, query: number): void {
    const { model, deadlineMs, batch, done, isHigh, run } = this.query(query);
    const shape = this.commands.shape(command);
    hold(run === null, "who starts waited");
    hold(this.commands.resumeAt(command) === done, "a query starts where it was");
    const queue = isHigh ? this.high : this.low;
    const endMs = this.nowMs + this.times.latencyMs(model, shape, batch - done);
    const isOnTime = endMs <= deadlineMs + EPSILON_MS;
    const { scheduler, backfill } = this.bundle.policy;
    if (scheduler !== "bbs") {
      const isFirst = queue[0] === query;
      const mayPass = backfill && scheduler === "accordion" && this.#given.length === 0 && isOnTime;
      hold(isFirst || mayPass, "the first in line starts, or who may pass");
      hold(isHigh || this.high.length === 0, "none of low priority passes one of high priority");
    }
    remove(queue, query);
    const places = this.#placesOf(command, model);
    for (const place of places) this.#give(place, query);
    this.query(query).run = { shape, places, from: done, lastMs: this.nowMs, lateMs: 0 };
    this.#checkGiven(isOnTime);
    this.log.push(`${this.nowMs} start ${query} [${places}]${done > 0 ? ` from ${done}` : ""}`);
  }

  #reshape(command: number, query: number): void {
    const asked = this.query(query);
    const { model, run, done, deadlineMs, batch } = asked;
    if (run === null) throw new Error("who is reshaped runs");
    const shape = this.commands.shape(command);
    const before = this.finishMs(query);
    const startMs = this.nowMs + this.bundle.policy.reconfigurationMs;
    const after = startMs + this.times.latencyMs(model, shape, batch - done);
    const isOnTime = after <= deadlineMs + EPSILON_MS;
    const places = this.#placesOf(command, model);
    hold(this.commands.resumeAt(command) === done, "a query goes on where it was");
    const [fewer, more] =
      places.length < run.places.length ? [places, run.places] : [run.places, places];
    hold(
      fewer.every((place) => more.includes(place)),
      "a query keeps what it can",
    );
    if (places.length < run.places.length) {
      this.shrinkCount++;
      hold(this.bundle.policy.scheduler === "accordion", "only queries of Accordion shrink");
      hold(before <= deadlineMs + EPSILON_MS, "who is late does not shrink");
      hold(isOnTime, "nobody is late for another's sake");
      const given = run.places.filter((place) => !places.includes(place));
      this.#given.push(...given.map((place) => this.times.poolOf(place)));
    } else if (places.length > run.places.length) {
      this.growCount++;
      hold(this.bundle.policy.regrow, "a query grows if it may");
      const isSaved = asked.isHigh && before > deadlineMs && isOnTime;
      const isAlone = this.high.length + this.low.length === 0;
      hold(isAlone || isSaved, "a query grows when none waits, or to be on time");
      hold(after < before + EPSILON_MS, "a query grows if it is done earlier");
    } else hold(this.#lostBy === query, "places change for a reason");
    for (const place of run.places) this.#holder[place] = NO_QUERY;
    for (const place of places) this.#give(place, query);
    if (places.length > run.places.length) this.#checkGiven(isOnTime);
    asked.run = { shape, places, from: done, lastMs: startMs, lateMs: 0 };
    this.log.push(`${this.nowMs} reshape ${query} [${places}]${done > 0 ? ` from ${done}` : ""}`);
  }

  /** What was given up is what a query got that is on time then. */
  #checkGiven(isOnTime: boolean): void {
    const free = this.freePlaces.map((place) => this.times.poolOf(place));
    hold(!this.#given.some((given) => free.includes(given)), "no more is given up than is missing");
    hold(this.#given.length === 0 || isOnTime, "places are given up for who then is on time");
    this.#given = [];
  }

  #drop(query: number, reason: number): void {
    const dropped = this.query(query);
    const { isHigh, losses, run } = dropped;
    if (reason === DROP_LATE) {
      hold(!isHigh && run === null, "only low priority is given up");
      const isCertain = this.nowMs >= givenUpAtMs(this, dropped) - EPSILON_MS;
      hold(this.bundle.policy.dropout === "arrival" || isCertain, "not before it is certain");
    }
    if (reason === DROP_NO_PLACE) hold(!this.isUp.includes(true), "no place is up");
    if (reason === DROP_PLACES_LOST) {
      const isOver = losses === 2 || this.nowMs >= dropped.deadlineMs;
      hold(
        isOver && this.#lostBy === query,
        "a second loss, or one past the deadline, is too many",
      );
    }
    this.#stop(query);
    this.log.push(`${this.nowMs} drop ${query} ${REASONS[reason]}`);
    this.#end(query, "drop");
  }

  /** The places of a start or reshape, each of the pool of its stage. */
  #placesOf(command: number, model: number): number[] {
    const out = this.commands;
    const shape = out.shape(command);
    const pipeline = this.bundle.tasks[0]?.variants[model]?.pipelines[shape];
    const places = Array.from({ length: out.placeCount(command) }, (_, stage) =>
      out.place(command, stage),
    );
    const pools = places.map((place) => this.times.poolOf(place));
    hold(pipeline != null && pools.join() === pipeline.pools.join(), "each stage has its pool");
    hold(new Set(places).size === places.length, "each stage has a place of its own");
    return places;
  }

  #give(place: number, query: number): void {
    hold(this.isUp[place] === true && this.#holder[place] === NO_QUERY, "what is given is free");
    this.#holder[place] = query;
  }

  /** A place is lost under a query; without any, it waits before all others. */
  #takePlace(query: number, place: number): void {
    const asked = this.query(query);
    const { run } = asked;
    if (run === null) return;
    this.#lostBy = query;
    asked.losses++;
    asked.run = { ...run, places: run.places.filter((one) => one !== place) };
    if (asked.run.places.length > 0) return;
    asked.run = null;
    (asked.isHigh ? this.high : this.low).unshift(query);
  }

  #stop(query: number): void {
    const asked = this.query(query);
    for (const place of asked.run?.places ?? []) this.#holder[place] = NO_QUERY;
    asked.run = null;
    remove(this.high, query);
    remove(this.low, query);
  }

  #end(query: number, end: "done" | "cancel" | "drop"): void {
    const { name } = this.query(query);
    hold(!this.ends.has(query), "a query ends once");
    this.ends.set(query, end);
    this.queries.delete(query);
    this.#queryOfName.delete(name);
    this.#freeNames.push(name);
  }

  /** What holds after every event. */
  #check(isDecided: boolean): void {
    const { activeCount, waitingCount, busyPlaceCount, readyPlaceCount, wakeMs } = this.scheduler;
    const held = this.#holder.filter((holder) => holder !== NO_QUERY).length;
    const open = [...this.queries.values()].filter(({ batch, done }) => done < batch);
    hold(activeCount === this.active.length, "who runs is counted");
    hold(waitingCount === this.high.length + this.low.length, "who waits is counted");
    hold(activeCount + waitingCount <= open.length, "who is over neither runs nor waits");
    hold(busyPlaceCount === held, "places that are had are counted");
    hold(readyPlaceCount === this.isUp.filter(Boolean).length, "places that are up are counted");
    for (const query of this.active) {
      const { run } = this.query(query);
      const size = this.times.sizeOf(run?.shape ?? 0);
      hold(run?.places.length === size, "a query has the places of its shape");
    }
    if (this.bundle.policy.scheduler === "accordion") checkFirstInLine(this, isDecided);
    else if (this.bundle.policy.dropout === "arrival") {
      hold(wakeMs === Number.POSITIVE_INFINITY, "baselines wait for events only");
    }
  }

  get upPlaces(): number[] {
    return this.isUp.flatMap((isUp, place) => (isUp ? [place] : []));
  }

  /** One that is not over. */
  query(query: number): DrivenQuery {
    const asked = this.queries.get(query);
    if (asked === undefined) throw new Error("a command is about a query that is not over");
    return asked;
  }
}

function remove(queue: number[], query: number): void {
  const at = queue.indexOf(query);
  if (at >= 0) queue.splice(at, 1);
}
