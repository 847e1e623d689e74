/** Small problems with buckets for the solver. */
import { ramsis } from "../../compiler/methods/ramsis/solve/ramsis.ts";
import type { RamsisFrame } from "../../compiler/model/frames.ts";
import type { Application, ProfileRow, RamsisPolicy } from "../../compiler/spec/application.ts";

/** What two variants take of a row of width 1, ms, and their accuracies. */
const VARIANTS = [
  { name: "quick", baseMs: 1, accuracy: 0.6 },
  { name: "good", baseMs: 3, accuracy: 0.8 },
] as const;
const BATCHES = [1, 2, 4];

export interface BucketFrameOptions {
  /** None for a task without buckets, all of whose rows are of the largest size. */
  readonly sizes: readonly number[];
  readonly shares?: readonly number[];
  readonly workers?: number;
  readonly loadsQps?: readonly number[];
  readonly balancer?: RamsisPolicy["balancer"];
  readonly maxViolationRate?: number | null;
}

const LARGEST = 4;

export function bucketApplication(options: BucketFrameOptions): Application<RamsisPolicy> {
  const { sizes, shares, workers = 2, loadsQps = [100], balancer = "pooled" } = options;
  const rowsOf = (baseMs: number, size: number): ProfileRow[] =>
    BATCHES.map((batch) => {
      return { batch, latencyMs: baseMs * (1 + size * batch), quantiles: null };
    });
  return {
    name: "sizes",
    slo: { latencyMs: 100, maxViolationRate: options.maxViolationRate ?? 0.01, percentile: 99 },
    arrivals: { process: "poisson" },
    loads: { kind: "list", qps: loadsQps },
    cluster: {
      communicationLatencyMs: 0,
      pools: [{ name: "default", hardware: null, workers, cores: null, pricePerHour: null }],
    },
    tasks: [
      {
        name: "read",
        passThrough: false,
        variants: VARIANTS.map(({ name, baseMs, accuracy }) => {
          const buckets = sizes.map((size) => {
            return { name: String(size), sizes: [size], rows: rowsOf(baseMs, size) };
          });
          const profile = {
            file: "p.json",
            variant: name,
            sha256: "0".repeat(64),
            hardware: "cpu",
            task: null,
            percentile: null,
            rows: rowsOf(baseMs, sizes.at(-1) ?? LARGEST),
            ...(sizes.length === 0 ? {} : { buckets }),
            fit: null,
            byCores: null,
            layers: null,
            speedups: null,
          };
          return { name, accuracy, profile, profiles: [profile], model: null, fanout: null };
        }),
        to: [],
        branch: "independent",
        ...(shares === undefined ? {} : { bucketShares: shares }),
      },
    ],
    policy: {
      method: "ramsis",
      objective: "per-query",
      discretization: { kind: "fixed", steps: 20 },
      batching: "variable",
      maxQueue: 4,
      extrapolate: false,
      balancer,
      serviceTimes: "p95",
      drop: false,
      lateWithinSlos: 4,
    },
  };
}

export function bucketFrame(options: BucketFrameOptions): RamsisFrame {
  return ramsis.frame(bucketApplication(options), new Map());
}
