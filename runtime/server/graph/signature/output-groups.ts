/** Assigns the rows of an output to rows of a batch. */
import type { Feed } from "../../../bundle/schema.ts";
import { type ModelVariant, modelOf, unfit } from "../../tensors/signature.ts";

/** Name of the first dimension of tensors, by the tensor's name; unnamed ones have no entry. */
export type AxisNames = Readonly<Record<string, string>>;

/** A task that another one feeds. */
interface FedChild {
  readonly name: string;
  readonly feed: Feed | null;
  /** Whether the edge makes rows: the count can be any number then. */
  readonly isFanout: boolean;
}

/**
 * Returns, for each output name, the name of the count output with the number of its rows per row
 * of a batch; null for exactly one each.
 * Fed outputs follow their feed, and a count is one number each. For any other output of a task
 * that counts, the name of its first dimension decides: that of an input means one row each, that
 * of a fed output means the same as that output, and any other name means the only count. Modules
 * name no dimensions: their outputs that are not fed follow the only count.
 * @param children tasks that this one feeds.
 * @throws RuntimeError RUNTIME_MODEL if the group is ambiguous.
 */
export function groupsOf(
  variant: ModelVariant,
  at: string,
  children: readonly FedChild[],
  axisNames: AxisNames,
): ReadonlyMap<string, string | null> {
  const countByFed = countsOfFed(children, at);
  const counts = new Set([...countByFed.values()].filter((count) => count !== null));
  for (const { feed } of children) {
    if (feed?.passed !== undefined && feed.count !== null) counts.add(feed.count);
  }
  const { inputs, outputs, module } = modelOf(variant);
  const [first] = counts;
  const ofModule = module !== undefined && counts.size === 1 ? first : undefined;
  const inputAxes = new Set(inputs.map(({ name }) => axisNames[name]));
  const groups = new Map<string, string | null>();
  for (const { name } of outputs) {
    const fed = countByFed.get(name);
    const axis = axisNames[name];
    if (counts.has(name) || counts.size === 0) groups.set(name, null);
    else if (fed !== undefined) groups.set(name, fed);
    else if (axis !== undefined && inputAxes.has(axis)) groups.set(name, null);
    else {
      const count = ofModule ?? countOfAxis(axis, countByFed, axisNames);
      groups.set(name, count ?? only(counts, axis, name, at));
    }
  }
  return groups;
}

/**
 * Same as `groupsOf` where a count only says whether a row continues. Outputs that are sent on have
 * one row per continuing row, or per row; where that could differ between children it is one per
 * row. Any other output follows the only count.
 */
export function gatedGroupsOf(
  variant: ModelVariant,
  children: readonly FedChild[],
): ReadonlyMap<string, string | null> {
  const counts = children.map(({ feed }) => feed?.count ?? null);
  const groups = new Map<string, string | null>();
  for (const { name } of modelOf(variant).outputs) {
    const own = children
      .filter(({ feed }) => feed?.inputs.some(({ output }) => output === name) === true)
      .map(({ feed }) => feed?.count ?? null);
    const known = new Set(own.length > 0 ? own : counts.filter((count) => count !== null));
    const [count = null] = known;
    groups.set(name, known.size === 1 && !counts.includes(name) ? count : null);
  }
  return groups;
}

function countsOfFed(children: readonly FedChild[], at: string): Map<string, string | null> {
  const countByFed = new Map<string, string | null>();
  for (const { name, feed } of children) {
    for (const { output } of feed?.inputs ?? []) {
      const count = feed?.count ?? null;
      const known = countByFed.get(output);
      if (known !== undefined && known !== count) {
        const found = `"${known ?? "one each"}" and, for task "${name}", "${count ?? "one each"}"`;
        throw unfit(`${at} output "${output}"`, found, "the same count for every task it goes to");
      }
      countByFed.set(output, count);
    }
  }
  return countByFed;
}

function countOfAxis(
  axis: string | undefined,
  countByFed: ReadonlyMap<string, string | null>,
  axisNames: AxisNames,
): string | undefined {
  if (axis === undefined) return undefined;
  for (const [fed, count] of countByFed) {
    if (count !== null && axisNames[fed] === axis) return count;
  }
  return undefined;
}

function only(
  counts: ReadonlySet<string>,
  axis: string | undefined,
  output: string,
  at: string,
): string {
  const [count] = counts;
  if (axis !== undefined && count !== undefined && counts.size === 1) return count;
  const allowed =
    "a first dimension with the name that an input's has, for a row each, " +
    "or that of an output that is sent on, for as many rows as are sent; " +
    "where workers run on other machines, --models must hold the model's file";
  throw unfit(`${at} output "${output}"`, axis === undefined ? "no name" : `"${axis}"`, allowed);
}
