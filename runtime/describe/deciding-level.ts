/** The level that decides, by its index among the levels and then the pace levels of a bundle. */
import type { Bundle } from "../bundle/schema.ts";

interface DecidingLevel {
  readonly loadQps: number;
  /** Service times that it was solved for, over those of the profile. */
  readonly pace: number;
}

/** Undefined where the bundle has no such level: it was made while it was served. */
export function decidingLevel(bundle: Bundle, index: number): DecidingLevel | undefined {
  const { levels } = bundle;
  const level = levels[index];
  if (level !== undefined) return { loadQps: level.loadQps, pace: 1 };
  return "paceLevels" in bundle ? bundle.paceLevels?.[index - levels.length] : undefined;
}
