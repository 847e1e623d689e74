/** Reads results of `stratagem simulate --json`, to be shown with the policy. */
import { basename } from "node:path";
import * as z from "zod";
import { readDocument } from "../../../spec/document/document.ts";
import { amount, positiveNumber, ratio } from "../../../spec/document/fields.ts";
import { parseStructure } from "../../../spec/document/structure.ts";

/** The part of a result that the report uses. */
const resultSchema = z.object(
  {
    durationMs: positiveNumber(1e-3, 1e12),
    queries: amount(Number.MAX_SAFE_INTEGER),
    violationRate: ratio(),
    accuracyPerQuery: ratio().nullable(),
  },
  { error: () => "the document that stratagem simulate --json printed" },
);

export interface SimulationPoint {
  readonly label: string;
  /** Mean over the simulated time. */
  readonly loadQps: number;
  readonly accuracyPerQuery: number | null;
  readonly violationRate: number;
}

/** @throws InputError if the file cannot be read or holds no such result. */
export function readSimulation(path: string): SimulationPoint {
  const result = parseStructure(readDocument(path), resultSchema);
  const { durationMs, queries, accuracyPerQuery, violationRate } = result;
  const loadQps = (1000 * queries) / durationMs;
  return { label: basename(path), loadQps, accuracyPerQuery, violationRate };
}
