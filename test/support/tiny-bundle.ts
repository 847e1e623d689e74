import type {
  RamsisBundle,
  RamsisLevel,
  Table,
  Variant,
} from "stratagem-runtime/internal/bundle/schema";

export interface TinyVariant {
  readonly name: string;
  readonly accuracy: number;
  readonly latencyMs: (batch: number) => number;
}

export interface TinyBundleOptions {
  readonly workers?: number;
  readonly sloMs?: number;
  readonly maxQueue?: number;
  /** The slack grid has this many steps of equal width. */
  readonly slackSteps?: number;
  readonly loadsQps?: readonly number[];
  readonly variants?: readonly TinyVariant[];
  /** Quantiles as multiples of the decision latency; without them the bundle has none. */
  readonly quantileRatios?: { p50: number; p95: number; p99: number; mean: number };
  /** Decides a state; by default `greedy`. */
  readonly decide?: (state: TinyState) => Decision;
}

interface TinyState {
  readonly level: number;
  /** 1 to maxQueue + 1. */
  readonly queued: number;
  readonly slackMs: number;
  readonly variants: readonly TinyVariant[];
}

interface Decision {
  readonly variant: number;
  readonly batch: number;
}

export const SMALL: TinyVariant = {
  name: "small",
  accuracy: 0.6,
  latencyMs: (batch) => 10 + 5 * batch,
};
export const LARGE: TinyVariant = {
  name: "large",
  accuracy: 0.8,
  latencyMs: (batch) => 20 + 20 * batch,
};

/**
 * A valid bundle in memory, small enough to reason about: one worker, an SLO of 100 ms, two
 * variants, a greedy table.
 */
export function tinyBundle(options: TinyBundleOptions = {}): RamsisBundle {
  const variants = options.variants ?? [SMALL, LARGE];
  const sloMs = options.sloMs ?? 100;
  const maxQueue = options.maxQueue ?? 3;
  const slackSteps = options.slackSteps ?? 10;
  const loadsQps = options.loadsQps ?? [1000];
  const slackMs = Float64Array.from({ length: slackSteps + 1 }, (_, j) => (sloMs * j) / slackSteps);
  const decide = options.decide ?? greedy;
  return {
    application: "tiny",
    method: "ramsis",
    slo: { latencyMs: sloMs, maxViolationRate: null, percentile: 99 },
    arrivals: { process: "poisson" },
    cluster: {
      communicationLatencyMs: 0,
      pools: [
        {
          name: "default",
          hardware: null,
          workers: options.workers ?? 1,
          cores: null,
          pricePerHour: null,
        },
      ],
    },
    tasks: [
      {
        name: "classify",
        variants: variants.map(variantOf),
        serviceTimes: serviceTimes(variants, maxQueue + 1, options),
      },
    ],
    policy: {
      objective: "per-query",
      discretization: { kind: "fixed", steps: slackSteps },
      batching: "maximal",
      maxQueue,
      balancer: "round-robin",
      serviceTimes: "p95",
      drop: false,
    },
    decisionSpace: {
      maxQueue,
      slackMs: { dtype: "float64", shape: [slackMs.length], data: slackMs },
      actions: allActions(variants.length, maxQueue + 1),
    },
    levels: loadsQps.map((loadQps, level) => {
      const actionByState = new Uint16Array((maxQueue + 1) * slackMs.length);
      for (let state = 0; state < actionByState.length; state++) {
        const queued = Math.floor(state / slackMs.length) + 1;
        const slack = slackMs[state % slackMs.length] ?? Number.NaN;
        const { variant, batch } = decide({ level, queued, slackMs: slack, variants });
        actionByState[state] = variant * (maxQueue + 1) + batch - 1;
      }
      return levelOf(loadQps, [maxQueue + 1, slackMs.length], actionByState);
    }),
    provenance: { compiler: "tiny-bundle", inputs: [] },
  };
}

/**
 * All that wait, on the most accurate variant that meets the deadline; on the first variant when
 * none does.
 */
function greedy({ queued, slackMs, variants }: TinyState): Decision {
  let best = 0;
  let bestAccuracy = Number.NEGATIVE_INFINITY;
  for (const [index, variant] of variants.entries()) {
    if (variant.latencyMs(queued) > slackMs || variant.accuracy <= bestAccuracy) continue;
    best = index;
    bestAccuracy = variant.accuracy;
  }
  return { variant: best, batch: queued };
}

function variantOf({ name, accuracy }: TinyVariant): Variant {
  const profile = { file: "tiny.json", variant: name, hardware: "none", sha256: "0".repeat(64) };
  return { name, accuracy, dominated: false, model: null, profile };
}

function serviceTimes(
  variants: readonly TinyVariant[],
  maxBatch: number,
  options: TinyBundleOptions,
) {
  const scaled = (factor: number): Table => ({
    dtype: "float64",
    shape: [variants.length, maxBatch],
    data: Float64Array.from({ length: variants.length * maxBatch }, (_, cell) => {
      const variant = variants[Math.floor(cell / maxBatch)];
      return factor * (variant?.latencyMs((cell % maxBatch) + 1) ?? Number.NaN);
    }),
  });
  const ratios = options.quantileRatios;
  const quantiles =
    ratios === undefined
      ? null
      : {
          p50Ms: scaled(ratios.p50),
          p95Ms: scaled(ratios.p95),
          p99Ms: scaled(ratios.p99),
          meanMs: scaled(ratios.mean),
        };
  return { percentile: 95, decisionMs: scaled(1), quantiles };
}

/** Every variant with every batch size: action variant · maxBatch + batch − 1. */
function allActions(variantCount: number, maxBatch: number): Table {
  const data = new Uint16Array(2 * variantCount * maxBatch);
  for (let action = 0; action < variantCount * maxBatch; action++) {
    data.set([Math.floor(action / maxBatch), (action % maxBatch) + 1], 2 * action);
  }
  return { dtype: "uint16", shape: [variantCount * maxBatch, 2], data };
}

function levelOf(
  loadQps: number,
  shape: readonly number[],
  actionByState: Uint16Array,
): RamsisLevel {
  return {
    loadQps,
    feasible: true,
    capacityQps: loadQps,
    expected: {
      accuracyPerSatisfied: 0,
      accuracyPerQuery: 0,
      violationRate: 0,
      upperBoundAccuracy: 1,
      byBatch: { accuracy: { median: 0, p99: 0 }, violationRate: { median: 0, p99: 0 } },
    },
    solve: { method: "greedy", iterations: 0, residual: 0, states: actionByState.length },
    actionByState: { dtype: "uint16", shape, data: actionByState },
    mixture: null,
  };
}
