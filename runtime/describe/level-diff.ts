/** Compares two levels or frames field by field; all diffs are built on this. */
import { createHash } from "node:crypto";

/** A scalar or a whole table that differs; undefined on the side that lacks it. */
export interface FieldDiff {
  /**
   * Items of lists are identified by name if they have one:
   * `tasks[classify].variants[small].accuracy`.
   */
  readonly path: string;
  readonly before: unknown;
  readonly after: unknown;
}

export interface Decision {
  readonly variant: string;
  readonly batch: number;
}

export interface StateDiff {
  /** Class of the table; left out for the table of all queries. */
  readonly sloClass?: string;
  /** Bucket of the table, with buckets only. */
  readonly bucket?: string;
  readonly queued: number;
  readonly slackMs: number;
  readonly before: Decision;
  readonly after: Decision;
}

export interface LevelDiff {
  readonly loadQps: number;
  readonly change: "added" | "removed" | "changed";
  readonly fields: readonly FieldDiff[];
  /** Number of states of the first bundle in which the second decides differently. */
  readonly changedStates: number;
  /** Number of states compared, those of the first bundle. */
  readonly states: number;
  readonly examples: readonly StateDiff[];
}

/** A value of both bundles. */
export interface Pair<Side> {
  readonly before: Side;
  readonly after: Side;
}

/** Compares the levels of a load. @param index index of the level in both bundles. */
export type DiffLevel = (loadQps: number, index: Pair<number>) => LevelDiff | null;

/** @param before a level with names instead of indices, like `after`. */
export function diffPlans(
  loadQps: number,
  before: object | undefined,
  after: object | undefined,
): LevelDiff | null {
  const fields = diffFields(before, after);
  return fields.length === 0 ? null : levelDiff(loadQps, "changed", fields);
}

export function levelDiff(
  loadQps: number,
  change: LevelDiff["change"],
  fields: readonly FieldDiff[],
): LevelDiff {
  return { loadQps, change, fields, changedStates: 0, states: 0, examples: [] };
}

export function diffFields(before: unknown, after: unknown): FieldDiff[] {
  const leavesBefore = new Map(leavesOf(before, ""));
  const leavesAfter = new Map(leavesOf(after, ""));
  return [...new Set([...leavesBefore.keys(), ...leavesAfter.keys()])]
    .map((path) => ({ path, before: leavesBefore.get(path), after: leavesAfter.get(path) }))
    .filter((field) => field.before !== field.after);
}

/** A longer array is represented by its digest. */
const MAX_LISTED_VALUES = 8;

/**
 * Returns every scalar with its path; a typed array counts as the text of its values, or as their
 * digest. The schema bounds the depth.
 */
function leavesOf(value: unknown, path: string): (readonly [string, unknown])[] {
  if (value instanceof Float64Array || value instanceof Uint16Array) {
    const digest = createHash("sha256").update(value).digest("hex").slice(0, 12);
    const isShort = value.length <= MAX_LISTED_VALUES;
    return [[path, isShort ? String(value) : `${value.length} values, SHA-256 ${digest}…`]];
  }
  if (Array.isArray(value)) {
    return value.flatMap((item: unknown, index) =>
      leavesOf(item, `${path}[${nameOf(item) ?? index}]`),
    );
  }
  if (typeof value !== "object" || value === null) return [[path, value]];
  return Object.entries(value).flatMap(([key, field]) =>
    leavesOf(field, path === "" ? key : `${path}.${key}`),
  );
}

/** Returns the name that identifies an item of a list. */
function nameOf(item: unknown): string | null {
  if (typeof item !== "object" || item === null) return null;
  const { name, path } = item as { name?: unknown; path?: unknown };
  if (typeof name === "string") return name;
  return typeof path === "string" ? path : null;
}
