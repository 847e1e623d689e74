/** Small problems with classes for the solver. */
import { ramsis } from "../../compiler/methods/ramsis/solve/ramsis.ts";
import type { RamsisFrame } from "../../compiler/model/frames.ts";
import type { Application, Policy, Slo } from "../../compiler/spec/application.ts";
import { ofMethod } from "./of-method.ts";

export interface ClassFrameOptions {
  readonly workers: number;
  readonly slo: Pick<Slo, "classes" | "latencyMs">;
  readonly maxViolationRate?: number | null;
  readonly arrivals?: Application["arrivals"];
  readonly loadsQps?: readonly number[];
  /** Of the fast, the middle and the slow variant. */
  readonly accuracies?: readonly [number, number, number];
  readonly how?: "auto" | "shared" | "separate";
}

/**
 * Three variants whose times and accuracies are those of image classifiers on a slow machine, ms
 * for batches of 1, 2, 4 and 8.
 */
const VARIANTS = [
  { name: "fast", rows: [8, 13, 22, 41] },
  { name: "middle", rows: [20, 33, 58, 108] },
  { name: "slow", rows: [70, 120, 220, 420] },
] as const;

/** The application of a small RAMSIS problem with classes, and its frame. */
export function classApplication(options: ClassFrameOptions): Application {
  const { workers, slo, how, loadsQps = [200], accuracies = [0.58, 0.7, 0.8] } = options;
  const { maxViolationRate = null, arrivals = { process: "poisson" } } = options;
  const policy: Policy = {
    method: "ramsis",
    objective: "per-query",
    discretization: { kind: "fixed", steps: 50 },
    batching: "variable",
    maxQueue: 8,
    extrapolate: false,
    balancer: "pooled",
    serviceTimes: "p95",
    drop: false,
    lateWithinSlos: 4,
    classes: how,
  };
  return {
    name: "classes",
    slo: { ...slo, maxViolationRate, percentile: 99 },
    arrivals,
    loads: { kind: "list", qps: loadsQps },
    cluster: {
      communicationLatencyMs: 0,
      pools: [{ name: "default", hardware: null, workers, cores: null, pricePerHour: null }],
    },
    tasks: [
      {
        name: "classify",
        passThrough: false,
        variants: VARIANTS.map(({ name, rows }, index) =>
          variantOf(name, accuracies[index] ?? 0, rows),
        ),
        to: [],
        branch: "independent",
      },
    ],
    policy,
  };
}

export function classFrameOf(options: ClassFrameOptions): RamsisFrame {
  return ramsis.frame(ofMethod("ramsis", classApplication(options)), new Map());
}

function variantOf(
  name: string,
  accuracy: number,
  latencies: readonly number[],
): Application["tasks"][number]["variants"][number] {
  const profile = {
    file: "classes.json",
    variant: name,
    sha256: "0".repeat(64),
    hardware: "none",
    task: null,
    percentile: 95,
    rows: latencies.map((latencyMs, index) => ({ batch: 2 ** index, latencyMs, quantiles: null })),
    fit: null,
    byCores: null,
    layers: null,
    speedups: null,
  };
  return { name, accuracy, profile, profiles: [profile], model: null, fanout: null };
}
