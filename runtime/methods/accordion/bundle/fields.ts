/** An Accordion bundle: structure checked field by field. Source: docs/bundle-format.md. */
import {
  arrivalsOf,
  clusterOf,
  MAX_LEVELS,
  MAX_MS,
  MAX_QPS,
  MAX_VARIANTS,
  milliseconds,
  modelFileOf,
  profileOf,
  provenanceOf,
  ratio,
  sloOf,
} from "../../../bundle/common-fields.ts";
import {
  arrayOf,
  boolean,
  integerIn,
  nullOr,
  numberIn,
  objectOf,
  oneOf,
  positive,
  tableOf,
  text,
} from "../../../bundle/fields.ts";
import type {
  AccordionBundle,
  AccordionLevel,
  AccordionOptions,
  LayerPipeline,
  MalleableTask,
  MalleableVariant,
  PlaceExpected,
  StageModel,
  Table,
} from "../../../bundle/schema.ts";

const MAX_COUNT = 2 ** 32 - 1;
const MAX_PLACES = 4096;
const MAX_PLACE_POOLS = 64;
const MAX_DEPTH = 64;
const MAX_BATCH = 4096;
const MAX_LAYERS = 100_000;
const MAX_SHAPES = 65_535;
/** Ranges of the layers of one model. */
const MAX_STAGES = 100_000;
const MAX_SPEEDUP = 1e9;
/** Beyond it a query is as good as never given up. */
const MAX_SLOS = 1e9;

export function accordionBundleOf(value: unknown): AccordionBundle {
  const fields = objectOf(value, "", [
    "application",
    "arrivals",
    "cluster",
    "levels",
    "method",
    "policy",
    "provenance",
    "shapes",
    "slo",
    "tasks",
  ]);
  return Object.freeze({
    application: text(fields.application, "application"),
    method: oneOf(fields.method, "method", ["accordion"]),
    slo: sloOf(fields.slo, "slo"),
    arrivals: arrivalsOf(fields.arrivals, "arrivals"),
    cluster: clusterOf(fields.cluster, "cluster", MAX_PLACE_POOLS),
    tasks: arrayOf(fields.tasks, "tasks", [1, 1], taskOf),
    policy: policyOf(fields.policy, "policy"),
    shapes: tableOf(fields.shapes, "shapes", "uint16", 2),
    levels: arrayOf(fields.levels, "levels", [1, MAX_LEVELS], levelOf),
    provenance: provenanceOf(fields.provenance, "provenance"),
  });
}

function taskOf(value: unknown, path: string): MalleableTask {
  const fields = objectOf(value, path, ["name", "variants"]);
  return Object.freeze({
    name: text(fields.name, `${path}.name`),
    variants: arrayOf(fields.variants, `${path}.variants`, [1, MAX_VARIANTS], variantOf),
  });
}

function variantOf(value: unknown, path: string): MalleableVariant {
  const fields = objectOf(value, path, [
    "accuracy",
    "latencyMs",
    "layerCount",
    "model",
    "name",
    "pipelines",
    "profiles",
    "stages",
  ]);
  const pools = [1, MAX_PLACE_POOLS] as const;
  return Object.freeze({
    name: text(fields.name, `${path}.name`),
    accuracy: ratio(fields.accuracy, `${path}.accuracy`),
    model: nullOr(fields.model, `${path}.model`, modelFileOf),
    profiles: arrayOf(fields.profiles, `${path}.profiles`, pools, profileOf),
    layerCount: integerIn(fields.layerCount, `${path}.layerCount`, 0, MAX_LAYERS),
    pipelines: arrayOf(fields.pipelines, `${path}.pipelines`, [1, MAX_SHAPES], (pipeline, at) =>
      nullOr(pipeline, at, pipelineOf),
    ),
    latencyMs: latenciesOf(fields.latencyMs, `${path}.latencyMs`),
    stages: arrayOf(fields.stages, `${path}.stages`, [0, MAX_STAGES], stageOf),
  });
}

function pipelineOf(value: unknown, path: string): LayerPipeline {
  const fields = objectOf(value, path, [
    "cut",
    "isMeasured",
    "pools",
    "speedup",
    "stageMs",
    "stepMs",
  ]);
  return Object.freeze({
    cut: arrayOf(fields.cut, `${path}.cut`, [0, MAX_DEPTH], (layers, at) =>
      integerIn(layers, at, 1, MAX_LAYERS),
    ),
    pools: arrayOf(fields.pools, `${path}.pools`, [1, MAX_DEPTH], (pool, at) =>
      integerIn(pool, at, 0, MAX_PLACE_POOLS - 1),
    ),
    stageMs: arrayOf(fields.stageMs, `${path}.stageMs`, [0, MAX_DEPTH], milliseconds),
    stepMs: milliseconds(fields.stepMs, `${path}.stepMs`),
    speedup: positive(fields.speedup, `${path}.speedup`, MAX_SPEEDUP),
    isMeasured: boolean(fields.isMeasured, `${path}.isMeasured`),
  });
}

