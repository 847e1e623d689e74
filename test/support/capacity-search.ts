/** Runs the search of a capacity against windows that a function makes. */
import {
  type Capacity,
  type SearchOptions,
  searchCapacity,
  type Trial,
} from "../../compiler/capacity/search.ts";
import type { Window } from "../../compiler/processes/level-request.ts";

export function searched(
  options: SearchOptions,
  windowsOf: (trial: Trial, index: number) => readonly Window[] | null,
): Capacity {
  const search = searchCapacity(options);
  let step = search.next();
  for (let index = 0; !step.done; index++) step = search.next(windowsOf(step.value, index));
  return step.value;
}

export function covers({ holdsQps, failsQps }: Capacity, loadQps: number): boolean {
  return (holdsQps ?? 0) <= loadQps && loadQps <= (failsQps ?? Number.POSITIVE_INFINITY);
}
