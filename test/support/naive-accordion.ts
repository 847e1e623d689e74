import type { AccordionBundle } from "../../runtime/bundle/schema.ts";
import {
  type AccordionCommands,
  DROP_LATE,
  DROP_NO_PLACE,
  DROP_PLACES_LOST,
} from "../../runtime/methods/accordion/core/commands.ts";
import type { DrivenScheduler } from "./accordion-driver.ts";

interface NaivePlace {
  readonly index: number;
  readonly pool: number;
  isUp: boolean;
  query: NaiveQuery | null;
  /** Foretold end of all that came so far. Source: Accordion, Algorithm 1. */
  endMs: number;
}

interface NaiveQuery {
  readonly name: number;
  readonly model: number;
  readonly batch: number;
  readonly isHigh: boolean;
  readonly bornMs: number;
  readonly deadlineMs: number;
  done: number;
  losses: number;
  /** Null while it waits. */
  shape: Shape | null;
  places: NaivePlace[];
  /** Instances done when the run began; when it began or the last one was done. */
  from: number;
  lastMs: number;
}

interface Shape {
  readonly index: number;
  /** Places of each pool. */
  readonly counts: readonly number[];
  readonly size: number;
}

type Asked = Parameters<DrivenScheduler["onQuery"]>[1];

/** Times are sums: a deadline is met to within this. */
const TOLERANCE_MS = 1e-6;

/**
 * The scheduler as design/accordion.md and Accordion's Algorithms 1 and 2 tell it, of lists and
 * objects that are searched anew every time; BBS is left out. Whatever the page leaves open is
 * pinned here: ties go to the fewest places, then to the first shape of the bundle, the lowest
 * place, and of running queries to the first of a list in which the last one fills the gap of one
 * that ends.
 */
export class NaiveAccordion implements DrivenScheduler {
  wakeMs = Number.POSITIVE_INFINITY;
  readonly #bundle: AccordionBundle;
  readonly #places: readonly NaivePlace[];
  readonly #shapes: readonly Shape[];
  readonly #queries = new Map<number, NaiveQuery>();
  #high: NaiveQuery[] = [];
  #low: NaiveQuery[] = [];
  readonly #active: NaiveQuery[] = [];