/** Times above 0, at most MAX_MS, or Infinity. */
function latenciesOf(value: unknown, path: string): Table {
  const table = tableOf(value, path, "float64", 2);
  const bad = table.data.findIndex(
    (ms: number) => !(ms > 0 && (ms <= MAX_MS || ms === Number.POSITIVE_INFINITY)),
  );
  if (bad >= 0) positive(table.data[bad], `${path}.data[${bad}]`, MAX_MS);
  return table;
}

function stageOf(value: unknown, path: string): StageModel {
  const fields = objectOf(value, path, ["from", "model", "to"]);
  return Object.freeze({
    from: integerIn(fields.from, `${path}.from`, 0, MAX_LAYERS - 1),
    to: integerIn(fields.to, `${path}.to`, 1, MAX_LAYERS),
    model: modelFileOf(fields.model, `${path}.model`),
  });
}

function policyOf(value: unknown, path: string): AccordionOptions {
  const fields = objectOf(value, path, [
    "backfill",
    "batchSigma",
    "dropAfterSlos",
    "dropout",
    "executionPlaces",
    "lowShare",
    "maxBatch",
    "maxDepth",
    "meanBatch",
    "reconfigurationMs",
    "regrow",
    "scheduler",
    "timing",
  ]);
  return Object.freeze({
    executionPlaces: integerIn(fields.executionPlaces, `${path}.executionPlaces`, 1, MAX_PLACES),
    maxDepth: integerIn(fields.maxDepth, `${path}.maxDepth`, 1, MAX_DEPTH),
    timing: oneOf(fields.timing, `${path}.timing`, ["pipelined", "paper"]),
    maxBatch: integerIn(fields.maxBatch, `${path}.maxBatch`, 1, MAX_BATCH),
    scheduler: oneOf(fields.scheduler, `${path}.scheduler`, [
      "accordion",
      "slo-conforming",
      "fastest",
      "bbs",
      "one-stage",
    ]),
    regrow: boolean(fields.regrow, `${path}.regrow`),
    backfill: boolean(fields.backfill, `${path}.backfill`),
    reconfigurationMs: numberIn(fields.reconfigurationMs, `${path}.reconfigurationMs`, 0, MAX_MS),
    dropAfterSlos: nullOr(fields.dropAfterSlos, `${path}.dropAfterSlos`, (slos, at) =>
      positive(slos, at, MAX_SLOS),
    ),
    dropout: oneOf(fields.dropout, `${path}.dropout`, ["turn", "arrival"]),
    meanBatch: numberIn(fields.meanBatch, `${path}.meanBatch`, 1, MAX_BATCH),
    batchSigma: numberIn(fields.batchSigma, `${path}.batchSigma`, 0, MAX_SIGMA),
    lowShare: ratio(fields.lowShare, `${path}.lowShare`),
  });
}

/** The exponential of a sum of squares of it stays finite. */
const MAX_SIGMA = 10;

function levelOf(value: unknown, path: string): AccordionLevel {
  const fields = objectOf(value, path, ["capacityQps", "expected", "feasible", "loadQps"]);
  return Object.freeze({
    loadQps: positive(fields.loadQps, `${path}.loadQps`, MAX_QPS),
    feasible: boolean(fields.feasible, `${path}.feasible`),
    capacityQps: positive(fields.capacityQps, `${path}.capacityQps`, MAX_QPS),
    expected: expectedOf(fields.expected, `${path}.expected`),
  });
}

function expectedOf(value: unknown, path: string): PlaceExpected {
  const fields = objectOf(value, path, [
    "activeQueries",
    "droppedRate",
    "durationMs",
    "latencyMsP50",
    "latencyMsP99",
    "occupancy",
    "queries",
    "reconfigurations",
    "seed",
    "violationRate",
  ]);
  return Object.freeze({
    violationRate: ratio(fields.violationRate, `${path}.violationRate`),
    droppedRate: ratio(fields.droppedRate, `${path}.droppedRate`),
    latencyMsP50: numberIn(fields.latencyMsP50, `${path}.latencyMsP50`, 0, MAX_MS),
    latencyMsP99: numberIn(fields.latencyMsP99, `${path}.latencyMsP99`, 0, MAX_MS),
    occupancy: ratio(fields.occupancy, `${path}.occupancy`),
    activeQueries: numberIn(fields.activeQueries, `${path}.activeQueries`, 0, MAX_PLACES),
    reconfigurations: numberIn(
      fields.reconfigurations,
      `${path}.reconfigurations`,
      0,
      Number.MAX_SAFE_INTEGER,
    ),
    queries: integerIn(fields.queries, `${path}.queries`, 0, Number.MAX_SAFE_INTEGER),
    seed: integerIn(fields.seed, `${path}.seed`, 0, MAX_COUNT),
    durationMs: milliseconds(fields.durationMs, `${path}.durationMs`),
  });
}
