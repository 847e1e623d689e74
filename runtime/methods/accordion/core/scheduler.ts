/** Decides which query has which places: the core of Accordion. */
import type { AccordionBundle } from "../../../bundle/schema.ts";
import { assert } from "../../../core/assert.ts";
import { decisionSloMs } from "../../../core/decision-slo.ts";
import { LinkedQueues } from "../../../core/graph/linked-queues.ts";
import type { PaceMonitor } from "../../../core/pace.ts";
import { mayTryAgain } from "../../../core/second-try.ts";
import { Claims } from "./claims.ts";
import { type AccordionCommands, DROP_LATE, DROP_NO_PLACE, DROP_PLACES_LOST } from "./commands.ts";
import { DropoutPredictor } from "./dropout-predictor.ts";
import { FixedRule } from "./fixed-rule.ts";
import { Growth } from "./growth.ts";
import { MalleableRule } from "./malleable-rule.ts";
import { classOfPlaces, NONE, PipelineTable } from "./pipeline-table.ts";
import { PlaceKeeper } from "./place-keeper.ts";
import { PlaceLedger } from "./place-ledger.ts";
import { type PlacePaceOptions, PlacePaces } from "./place-paces.ts";
import type { PlaceRule, Shrinks } from "./place-rule.ts";
import { QueryBuffers } from "./query-buffers.ts";
import { type AccordionQuery, QueryRuns } from "./query-runs.ts";
import { Reservation } from "./reservation.ts";
import { ShapeChoice } from "./shape-choice.ts";
import { TurnDropout } from "./turn-dropout.ts";

/** Queues: high before low priority, first in first out within each. */
const HIGH = 0;
const LOW = 1;
/** Maximum number of queries behind a waiting first one that may pass it. */
const MOST_PASSING = 64;
/**
 * Largest share of its time that a high-priority query waits for the sake of claims. Where
 * high-priority queries need more places than exist, all would otherwise become late and need still
 * more.
 */
const PATIENCE = 0.25;

export interface AccordionSchedulerOptions extends PlacePaceOptions {
  /** The driver's names for queries are integers below this. */
  readonly queryCapacity: number;
}

/**
 * Every decision of a server of malleable pipelines: which query starts when and on which places,
 * which gives places up for another, and which is given up itself.
 *
 * A state machine as `Dispatcher` is: events in the order of their times go in, commands come out;
 * `simulate` and `serve` are two drivers of it. The name of a query is free again after its last
 * instance, a drop or `onCancel`. Source: Accordion §3.
 */
export class AccordionScheduler {
  readonly queryCapacity: number;
  readonly table: PipelineTable;
  readonly #ledger: PlaceLedger;
  readonly #runs: QueryRuns;
  /** [queryCapacity]: when others gave a query places last. */
  readonly #rescuedMs: Float64Array;
  readonly #paces: PlacePaces;
  readonly #keeper: PlaceKeeper;
  readonly #queues: LinkedQueues;
  readonly #rule: PlaceRule;
  readonly #predictor: DropoutPredictor | null;
  readonly #dropout: TurnDropout | null;
  /** Null if no query may pass another. */
  readonly #reservation: Reservation | null;
  readonly #buffers: QueryBuffers | null;
  readonly #growth: Growth | null;
  readonly #claims: Claims | null;
  readonly #reconfigurationMs: number;
  #wakeMs = Number.POSITIVE_INFINITY;
  #shrinkCount = 0;
  #growCount = 0;

