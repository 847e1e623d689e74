/** What becomes of traffic under a plan and a tuner. */
import { CoarseTuner } from "stratagem/internal/methods/inferline/simulate/coarse-tuner";
import {
  type InferlineSimulationResult,
  simulateInferline,
} from "stratagem/internal/methods/inferline/simulate/simulate";
import { type RequestTrace, tossVisits } from "stratagem/internal/simulate/graph/visits";
import type { InferlineBundle } from "stratagem-runtime/internal/bundle/schema";
import { taskGraphOf } from "stratagem-runtime/internal/core/graph/task-graph";
import { mean, percent } from "../harness/numbers.ts";
import type { Page } from "../harness/page.ts";
import { planCost } from "./planner.ts";
import { gammaArrivals, lengthOf, type Piece } from "./traffic.ts";

type Tuner = "joint" | "relative" | "paper" | "coarse" | "none";

export interface Traffic {
  readonly trace: RequestTrace;
  readonly durationMs: number;
}

interface ServeOptions {
  readonly tuner: Tuner;
  readonly tolerance?: number;
  readonly seed: number;
}

export function serve(
  bundle: InferlineBundle,
  { trace, durationMs }: Traffic,
  { tuner, tolerance = 0, seed }: ServeOptions,
): InferlineSimulationResult {
  const isCoarse = tuner === "coarse";
  const policy = { ...bundle.policy, tuner: isCoarse ? "none" : tuner, tolerance };
  const served = { ...bundle, policy };
  return simulateInferline(served, {
    arrivals: { kind: "requests", trace },
    durationMs,
    seed,
    serviceTimes: "p95",
    timeline: true,
    level: 0,
    ...(isCoarse ? { tuner: new CoarseTuner(served, 0) } : {}),
  });
}

/** Drawn traffic, and which way each of its requests goes. */
export function drawn(bundle: InferlineBundle, pieces: readonly Piece[], seed: number): Traffic {
  return withVisits(bundle, gammaArrivals(pieces, seed), lengthOf(pieces), seed);
}

function withVisits(
  bundle: InferlineBundle,
  arrivalMs: Float64Array,
  durationMs: number,
  seed: number,
): Traffic {
  const takenByEdge = tossVisits(taskGraphOf(bundle), arrivalMs.length, seed);
  return { trace: { arrivalMs, takenByEdge }, durationMs };
}

/** A name, a plan and how it is tuned; a plan that there is not is left out. */
export type StageMethod = readonly [
  name: string,
  bundle: InferlineBundle | null,
  tuner: Tuner,
  tolerance?: number,
];

/** Several methods on the same arrivals, run after run. */
export class Outcomes {
  readonly #runs = new Map<string, (InferlineSimulationResult & { planned: number })[]>();

  serve(methods: readonly StageMethod[], live: Float64Array, durationMs: number, seed: number) {
    for (const [name, bundle, tuner, tolerance = 0] of methods) {
      if (bundle === null) continue;
      const requests = withVisits(bundle, live, durationMs, seed);
      const outcome = serve(bundle, requests, { tuner, tolerance, seed });
      const known = this.#runs.get(name) ?? [];
      this.#runs.set(name, [...known, { ...outcome, planned: planCost(bundle) }]);
    }
  }

  /** @param jumps seconds at which the rate leaps, if that is to be told. */
  tell(page: Page, title: string, jumps?: readonly number[]): void {
    const rows = [...this.#runs].map(([name, runs]) => {
      const over = (of: (run: (typeof runs)[number]) => number) => mean(runs.map(of));
      const misses = runs.map(({ violationRate }) => violationRate);
      return [
        name,
        over((run) => run.planned).toFixed(2),
        over(({ costPerHour }) => costPerHour ?? Number.NaN).toFixed(2),
        over(mostCost).toFixed(2),
        percent(mean(misses)),
        percent(Math.max(...misses)),
        ...(jumps === undefined ? [] : [percent(over((run) => missesAfter(jumps, run)))]),
        over(badSeconds).toFixed(0),
        over(({ scaling }) => scaling.up).toFixed(0),
        over(({ scaling }) => scaling.down).toFixed(0),
      ];
    });
    page.say(`\n${title}`);
    const beyond = jumps === undefined ? [] : ["beyond 10 s of a jump"];
    const misses = ["misses", "worst", ...beyond, "s over 1 %"];
    const costs = ["plan $/h", "mean $/h", "most $/h"];
    page.table(["", ...costs, ...misses, "started", "stopped"], rows);
  }
}

function mostCost({ timeline }: InferlineSimulationResult): number {
  return Math.max(...(timeline ?? []).map(({ costPerHour }) => costPerHour ?? 0));
}

function badSeconds({ timeline }: InferlineSimulationResult): number {
  return (timeline ?? []).filter(({ requests, violations }) => violations > 0.01 * requests).length;
}

/** Ratio of all requests that came more than 10 s after a jump and were late. */
function missesAfter(jumps: readonly number[], run: InferlineSimulationResult): number {
  const misses = (run.timeline ?? []).reduce((sum, { violations }, second) => {
    const isJump = jumps.some((jump) => second >= jump && second < jump + 10);
    return isJump ? sum : sum + violations;
  }, 0);
  return misses / run.queries;
}
