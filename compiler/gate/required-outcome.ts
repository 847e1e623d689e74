/** Applies the requirements of the spec and the command line to a bundle. */

import { EXIT_CODES, RuntimeError } from "stratagem-runtime/internal/base/errors";
import type { Bundle } from "stratagem-runtime/internal/bundle/schema";
import type { SimulateWatch } from "../processes/simulate-watch.ts";
import { Unreadable } from "../spec/document/clause.ts";
import { type Requirement, readRequirements } from "../spec/schema/requirement.ts";
import { type Judged, judge, requiresFeasible } from "./judge.ts";
import { judgedLines } from "./judged-text.ts";
import { askedByRequirements, withPercentiles } from "./percentiles.ts";
import { promisedBundle } from "./promised-bundle.ts";

type Asked = readonly Requirement[] | null;

export interface RequiredOutcome {
  readonly holds: boolean;
  readonly exitCode: number;
  /** A line for each broken requirement, or one if all are kept. */
  readonly lines: readonly string[];
  /** A warning about infeasible levels if no requirement covers them; otherwise empty. */
  readonly warnings: readonly string[];
  readonly judged: readonly Judged[];
}

/**
 * Parses `--require`; empty if it was not given.
 * @returns null for `none`, which also ignores the requirements of the spec.
 * @throws RuntimeError RUNTIME_USAGE
 */
export function requirementsAsked(text: string | undefined): Asked {
  if (text === undefined) return [];
  if (text === "none") return null;
  const read = readRequirements(text);
  if (!(read instanceof Unreadable)) return read;
  const message = `--require: expected ${read.expected}, got ${read.found}`;
  throw new RuntimeError("RUNTIME_USAGE", message);
}

/** @param byteCount of the bundle's file. */
export async function requiredOutcome(
  requirements: readonly Requirement[],
  bundle: Bundle,
  byteCount: number,
  watch: SimulateWatch,
): Promise<RequiredOutcome> {
  const stated = await promisedBundle(bundle, byteCount);
  const promised = await withPercentiles(stated, bundle, askedByRequirements(requirements), watch);
  const judged = judge(requirements, promised);
  const holds = judged.every((one) => one.holds);
  const infeasible = stated.levels.filter(({ feasible }) => !feasible).length;
  const isSilent = infeasible > 0 && !requiresFeasible(requirements);
  return {
    holds,
    exitCode: holds ? EXIT_CODES.ok : EXIT_CODES.notVerified,
    lines: judgedLines(judged),
    warnings: isSilent ? [unasked(infeasible, stated.levels.length)] : [],
    judged,
  };
}

function unasked(infeasible: number, count: number): string {
  const are = infeasible === 1 ? "is" : "are";
  return (
    `WARNING ${infeasible} of ${count} levels ${are} infeasible, and no requirement forbids it: ` +
    "with --require feasible, compile exits with 3"
  );
}
