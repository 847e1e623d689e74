/** Rounds of an interrupted `profile`, kept beside its output until that is written. */
import { readRegularFile } from "stratagem-runtime/internal/regular-file";
import * as z from "zod";
import { writeAtomically } from "../atomic-write.ts";
import { type Cell, cellCountOf } from "./measure.ts";
import type { ProfilePlan } from "./profile-plan.ts";

/** Far above what rounds of the largest plan take. */
const MAX_BYTES = 256 * 2 ** 20;
const FORMAT = "latency-profile-partial/2";

const runs = z.array(z.number().nonnegative());
const schema = z.object({
  format: z.literal(FORMAT),
  planSha256: z.string(),
  cells: z.array(
    z.object({
      variant: z.string(),
      batch: z.number(),
      cores: z.number(),
      wallMs: runs,
      workerMs: runs,
      cpuMs: runs,
    }),
  ),
});

export function partialPath(out: string): string {
  return `${out}.partial`;
}

/** @param cells with the same number of runs each. */
export async function writePartial(
  out: string,
  { sha256 }: ProfilePlan,
  cells: readonly Cell[],
): Promise<void> {
  const kept = cells.map(({ variant, batch, cores, wallMs, workerMs, cpuMs }) => {
    return { variant, batch, cores, wallMs, workerMs, cpuMs };
  });
  const content = { format: FORMAT, planSha256: sha256, cells: kept };
  await writeAtomically(partialPath(out), Buffer.from(JSON.stringify(content)));
}

/**
 * What an earlier run of the same plan has measured; null when there is none that can be read, or
 * it is of another plan, machine or version.
 */
export async function readPartial(out: string, plan: ProfilePlan): Promise<Cell[] | null> {
  const file = await readRegularFile(partialPath(out), MAX_BYTES).catch(() => null);
  const isUsable = file !== null && !file.isTooLarge;
  const parsed = isUsable ? schema.safeParse(parseJson(file.bytes.toString())) : null;
  if (!parsed?.success || parsed.data.planSha256 !== plan.sha256) return null;
  const { cells } = parsed.data;
  const counts = cells.flatMap(({ wallMs, workerMs, cpuMs }) => [
    wallMs.length,
    workerMs.length,
    cpuMs.length,
  ]);
  const isWhole =
    cells.length === cellCountOf(plan) &&
    counts.every((count) => count === counts[0] && count <= plan.repeat);
  return isWhole ? cells : null;
}

/** The file is a cache that only this module writes, so damage means to begin anew. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
