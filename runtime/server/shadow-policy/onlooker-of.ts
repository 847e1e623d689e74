/** Makes whoever has the core of a bundle look on at another. */
import type { Bundle } from "../../bundle/schema.ts";
import { pathTimesOf } from "../../core/decision-slo.ts";
import type { Replayer } from "../decisions/recorded-entry.ts";
import { deadlineShiftMs, haveSameWorkers, variantIn } from "./compared-bundles.ts";
import type { LooksOn } from "./looks-on.ts";
import { Onlooker } from "./onlooker.ts";
import type { OnlookerTimes } from "./onlooker-times.ts";
import { PlacesOnlooker } from "./places-onlooker.ts";
import type { OutcomeObserver } from "./query-outcomes.ts";

/** What drives the core of a bundle that nobody follows. */
export interface OnlookerParts {
  /** Nothing has been told to it. */
  readonly replayer: Replayer;
  readonly times: OnlookerTimes;
  readonly workerCount: number;
  /** Of the bundle that serves. */
  readonly servedWorkerCount: number;
  /** Queries that are under way at most; names of the core are below it. */
  readonly queryCapacity: number;
}

/** @param shadow may look on at what serves. @param observer is told what becomes of queries. */
export function onlookerOf(
  served: Bundle,
  shadow: Bundle,
  parts: OnlookerParts,
  observer: OutcomeObserver,
): LooksOn {
  const { graceMs } = pathTimesOf(shadow.cluster);
  const variantHere = variantIn(served, shadow);
  const shiftMs = deadlineShiftMs(served, shadow);
  const common = { ...parts, graceMs, variantHere, observer };
  const { places } = parts.times;
  if (places !== undefined) return new PlacesOnlooker({ ...common, places, shiftMs: shiftMs(0) });
  const isAsMany = parts.workerCount === parts.servedWorkerCount;
  const sharesWorkers = isAsMany && haveSameWorkers(served, shadow);
  return new Onlooker({ ...common, shiftMs, sharesWorkers });
}
