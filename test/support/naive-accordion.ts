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

/** A shape, and those that running queries are left with for it; null if they give up nothing. */
interface Admission {
  readonly shape: Shape;
  readonly kept: ReadonlyMap<NaiveQuery, Shape> | null;
}

/** Places that are free, by pool, and those that are held until a moment. */
interface Foretold {
  readonly free: readonly number[];
  readonly held: readonly { readonly counts: readonly number[]; readonly untilMs: number }[];
}

type Asked = Parameters<DrivenScheduler["onQuery"]>[1];

/** Times are sums: a deadline is met to within this. */
const TOLERANCE_MS = 1e-6;
/** Share of its time that a query of high priority waits for claims at most. */
const PATIENCE = 0.25;
/** There are no claims on shapes that take up more than so many times the time of one place. */
const MOST_COST = 2.5;

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
    while (this.#rescue(nowMs, out));
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
      const admission = this.#allowed(query, this.#admit(query, nowMs), nowMs);
      if (admission !== null) {
        this.#carryOut(admission, nowMs, out);
        this.#start(query, admission.shape, nowMs, out);
        continue;
      }
      if (scheduler !== "accordion" || !this.#places.some(isFree)) return;
      this.#wakeAt(query.deadlineMs - this.#fastestMs(query), nowMs);
      const claimants = this.#claimants(nowMs);
      if (claimants.length > 0) this.#wakeAt(this.#impatientAtMs(query), nowMs);
      for (const claimant of claimants) {
        const untilMs = claimant.deadlineMs + 2 * TOLERANCE_MS;
        const { reconfigurationMs } = this.#bundle.policy;
        this.#wakeAt(untilMs - reconfigurationMs - this.#fastestMs(claimant), nowMs);
      }
      const behind = (query.isHigh ? this.#high : this.#low).slice(1, 65);
      const wasOnTime = this.#isForetold(query, null, nowMs);
      if (query.isHigh && !wasOnTime) return;
      for (const other of backfill ? behind : []) {
        const least = this.#fewest(other, other.deadlineMs - nowMs);
        if (least === null || !this.#within(this.#countsOf(isFree)).includes(least)) continue;
        if (wasOnTime && !this.#isForetold(query, { other, shape: least }, nowMs)) continue;
        if (!this.#keepsClaims(other, { shape: least, kept: null }, nowMs)) continue;
        this.#start(other, least, nowMs, out);
      }
      return;
    }
  }

  /**
   * Whether a query that waits can be on time with some shape whose places are free when it has to
   * start at the latest, as running queries are foretold to end, and another that starts now.
   */
  #isForetold(
    query: NaiveQuery,
    passing: { readonly other: NaiveQuery; readonly shape: Shape } | null,
    nowMs: number,
  ): boolean {
    return this.#within(this.#countsOf(({ isUp }) => isUp)).some((shape) => {
      const latestMs = query.deadlineMs + TOLERANCE_MS - this.#timeLeftMs(query, shape);
      if (!(latestMs >= nowMs)) return false;
      return shape.counts.every((count, pool) => {
        const ended = this.#active.filter((one) => this.#endMs(one, nowMs) <= latestMs);
        const backs = ended.map((one) => one.shape?.counts[pool] ?? 0);
        const back = backs.reduce((sum, places) => sum + places, 0);
        const gone =
          passing !== null && nowMs + this.#timeLeftMs(passing.other, passing.shape) > latestMs
            ? (passing.shape.counts[pool] ?? 0)
            : 0;
        return count <= (this.#countsOf(isFree)[pool] ?? 0) + back - gone;
      });
    });
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

  /** Algorithm 2 for the first in line: the shape in which it starts; null if it waits. */
  #admit(query: NaiveQuery, nowMs: number): Admission | null {
    const as = (shape: Shape | null) => (shape === null ? null : { shape, kept: null });
    const free = this.#fastest(query, this.#within(this.#countsOf(isFree)));
    if (this.#bundle.policy.scheduler !== "accordion") return as(this.#fixed(query, nowMs));
    const isOnTime = (shape: Shape) =>
      nowMs + this.#timeLeftMs(query, shape) <= query.deadlineMs + TOLERANCE_MS;
    if (free !== null && isOnTime(free)) return as(free);
    for (const shape of this.#within(this.#countsOf(({ isUp }) => isUp)).filter(isOnTime)) {
      const kept = this.#givenUp(shape, nowMs);
      if (kept !== null) return { shape, kept };
    }
    if (this.#bundle.policy.regrow && query.isHigh) return as(free);
    if (free === null || nowMs + this.#fastestMs(query) < query.deadlineMs - TOLERANCE_MS)
      return null;
    return this.#isFutile(query, free, nowMs) ? null : as(free);
  }

  /** A baseline's, whose places do not depend on what others have. */
  #fixed(query: NaiveQuery, nowMs: number): Shape | null {
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

  /** What is admitted, or on fewer free places, if that keeps the claims of others. */
  #allowed(query: NaiveQuery, admission: Admission | null, nowMs: number): Admission | null {
    if (admission === null || this.#keepsClaims(query, admission, nowMs)) return admission;
    const least = this.#fewest(query, query.deadlineMs - nowMs);
    if (least === null || !this.#within(this.#countsOf(isFree)).includes(least)) return null;
    const fewer = { shape: least, kept: null };
    return this.#keepsClaims(query, fewer, nowMs) ? fewer : null;
  }

  #carryOut({ kept }: Admission, nowMs: number, out: AccordionCommands): void {
    for (const one of [...this.#active]) {
      const fewer = kept?.get(one);
      if (fewer !== undefined && fewer !== one.shape) this.#reshape(one, fewer, nowMs, out);
    }
  }

  /** Who will be late as it is, and not on all places that are up; earliest deadlines first. */
  #claimants(nowMs: number): NaiveQuery[] {
    const { scheduler, regrow, reconfigurationMs } = this.#bundle.policy;
    if (scheduler !== "accordion" || !regrow) return [];
    const claimants = this.#active.filter((query) => {
      const deadlineMs = query.deadlineMs + TOLERANCE_MS;
      const quickestMs = nowMs + reconfigurationMs + this.#fastestMs(query);
      return query.isHigh && this.#endMs(query, nowMs) > deadlineMs && quickestMs <= deadlineMs;
    });
    return claimants.sort((a, b) => a.deadlineMs - b.deadlineMs);
  }

  /** Whether as many claims of others are kept as are now, if a query has a shape from now on. */
  #keepsClaims(query: NaiveQuery, { shape, kept }: Admission, nowMs: number): boolean {
    if (query.shape === null && nowMs >= this.#impatientAtMs(query)) return true;
    const claimants = this.#claimants(nowMs);
    const others = claimants.filter((one) => one !== query);
    const { reconfigurationMs } = this.#bundle.policy;
    const startMs = query.shape === null ? nowMs : nowMs + reconfigurationMs;
    const shapes = new Map<NaiveQuery, Shape | null>([[query, shape]]);
    const untilMs = new Map([[query, startMs + this.#timeLeftMs(query, shape)]]);
    for (const [one, fewer] of kept ?? []) {
      if (fewer === one.shape) continue;
      shapes.set(one, fewer);
      untilMs.set(one, nowMs + reconfigurationMs + this.#timeLeftMs(one, fewer));
    }
    const holders = this.#active.filter((one) => !claimants.includes(one) && one !== query);
    const sizes = (one: NaiveQuery) => shapes.get(one)?.counts ?? one.shape?.counts ?? [];
    const ends = (one: NaiveQuery) => untilMs.get(one) ?? this.#endMs(one, nowMs);
    const gone = [...holders.filter((one) => shapes.has(one)), query];
    const free = this.#countsOf(isFree).map((count, pool) => {
      const less = gone.map((one) => (sizes(one)[pool] ?? 0) - (one.shape?.counts[pool] ?? 0));
      return count - less.reduce((sum, places) => sum + places, 0);
    });
    const held = [...holders, query].map((one) => ({ counts: sizes(one), untilMs: ends(one) }));
    const after = this.#keptOf(others, { free, held }, nowMs);
    const before = this.#keptOf(claimants, this.#foretold(claimants, nowMs), nowMs);
    before.delete(query);
    return after.size >= before.size;
  }

  #impatientAtMs({ isHigh, bornMs, deadlineMs }: NaiveQuery): number {
    return isHigh ? bornMs + PATIENCE * (deadlineMs - bornMs) : Number.POSITIVE_INFINITY;
  }

  #foretold(claimants: readonly NaiveQuery[], nowMs: number): Foretold {
    const holders = this.#active.filter((one) => !claimants.includes(one));
    const held = holders.map((one) => ({
      counts: one.shape?.counts ?? [],
      untilMs: this.#endMs(one, nowMs),
    }));
    return { free: this.#countsOf(isFree), held };
  }

  /** Each claim is kept on the first shape for which there are places beside those before it. */
  #keptOf(
    claimants: readonly NaiveQuery[],
    { free, held }: Foretold,
    nowMs: number,
  ): Set<NaiveQuery> {
    const freeBy = (pool: number, atMs: number) =>
      held
        .filter(({ untilMs }) => untilMs <= atMs)
        .reduce((sum, { counts }) => sum + (counts[pool] ?? 0), free[pool] ?? 0);
    let claims: { readonly byMs: number; readonly need: readonly number[] }[] = [];
    const fits = (some: typeof claims) =>
      some.every(({ byMs }) =>
        free.every((_, pool) => {
          const due = some.filter((one) => one.byMs <= byMs).map(({ need }) => need[pool] ?? 0);
          return due.reduce((sum, places) => sum + places, 0) <= freeBy(pool, byMs);
        }),
      );
    const kept = new Set<NaiveQuery>();
    for (const query of claimants) {
      const [first] = this.#shapes;
      if (first === undefined) throw new Error("there is a shape");
      const mostMs = MOST_COST * this.#timeLeftMs(query, first);
      for (const shape of this.#beyond(query)) {
        const leftMs = this.#timeLeftMs(query, shape);
        const deadlineMs = query.deadlineMs + TOLERANCE_MS;
        const byMs = deadlineMs - this.#bundle.policy.reconfigurationMs - leftMs;
        if (!(byMs >= nowMs) || shape.size * leftMs > mostMs) continue;
        const need = shape.counts.map((count, pool) => count - (query.shape?.counts[pool] ?? 0));
        if (!fits([...claims, { byMs, need }])) continue;
        claims = [...claims, { byMs, need }];
        kept.add(query);
        break;
      }
    }
    return kept;
  }

  /** Larger shapes of places that are up. */
  #beyond({ shape: own }: NaiveQuery): Shape[] {
    return this.#within(this.#countsOf(({ isUp }) => isUp)).filter(
      (shape) =>
        shape !== own && shape.counts.every((count, pool) => count >= (own?.counts[pool] ?? 0)),
    );
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
  #givenUp(wanted: Shape, nowMs: number, by?: NaiveQuery): Map<NaiveQuery, Shape> | null {
    const kept = new Map(this.#active.map((query) => [query, query.shape ?? wanted]));
    const free = this.#countsOf(isFree);
    for (const [pool, count] of wanted.counts.entries()) {
      const own = by?.shape?.counts[pool] ?? 0;
      for (let missing = count - own - (free[pool] ?? 0); missing > 0; missing--) {
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
   * deadline first, on the fewest places that are free or that others can give up.
   * @returns whether there was one.
   */
  #rescue(nowMs: number, out: AccordionCommands): boolean {
    const { reconfigurationMs } = this.#bundle.policy;
    for (const query of this.#claimants(nowMs)) {
      const leftMs = query.deadlineMs - (nowMs + reconfigurationMs) + TOLERANCE_MS;
      const onTime = this.#beyond(query).filter((one) => this.#timeLeftMs(query, one) <= leftMs);
      const offers = onTime.flatMap((shape) => {
        const kept = this.#givenUp(shape, nowMs, query);
        return kept === null ? [] : [{ shape, kept }];
      });
      const [offer] = offers;
      if (offer === undefined || !this.#keepsClaims(query, offer, nowMs)) continue;
      this.#carryOut(offer, nowMs, out);
      this.#reshape(query, offer.shape, nowMs, out);
      return true;
    }
    return false;
  }

  /**
   * Lets the query grow that gains the most by it at no claim's cost. @returns whether there was
   * one.
   */
  #grow(nowMs: number, out: AccordionCommands): boolean {
    const { reconfigurationMs } = this.#bundle.policy;
    const offers = this.#active.flatMap((query) => {
      const leftMs = this.#endMs(query, nowMs) - nowMs - reconfigurationMs;
      return this.#largerOf(query).map((shape) => ({
        ...{ query, shape },
        gainMs: leftMs - this.#timeLeftMs(query, shape),
      }));
    });
    const allowed = offers.filter(({ query, shape, gainMs }) => {
      return gainMs > TOLERANCE_MS && this.#keepsClaims(query, { shape, kept: null }, nowMs);
    });
    const most = Math.max(...allowed.map(({ gainMs }) => gainMs));
    const offer = allowed.find(({ gainMs }) => gainMs === most);
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
    const longestMs = policy.dropAfterSlos * this.#sloOf(query);
    if (latencyMs > longestMs + TOLERANCE_MS && !query.isHigh) return false;
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
