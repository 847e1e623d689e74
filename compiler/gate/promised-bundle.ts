/** A bundle as gates see it: what each of its levels promises, and what they are promises of. */

import type { Bundle, Level, Slo } from "stratagem-runtime/internal/bundle/schema";
import { pacePromisesOf } from "stratagem-runtime/internal/describe/pace-promises";
import type { LevelPromises, NamedFigures } from "../methods/level-promises.ts";
import { methodOf } from "../methods/registry.ts";
import type { LevelFigure } from "../spec/schema/promise-figures.ts";

export interface PromisedBundle {
  readonly application: string;
  readonly method: string;
  /** Of its file. */
  readonly byteCount: number;
  readonly slo: Slo;
  /** Ascending in load, at least one. */
  readonly levels: readonly PromisedLevel[];
}

export interface PromisedLevel extends LevelPromises {
  /** On slower machines, named by their pace; left out where nothing is stated. */
  readonly paces?: readonly NamedFigures[];
  /** Figures that it does not state, and that a simulation gave; left out for none. */
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
    return { name: String(pace), figures: { violations, accuracyPerQuery, p50, p99 } };
  });
  const figures = { ...promises.figures, ...(headroom !== undefined && { headroom }) };
  return { ...promises, figures, ...(paces.length > 0 && { paces }) };
}

/** The class, bucket or pace whose figures are meant. */
export interface Part {
  readonly kind: "class" | "bucket" | "pace";
  readonly name: string;
}

export function partText(part: Part | null): string {
  if (part === null) return "";
  return part.kind === "pace" ? ` at pace ${part.name}` : ` of ${part.kind} ${part.name}`;
}

/** The latency that queries may take. @param part null for all queries. */
export function sloMsOf({ slo }: Pick<PromisedBundle, "slo">, part: Part | null): number {
  const own = part?.kind === "class" ? slo.classes?.find(({ name }) => name === part.name) : null;
  return own?.latencyMs ?? slo.latencyMs;
}
