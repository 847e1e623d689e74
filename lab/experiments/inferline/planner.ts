/** Plans of the authors' pipelines, compiled once each, and coarse-grained ones beside them. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { coarsePlan } from "stratagem/internal/methods/inferline/solve/baselines/coarse-plan";
import { SampleTraces } from "stratagem/internal/methods/inferline/solve/sample-traces";
import type { RequestTrace } from "stratagem/internal/simulate/graph/visits";
import type { InferlineBundle, InferlineLevel } from "stratagem-runtime/internal/bundle/schema";
import { compiled } from "../harness/cli.ts";
import { present } from "../harness/numbers.ts";
import { type PipelineName, writePipeline } from "./reference-pipelines.ts";

const SAMPLE_MS = 120_000;

/** Policies of specs. */
export const AUTO = { margin: "auto" };
export const GREEDY = { refine: "none" };

export interface PlanSpec {
  readonly pipeline: PipelineName;
  readonly sloMs: number;
  readonly policy?: object;
  /** What plans are made with. */
  readonly traffic: DrawnTraffic | RecordedTraffic;
}

interface DrawnTraffic {
  readonly cv2: number;
  readonly loads: readonly number[];
}

/** Arrivals of `sampleMs`, which are the sample as they are. */
interface RecordedTraffic {
  readonly recorded: Float64Array;
  readonly sampleMs: number;
}

/** Plans in one folder. */
export class Planner {
  readonly #folder: string;
  readonly #known = new Map<string, InferlineBundle>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** The bundle of a spec. */
  async planned({ pipeline, sloMs, traffic, policy = {} }: PlanSpec): Promise<InferlineBundle> {
    const sample =
      "recorded" in traffic ? [traffic.recorded.length, traffic.recorded[0]] : [traffic];
    const key = JSON.stringify([pipeline, sloMs, sample, policy]);
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const folder = join(this.#folder, String(this.#known.size));
    const isRecorded = "recorded" in traffic;
    const recorded = isRecorded ? recordedWorkload(traffic) : null;
    const spec = {
      sloMs,
      loads: recorded?.loads ?? (isRecorded ? [] : traffic.loads),
      arrivals: isRecorded
        ? { process: "trace", file: "sample.csv" }
        : { process: "gamma", cv2: traffic.cv2 },
      policy: {
        sampleDuration: `${isRecorded ? traffic.sampleMs : SAMPLE_MS} ms`,
        ...policy,
      },
    };
    const app = writePipeline(pipeline, spec, folder);
    if (recorded !== null) writeFileSync(join(folder, "sample.csv"), recorded.file);
    const { bundle } = await compiled("inferline", app);
    this.#known.set(key, bundle);
    return bundle;
  }
}

/** A trace file, and the load at which it is not sped up. */
function recordedWorkload({ recorded, sampleMs }: RecordedTraffic) {
  const firstMs = recorded[0] ?? 0;
  const times = Array.from(recorded, (ms) => ms - firstMs).filter((ms) => ms < sampleMs);
  const qps = (1000 * (times.length - 1)) / present(times.at(-1));
  return { file: ["arrivalMs", ...times].join("\n"), loads: [qps] };
}

/** A bundle of one of the levels. */
export function only(bundle: InferlineBundle, index: number): InferlineBundle {
  return { ...bundle, levels: [present(bundle.levels[index])] };
}

export function onlyLevel({ levels }: InferlineBundle): InferlineLevel {
  return present(levels[0]);
}

/** Of the plan of the only level. */
export function planCost(bundle: InferlineBundle): number {
  return onlyLevel(bundle).plan.costPerHour;
}

/**
 * The same with a coarse-grained plan for the sample of its only level; null where none fits the
 * cluster. @param recorded the sample where it was not drawn.
 */
export function coarse(
  bundle: InferlineBundle,
  sizing: "mean" | "peak",
  recorded?: Float64Array,
): InferlineBundle | null {
  const level = onlyLevel(bundle);
  const plan = coarsePlan(bundle, {
    arrivalMs: recorded ?? sampleTrace(bundle, level.loadQps).arrivalMs,
    durationMs: level.sample.durationMs,
    scaleFactors: level.plan.stages.map(({ scaleFactor }) => scaleFactor),
    sizing,
  });
  return plan === null ? null : { ...bundle, levels: [{ ...level, plan }] };
}

/** What a level was planned with. */
export function sampleTrace(bundle: InferlineBundle, loadQps: number): RequestTrace {
  return present(new SampleTraces({ ...bundle, recorded: null }, loadQps).samples(1)[0]);
}
