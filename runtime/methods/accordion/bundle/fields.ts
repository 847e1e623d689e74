/** The tables of an Accordion bundle: its records, field by field. */

import {
  accuracy,
  application,
  arrivals,
  bigCount,
  clusterOf,
  durationMs,
  latencyFields,
  levelFields,
  levelsOf,
  METHOD,
  millisecondsOr0,
  modelFile,
  paceFields,
  profileReference,
  provenance,
  ratio,
  seed,
  slo,
  slosOrNever,
  span,
  throughput,
  timesOf,
  variantName,
} from "../../../bundle/common-fields.ts";
import {
  boolean,
  integerIn,
  listOf,
  numberIn,
  oneOf,
  orNull,
  positive,
  text,
} from "../../../bundle/fields.ts";
import { MAX_VARIANTS } from "../../../bundle/limits.ts";
import { optional, record } from "../../../bundle/record.ts";
import type {
  AccordionBundle,
  AccordionLevel,
  AccordionOptions,
  LayerPipeline,
  MalleableTask,
  MalleableVariant,
  PlaceExpected,
  StageModel,
} from "../../../bundle/schema.ts";
import { spread } from "../../../bundle/serving-fields.ts";
import { table } from "../../../bundle/tables.ts";
import { checkAccordionSemantics } from "./semantics.ts";

const MAX_PLACES = 4096;
const MAX_PLACE_POOLS = 64;
const MAX_DEPTH = 64;
const MAX_BATCH = 4096;
const MAX_LAYERS = 100_000;
const MAX_SHAPES = 65_535;
/** Ranges of the layers of one model. */
const MAX_STAGES = 100_000;
const MAX_SPEEDUP = 1e9;
/** Keeps the exponential of a sum of its squares finite. */
const MAX_SIGMA = 10;

const pipeline = record<LayerPipeline>({
  cut: [
    listOf([0, MAX_DEPTH], integerIn(1, MAX_LAYERS)),
    "Layers of each stage, `layerCount` in all; empty without layers.",
  ],
  pools: [
    listOf([1, MAX_DEPTH], integerIn(0, MAX_PLACE_POOLS - 1)),
    "Pool of the place of each stage, as many of each as the shape has.",
  ],
  stageMs: [
    listOf([0, MAX_DEPTH], span),
    "Time of one instance in each stage; empty without layers.",
  ],
  stageSpreads: optional(
    listOf([1, MAX_DEPTH], spread),
    "Spread of these times, ms. Left out without layers, if the profiles have " +
      "no quantiles, and if `cluster` has no `serving`.",
  ),
  stepMs: [
    span,
    "Time between two instances, τ: that of the heaviest stage in the mean, where `stageMs` may " +
      "be a higher quantile.",
  ],
  speedup: [positive(MAX_SPEEDUP), "`stepMs` of the first pipeline over that of this one."],
  isMeasured: [
    boolean,
    "Whether the stages were measured as they are cut, instead of added up from their layers; " +
      "without layers, whether the speed-up was given, instead of interpolated.",
  ],
});

const stage = record<StageModel>({
  from: [integerIn(0, MAX_LAYERS - 1), "Its first layer."],
  to: [integerIn(1, MAX_LAYERS), "The layer after its last."],
  model: [modelFile, "Model of the layers, for one instance."],
});

const variant = record<MalleableVariant>({
  name: variantName,
  accuracy,
  model: [
    orNull(modelFile),
    "The whole model, as clients see it. Its `stages` run instead of it. Nil if " +
      "`layerCount` is 0.",
  ],
  profiles: [
    listOf([1, MAX_PLACE_POOLS], profileReference),
    "Source of the times, for each pool in their order.",
  ],
  layerCount: [
    integerIn(0, MAX_LAYERS),
    "Layers that the model can be cut into; 0 where the profile gives speed-ups instead.",
  ],
  pipelines: [
    listOf([1, MAX_SHAPES], orNull(pipeline)),
    "Pipeline of the model on each shape, in their order.",
  ],
  latencyMs: [
    timesOf(["shapeCount", "maxBatch"], Number.POSITIVE_INFINITY),
    "Time of a query of `b` instances on a shape in column `b − 1`, strictly ascending along a " +
      "row; infinity in the rows of shapes without a pipeline, and nowhere else.",
  ],
  stages: [
    listOf([0, MAX_STAGES], stage),
    "Each range of layers that is a stage of some pipeline, strictly ascending in `from` and " +
      "then `to`; empty where `model` is nil.",
  ],
});

