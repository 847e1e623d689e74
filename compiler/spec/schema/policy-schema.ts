/** Structure of the policies of all methods. */
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
/** A minute; traffic is observed in windows of seconds. */
const MAX_TICK_MS = 60_000;
/** Most requests of a sample trace; more only take time. */
const MAX_SAMPLE_REQUESTS = 1_000_000;
/** Smallest time in multiples of an SLO. */
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
      kind: z.literal("fixed").describe("Equal steps, or steps of the variants' times"),
      steps: count(10_000).default(100).describe("Equal steps from 0 to the SLO"),
    }),
    mapping({ kind: z.literal("model-based") }),
  ])
    .default({ kind: "fixed", steps: 100 })
    .describe("Division of slack time into states"),
  batching: choice("maximal", "variable")
    .default("maximal")
    .describe("Whether a decision takes the whole queue or may take part of it"),
  maxQueue: count(4096)
    .default(32)
    .describe("Largest batch; with a queue per worker also the longest queue with its own state"),
  extrapolate: flag()
    .default(false)
    .describe("Whether batches may be larger than the largest one profiled"),
  balancer: choice("pooled", "round-robin", "shortest-queue")
    .default("pooled")
    .describe("Distribution of arrivals over workers"),
  serviceTimes: choice("p95", "quantiles")
    .optional()
    .describe(
      "Service times as one number or as a distribution; with the pooled balancer a distribution " +
        "by default if the profiles have one",
    ),
  drop: z
    .boolean()
    .default(false)
    .describe("Whether a query that can no longer meet its deadline is dropped"),
  lateWithin: positiveNumber(LEAST_LATE_SLOS, MAX_SLOS)
    .default(4)
    .describe("Latency within which a late query is answered or dropped, in multiples of the SLO"),
  classes: choice("auto", "shared", "separate")
    .optional()
    .describe(
      "Serving of slo.classes: in one queue, " +
        "each by its own workers, or the better of both at each load (auto, the default)",
    ),
  latencyPrice: ratio()
    .optional()
    .describe(
      "Accuracy per query worth a reduction of the mean latency by one SLO (default: 0.0002, " +
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
          ).describe("Accuracy of each path, whose key is its variants joined by |"),
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
      "Additional load that plans carry beyond their level's, relative to it; auto: " +
        "the least for which a simulation keeps the SLO",
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
    .describe("When a query that falls behind is dropped or rerouted"),
  stagePolicy: choice("fixed", "ramsis")
    .default("fixed")
    .describe("Whether a RAMSIS table chooses the variant of each batch within a task"),
  modelLoad: delay()
    .optional()
    .describe(
      "Time a server takes to load another variant; default: as in the profiles, " + "or 0 ms",
    ),
});

/** Options for starting replicas, in methods whose plans need different numbers. */
const scaling = {
  scaler: choice("none", "hpa", "keda")
    .default("none")
    .describe(
      "Component that starts replicas: the server itself, or a Kubernetes autoscaler whose delay " +
        "compile includes: hpa syncs every 15 s, keda also polls every scalerPolling",
    ),
  scalerPolling: duration(MAX_MS, MIN_TICK_MS)
    .prefault("30 s")
    .describe("Polling interval of KEDA"),
};