  constructor(bundle: AccordionBundle) {
    this.#bundle = bundle;
    this.#places = bundle.cluster.pools
      .flatMap(({ workers }, pool) => new Array<number>(workers).fill(pool))
      .slice(0, bundle.policy.executionPlaces)
      .map((pool, index) => ({ index, pool, isUp: false, query: null, endMs: 0 }));
    const { data, shape } = bundle.shapes;
    const [shapeCount = 0, poolCount = 0] = shape;
    this.#shapes = Array.from({ length: shapeCount }, (_, index) => {
      const counts = [...data.slice(index * poolCount, (index + 1) * poolCount)];
      return { index, counts, size: counts.reduce((sum, count) => sum + count, 0) };
    });
  }

  get placeCount(): number {
    return this.#places.length;
  }

  get activeCount(): number {
    return this.#active.length;
  }

  get waitingCount(): number {
    return this.#waiting.length;
  }

  get busyPlaceCount(): number {
    return this.#places.filter(({ query }) => query !== null).length;
  }

  get readyPlaceCount(): number {
    return this.#places.filter(({ isUp }) => isUp).length;
  }

  get #waiting(): NaiveQuery[] {
    return [...this.#high, ...this.#low];
  }

  onPlaceReady(index: number, nowMs: number, out: AccordionCommands): void {
    this.#place(index).isUp = true;
    this.#decide(nowMs, out);
  }

  onPlaceLost(index: number, nowMs: number, out: AccordionCommands): void {
    const place = this.#place(index);
    const { query } = place;
    place.isUp = false;
    place.query = null;
    if (query !== null) {
      query.losses++;
      query.places = query.places.filter((one) => one !== place);
      if (query.losses === 2 || nowMs >= query.deadlineMs) this.#drop(query, DROP_PLACES_LOST, out);
      else if (query.places.length > 0) {
        const counts = query.shape?.counts.map(
          (count, pool) => count - (pool === place.pool ? 1 : 0),
        );
        this.#reshape(query, this.#shapeOf(counts ?? []), nowMs, out);
      } else {
        this.#free(query);
        if (query.isHigh) this.#high.unshift(query);
        else this.#low.unshift(query);
      }
    }
    if (!this.#places.some(({ isUp }) => isUp)) {
      for (const waiting of this.#waiting) this.#drop(waiting, DROP_NO_PLACE, out);
    }
    this.#decide(nowMs, out);
  }

  onQuery(name: number, asked: Asked, nowMs: number, out: AccordionCommands): void {
    const query: NaiveQuery = {
      ...{ name, ...asked, bornMs: nowMs, done: 0, losses: 0 },
      ...{ shape: null, places: [], from: 0, lastMs: 0 },
    };
    this.#queries.set(name, query);
    const shape = this.#due(query, nowMs);
    if (shape === null) {
      this.#drop(query, DROP_NO_PLACE, out);
      return;
    }
    if (!this.#isTaken(query, shape, nowMs)) {
      this.#drop(query, DROP_LATE, out);
      return;
    }
    (query.isHigh ? this.#high : this.#low).push(query);
    this.#decide(nowMs, out);
  }

  onInstanceDone(name: number, nowMs: number, out: AccordionCommands): void {
    const query = this.#query(name);
    query.done++;
    query.lastMs = nowMs;
    if (query.done === query.batch) this.onCancel(name, nowMs, out);
  }

  onCancel(name: number, nowMs: number, out: AccordionCommands): void {
    this.#forget(this.#query(name));
    this.#decide(nowMs, out);
  }

  onWake(nowMs: number, out: AccordionCommands): void {
    this.#decide(nowMs, out);
  }

  #decide(nowMs: number, out: AccordionCommands): void {
    const { scheduler, regrow } = this.#bundle.policy;
    const mayGrow = scheduler === "accordion" && regrow;
    while (mayGrow && this.#rescue(nowMs, out));
    do this.#startWaiting(nowMs, out);
    while (this.#giveUpFirst(nowMs, out));
    while (mayGrow && this.waitingCount === 0 && this.#grow(nowMs, out));
  }

  #startWaiting(nowMs: number, out: AccordionCommands): void {
    const { scheduler, backfill } = this.#bundle.policy;
    this.wakeMs = Number.POSITIVE_INFINITY;
    for (let [query] = this.#waiting; query !== undefined; [query] = this.#waiting) {
      if (nowMs > this.#givenUpAtMs(query, nowMs) + TOLERANCE_MS) {
        this.#drop(query, DROP_LATE, out);
        continue;
      }
      const shape = this.#admit(query, nowMs, out);
      if (shape !== null) {
        this.#start(query, shape, nowMs, out);
        continue;
      }
      if (scheduler !== "accordion" || !this.#places.some(isFree)) return;
      this.#wakeAt(query.deadlineMs - this.#fastestMs(query), nowMs);
      const behind = (query.isHigh ? this.#high : this.#low).slice(1, 65);
      for (const other of backfill ? behind : []) {
        const least = this.#fewest(other, other.deadlineMs - nowMs);
        if (least !== null && this.#within(this.#countsOf(isFree)).includes(least)) {
          this.#start(other, least, nowMs, out);
        }
      }
      return;
    }
  }

  #start(query: NaiveQuery, shape: Shape, nowMs: number, out: AccordionCommands): void {
    this.#high = this.#high.filter((one) => one !== query);
    this.#low = this.#low.filter((one) => one !== query);
    out.start(query.name, shape.index, query.done);
    this.#run(query, shape, nowMs, out);
  }

  /** Gives the first of low priority up if it is too late now. @returns whether it is. */
  #giveUpFirst(nowMs: number, out: AccordionCommands): boolean {
    const [first] = this.#low;
    if (first === undefined) return false;
    const atMs = this.#givenUpAtMs(first, nowMs);
    if (nowMs >= atMs - TOLERANCE_MS) this.#drop(first, DROP_LATE, out);
    else this.#wakeAt(atMs, nowMs);
    return nowMs >= atMs - TOLERANCE_MS;
  }

  /** When even its best shape would end a query later than so many SLOs after it came. */
  #givenUpAtMs(query: NaiveQuery, nowMs: number): number {
    const { dropout, dropAfterSlos, scheduler } = this.#bundle.policy;
    if (query.isHigh || dropout === "arrival" || dropAfterSlos === null) {
      return Number.POSITIVE_INFINITY;
    }
    const due = scheduler === "accordion" ? null : this.#due(query, nowMs);
    const leastMs = due === null ? this.#fastestMs(query) : this.#timeLeftMs(query, due);
    return query.bornMs + dropAfterSlos * this.#sloOf(query) - leastMs;
  }

  /** Its own, where that is tighter. */
  #sloOf({ deadlineMs, bornMs }: NaiveQuery): number {
    return Math.min(this.#bundle.slo.latencyMs, deadlineMs - bornMs);
  }

  #wakeAt(atMs: number, nowMs: number): void {
    if (atMs > nowMs) this.wakeMs = Math.min(this.wakeMs, atMs);
  }

  /**
   * Algorithm 2 for the first in line: others have given up what it needs when it returns the shape
   * in which it starts; null if it waits.
   */
  #admit(query: NaiveQuery, nowMs: number, out: AccordionCommands): Shape | null {
    const free = this.#fastest(query, this.#within(this.#countsOf(isFree)));
    if (this.#bundle.policy.scheduler !== "accordion") {
      const due = this.#due(query, nowMs);
      const free = this.#within(this.#countsOf(isFree));
      if (due === null || free.includes(due)) return due;
      const { scheduler } = this.#bundle.policy;
      const longestMs = scheduler === "one-stage" ? Infinity : this.#bundle.slo.latencyMs;
      const alike = free.filter((shape) => {
        return shape.size === due.size && this.#timeLeftMs(query, shape) <= longestMs;
      });
      const other = scheduler === "fastest" ? null : this.#fastest(query, alike);
      return other === null || this.#isFutile(query, other, nowMs) ? null : other;
    }
    const isOnTime = (shape: Shape) =>
      nowMs + this.#timeLeftMs(query, shape) <= query.deadlineMs + TOLERANCE_MS;
    if (free !== null && isOnTime(free)) return free;
    for (const shape of this.#within(this.#countsOf(({ isUp }) => isUp)).filter(isOnTime)) {
      const kept = this.#givenUp(shape, nowMs);
      if (kept === null) continue;
      for (const one of this.#active) {
        const fewer = kept.get(one);
        if (fewer !== undefined && fewer !== one.shape) this.#reshape(one, fewer, nowMs, out);
      }
      return shape;
    }
    if (this.#bundle.policy.regrow && query.isHigh) return free;
    if (free === null || nowMs + this.#fastestMs(query) < query.deadlineMs - TOLERANCE_MS)
      return null;
    return this.#isFutile(query, free, nowMs) ? null : free;
  }

  /** Nobody waits any more for a query that is given up in its turn when it ends. */
  #isFutile(query: NaiveQuery, shape: Shape, nowMs: number): boolean {
    const { dropout, dropAfterSlos } = this.#bundle.policy;
    if (query.isHigh || dropout === "arrival" || dropAfterSlos === null) return false;
    const untilMs = query.bornMs + dropAfterSlos * this.#sloOf(query);
    const endMs = nowMs + this.#timeLeftMs(query, shape);
    return endMs > Math.max(untilMs, query.deadlineMs) + TOLERANCE_MS;
  }

  /**
   * What running queries are left with when the places of a shape are free: one by one, from who
   * has the most slack with one fewer; null if they cannot.
   */
  #givenUp(wanted: Shape, nowMs: number): Map<NaiveQuery, Shape> | null {
    const kept = new Map(this.#active.map((query) => [query, query.shape ?? wanted]));
    const free = this.#countsOf(isFree);
    for (const [pool, count] of wanted.counts.entries()) {
      for (let missing = count - (free[pool] ?? 0); missing > 0; missing--) {
        const offers = [...kept].flatMap(([query, shape]) => {
          if ((shape.counts[pool] ?? 0) === 0 || shape.size === 1) return [];
          if (this.#endMs(query, nowMs) > query.deadlineMs) return [];
          const fewer = this.#shapeOf(shape.counts.with(pool, (shape.counts[pool] ?? 0) - 1));
          const { reconfigurationMs } = this.#bundle.policy;
          const leftMs = query.deadlineMs - nowMs - reconfigurationMs;
          const slackMs = leftMs - this.#timeLeftMs(query, fewer);
          return slackMs >= 0 ? [{ query, fewer, slackMs }] : [];
        });
        const most = Math.max(...offers.map(({ slackMs }) => slackMs));
        const offer = offers.find(({ slackMs }) => slackMs === most);
        if (offer === undefined) return null;
        kept.set(offer.query, offer.fewer);
      }
    }
    return kept;
  }

  /**
   * Lets the query of high priority grow that would be late and is on time then, the earliest
   * deadline first.
   * @returns whether there was one.
   */
  #rescue(nowMs: number, out: AccordionCommands): boolean {
    const { reconfigurationMs } = this.#bundle.policy;
    const late = this.#active
      .filter(({ isHigh, deadlineMs }) => isHigh && deadlineMs >= nowMs)
      .filter((query) => this.#endMs(query, nowMs) > query.deadlineMs);
    const offers = late.flatMap((query) => {
      const leftMs = query.deadlineMs - nowMs - reconfigurationMs;
      const shape = this.#largerOf(query).find((one) => this.#timeLeftMs(query, one) <= leftMs);
      return shape === undefined ? [] : [{ query, shape }];
    });
    const earliest = Math.min(...offers.map(({ query }) => query.deadlineMs));
    const offer = offers.find(({ query }) => query.deadlineMs === earliest);
    if (offer === undefined) return false;
    this.#reshape(offer.query, offer.shape, nowMs, out);
    return true;
  }

  /** Lets the query grow that gains the most by it. @returns whether there was one. */
  #grow(nowMs: number, out: AccordionCommands): boolean {
    const { reconfigurationMs } = this.#bundle.policy;
    const offers = this.#active.flatMap((query) => {
      const leftMs = this.#endMs(query, nowMs) - nowMs - reconfigurationMs;
      return this.#largerOf(query).map((shape) => ({
        ...{ query, shape },
        gainMs: leftMs - this.#timeLeftMs(query, shape),
      }));
    });
    const most = Math.max(...offers.map(({ gainMs }) => gainMs));
    const offer = offers.find(({ gainMs }) => gainMs === most && gainMs > TOLERANCE_MS);
    if (offer === undefined) return false;
    this.#reshape(offer.query, offer.shape, nowMs, out);
    return true;
  }

  /** Shapes that a running query could have with free places besides its own. */
  #largerOf(query: NaiveQuery): Shape[] {
    const free = this.#countsOf(isFree);
    return this.#shapes.filter(({ counts }) => {
      const more = counts.map((count, pool) => count - (query.shape?.counts[pool] ?? 0));
      return (
        more.some(Boolean) && more.every((count, pool) => count >= 0 && count <= (free[pool] ?? 0))
      );
    });
  }

  /** Algorithm 1. */
  #isTaken(query: NaiveQuery, shape: Shape, nowMs: number): boolean {
    const { policy } = this.#bundle;
    if (policy.dropAfterSlos === null || policy.dropout === "turn") return true;
    if (this.waitingCount === 0) {
      for (const place of this.#places) {
        place.endMs = place.query === null ? nowMs : this.#endMs(place.query, nowMs);
      }
    }
    const candidates = shape.counts.flatMap((count, pool) =>
      this.#places
        .filter((place) => place.isUp && place.pool === pool)
        .sort((a, b) => a.endMs - b.endMs || a.index - b.index)
        .slice(0, count),
    );
    const waitMs = Math.max(0, ...candidates.map(({ endMs }) => endMs - nowMs));
    const latencyMs = waitMs + this.#timeLeftMs(query, shape);
    if (latencyMs > policy.dropAfterSlos * this.#sloOf(query) && !query.isHigh) return false;
    for (const place of candidates) place.endMs = nowMs + latencyMs;
    return true;
  }

  /** The shape that the method gives a query whatever is free; null if no place is up. */
  #due(query: NaiveQuery, nowMs: number): Shape | null {
    const { scheduler } = this.#bundle.policy;
    const up = this.#within(this.#countsOf(({ isUp }) => isUp));
    if (scheduler === "one-stage") {
      return this.#fastest(
        query,
        up.filter(({ size }) => size === 1),
      );
    }
    if (scheduler === "fastest") return this.#fastest(query, up);
    const windowMs =
      scheduler === "accordion" ? query.deadlineMs - nowMs : this.#bundle.slo.latencyMs;
    return this.#fewest(query, windowMs) ?? this.#fastest(query, up);
  }

  /**
   * The fewest places that are up with which a query takes no longer than that, of as many the
   * fastest.
   */
  #fewest(query: NaiveQuery, windowMs: number): Shape | null {
    const up = this.#within(this.#countsOf(({ isUp }) => isUp));
    const enough = up.filter((shape) => this.#timeLeftMs(query, shape) <= windowMs);
    const least = Math.min(...enough.map(({ size }) => size));
    return this.#fastest(
      query,
      enough.filter(({ size }) => size === least),
    );
  }

  #fastest(query: NaiveQuery, shapes: readonly Shape[]): Shape | null {
    const least = Math.min(...shapes.map((shape) => this.#timeLeftMs(query, shape)));
    return shapes.find((shape) => this.#timeLeftMs(query, shape) === least) ?? null;
  }

  #fastestMs(query: NaiveQuery): number {
    const up = this.#within(this.#countsOf(({ isUp }) => isUp));
    return Math.min(...up.map((shape) => this.#timeLeftMs(query, shape)));
  }

  #within(counts: readonly number[]): Shape[] {
    return this.#shapes.filter((shape) =>
      shape.counts.every((count, pool) => count <= (counts[pool] ?? 0)),
    );
  }

  /** By pool, how many places are such. */
  #countsOf(isSuch: (place: NaivePlace) => boolean): number[] {
    return this.#bundle.cluster.pools.map(
      (_, pool) => this.#places.filter((place) => place.pool === pool && isSuch(place)).length,
    );
  }

  #shapeOf(counts: readonly number[]): Shape {
    const shape = this.#shapes.find((one) => one.counts.join() === counts.join());
    if (shape === undefined) throw new Error("all shapes are there");
    return shape;
  }

  #reshape(query: NaiveQuery, shape: Shape, nowMs: number, out: AccordionCommands): void {
    out.reshape(query.name, shape.index, query.done);
    this.#run(query, shape, nowMs + this.#bundle.policy.reconfigurationMs, out);
  }

  /**
   * For every stage a place of its pool: the first that the query has, else the first that is free.
   * What it does not keep is free before.
   */
  #run(query: NaiveQuery, shape: Shape, startMs: number, out: AccordionCommands): void {
    const pools = this.#bundle.tasks[0]?.variants[query.model]?.pipelines[shape.index]?.pools ?? [];
    const own = shape.counts.flatMap((count, pool) =>
      query.places.filter((place) => place.pool === pool).slice(0, count),
    );
    for (const place of query.places) place.query = own.includes(place) ? query : null;
    const kept = query.places.filter((place) => own.includes(place));
    query.places = pools.map((pool) => {
      const at = kept.findIndex((place) => place.pool === pool);
      const [place] =
        at >= 0
          ? kept.splice(at, 1)
          : this.#places.filter((one) => one.pool === pool && isFree(one));
      if (place === undefined) throw new Error("a place is free for every stage");
      place.query = query;
      out.appendPlace(place.index);
      return place;
    });
    if (query.shape === null) this.#active.push(query);
    query.shape = shape;
    query.from = query.done;
    query.lastMs = startMs;
  }

  #drop(query: NaiveQuery, reason: number, out: AccordionCommands): void {
    this.#forget(query);
    out.drop(query.name, reason);
  }

  #forget(query: NaiveQuery): void {
    this.#free(query);
    this.#high = this.#high.filter((one) => one !== query);
    this.#low = this.#low.filter((one) => one !== query);
    this.#queries.delete(query.name);
  }

  #free(query: NaiveQuery): void {
    for (const place of query.places) place.query = null;
    query.places = [];
    query.shape = null;
    const at = this.#active.indexOf(query);
    const last = this.#active.at(-1);
    if (at < 0 || last === undefined) return;
    this.#active[at] = last;
    this.#active.pop();
  }

  #timeLeftMs(query: NaiveQuery, shape: Shape): number {
    return this.#latencyMs(query, shape, query.batch - query.done);
  }

  #endMs(query: NaiveQuery, nowMs: number): number {
    const { shape, from, batch, done, lastMs } = query;
    if (shape === null) return Number.NaN;
    const passedMs = done === from ? 0 : this.#latencyMs(query, shape, done - from);
    return Math.max(nowMs, lastMs + this.#latencyMs(query, shape, batch - from) - passedMs);
  }

  #latencyMs({ model }: NaiveQuery, shape: Shape, batch: number): number {
    const { maxBatch } = this.#bundle.policy;
    const latencyMs = this.#bundle.tasks[0]?.variants[model]?.latencyMs.data;
    return latencyMs?.[shape.index * maxBatch + batch - 1] ?? Number.NaN;
  }

  #place(index: number): NaivePlace {
    const place = this.#places[index];
    if (place === undefined) throw new Error("a place is known");
    return place;
  }

  #query(name: number): NaiveQuery {
    const query = this.#queries.get(name);
    if (query === undefined) throw new Error("a query is known");
    return query;
  }
}

function isFree({ isUp, query }: NaivePlace): boolean {
  return isUp && query === null;
}