const task = record<MalleableTask>({
  name: [text, "The task's name."],
  variants: [listOf([1, MAX_VARIANTS], variant), "The models that clients name."],
});

const options = record<AccordionOptions>({
  executionPlaces: [
    integerIn(1, MAX_PLACES),
    "Workers in use, taken from the pools in their order; at most those of all pools.",
  ],
  maxDepth: [integerIn(1, MAX_DEPTH), "Most places of one query."],
  timing: [oneOf(["pipelined", "paper"]), "How the time of a query follows from its pipeline."],
  maxBatch: [integerIn(1, MAX_BATCH), "Most instances of one query."],
  scheduler: [
    oneOf(["accordion", "slo-conforming", "fastest", "bbs", "one-stage"]),
    "How queries get places; the last four are baselines without changes of running queries.",
  ],
  regrow: [
    boolean,
    "Whether running queries also get more places, and those of high priority start on fewer " +
      "than they need.",
  ],
  backfill: [boolean, "Whether queries may start before one of their priority that has to wait."],
  reconfigurationMs: [
    millisecondsOr0,
    "Time until a running query goes on with other places; the instances that it had begun are " +
      "lost.",
  ],
  dropAfterSlos: [
    slosOrNever,
    "Latency, in SLOs or in times to a tighter deadline of its own, above which a " +
      "query of low priority is given up; nil for never.",
  ],
  dropout: [
    oneOf(["turn", "arrival"]),
    "When that is decided: once it is certain and no other of its priority waits before it, " +
      "or by a forecast at its arrival.",
  ],
  meanBatch: [numberIn(1, MAX_BATCH), "Mean of the log-normal batches of simulated queries."],
  batchSigma: [numberIn(0, MAX_SIGMA), "Standard deviation of the logarithm of these batches."],
  lowShare: [ratio, "Share of simulated queries with low priority."],
});

const expected = record<PlaceExpected>({
  violationRate: [ratio, "Share of queries late or dropped."],
  droppedRate: [ratio, "Share of dropped queries, at most as much."],
  ...latencyFields,
  ...paceFields,
  occupancy: [ratio, "Mean share of busy places."],
  activeQueries: [numberIn(0, MAX_PLACES), "Mean number of running queries."],
  reconfigurations: [numberIn(0, Number.MAX_SAFE_INTEGER), "Shrinks and growths per query."],
  queries: [bigCount, "Number of queries."],
  seed,
  durationMs,
});

const level = record<AccordionLevel>({
  ...levelFields(
    "True only up to `capacityQps`, and if `expected.violationRate` is within what the SLO allows.",
    "Throughput of all places for queries of the mean batch.",
    throughput,
  ),
  expected: [expected, "Simulation of the level at its load."],
});

export const accordionBundle = record<AccordionBundle>({
  application,
  method: [oneOf(["accordion"]), METHOD],
  slo,
  arrivals,
  cluster: clusterOf(MAX_PLACE_POOLS),
  tasks: [listOf([1, 1], task), "The models that are served."],
  policy: [options, "Options of the solver and of the scheduler that follows its tables."],
  shapes: [
    table("uint16", ["shapeCount", "poolCount"]),
    "Places of each pool that a query may have.",
  ],
  levels: [levelsOf(level), "Levels, strictly ascending in `loadQps`."],
  provenance,
});

/** Same as `validateBundle`. @throws BundleError BUNDLE_SCHEMA or BUNDLE_SEMANTICS. */
export function readAccordionBundle(value: unknown): AccordionBundle {
  const bundle = accordionBundle.read(value, "");
  checkAccordionSemantics(bundle);
  return bundle;
}
