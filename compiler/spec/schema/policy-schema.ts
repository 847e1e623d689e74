/** States the structure of a policy, of every method. */
import {
  MAX_HEADROOM,
  MAX_MS,
  MAX_SLOS,
  MIN_TICK_MS,
} from "stratagem-runtime/internal/bundle/limits";
import * as z from "zod";
import {
  amount,
  amountUpTo,
  choice,
  count,
  delay,
  duration,
  flag,
  mapping,
  name,
  positiveNumber,
  positiveRatio,
  properFraction,
  ratio,
  record,
  tagged,
  text,
} from "../document/fields.ts";

/** Weights are relative to each other. */
const MAX_WEIGHT = 1e9;
/** A minute: traffic is looked at in windows of seconds. */
const MAX_TICK_MS = 60_000;
/** Of a trace that plans are made with: many more only take time. */
const MAX_SAMPLE_REQUESTS = 1_000_000;
/** Of an SLO. */
const LEAST_SLOS = 1e-6;
/** A batch that starts when its first query is late may take one more SLO. */
const LEAST_LATE_SLOS = 2;

const ramsis = mapping({
  method: z.literal("ramsis"),
  objective: choice("per-query", "per-decision")
    .default("per-query")
    .describe("Reward of a decision: once per query of its batch, or once per decision"),
  discretization: tagged("kind", [
    mapping({
      kind: z.literal("fixed"),
      steps: count(10_000).default(100).describe("Equal steps from 0 to the SLO"),
    }),
    mapping({ kind: z.literal("model-based") }),
  ])
    .default({ kind: "fixed", steps: 100 })
    .describe("How slack time is cut into states"),
  batching: choice("maximal", "variable")
    .default("maximal")
    .describe("Whether a decision takes the whole queue or may take part of it"),
  maxQueue: count(4096)
    .default(32)
    .describe(
      "Largest batch; where each worker has a queue also the longest with a state of its own",
    ),
  extrapolate: flag()
    .default(false)
    .describe("Whether batches may be larger than the largest one profiled"),
  balancer: choice("pooled", "round-robin", "shortest-queue")
    .default("pooled")
    .describe("How arrivals are spread over workers"),
  serviceTimes: choice("p95", "quantiles")
    .optional()
    .describe(
      "Service times as one number or as a distribution; with the pooled balancer a distribution " +
        "by default where the profiles have one",
    ),
  drop: z
    .boolean()
    .default(false)
    .describe("Whether a query that can no longer meet its deadline is given up"),
  lateWithin: positiveNumber(LEAST_LATE_SLOS, MAX_SLOS)
    .default(4)
    .describe("Latency within which a late query is answered or dropped, in times the SLO"),
  classes: choice("auto", "shared", "separate")
    .optional()
    .describe(
      "How the classes of slo.classes are served: in one queue, " +
        "each by workers of its own, or at each load whichever is better (auto, the default)",
    ),
  latencyPrice: ratio()
    .optional()
    .describe(
      "Accuracy per query that lowering the mean latency by one SLO is worth (default: 0.0002, " +
        "and never more than 0.01 points of accuracy at a level)",
    ),
});

