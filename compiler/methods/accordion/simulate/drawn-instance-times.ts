/** Draws stage times from measured distributions, and moves instances through the stages. */
import type {
  AccordionBundle,
  LayerPipeline,
  MalleableVariant,
} from "stratagem-runtime/internal/bundle/schema";
import { assert } from "stratagem-runtime/internal/core/assert";
import { quantileAt, quantileKnots } from "stratagem-runtime/internal/core/quantile-distribution";
import type { Rng } from "stratagem-runtime/internal/core/rng";
import { InputError } from "../../../spec/document/input-error.ts";
import type { InstanceTimes } from "./instance-times.ts";

/** Returns whether the times of every stage can be drawn. */
export function haveStageSpreads({ tasks }: Pick<AccordionBundle, "tasks">): boolean {
  return tasks.every(({ variants }) => variants.every((variant) => hasSpreads(variant)));
}

/** State of one run; times from its start, ms. */
interface Lane {
  /** Per stage, in the form of `quantileKnots`. */
  knots: readonly Float64Array[];
  /** Per stage: when it finished the last instance, and when it began that and the one before. */
  readonly doneMs: Float64Array;
  readonly beganMs: Float64Array;
  readonly beganBeforeMs: Float64Array;
}

/**
 * Moves instances through the stages of their pipeline as in service: each stage runs one at a
 * time, in order, and waits while two finished instances wait for the next stage.
 */
export class DrawnInstanceTimes implements InstanceTimes {
  /** Indexed by model, shape and stage; empty if there is no pipeline. */
  readonly #knots: readonly (readonly (readonly Float64Array[])[])[];
  readonly #maxDepth: number;
  readonly #rng: Rng;
  readonly #lanes = new Map<number, Lane>();
  readonly #free: Lane[] = [];

  /** @throws InputError INPUT_CONFLICT if a model has a pipeline without quantiles. */
  constructor({ tasks, policy }: Pick<AccordionBundle, "tasks" | "policy">, rng: Rng) {
    this.#maxDepth = policy.maxDepth;
    this.#rng = rng;
    this.#knots = tasks.flatMap(({ name, variants }) =>
      variants.map((variant) => {
        if (!hasSpreads(variant)) throw noSpreads(name, variant.name);
        return variant.pipelines.map(knotsOf);
      }),
    );
  }

  begin(slot: number, model: number, shape: number): void {
    const lane = this.#lanes.get(slot) ?? this.#free.pop() ?? this.#newLane();
    lane.knots = this.#knots[model]?.[shape] ?? [];
    lane.doneMs.fill(0);
    lane.beganMs.fill(0);
    lane.beganBeforeMs.fill(0);
    this.#lanes.set(slot, lane);
  }

  doneMs(slot: number): number {
    const lane = this.#lanes.get(slot);
    assert(lane !== undefined, "a run has begun");
    const { knots, doneMs, beganMs, beganBeforeMs } = lane;
    let readyMs = 0;
    for (let stage = 0; stage < knots.length; stage++) {
      const ofStage = knots[stage] ?? NO_KNOTS;
      // The next stage still has the start of the last instance but one here.
      const roomMs = stage + 1 < knots.length ? (beganBeforeMs[stage + 1] ?? 0) : 0;
      const beginsMs = Math.max(readyMs, doneMs[stage] ?? 0, roomMs);
      beganBeforeMs[stage] = beganMs[stage] ?? 0;
      beganMs[stage] = beginsMs;
      readyMs = beginsMs + quantileAt(ofStage, 0, this.#rng.nextFloat());
      doneMs[stage] = readyMs;
    }
    return readyMs;
  }

  end(slot: number): void {
    const lane = this.#lanes.get(slot);
    if (lane === undefined) return;
    this.#lanes.delete(slot);
    this.#free.push(lane);
  }

  #newLane(): Lane {
    const ofStages = () => new Float64Array(this.#maxDepth);
    return { knots: [], doneMs: ofStages(), beganMs: ofStages(), beganBeforeMs: ofStages() };
  }
}

const NO_KNOTS = new Float64Array(0);

function hasSpreads({ pipelines }: Pick<MalleableVariant, "pipelines">): boolean {
  return pipelines.every((pipeline) => pipeline === null || pipeline.stageSpreads !== undefined);
}

function knotsOf(pipeline: LayerPipeline | null): Float64Array[] {
  return (pipeline?.stageSpreads ?? []).map(({ p50, p95, p99, mean }) => {
    return quantileKnots(p50, p95, p99, mean);
  });
}

function noSpreads(task: string, variant: string): InputError {
  return new InputError(
    "INPUT_CONFLICT",
    `tasks/${task}/${variant}: sampled service times need p50, p95, p99 and mean of measured ` +
      "stages or of the whole model, and rows of serving in the profile, and this bundle was " +
      "compiled from one without; simulate with p95 service times",
  );
}
