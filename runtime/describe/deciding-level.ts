/**
 * Looks up the level that decides, by its index among the levels and then the pace levels of a
 * bundle.
 */
import type { Bundle } from "../bundle/schema.ts";

interface DecidingLevel {
  readonly loadQps: number;
  /** Service times that it was solved for, relative to the profile. */
  readonly pace: number;
}

/** Returns undefined if the bundle has no such level: it was computed while serving. */
export function decidingLevel(bundle: Bundle, index: number): DecidingLevel | undefined {
  const { levels } = bundle;
  const level = levels[index];
  if (level !== undefined) return { loadQps: level.loadQps, pace: 1 };
  return "paceLevels" in bundle ? bundle.paceLevels?.[index - levels.length] : undefined;
}