const inferline = mapping({
  method: z.literal("inferline"),
  refine: choice("exact", "none")
    .default("exact")
    .describe("Whether the greedy plan is improved to a proven optimum"),
  downgrade: choice("next", "any")
    .default("next")
    .describe("Cheaper hardware that greedy tries: the next cheaper as in the paper, or any"),
  margin: z
    .union([z.literal("auto"), properFraction()], {
      error: () => `"auto", or a fraction from 0 to below 1 such as 0.05 or 5%`,
    })
    .default(0)
    .describe(
      "Part of the SLO kept free; auto: the least for which traces not used for planning " +
        "meet the SLO",
    ),
  traces: count(64).default(1).describe("Sample traces on which a plan must meet the SLO"),
  sampleDuration: duration(MAX_MS)
    .optional()
    .describe(
      "Length of a sample trace, which ends at 50,000 requests; default: " +
        "1200 SLOs, and longer at low loads, until it has sampleRequests",
    ),
  sampleRequests: count(MAX_SAMPLE_REQUESTS)
    .optional()
    .describe(
      "Fewest requests of a sample trace, on average; default: 1000, or any number " +
        "with sampleDuration",
    ),
  sampleSeed: count(2 ** 31)
    .default(1)
    .describe("Seed of the sample traces"),
  solveLimit: duration(MAX_MS).prefault("5 s").describe("Longest time for one optimisation"),
  betweenBatches: choice("next", "linear")
    .default("next")
    .describe("Time of a batch between two profiled sizes: as the next larger one, or linear"),
  tuner: choice("joint", "relative", "paper", "none")
    .default("joint")
    .describe("Method to adapt replicas to the traffic"),
  tolerance: amountUpTo(100)
    .default(0)
    .describe(
      "Standard deviations of a window's count above the sample's envelope that do not count " +
        "as excess",
    ),
  activation: delay()
    .optional()
    .describe(
      "Start time of a replica in simulations; default: as in the profiles, " +
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
      "Quantile of stochastic waiting times in plans; auto: " +
        "the lowest for which a simulation keeps the SLO",
    ),
  solver: choice("exact", "paper")
    .default("exact")
    .describe("Exact search, or the dynamic programmes of the paper"),
  scaling: choice("joint", "themis", "horizontal", "vertical")
    .default("joint")
    .describe("Selection of plans and transitions between them"),
  predictor: choice("last-max", "ewma", "holt", "poisson-peak", "lstm")
    .default("poisson-peak")
    .describe("Predictor of the highest rate of the next 100 SLOs"),
  tick: duration(MAX_TICK_MS, MIN_TICK_MS)
    .optional()
    .describe("Interval of traffic observations; default: a quarter of the SLO"),
  stableTicks: count(100_000)
    .default(100)
    .describe("Consecutive observations that must agree before instances follow the load"),
  resize: delay().prefault("100 ms").describe("Time to change an instance's cores, in simulations"),
  coldStart: delay()
    .optional()
    .describe(
      "Start time of an instance in simulations; default: as in the profiles, " +
        "measured, else 5 s",
    ),
  extraCores: choice("same", "one")
    .default("same")
    .describe("Cores of instances that are added if the present ones are insufficient"),
  dropAfter: z
    .union([z.literal("never"), positiveNumber(LEAST_SLOS, MAX_SLOS)], {
      error: () => `"never", or a number above 0 of multiples of the SLO`,
    })
    .default(1)
    .describe("Age at which a query is dropped when its turn comes, in multiples of the SLO"),
  dropRule: choice("rest", "age")
    .default("rest")
    .describe(
      "Whether the expected time of its batch and of the remaining tasks is added to its " +
        "age, or its age alone counts, as in the paper",
    ),
  ...scaling,
});

const accordion = mapping({
  method: z.literal("accordion"),
  executionPlaces: count(4096)
    .default(64)
    .describe("Most workers to use, each an execution place for one stage"),
  maxDepth: count(64).default(8).describe("Most stages to cut a model into"),
  timing: choice("pipelined", "paper").default("pipelined").describe("Latency model of a cut"),
  maxBatch: count(4096).default(64).describe("Most instances of one query"),
  scheduler: choice("accordion", "slo-conforming", "fastest", "bbs", "one-stage")
    .default("accordion")
    .describe("Malleable pipelines, or a baseline whose queries keep the places they start with"),
  regrow: flag()
    .default(true)
    .describe(
      "Whether running queries also get more places, and those of high priority start on fewer " +
        "than they need",
    ),
  backfill: flag()
    .default(true)
    .describe("Whether queries may start before a waiting one of their priority"),
  reconfiguration: delay()
    .prefault("5 ms")
    .describe("Cost of changing the places of a running query"),
  dropAfter: z
    .union([z.literal("never"), positiveNumber(LEAST_SLOS, MAX_SLOS)], {
      error: () => `"never", or a number above 0 of multiples of the SLO`,
    })
    .default(1)
    .describe("Latency, in multiples of the SLO, above which a query of low priority is dropped"),
  dropout: choice("turn", "arrival")
    .default("turn")
    .describe(
      "Whether that is decided when it is certain, or by a forecast at the query's arrival",
    ),
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
  "Method that compiles the policy, with its options",
);
