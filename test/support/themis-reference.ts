import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { ScalingProblem } from "stratagem/internal/methods/themis/solve/problem";

/** Folder of the reference data; tests that need it are skipped without. */
export const REFERENCE = process.env["STRATAGEM_REFERENCE"];

export interface ReferenceAnswer {
  readonly cost: number;
  readonly latencyMs: number;
}

export interface ReferenceCase {
  readonly pipeline: string;
  readonly cfg: string;
  readonly lam: number;
  readonly mode: "horizontal" | "vertical";
  readonly n0: readonly number[] | null;
  readonly sloMs: number;
  readonly bMax: number;
  readonly cMax: number;
  readonly exact_real: ReferenceAnswer | null;
  readonly exact_joint_real: ReferenceAnswer | null;
}

/** l(b, c) = gamma b / c + epsilon / c + delta b + eta, ms. */
export interface Coefficients {
  readonly gamma: number;
  readonly epsilon: number;
  readonly delta: number;
  readonly eta: number;
}

interface Inputs {
  readonly pipelines: Readonly<
    Record<string, { readonly sloMs: number; readonly stages: readonly Coefficients[] }>
  >;
}

export function readThemis<T>(file: string): T {
  return JSON.parse(readFileSync(join(String(REFERENCE), "themis", file), "utf8")) as T;
}

/** A chain with the fitted latencies of the reference, and its own SLO unless another is named. */
export function fittedChain(
  pipeline: string,
  maxBatch: number,
  maxCores: number,
  ownSloMs?: number,
): Omit<ScalingProblem, "loadQps"> {
  const found = readThemis<Inputs>("inputs.json").pipelines[pipeline];
  if (found === undefined) throw new RangeError(`no pipeline ${pipeline}`);
  return chainOf(found.stages, maxBatch, maxCores, ownSloMs ?? found.sloMs);
}

export function chainOf(
  coefficients: readonly Coefficients[],
  maxBatch: number,
  maxCores: number,
  sloMs: number,
): Omit<ScalingProblem, "loadQps"> {
  return {
    sloMs,
    hopMs: 0,
    stages: coefficients.map((own, at) => ({
      parents: at === 0 ? [] : [at - 1],
      scale: 1,
      maxBatch,
      maxCores,
      latencyMs: fittedTable(own, maxBatch, maxCores),
    })),
  };
}

function fittedTable(
  { gamma, epsilon, delta, eta }: Coefficients,
  maxBatch: number,
  maxCores: number,
): Float64Array {
  return Float64Array.from({ length: maxBatch * maxCores }, (_, at) => {
    const batch = 1 + (at % maxBatch);
    const cores = 1 + Math.floor(at / maxBatch);
    return (gamma * batch) / cores + epsilon / cores + delta * batch + eta;
  });
}
