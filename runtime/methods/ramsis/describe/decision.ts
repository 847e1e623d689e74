/** Decision of a level in a state, for programs. */

import { RuntimeError } from "../../../base/errors.ts";
import type { RamsisBundle } from "../../../bundle/schema.ts";
import { PolicyTable } from "../../../core/policy-table.ts";
import type { AskedState } from "../../../describe/asked-state.ts";
import { type AskedKind, type DecidingTable, decidingTable } from "./class-level-view.ts";
import { type Decision, decisionIn } from "./state-view.ts";

interface QueueState extends AskedState {
  /** Number of waiting queries, at least one. */
  readonly queued: number;
  /** Time to the earliest deadline; negative once it has passed. */
  readonly slackMs: number;
  /** Name of the class whose table decides, with classes; left out for the first. */
  readonly sloClass?: string;
  /** Sizes of the bucket, with buckets; left out for the largest. */
  readonly bucket?: string;
}

export interface OpenTable extends DecidingTable {
  readonly table: PolicyTable;
}

/** Opened tables, by level and class. */
const openTables = new WeakMap<RamsisBundle, Map<string, OpenTable>>();

/** @throws RuntimeError RUNTIME_USAGE for an impossible state. */
export function tableDecision(bundle: RamsisBundle, level: number, state: QueueState): Decision {
  const { queued, slackMs, sloClass, bucket } = state ?? {};
  if (!Number.isInteger(queued) || queued < 1) refuse("queued", "a whole number from 1", queued);
  if (!Number.isFinite(slackMs)) refuse("slackMs", "a number of milliseconds", slackMs);
  const { table, ...deciding } = openTable(bundle, level, { sloClass, bucket });
  return decisionIn(deciding.bundle, table, deciding.level, queued, slackMs);
}

/**
 * Returns the table that decides for a class or bucket, opened once. @throws as `decidingTable`.
 */
export function openTable(bundle: RamsisBundle, level: number, asked: AskedKind): OpenTable {
  const tables = openTables.get(bundle) ?? new Map<string, OpenTable>();
  openTables.set(bundle, tables);
  const key = `${level} ${asked.sloClass ?? ""} ${asked.bucket ?? ""}`;
  let open = tables.get(key);
  if (open === undefined) {
    const deciding = decidingTable(bundle, level, asked);
    open = { ...deciding, table: PolicyTable.fromBundle(deciding.bundle) };
    tables.set(key, open);
  }
  return open;
}

function refuse(field: string, allowed: string, found: unknown): never {
  throw new RuntimeError("RUNTIME_USAGE", `state.${field}: expected ${allowed}, got ${found}`);
}