const loki = mapping({
  method: z.literal("loki"),
  sloFraction: positiveRatio()
    .prefault(0.5)
    .describe("Part of the SLO that execution and communication may use"),
  accuracyOf: z
    .union(
      [
        text("an expression"),
        mapping({
          table: record(
            text("variant names joined by |"),
            ratio(),
            "a mapping from paths such as a|b to accuracies",
          ),
        }),
      ],
      { error: () => `"product", an expression over task names, or a mapping with the key table` },
    )
    .default("product")
    .describe("End-to-end accuracy of a path: product, an expression over task names, or a table"),
  leafWeights: record(name(), amount(MAX_WEIGHT), "a mapping from leaf tasks to weights")
    .optional()
    .describe("Weight of each leaf task in the objective; equal when left out"),
  headroom: z
    .union([z.literal("auto"), amount(MAX_HEADROOM)], {
      error: () => `"auto", or a number of at least 0 such as 0.2`,
    })
    .default(0)
    .describe(
      "What plans carry beyond the load of their level, relative to it; auto: " +
        "as little as makes a simulation keep the SLO",
    ),
  oneBatchPerVariant: flag()
    .default(true)
    .describe("Whether all replicas of a variant use one batch size"),
  solver: choice("auto", "glpk", "highs").default("auto").describe("Solver of the MILPs"),
  solveLimit: duration(MAX_MS).prefault("20 s").describe("Longest time for one optimisation"),
  routing: choice("auto", "plan", "most-accurate-first")
    .default("auto")
    .describe("Whether queries follow the paths of the plan, or the most accurate servers first"),
  drop: choice("deadline", "reroute", "per-task", "last-task", "none")
    .default("deadline")
    .describe("When a query that falls behind is given up or sent another way"),
  stagePolicy: choice("fixed", "ramsis")
    .default("fixed")
    .describe("Whether a RAMSIS table chooses the variant of each batch within a task"),
  modelLoad: delay()
    .optional()
    .describe(
      "Time a server takes to load another variant; when left out what the profiles measured, " +
        "else 0 ms",
    ),
});

/** Who starts replicas, in methods whose plans have more of them at some loads. */
const scaling = {
  scaler: choice("none", "hpa", "keda")
    .default("none")
    .describe(
      "Who starts replicas: nobody in between, or an autoscaler of Kubernetes whose looks " +
        "compile counts with: hpa every 15 s, keda polled every scalerPolling besides",
    ),
  scalerPolling: duration(MAX_MS, MIN_TICK_MS)
    .prefault("30 s")
    .describe("How often KEDA asks what the plan wants"),
};

const inferline = mapping({
  method: z.literal("inferline"),
  refine: choice("exact", "none")
    .default("exact")
    .describe("Whether the greedy plan is improved to a proven optimum"),
  downgrade: choice("next", "any")
    .default("next")
    .describe("Which cheaper hardware greedy tries: the next cheaper as in the paper, or any"),
  margin: z
    .union([z.literal("auto"), properFraction()], {
      error: () => `"auto", or a fraction from 0 to below 1 such as 0.05 or 5%`,
    })
    .default(0)
    .describe(
      "Part of the SLO kept free; auto: as little as makes traces that were not planned with " +
        "meet the SLO",
    ),
  traces: count(64).default(1).describe("Sample traces that a plan has to meet the SLO on"),
  sampleDuration: duration(MAX_MS)
    .optional()
    .describe(
      "Length of a sample trace that is drawn, which ends at 50,000 requests; when left out " +
        "1200 SLOs, and longer at low loads, until it has sampleRequests",
    ),
  sampleRequests: count(MAX_SAMPLE_REQUESTS)
    .optional()
    .describe(
      "Requests that a sample trace has at least, in the mean; when left out 1000, or any number " +
        "where sampleDuration is given",
    ),
  sampleSeed: count(2 ** 31)
    .default(1)
    .describe("Seed of the sample traces"),
  solveLimit: duration(MAX_MS).prefault("5 s").describe("Longest time for one optimisation"),
  betweenBatches: choice("next", "linear")
    .default("next")
    .describe("What a batch between two profiled sizes takes: as the next larger one, or linear"),
  tuner: choice("joint", "relative", "paper", "none")
    .default("joint")
    .describe("How replicas follow the traffic"),
  tolerance: amountUpTo(100)
    .default(0)
    .describe(
      "Standard deviations of a window's count above the sample's envelope that do not count " +
        "as excess",
    ),
  activation: delay()
    .optional()
    .describe(
      "Time a replica takes to come up, in simulations; when left out what the profiles " +
        "measured, else 5 s",
    ),
  ...scaling,
});

