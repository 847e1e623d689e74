/** What is not the same in two levels or frames, field by field: of this each diff is made. */
import { createHash } from "node:crypto";

/** A scalar or a whole table that is not the same; undefined where one bundle lacks it. */
export interface FieldDiff {
  /**
   * Items of lists are named where they have a name: `tasks[classify].variants[small].accuracy`.
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
  /** Of the class whose table it is; left out for that of all queries. */
  readonly sloClass?: string;
  /** Whose table it is, where there are buckets. */
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
  /** States of the first bundle in which the second decides otherwise. */
  readonly changedStates: number;
  /** States compared, those of the first bundle. */
  readonly states: number;
  readonly examples: readonly StateDiff[];
}

/** A thing of both bundles. */
export interface Pair<Side> {
  readonly before: Side;
  readonly after: Side;
}

/** Compares the levels of a load. @param index of the level in both bundles. */
export type DiffLevel = (loadQps: number, index: Pair<number>) => LevelDiff | null;

/** @param before a level with names where the bundle has indices, as `after`. */
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

/** A longer array is told by its digest. */
const MAX_TOLD_VALUES = 8;

/**
 * Every scalar with its path; a typed array counts as the text of its values, or as their digest.
 * Depth is bounded by the schema.
 */
function leavesOf(value: unknown, path: string): (readonly [string, unknown])[] {
  if (value instanceof Float64Array || value instanceof Uint16Array) {
    const digest = createHash("sha256").update(value).digest("hex").slice(0, 12);
    const isShort = value.length <= MAX_TOLD_VALUES;
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

/** What tells an item of a list from its siblings. */
function nameOf(item: unknown): string | null {
  if (typeof item !== "object" || item === null) return null;
  const { name, path } = item as { name?: unknown; path?: unknown };
  if (typeof name === "string") return name;
  return typeof path === "string" ? path : null;
}
