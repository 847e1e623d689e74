/** Bundle as gates see it: the promises of each level and their context. */

import type { Bundle, Level, Slo } from "stratagem-runtime/internal/bundle/schema";
import { pacePromisesOf } from "stratagem-runtime/internal/describe/pace-promises";
import type { LevelPromises, NamedFigures } from "../methods/level-promises.ts";
import { methodOf } from "../methods/registry.ts";
import type { LevelFigure } from "../spec/schema/promise-figures.ts";

export interface PromisedBundle {
  readonly application: string;
  readonly method: string;
  /** Size of the bundle's file. */
  readonly byteCount: number;
  readonly slo: Slo;
  /** Ascending in load, at least one. */
  readonly levels: readonly PromisedLevel[];
}

export interface PromisedLevel extends LevelPromises {
  /** Promises on slower machines, named by their pace; left out if there are no such promises. */
  readonly paces?: readonly NamedFigures[];
  /** Figures from a simulation instead of the level; left out if empty. */
  readonly simulated?: readonly LevelFigure[];
}

export async function promisedBundle(bundle: Bundle, byteCount: number): Promise<PromisedBundle> {
  const method = await methodOf(bundle);
  const { application, slo } = bundle;
  const levels: readonly Level[] = bundle.levels;
  return {
    application,
    method: bundle.method,
    byteCount,
    slo,
    levels: levels.map((level) => withPaces(method.promises(bundle, level), level)),
  };
}

function withPaces(promises: LevelPromises, level: Level): PromisedLevel {
  const { headroom, byPace = [] } = pacePromisesOf(level);
  const paces = byPace.map(({ pace, violationRate: violations, accuracyPerQuery, p50, p99 }) => {
    const named = { name: String(pace), figures: { violations, accuracyPerQuery, p50, p99 } };
    return { ...named, ...(promises.paceSample && { sample: promises.paceSample }) };
  });
  const figures = { ...promises.figures, ...(headroom !== undefined && { headroom }) };
  return { ...promises, figures, ...(paces.length > 0 && { paces }) };
}

/** Class, bucket or pace that figures belong to. */
export interface Part {
  readonly kind: "class" | "bucket" | "pace";
  readonly name: string;
}

export function partText(part: Part | null): string {
  if (part === null) return "";
  return part.kind === "pace" ? ` at pace ${part.name}` : ` of ${part.kind} ${part.name}`;
}

/** Returns the latency SLO of queries. @param part null for all queries. */
export function sloMsOf({ slo }: Pick<PromisedBundle, "slo">, part: Part | null): number {
  const own = part?.kind === "class" ? slo.classes?.find(({ name }) => name === part.name) : null;
  return own?.latencyMs ?? slo.latencyMs;
}
