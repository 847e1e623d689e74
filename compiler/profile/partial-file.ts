/** What an unfinished `profile` has measured, kept beside its output until that is written. */
import { readRegularFile } from "stratagem-runtime/internal/base/regular-file";
import * as z from "zod";
import { writeAtomically } from "../base/atomic-write.ts";
import { type Cell, plannedCells } from "./measure.ts";
import type { ProfilePlan } from "./profile-plan.ts";

/** Far above what rounds of the largest plan take. */
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

/** What is kept of a plan. */
export interface KeptRuns {
  /** Of the whole plan, in its order. */
  readonly cells: readonly Cell[];
  /** What measuring took of a budget. */
  readonly spentMs: number;
  /** Whether all was measured, and the machine found too noisy. */
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
 * What an earlier run of the same plan has measured; null when there is none that can be read, or
 * it is of another plan, machine or version.
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

/** The cells with as many runs each as the one with the fewest. */
export function evenCells(cells: readonly Cell[]): Cell[] {
  const count = Math.min(...cells.map(({ wallMs }) => wallMs.length));
  return cells.map(({ wallMs, workerMs, cpuMs, ...cell }) => ({
    ...cell,
    wallMs: wallMs.slice(0, count),
    workerMs: workerMs.slice(0, count),
    cpuMs: cpuMs.slice(0, count),
  }));
}

/** The file is a cache that only this module writes, so damage means to begin anew. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
