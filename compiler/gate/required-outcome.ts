/** What becomes of a bundle under the requirements of its spec and of the command line. */

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
  /** One for each broken requirement, or that all are kept. */
  readonly lines: readonly string[];
  /** That levels are not feasible, where nobody requires them to be; none or one. */
  readonly warnings: readonly string[];
  readonly judged: readonly Judged[];
}

/**
 * `--require` as it was given, none where it was not.
 * @returns null for `none`: not even those of the spec.
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
    `WARNING ${infeasible} of ${count} levels ${are} infeasible, and nothing requires otherwise: ` +
    "--require feasible has compile end with 3"
  );
}
