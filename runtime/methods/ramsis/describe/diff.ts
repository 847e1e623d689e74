/**
 * Compares levels of tables state by state, in variants and batches instead of the indices of
 * actions.
 */
import type { RamsisBundle, RamsisLevel } from "../../../bundle/schema.ts";
import { GIVE_UP, PolicyTable, WAIT } from "../../../core/policy-table.ts";
import {
  type Decision,
  type DiffLevel,
  diffFields,
  type LevelDiff,
  type Pair,
  type StateDiff,
} from "../../../describe/level-diff.ts";
import { decidingTable } from "./class-level-view.ts";

const MAX_EXAMPLES = 3;

export function tableDiffer(before: RamsisBundle, after: RamsisBundle): DiffLevel {
  const policies = { before: policyOf(before), after: policyOf(after) };
  return (loadQps, index) => diffTables(loadQps, policies, index);
}

interface Policy {
  readonly bundle: RamsisBundle;
  readonly table: PolicyTable;
  readonly variantNames: readonly string[];
}

function policyOf(bundle: RamsisBundle): Policy {
  const variantNames = bundle.tasks.flatMap(({ variants }) => variants.map(({ name }) => name));
  return { bundle, table: PolicyTable.fromBundle(bundle), variantNames };
}

/** @param index index of the level in each bundle. */
function diffTables(
  loadQps: number,
  { before, after }: Pair<Policy>,
  index: Pair<number>,
): LevelDiff | null {
  const levelBefore = before.bundle.levels[index.before];
  const levelAfter = after.bundle.levels[index.after];
  if (levelBefore === undefined || levelAfter === undefined) return null;
  const fields = diffFields(
    scalarsOf(before.bundle, levelBefore),
    scalarsOf(after.bundle, levelAfter),
  );
  // The bundle's own table is that of the last bucket, if it has buckets.
  const isDivided = [before, after].every(({ bundle }) => bundle.buckets !== undefined);
  const tables = [
    ...(isDivided ? [] : [diffStates(before, after, index)]),
    ...sharedKinds(before.bundle, after.bundle, index).map(({ named, was, is }) => {
      const states = diffStates(policyOf(was.bundle), policyOf(is.bundle), {
        before: was.level,
        after: is.level,
      });
      return { ...states, examples: states.examples.map((one) => ({ ...one, ...named })) };
    }),
  ];
  const changedStates = tables.reduce((sum, table) => sum + table.changedStates, 0);
  if (fields.length === 0 && changedStates === 0) return null;
  const states = tables.reduce((sum, table) => sum + table.states, 0);
  const examples = tables.flatMap((table) => table.examples).slice(0, MAX_EXAMPLES);
  return { loadQps, change: "changed", fields, changedStates, states, examples };
}

/** Compares one table of a level in both bundles. */
function diffStates(
  before: Policy,
  after: Policy,
  index: Pair<number>,
): Pick<LevelDiff, "changedStates" | "states" | "examples"> {
  const examples: StateDiff[] = [];
  let changedStates = 0;
  const slacks = before.bundle.decisionSpace.slackMs.data;
  const lengths = before.table.rowQueries;
  for (const queued of lengths) {
    for (const slackMs of slacks) {
      const was = decisionOf(before, index.before, queued, slackMs);
      const is = decisionOf(after, index.after, queued, slackMs);
      if (was.variant === is.variant && was.batch === is.batch) continue;
      changedStates++;
      if (examples.length < MAX_EXAMPLES) {
        examples.push({ queued, slackMs, before: was, after: is });
      }
    }
  }
  return { changedStates, states: lengths.length * slacks.length, examples };
}

/** Returns the classes, or buckets, with a table of their own at the level in both bundles. */
function sharedKinds(before: RamsisBundle, after: RamsisBundle, index: Pair<number>) {
  const isPadded = after.buckets !== undefined;
  const kindsOf = ({ slo, buckets }: RamsisBundle) => (isPadded ? buckets : slo.classes) ?? [];
  const names = kindsOf(after).map(({ name }) => name);
  return kindsOf(before).flatMap(({ name }) => {
    if (!names.includes(name)) return [];
    const named = isPadded ? { bucket: name } : { sloClass: name };
    const was = decidingTable(before, index.before, named);
    const is = decidingTable(after, index.after, named);
    const isOwn = [was, is].every((one) => (one.bucket ?? one.sloClass) !== undefined);
    return isOwn ? [{ named, was, is }] : [];
  });
}

/**
 * Returns a level without its tables, which are compared state by state; for classes the workers.
 */
function scalarsOf(bundle: RamsisBundle, { actionByState: _, ...level }: RamsisLevel): object {
  const { classTables, bucketTables: _tables, ...scalars } = level;
  if (classTables === undefined) return scalars;
  const classes = classTables.map(({ workers }, index) => {
    return { name: bundle.slo.classes?.[index]?.name, workers };
  });
  return { ...scalars, classTables: classes };
}

function decisionOf(
  { table, variantNames }: Policy,
  level: number,
  queued: number,
  slackMs: number,
): Decision {
  const action = table.lookup(level, queued, slackMs);
  if (action === WAIT) return { variant: "wait", batch: 0 };
  if (action === GIVE_UP) return { variant: "give up", batch: 0 };
  return { variant: variantNames[table.variant(action)] ?? "", batch: table.batch(action) };
}
