/** Mistakes: what an application asks for that Accordion does not support. */

import {
  placeShapes,
  placesByPool,
} from "stratagem-runtime/internal/methods/accordion/bundle/place-shapes";
import { itemsOf, viewOf } from "../../../model/table-view.ts";
import type { AccordionPolicy, Application, Task, Variant } from "../../../spec/application.ts";
import type { KeyPath } from "../../../spec/document/document.ts";
import { conflict, invalid, type Mistake, show } from "../../../spec/document/mistakes.ts";
import { poolWords, profileFor, profileRemedy, profileWords } from "../../../spec/pool-profiles.ts";
import { accordionFrame } from "./frame.ts";
import { sizeOf } from "./pipelines.ts";

type AccordionApplication = Application<AccordionPolicy>;

/** Maximum ways to combine places of the pools. */
const MAX_SHAPES = 1024;
/** Maximum pipelines of all models: as many as a reader takes from one file. */
const MAX_PIPELINES = 4096;
/** Maximum entries of the latency tables together: 32 MiB. */
const MAX_ENTRIES = 2 ** 22;
/** Characters that are safe in a file name on every system. */
const FILE_NAME = /^[\p{L}\p{N}_-][\p{L}\p{N}_. -]*$/u;

export function* accordionMistakes(application: AccordionApplication): Generator<Mistake> {
  const { policy, tasks } = application;
  const found = [
    ...loadMistakes(application),
    ...taskMistakes(tasks),
    ...communicationMistakes(application),
    ...batchMistakes(policy),
    ...shapeMistakes(application, policy),
    ...tasks.flatMap(({ variants }, task) =>
      variants.flatMap((variant, index) => [
        ...variantMistakes(application, variant, ["tasks", task, "variants", index]),
      ]),
    ),
  ];
  yield* found;
  if (found.length === 0) yield* sloMistakes(application);
}

/**
 * Yields models with another number of layers than was measured.
 * @param layerCounts by path of the model file.
 */
export function* layerCountMistakes(
  { tasks }: AccordionApplication,
  layerCounts: ReadonlyMap<string, number>,
): Generator<Mistake> {
  for (const [task, { variants }] of tasks.entries()) {
    for (const [index, { model, profiles }] of variants.entries()) {
      const count = model === null ? undefined : layerCounts.get(model);
      if (count === undefined) continue;
      for (const { file, variant, layers } of profiles) {
        const measured: number = layers?.layerMs.length ?? count;
        if (measured === count) continue;
        const message =
          `the model has ${count} layers, and ${file}#${variant} has times of ${measured}; ` +
          "expected a profile of this model: measure it again with profile --layers";
        yield conflict(["tasks", task, "variants", index, "profile"], message);
      }
    }
  }
}

function* loadMistakes({ loads }: AccordionApplication): Generator<Mistake> {
  if (loads.kind === "list") return;
  yield {
    code: "INPUT_UNSUPPORTED",
    path: ["workload", "loads", "maxAccuracyStep"],
    message:
      "accordion does not choose accuracies, so levels cannot be placed by them; allowed: " +
      "a list of rates, or from, to and step",
  };
}

/**
 * Yields applications with several tasks; Accordion has one, whose variants are the models, so
 * edges lead to a second.
 */
function* taskMistakes(tasks: readonly Task[]): Generator<Mistake> {
  if (tasks.length === 1) return;
  const message =
    "accordion serves one task, whose variants are the models that clients name, " +
    `got ${tasks.length}; put all models under one, without edges`;
  yield { code: "INPUT_UNSUPPORTED", path: ["tasks", 1], message };
}

/** Yields a stated communication latency: measured stages include the hop. */
function* communicationMistakes({ cluster }: AccordionApplication): Generator<Mistake> {
  const { communicationLatencyMs } = cluster;
  if (communicationLatencyMs === 0) return;
  const message =
    "measured stages of accordion include the hop to their places, " +
    `so it would count twice; allowed: 0 ms, got ${communicationLatencyMs} ms`;
  yield conflict(["cluster", "communicationLatency"], message);
}

function* batchMistakes({ meanBatch, maxBatch }: AccordionPolicy): Generator<Mistake> {
  if (meanBatch >= 1 && meanBatch <= maxBatch) return;
  const expected = `at least 1 and at most maxBatch, which is ${maxBatch}`;
  yield invalid(["policy", "meanBatch"], expected, String(meanBatch));
}