  /** @param bundle a validated one. All places are down at first. */
  constructor(bundle: AccordionBundle, options: AccordionSchedulerOptions) {
    const { queryCapacity } = options;
    const { policy, slo, cluster } = bundle;
    const sloMs = decisionSloMs(cluster, slo.latencyMs);
    const { scheduler, reconfigurationMs, dropAfterSlos, dropout } = policy;
    const isMalleable = scheduler === "accordion";
    const isGrowing = isMalleable && policy.regrow;
    const table = new PipelineTable(bundle);
    const ledger = new PlaceLedger(classOfPlaces(bundle), table.classCount);
    // Baselines decide as if places were as profiled.
    const adapt = isMalleable && (options.adapt ?? true);
    const paces = new PlacePaces(bundle, table, ledger, { ...options, adapt });
    const runs = new QueryRuns(table, queryCapacity, ledger.placeCount, paces);
    this.#rescuedMs = new Float64Array(queryCapacity).fill(Number.NaN);
    const choice = new ShapeChoice(table, ledger, runs);
    this.queryCapacity = queryCapacity;
    this.table = table;
    this.#ledger = ledger;
    this.#runs = runs;
    this.#paces = paces;
    this.#keeper = new PlaceKeeper(table, ledger, runs, paces);
    this.#queues = new LinkedQueues(2, queryCapacity);
    const malleable = { reconfigurationMs, isEager: isGrowing };
    this.#rule = isMalleable
      ? new MalleableRule(table, ledger, runs, choice, malleable)
      : new FixedRule(scheduler === "bbs" ? "slo-conforming" : scheduler, sloMs, choice);
    const window = dropAfterSlos === null ? null : { sloMs, slos: dropAfterSlos };
    this.#predictor =
      window !== null && dropout === "arrival"
        ? new DropoutPredictor(table, ledger, runs, window)
        : null;
    this.#dropout =
      window !== null && dropout === "turn" ? new TurnDropout(runs, this.#rule, window) : null;
    this.#reservation =
      isMalleable && policy.backfill ? new Reservation(table, ledger, runs, choice) : null;
    this.#buffers =
      scheduler === "bbs" ? new QueryBuffers(runs, queryCapacity, ledger.placeCount) : null;
    const claims = isGrowing ? new Claims(table, ledger, runs, choice, reconfigurationMs) : null;
    this.#claims = claims;
    this.#growth = claims === null ? null : new Growth(runs, choice, claims, reconfigurationMs);
    this.#reconfigurationMs = reconfigurationMs;
  }

  get pace(): PaceMonitor {
    return this.#paces.monitor;
  }

  get placeCount(): number {
    return this.#ledger.placeCount;
  }

  get readyPlaceCount(): number {
    return this.#ledger.readyCount;
  }

  get busyPlaceCount(): number {
    return this.#ledger.readyCount - this.#ledger.freeCount;
  }

  /** Queries that run. */
  get activeCount(): number {
    return this.#runs.activeCount;
  }

  get waitingCount(): number {
    return this.#queues.waiting + (this.#buffers?.waiting ?? 0);
  }

  /** Times that running queries got fewer places, and more. */
  get shrinkCount(): number {
    return this.#shrinkCount;
  }

  get growCount(): number {
    return this.#growCount;
  }

  /** When to call `onWake` unless another event comes first; Infinity if not needed. */
  get wakeMs(): number {
    return this.#wakeMs;
  }

  /** Called when a place has come up, for the first time or again. */
  onPlaceReady(place: number, nowMs: number, out: AccordionCommands): void {
    this.#ledger.comeUp(place);
    this.#paces.comeUp(place);
    this.#dispatch(nowMs, out);
  }

  /**
   * Called when a place has gone down. Its query goes on with its other places or, without any,
   * waits again before all others; once, and unless it is late.
   */
  onPlaceLost(place: number, nowMs: number, out: AccordionCommands): void {
    const query = this.#ledger.goDown(place);
    this.#paces.goDown(place);
    if (query !== NONE) this.#lose(query, place, nowMs, out);
    if (this.#ledger.readyCount === 0) this.#dropAll(out);
    this.#dispatch(nowMs, out);
  }

  /**
   * Called when a place has gone down and another has taken over at once: what ran there is run
   * again, and no query is given up for lack of places.
   */
  onPlaceReplaced(place: number, nowMs: number, out: AccordionCommands): void {
    const query = this.#ledger.goDown(place);
    this.#ledger.comeUp(place);
    this.#paces.goDown(place);
    this.#paces.comeUp(place);
    if (query !== NONE) this.#lose(query, place, nowMs, out);
    this.#dispatch(nowMs, out);
  }

  /** @param query the driver's name for it, free until now. */
  onQuery(query: number, asked: AccordionQuery, nowMs: number, out: AccordionCommands): void {
    this.#runs.open(query, asked, nowMs);
    const shape = this.#rule.foretoldShape(query, nowMs);
    if (shape === NONE) {
      this.#drop(query, DROP_NO_PLACE, out);
      return;
    }
    if (this.#predictor !== null) {
      if (this.waitingCount === 0) this.#predictor.resume(nowMs);
      if (!this.#predictor.admits(query, shape, nowMs)) {
        this.#drop(query, DROP_LATE, out);
        return;
      }
    }
    if (this.#isBuffered(query, nowMs)) return;
    this.#queues.append(this.#runs.isHigh(query) ? HIGH : LOW, query);
    this.#dispatch(nowMs, out);
  }

  /**
   * One more instance of a query is done, the first that was not; with the last one the query is.
   */
  onInstanceDone(query: number, nowMs: number, out: AccordionCommands): void {
    if (!this.#runs.finishInstance(query, nowMs)) return;
    this.#end(query, nowMs, out);
    this.#dispatch(nowMs, out);
  }

  /** A query is not wanted any more, whether it waits or runs. */
  onCancel(query: number, nowMs: number, out: AccordionCommands): void {
    assert(this.#runs.isKnown(query), "a query that is cancelled waits or runs");
    if (this.#runs.isActive(query)) this.#end(query, nowMs, out);
    else {
      if (!this.#queues.remove(query)) this.#buffers?.remove(query);
      this.#runs.close(query);
    }
    this.#dispatch(nowMs, out);
  }

  /** Called at the time that `wakeMs` named. */
  onWake(nowMs: number, out: AccordionCommands): void {
    this.#dispatch(nowMs, out);
  }

  /**
   * Rescues running queries, starts waiting ones, gives up those that are too late, and spends the
   * remaining places on running ones.
   */
  #dispatch(nowMs: number, out: AccordionCommands): void {
    this.#paces.look(nowMs);
    this.#claims?.look(nowMs);
    this.#rescue(nowMs, out);
    do {
      this.#wakeMs = Number.POSITIVE_INFINITY;
      this.#startWaiting(nowMs, out);
      // Queries behind one that is given up may be able to start.
    } while (this.#dropTooLate(nowMs, out));
    if (this.#queues.waiting === 0) this.#grow(nowMs, out);
  }

  /**
   * Starts queries in order until the first waiting one cannot start; then those behind it of the
   * same priority that may pass.
   */
  #startWaiting(nowMs: number, out: AccordionCommands): void {
    for (let query = this.#first(); query !== NONE; query = this.#first()) {
      const isTooLate = nowMs > this.#givenUpAtMs(query) + this.#runs.toleranceMs;
      const shape = isTooLate ? NONE : this.#shapeFor(query, nowMs);
      if (isTooLate) this.#giveUp(query, out);
      else if (shape !== NONE) {
        this.#carryOutShrinks(nowMs, out);
        this.#begin(query, shape, nowMs, out);
      } else {
        if (this.#ledger.freeCount === 0) return;
        this.#wakeAt(this.#rule.startsAtMs(query), nowMs);
        if (this.#claims !== null && this.#claims.count > 0) {
          this.#wakeAt(this.#claims.lapsesAtMs, nowMs);
          this.#wakeAt(this.#impatientAtMs(query), nowMs);
        }
        this.#startPassing(query, nowMs, out);
        return;
      }
    }
  }

  /**
   * Returns the shape in which the first waiting query starts, with `shrinks`; NONE if it waits.
   */
  #shapeFor(query: number, nowMs: number): number {
    const rule = this.#rule;
    const shape = rule.shapeFor(query, nowMs);
    if (shape === NONE || this.#dropout?.isFutile(query, shape, nowMs)) return NONE;
    if (this.#isAllowed(query, shape, nowMs)) return shape;
    rule.shrinks.clear();
    const least = rule.passingShape(query, nowMs);
    return least !== NONE && this.#isAllowed(query, least, nowMs) ? least : NONE;
  }

  /** Whether a query that waits may have a shape, and others give up places for it. */
  #isAllowed(query: number, shape: number, nowMs: number): boolean {
    if (nowMs >= this.#impatientAtMs(query)) return true;
    const endMs = nowMs + this.#runs.timeLeftMs(query, shape);
    return this.#claims?.allows(query, shape, endMs, this.#rule.shrinks, nowMs) ?? true;
  }

  /** Time from which no claim delays a waiting query; Infinity for low priority. */
  #impatientAtMs(query: number): number {
    if (!this.#runs.isHigh(query)) return Number.POSITIVE_INFINITY;
    const openedMs = this.#runs.openedMs(query);
    return openedMs + PATIENCE * (this.#runs.deadlineMs(query) - openedMs);
  }

  /**
   * Starts queries behind the first, unless they make it late. If the first will be late anyway, it
   * is passed freely if it is of low priority, and given up in the end; one of high priority is
   * never passed, because running queries may still give places up for it.
   */
  #startPassing(first: number, nowMs: number, out: AccordionCommands): void {
    if (this.#reservation === null) return;
    this.#rule.shrinks.clear();
    const isForetold = this.#reservation.open(first, nowMs);
    if (!isForetold && this.#runs.isHigh(first)) return;
    const kept = isForetold ? this.#reservation : null;
    let query = this.#queues.next(first);
    for (let looked = 0; looked < MOST_PASSING && query !== NONE; looked++) {
      if (this.#ledger.freeCount === 0) return;
      const next = this.#queues.next(query);
      this.#startIfAllowed(query, kept, nowMs, out);
      query = next;
    }
  }

  #startIfAllowed(
    query: number,
    kept: Reservation | null,
    nowMs: number,
    out: AccordionCommands,
  ): void {
    const shape = this.#rule.passingShape(query, nowMs);
    if (shape === NONE) return;
    const endMs = nowMs + this.#runs.timeLeftMs(query, shape);
    if (kept !== null && !kept.allows(shape, endMs)) return;
    if (!this.#isAllowed(query, shape, nowMs)) return;
    this.#begin(query, shape, nowMs, out);
    kept?.take(shape, endMs);
  }

  /**
   * Gives up the first low-priority query as soon as it is certain to be late, even while
   * high-priority queries delay its turn.
   * @returns whether it is given up.
   */
  #dropTooLate(nowMs: number, out: AccordionCommands): boolean {
    const query = this.#queues.first(LOW);
    if (query === NONE) return false;
    const givenUpAtMs = this.#givenUpAtMs(query);
    const isTooLate = nowMs >= givenUpAtMs - this.#runs.toleranceMs;
    if (isTooLate) this.#giveUp(query, out);
    else this.#wakeAt(givenUpAtMs, nowMs);
    return isTooLate;
  }

  #givenUpAtMs(query: number): number {
    return this.#dropout?.givenUpAtMs(query) ?? Number.POSITIVE_INFINITY;
  }

  #wakeAt(atMs: number, nowMs: number): void {
    if (atMs > nowMs) this.#wakeMs = Math.min(this.#wakeMs, atMs);
  }

  #giveUp(query: number, out: AccordionCommands): void {
    this.#queues.remove(query);
    this.#drop(query, DROP_LATE, out);
  }

  #carryOutShrinks(nowMs: number, out: AccordionCommands): void {
    const { shrinks } = this.#rule;
    for (let index = 0; index < shrinks.count; index++) {
      this.#reshape(shrinks.query(index), shrinks.shape(index), nowMs, out);
      this.#shrinkCount++;
    }
  }

  /** Gives queries with claims the places that make them on time, once there are enough. */
  #rescue(nowMs: number, out: AccordionCommands): void {
    if (this.#claims === null) return;
    for (let index = 0; index < this.#claims.count; index++) {
      const query = this.#claims.claimant(index);
      // On slower places than most it may be late again: others do not give it more at once.
      if (this.#rescuedMs[query] === nowMs) continue;
      const shape = this.#rule.rescueShape(query, nowMs);
      if (shape === NONE || !this.#mayGrow(query, shape, this.#rule.shrinks, nowMs)) continue;
      this.#rescuedMs[query] = nowMs;
      this.#carryOutShrinks(nowMs, out);
      this.#growTo(query, shape, nowMs, out);
      // This claim is gone, and the other claims may have changed.
      index = -1;
    }
  }

  #grow(nowMs: number, out: AccordionCommands): void {
    if (this.#growth === null) return;
    while (this.#ledger.freeCount > 0) {
      const found = this.#growth.find(nowMs);
      if (found === null) return;
      this.#growTo(found.query, found.shape, nowMs, out);
    }
  }

  #mayGrow(query: number, shape: number, shrinks: Shrinks, nowMs: number): boolean {
    const startMs = nowMs + this.#reconfigurationMs;
    const endMs = startMs + this.#runs.timeLeftMs(query, shape);
    return this.#claims?.allows(query, shape, endMs, shrinks, nowMs) ?? true;
  }

  #growTo(query: number, shape: number, nowMs: number, out: AccordionCommands): void {
    this.#reshape(query, shape, nowMs, out);
    this.#growCount++;
    this.#claims?.look(nowMs);
  }

  #first(): number {
    const high = this.#queues.first(HIGH);
    return high === NONE ? this.#queues.first(LOW) : high;
  }

  /** BBS: queries for which no places are free join one that runs. */
  #isBuffered(query: number, nowMs: number): boolean {
    if (this.#buffers === null) return false;
    const isFree = this.#queues.waiting === 0 && this.#rule.shapeFor(query, nowMs) !== NONE;
    return !isFree && this.#buffers.buffer(query, nowMs);
  }

  #begin(query: number, shape: number, nowMs: number, out: AccordionCommands): void {
    this.#queues.remove(query);
    this.#keeper.start(query, shape, nowMs, out);
    this.#claims?.look(nowMs);
  }

  #reshape(query: number, shape: number, nowMs: number, out: AccordionCommands): void {
    this.#keeper.reshape(query, shape, nowMs + this.#reconfigurationMs, out);
  }

  /** Ends a running query: its places go to the query that is buffered for them, or become free. */
  #end(query: number, nowMs: number, out: AccordionCommands): void {
    const next = this.#nextBuffered(this.#runs.place(query, 0), nowMs, out);
    if (next === NONE) this.#keeper.stop(query);
    else this.#keeper.handOver(query, next, nowMs, out);
    this.#runs.close(query);
  }

  #nextBuffered(set: number, nowMs: number, out: AccordionCommands): number {
    if (this.#buffers === null) return NONE;
    let next = this.#buffers.take(set);
    while (next !== NONE && nowMs > this.#givenUpAtMs(next) + this.#runs.toleranceMs) {
      this.#drop(next, DROP_LATE, out);
      next = this.#buffers.take(set);
    }
    return next;
  }

  #lose(query: number, place: number, nowMs: number, out: AccordionCommands): void {
    const runs = this.#runs;
    this.#unbuffer(runs.place(query, 0));
    const less = this.table.less(runs.shape(query), this.#ledger.classOfPlace[place]!);
    const isOver = !mayTryAgain(runs.countLoss(query), runs.deadlineMs(query), nowMs);
    if (!isOver && less !== NONE && Number.isFinite(runs.timeLeftMs(query, less))) {
      this.#reshape(query, less, nowMs, out);
      return;
    }
    this.#keeper.stop(query);
    if (isOver) this.#drop(query, DROP_PLACES_LOST, out);
    else this.#queues.insertAfter(NONE, runs.isHigh(query) ? HIGH : LOW, query);
  }

  /** Queries that were buffered for places of which one is lost wait with the others. */
  #unbuffer(set: number): void {
    if (this.#buffers === null) return;
    for (let query = this.#buffers.take(set); query !== NONE; query = this.#buffers.take(set)) {
      this.#queues.append(this.#runs.isHigh(query) ? HIGH : LOW, query);
    }
  }

  #dropAll(out: AccordionCommands): void {
    for (let query = this.#first(); query !== NONE; query = this.#first()) {
      this.#queues.remove(query);
      this.#drop(query, DROP_NO_PLACE, out);
    }
  }

  #drop(query: number, reason: number, out: AccordionCommands): void {
    this.#runs.close(query);
    out.drop(query, reason);
  }
}
