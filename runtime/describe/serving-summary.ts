/** Summary of a bundle's workers, which `serve` prints once it is ready. */
import type { Bundle } from "../bundle/schema.ts";
import { counted } from "./text.ts";

export interface ServingSummary {
  /** Number and kind of workers: "4 workers". */
  readonly workers: string;
  /** Text after the device, its separator included. */
  readonly more: string;
  /** Further fields of the method. */
  readonly json: object;
}

export function pooledWorkers({ cluster }: Pick<Bundle, "cluster">): number {
  return cluster.pools.reduce((sum, { workers }) => sum + workers, 0);
}

/**
 * @param stages stages that a server begins with, each as data and text; left out for methods
 * without stages.
 */
export function servingSummary(workers: number, stages?: FirstStages): ServingSummary {
  const of = counted(workers, "worker");
  if (stages === undefined) return { workers: of, more: "", json: {} };
  const more = stages.texts.map((text) => `\n${text}`).join("");
  return { workers: of, more, json: { stages: stages.stages } };
}

/** Stages that a server begins with: those of the highest level. */
export interface FirstStages {
  readonly stages: readonly object[];
  readonly texts: readonly string[];
}