function* shapeMistakes(
  { cluster, tasks }: AccordionApplication,
  policy: AccordionPolicy,
): Generator<Mistake> {
  const places = placesByPool(cluster.pools, policy.executionPlaces);
  let shapeCount = 0;
  for (const _ of placeShapes(places, policy.maxDepth)) {
    shapeCount++;
    if (shapeCount <= MAX_SHAPES) continue;
    const message =
      `a query can have up to ${policy.maxDepth} places of ${places.length} pools in ` +
      `more than ${MAX_SHAPES} ways, each with a pipeline of its own; ` +
      `allowed: ${MAX_SHAPES}; lower maxDepth, or put equal workers into one pool`;
    return yield conflict(["policy", "maxDepth"], message);
  }
  const modelCount = tasks.reduce((sum, { variants }) => sum + variants.length, 0);
  if (shapeCount * modelCount > MAX_PIPELINES) {
    const message =
      `${modelCount} models on ${shapeCount} shapes make ${shapeCount * modelCount} ` +
      `pipelines; allowed: ${MAX_PIPELINES}`;
    return yield conflict(["policy", "maxDepth"], message);
  }
  const entries = shapeCount * modelCount * policy.maxBatch;
  if (entries <= MAX_ENTRIES) return;
  const message =
    `${modelCount} models on ${shapeCount} shapes with batches up to ${policy.maxBatch} make ` +
    `${entries} latencies to look up; allowed: ${MAX_ENTRIES}`;
  yield conflict(["policy", "maxBatch"], message);
}

function* variantMistakes(
  { cluster, policy }: AccordionApplication,
  variant: Variant,
  path: KeyPath,
): Generator<Mistake> {
  const { name, model } = variant;
  if (model !== null && !FILE_NAME.test(name)) {
    const expected =
      "letters, digits, spaces and the signs _ - . (not first), " +
      "as stages of the model are files of that name";
    yield invalid([...path, "name"], expected, show(name));
  }
  const at = [...path, "profile"];
  for (const pool of cluster.pools) {
    if (profileFor(variant, pool) !== null) continue;
    const found = variant.profiles.map(profileWords).join(", ");
    const message =
      `pool ${poolWords(pool)} ` +
      `cannot run ${show(name)}, whose profiles are of ${found}; ` +
      `any place may run any stage${profileRemedy(pool)}`;
    return yield conflict(at, message);
  }
  const profiles = cluster.pools.flatMap((pool) => profileFor(variant, pool) ?? []);
  const [first] = profiles;
  const other = profiles.find(
    ({ layers }) => layers?.layerMs.length !== first?.layers?.layerMs.length,
  );
  if (other !== undefined && first !== undefined) {
    const counts = [first, other].map(({ file, layers }) =>
      layers === null ? `${file} has none` : `${file} has ${layers.layerMs.length}`,
    );
    const message =
      `expected the same number of layers in all profiles of ${show(name)}; ` +
      `${counts.join(", ")}`;
    return yield conflict(at, message);
  }
  if (first?.layers !== null) return;
  const used = placesByPool(cluster.pools, policy.executionPlaces).filter((count) => count > 0);
  if (used.length === 1) return;
  const message =
    `${first.file}#${first.variant} has speedups, which assume identical places, ` +
    `but places are of ${used.length} pools; expected layers`;
  yield conflict(at, message);
}

/** Yields models that cannot answer a query of one instance in time, however many places it has. */
function* sloMistakes(application: AccordionApplication): Generator<Mistake> {
  const { slo } = application;
  const { tasks, shapes } = accordionFrame(application, new Map());
  const [shapeCount = 0] = shapes.shape;
  const placesByPool = viewOf(shapes);
  for (const { name, latencyMs } of tasks.flatMap(({ variants }) => variants)) {
    const times = viewOf(latencyMs);
    let leastMs = Number.POSITIVE_INFINITY;
    let places = 0;
    for (let shape = 0; shape < shapeCount; shape++) {
      const ms = times.get(shape, 0);
      if (!(ms < leastMs)) continue;
      leastMs = ms;
      places = sizeOf(itemsOf(placesByPool.pick(shape, null)));
    }
    if (leastMs <= slo.latencyMs) continue;
    const on = places === 1 ? "1 place" : `${places} places`;
    const message =
      `expected at least the ${Math.ceil(1000 * leastMs) / 1000} ms that one instance of ` +
      `${show(name)} takes on ${on}, where it is fastest; got ${slo.latencyMs} ms`;
    yield conflict(["slo", "latency"], message);
  }
}
