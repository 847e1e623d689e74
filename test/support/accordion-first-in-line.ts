import type { AccordionDriver, DrivenQuery } from "./accordion-driver.ts";
import { hold } from "./hold.ts";

/** Moments are sums. */
const EPSILON_MS = 1e-5;

/**
 * Who is first waits for a reason: free places would not do, and others could yet. The scheduler
 * wakes when that ends.
 * @param isDecided whether the scheduler has been asked since the time came that it is.
 */
export function checkFirstInLine(driver: AccordionDriver, isDecided: boolean): void {
  const { high, low, nowMs, scheduler } = driver;
  const [lowest] = low;
  const first = high[0] ?? lowest;
  let dueMs =
    lowest === undefined ? Number.POSITIVE_INFINITY : givenUpAtMs(driver, driver.query(lowest));
  if (first !== undefined && driver.freePlaces.length > 0 && !isClaimed(driver)) {
    dueMs = Math.min(dueMs, startsAtMs(driver, driver.query(first)));
  }
  // An instance may be done when the scheduler is to be woken, before it is.
  const isDue = dueMs <= nowMs;
  hold(!isDue || (!isDecided && dueMs === nowMs), "what is due is done");
  hold(scheduler.wakeMs <= dueMs, "the scheduler wakes when something is due");
}

/**
 * Whether what is free may be kept for a running query of high priority that will be late as it is
 * and may yet be on time.
 */
function isClaimed(driver: AccordionDriver): boolean {
  const { bundle, nowMs, upPlaces } = driver;
  const { regrow, reconfigurationMs } = bundle.policy;
  return driver.active.some((active) => {
    const query = driver.query(active);
    const quickestMs = nowMs + reconfigurationMs + fastestMs(driver, query, upPlaces);
    const isLate = driver.finishMs(active) > query.deadlineMs;
    return regrow && query.isHigh && isLate && quickestMs <= query.deadlineMs + EPSILON_MS;
  });
}

/**
 * When the first one takes what is free all the same: its deadline can no longer be met. Infinity
 * if nobody waits for it by its end.
 */
function startsAtMs(driver: AccordionDriver, first: DrivenQuery): number {
  const { nowMs, freePlaces, upPlaces } = driver;
  const { deadlineMs, isHigh } = first;
  const freeMs = fastestMs(driver, first, freePlaces);
  hold(deadlineMs - freeMs < nowMs, "free places that do are taken");
  hold(!(isHigh && driver.bundle.policy.regrow), "who may get more later takes what is free");
  const hopelessMs = deadlineMs - fastestMs(driver, first, upPlaces);
  const isFutile = hopelessMs <= nowMs && nowMs + freeMs > wantedUntilMs(driver, first);
  return isFutile ? Number.POSITIVE_INFINITY : hopelessMs;
}

/**
 * When a query of low priority that waits will be too late whatever happens, as its method counts.
 */
export function givenUpAtMs(driver: AccordionDriver, query: DrivenQuery): number {
  const { dropout, dropAfterSlos, scheduler } = driver.bundle.policy;
  if (query.isHigh || dropout === "arrival" || dropAfterSlos === null) {
    return Number.POSITIVE_INFINITY;
  }
  // Baselines keep to their depth.
  if (scheduler !== "accordion") return query.bornMs;
  const leastMs = fastestMs(driver, query, driver.upPlaces);
  return query.bornMs + dropAfterSlos * sloMs(driver, query) - leastMs;
}

/** Infinity where a query is never given up in its turn. */
function wantedUntilMs(driver: AccordionDriver, query: DrivenQuery): number {
  const { dropAfterSlos } = driver.bundle.policy;
  if (givenUpAtMs(driver, query) === Number.POSITIVE_INFINITY) return Number.POSITIVE_INFINITY;
  return Math.max(query.deadlineMs, query.bornMs + (dropAfterSlos ?? 0) * sloMs(driver, query));
}

/** A query's own, where that is tighter. */
function sloMs({ bundle }: AccordionDriver, { bornMs, deadlineMs }: DrivenQuery): number {
  return Math.min(bundle.slo.latencyMs, deadlineMs - bornMs);
}

function fastestMs(
  { times }: AccordionDriver,
  { model, batch, done }: DrivenQuery,
  places: readonly number[],
): number {
  return times.fastestMs(model, batch - done, places);
}
