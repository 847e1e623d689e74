/** What `serve` says of the workers of a bundle once it is ready. */
import type { Bundle } from "../bundle/schema.ts";
import { counted } from "./text.ts";

export interface ServingTold {
  /** How many, and what they are: "4 workers". */
  readonly workers: string;
  /** What follows the device, its separator included. */
  readonly more: string;
  /** Fields of the method's own. */
  readonly json: object;
}

/** Those of all pools. */
export function pooledWorkers({ cluster }: Pick<Bundle, "cluster">): number {
  return cluster.pools.reduce((sum, { workers }) => sum + workers, 0);
}

/**
 * @param stages those that a server begins with, and each in words; without them nothing is said
 * of stages.
 */
export function servingTold(workers: number, stages?: FirstStages): ServingTold {
  const of = counted(workers, "worker");
  if (stages === undefined) return { workers: of, more: "", json: {} };
  const more = stages.texts.map((text) => `\n${text}`).join("");
  return { workers: of, more, json: { stages: stages.stages } };
}

/** The stages that a server begins with: those of the highest level. */
export interface FirstStages {
  readonly stages: readonly object[];
  readonly texts: readonly string[];
}
