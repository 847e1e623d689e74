/** Limits on the work of a solver, checked before it starts. */
import type { Application, Loads } from "../spec/application.ts";
import type { KeyPath } from "../spec/document/document.ts";
import { invalid, type Mistake } from "../spec/document/mistakes.ts";

/** Returns the highest load, and its place in the spec. */
export function highestLoad(loads: Loads): { readonly qps: number; readonly path: KeyPath } {
  const path = ["workload", "loads"];
  if (loads.kind === "adaptive") return { qps: loads.toQps, path: [...path, "to"] };
  return { qps: loads.qps.at(-1) ?? 0, path };
}

/** Maximum requests of one simulation: their times alone are 256 MiB. */
export const MAX_SIMULATED_REQUESTS = 2 ** 25;

/**
 * Yields a mistake for a load whose simulation would have more requests than memory holds.
 * @param requests of the simulation of the highest load.
 * @param why continues the phrase "simulated requests, ".
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

/** Formats an estimate with three digits. */
export function about(count: number): string {
  return String(Number(count.toPrecision(3)));
}