const themis = mapping({
  method: z.literal("themis"),
  maxBatch: count(1024).default(16).describe("Largest batch"),
  maxCores: count(1024).default(16).describe("Most cores of one instance"),
  queueing: choice("stochastic", "paper")
    .default("stochastic")
    .describe("Model of the queueing time"),
  quantile: z
    .union([z.literal("auto"), properFraction()], {
      error: () => `"auto", or a fraction from 0 to below 1 such as 0.95 or 95%`,
    })
    .default("auto")
    .describe(
      "Quantile of stochastic waiting times that plans count with; auto: " +
        "as low as makes a simulation keep the SLO",
    ),
  solver: choice("exact", "paper")
    .default("exact")
    .describe("Exact search, or the dynamic programmes of the paper"),
  scaling: choice("joint", "themis", "horizontal", "vertical")
    .default("joint")
    .describe("Which plans are followed, and how one becomes another"),
  predictor: choice("last-max", "ewma", "holt", "poisson-peak", "lstm")
    .default("poisson-peak")
    .describe("What foretells the highest rate of the next 100 SLOs"),
  tick: duration(MAX_TICK_MS, MIN_TICK_MS)
    .optional()
    .describe("Time between two looks at the traffic; when left out a quarter of the SLO"),
  stableTicks: count(100_000)
    .default(100)
    .describe("Looks in a row that have to agree before instances follow the load"),
  resize: delay()
    .prefault("100 ms")
    .describe("Time until an instance has other cores, in simulations"),
  coldStart: delay()
    .optional()
    .describe(
      "Time until a new instance is up, in simulations; when left out what the profiles " +
        "measured, else 5 s",
    ),
  extraCores: choice("same", "one")
    .default("same")
    .describe("Cores of instances that are added where the present ones are not enough"),
  dropAfter: z
    .union([z.literal("never"), positiveNumber(LEAST_SLOS, MAX_SLOS)], {
      error: () => `"never", or a number above 0 of times the SLO`,
    })
    .default(1)
    .describe("Age at which a query is given up when its turn comes, in times the SLO"),
  dropRule: choice("rest", "age")
    .default("rest")
    .describe(
      "Whether what its batch and the rest of its way are to take counts with its age, or its " +
        "age alone, as in the paper",
    ),
  ...scaling,
});

const accordion = mapping({
  method: z.literal("accordion"),
  executionPlaces: count(4096)
    .default(64)
    .describe("Most workers that are used, each an execution place for one stage"),
  maxDepth: count(64).default(8).describe("Most stages one model is cut into"),
  timing: choice("pipelined", "paper").default("pipelined").describe("Latency model of a cut"),
  maxBatch: count(4096).default(64).describe("Most instances of one query"),
  scheduler: choice("accordion", "slo-conforming", "fastest", "bbs", "one-stage")
    .default("accordion")
    .describe("Malleable pipelines, or a baseline whose queries keep the places they start with"),
  regrow: flag()
    .default(true)
    .describe(
      "Whether running queries get more places too, and those of high priority start on fewer " +
        "than they need",
    ),
  backfill: flag()
    .default(true)
    .describe("Whether queries may start before one of their priority that has to wait"),
  reconfiguration: delay().prefault("5 ms").describe("Cost of giving a running query other places"),
  dropAfter: z
    .union([z.literal("never"), positiveNumber(LEAST_SLOS, MAX_SLOS)], {
      error: () => `"never", or a number above 0 of times the SLO`,
    })
    .default(1)
    .describe("Latency, in times the SLO, above which a query of low priority is given up"),
  dropout: choice("turn", "arrival")
    .default("turn")
    .describe("Whether that is decided once it is certain, or by a forecast when the query comes"),
  meanBatch: positiveNumber(1e-3, 4096)
    .default(8)
    .describe("Mean instances of a query, in simulations, at least 1"),
  batchSigma: amountUpTo(10)
    .default(0.5)
    .describe("Standard deviation of the logarithm of a query's instances, in simulations"),
  lowShare: ratio().default(0.5).describe("Share of queries of low priority, in simulations"),
});

/** `policy` of an application spec, as users write it; parsing fills in every default. */
export const policySchema = tagged("method", [ramsis, loki, inferline, themis, accordion]).describe(
  "What compiles the policy, with its options",
);
