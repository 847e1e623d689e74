/** Stores the measurements of an unfinished `profile` beside its output. */
import { readRegularFile } from "stratagem-runtime/internal/base/regular-file";
import * as z from "zod";
import { writeAtomically } from "../base/atomic-write.ts";
import { type Cell, plannedCells } from "./measure.ts";
import type { ProfilePlan } from "./profile-plan.ts";

/** Far above the size for the largest plan. */
const MAX_BYTES = 256 * 2 ** 20;
const FORMAT = "latency-profile-partial/3";

const runs = z.array(z.number().nonnegative());
const schema = z.object({
  format: z.literal(FORMAT),
  planSha256: z.string(),
  spentMs: z.number().nonnegative(),
  isRefused: z.boolean(),
  cells: z.array(
    z.object({
      variant: z.string(),
      batch: z.number(),
      cores: z.number(),
      bucket: z.number().optional(),
      wallMs: runs,
      workerMs: runs,
      cpuMs: runs,
    }),
  ),
});

/** Saved state of a plan. */
export interface KeptRuns {
  /** All cells of the plan, in order. */
  readonly cells: readonly Cell[];
  /** Time used of the budget. */
  readonly spentMs: number;
  /** True if the measurement was complete and the machine too noisy. */
  readonly isRefused: boolean;
}

export function partialPath(out: string): string {
  return `${out}.partial`;
}

export async function writePartial(
  out: string,
  { sha256 }: ProfilePlan,
  { cells, spentMs, isRefused }: KeptRuns,
): Promise<void> {
  const kept = cells.map(({ variant, batch, cores, bucket, wallMs, workerMs, cpuMs }) => {
    return { variant, batch, cores, bucket, wallMs, workerMs, cpuMs };
  });
  const content = { format: FORMAT, planSha256: sha256, spentMs, isRefused, cells: kept };
  await writeAtomically(partialPath(out), Buffer.from(JSON.stringify(content)));
}

/**
 * Reads the measurements of an earlier run of the same plan; null if there are no readable ones, or
 * they belong to another plan, machine or version.
 */
export async function readPartial(out: string, plan: ProfilePlan): Promise<KeptRuns | null> {
  const file = await readRegularFile(partialPath(out), MAX_BYTES).catch(() => null);
  const isUsable = file !== null && !file.isTooLarge;
  const parsed = isUsable ? schema.safeParse(parseJson(file.bytes.toString())) : null;
  if (!parsed?.success || parsed.data.planSha256 !== plan.sha256) return null;
  const { cells, spentMs, isRefused } = parsed.data;
  const isWhole =
    cells.length === plannedCells(plan).length &&
    cells.every(({ wallMs, workerMs, cpuMs }) => {
      return wallMs.length === workerMs.length && wallMs.length === cpuMs.length;
    });
  const known = cells.map(({ bucket, ...cell }) => ({
    ...cell,
    ...(bucket === undefined ? {} : { bucket }),
  }));
  return isWhole ? { cells: known, spentMs, isRefused } : null;
}

/** Truncates all cells to the number of runs of the shortest. */
export function evenCells(cells: readonly Cell[]): Cell[] {
  const count = Math.min(...cells.map(({ wallMs }) => wallMs.length));
  return cells.map(({ wallMs, workerMs, cpuMs, ...cell }) => ({
    ...cell,
    wallMs: wallMs.slice(0, count),
    workerMs: workerMs.slice(0, count),
    cpuMs: cpuMs.slice(0, count),
  }));
}

/** The file is a cache that only this module writes; a damaged one is ignored. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
