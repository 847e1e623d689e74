/** Bounds on what an application makes a solver do, told before it is begun. */
import type { Application, Loads } from "../spec/application.ts";
import type { KeyPath } from "../spec/document/document.ts";
import { invalid, type Mistake } from "../spec/document/mistakes.ts";

/** The highest of the loads, and where a spec names it. */
export function highestLoad(loads: Loads): { readonly qps: number; readonly path: KeyPath } {
  const path = ["workload", "loads"];
  if (loads.kind === "adaptive") return { qps: loads.toQps, path: [...path, "to"] };
  return { qps: loads.qps.at(-1) ?? 0, path };
}

/** Requests of one simulation: their times alone are 256 MiB. */
export const MAX_SIMULATED_REQUESTS = 2 ** 25;

/**
 * A load of which a simulation would have more requests than memory holds.
 * @param requests that the simulation of the highest load takes.
 * @param why in words that follow "requests".
 */
export function* requestMistakes(
  { loads }: Pick<Application, "loads">,
  requests: number,
  why: string,
): Generator<Mistake> {
  if (requests <= MAX_SIMULATED_REQUESTS) return;
  const { qps, path } = highestLoad(loads);
  const most = `at most ${MAX_SIMULATED_REQUESTS} simulated requests, ${why}`;
  yield invalid(
    path,
    `a load with ${most}`,
    `${qps} / s, which would have about ${about(requests)}`,
  );
}

/** Three digits, for what is an estimate. */
export function about(count: number): string {
  return String(Number(count.toPrecision(3)));
}
