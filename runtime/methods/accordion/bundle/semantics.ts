/** Checks an Accordion bundle so that its tables alone can schedule every query. */

import {
  type AccordionBundle,
  type AccordionLevel,
  type AccordionOptions,
  type LayerPipeline,
  type MalleableVariant,
  violationCeiling,
} from "../../../bundle/schema.ts";
import { checkMargin } from "../../../bundle/serving-semantics.ts";
import { checkRequests, checkWorkers } from "../../../bundle/size-semantics.ts";
import { checkClose, TOLERANCE } from "../../../bundle/stage-semantics.ts";
import {
  checkAscending,
  checkModel,
  checkShape,
  checkUnique,
  refuse,
} from "../../../bundle/table-semantics.ts";
import { placeShapes, placesByPool } from "./place-shapes.ts";
import { checkStageModels } from "./stage-model-semantics.ts";

/** @throws BundleError BUNDLE_SEMANTICS at the first contradiction. */
export function checkAccordionSemantics(bundle: AccordionBundle): void {
  const { tasks, cluster, policy, slo, levels } = bundle;
  checkUnique(cluster.pools, "cluster.pools");
  const workers = checkWorkers(cluster);
  checkMargin(cluster, bundle.slo);
  if (policy.executionPlaces > workers) {
    const allowed = `at most ${workers}, the workers of all pools`;
    refuse("policy.executionPlaces", policy.executionPlaces, allowed);
  }
  checkShapes(bundle);
  const shapes = shapesOf(bundle);
  for (const [index, { variants }] of tasks.entries()) {
    checkUnique(variants, `tasks[${index}].variants`);
    for (const [model, variant] of variants.entries()) {
      checkVariant(variant, shapes, policy, `tasks[${index}].variants[${model}]`);
    }
  }
  checkAscending(levels);
  for (const [index, level] of levels.entries()) {
    checkLevel(level, violationCeiling(slo), `levels[${index}]`);
  }
}

/** Checks that the table has all shapes that the places allow, in order. */
function checkShapes({ shapes, cluster, policy }: AccordionBundle): void {
  const poolCount = cluster.pools.length;
  const [shapeCount = 0] = shapes.shape;
  checkShape(shapes, [shapeCount, poolCount], "shapes");
  const places = placesByPool(cluster.pools, policy.executionPlaces);
  let row = 0;
  for (const shape of placeShapes(places, policy.maxDepth)) {
    if (row === shapeCount) {
      refuse("shapes.shape[0]", shapeCount, `more rows: the places also allow [${shape}]`);
    }
    for (const [pool, count] of shape.entries()) {
      const cell = row * poolCount + pool;
      const found = shapes.data[cell] ?? 0;
      if (found !== count) refuse(`shapes.data[${cell}]`, found, `${count}, of the row [${shape}]`);
    }
    row++;
  }
  if (row < shapeCount) refuse("shapes.shape[0]", shapeCount, `${row}, all that the places allow`);
}

/** Returns the rows of the table, which has been checked. */
function shapesOf({ shapes, cluster }: AccordionBundle): readonly (readonly number[])[] {
  const poolCount = cluster.pools.length;
  return Array.from({ length: shapes.shape[0] ?? 0 }, (_, row) =>
    Array.from(shapes.data.subarray(row * poolCount, (row + 1) * poolCount)),
  );
}

type Shapes = readonly (readonly number[])[];

function checkVariant(
  variant: MalleableVariant,
  shapes: Shapes,
  policy: Pick<AccordionOptions, "maxBatch" | "timing">,
  path: string,
): void {
  const { profiles, pipelines, model, layerCount } = variant;
  const poolCount = shapes[0]?.length ?? 0;
  if (profiles.length !== poolCount) {
    refuse(`${path}.profiles.length`, profiles.length, `${poolCount}, one per pool`);
  }
  if (pipelines.length !== shapes.length) {
    refuse(`${path}.pipelines.length`, pipelines.length, `${shapes.length}, one per shape`);
  }
  if (model !== null && layerCount === 0) {
    refuse(`${path}.model`, "a model", "null, since it has no layers that could be served");
  }
  checkModel(model, `${path}.model`);
  checkPipelines(variant, shapes, `${path}.pipelines`);
  checkLatencies(variant, shapes, policy, `${path}.latencyMs`);
  checkStageModels(variant, `${path}.stages`);
}

/**
 * Checks that a pipeline exists if the model has enough layers; with speed-ups, up to the number of
 * places they are given for.
 */
function checkPipelines(
  { pipelines, layerCount }: Pick<MalleableVariant, "pipelines" | "layerCount">,
  shapes: Shapes,
  path: string,
): void {
  const [first] = pipelines;
  if (first === null) refuse(`${path}[0]`, "null", "a pipeline");
  const firstMs = first?.stepMs ?? Number.NaN;
  let mostPlaces = layerCount > 0 ? layerCount : Number.POSITIVE_INFINITY;
  for (const [index, pipeline] of pipelines.entries()) {
    const shape = shapes[index] ?? [];
    const places = placeCount(shape);
    const at = `${path}[${index}]`;
    if (pipeline === null) {
      if (places <= mostPlaces && layerCount > 0) refuse(at, "null", "a pipeline");
      mostPlaces = Math.min(mostPlaces, places - 1);
      continue;
    }
    if (places > mostPlaces) {
      refuse(at, "a pipeline", `null, as for every shape of more than ${mostPlaces} places`);
    }
    checkPools(pipeline, shape, at);
    checkStages(pipeline, layerCount, places, at);
    const why = "how much shorter its step is than that of the first shape";
    checkClose(pipeline.speedup, firstMs / pipeline.stepMs, `${at}.speedup`, why);
  }
}

/** Checks that a pipeline has as many places of each pool as the shape. */
function checkPools({ pools }: LayerPipeline, shape: readonly number[], path: string): void {
  const places = placeCount(shape);
  if (pools.length !== places) {
    refuse(`${path}.pools.length`, pools.length, `${places}, the places of the shape`);
  }
  const expected = shape.flatMap((count, pool) => new Array<number>(count).fill(pool));
  if (String([...pools].sort((a, b) => a - b)) !== String(expected)) {
    refuse(`${path}.pools`, `[${pools}]`, `[${expected}] in some order, as the shape says`);
  }
}

/** Checks the layers and times of each stage; with speed-ups, that there are no stages. */
function checkStages(
  { cut, stageMs, stageSpreads }: LayerPipeline,
  layerCount: number,
  places: number,
  path: string,
): void {
  const stageCount = layerCount === 0 ? 0 : places;
  if (cut.length !== stageCount) {
    refuse(`${path}.cut.length`, cut.length, `${stageCount}, the stages`);
  }
  if (stageMs.length !== stageCount) {
    refuse(`${path}.stageMs.length`, stageMs.length, `${stageCount}, the stages`);
  }
  const spreadCount = stageSpreads?.length ?? stageCount;
  if (spreadCount !== stageCount) {
    refuse(`${path}.stageSpreads.length`, spreadCount, `${stageCount}, the stages`);
  }
  if (stageCount === 0) return;
  const layers = cut.reduce((sum, count) => sum + count, 0);
  if (layers !== layerCount) refuse(`${path}.cut`, `[${cut}]`, `${layerCount} layers in all`);
}

/** Checks that latencies match the pipelines; Infinity without one. */
function checkLatencies(
  { pipelines, latencyMs }: MalleableVariant,
  shapes: Shapes,
  { maxBatch, timing }: Pick<AccordionOptions, "maxBatch" | "timing">,
  path: string,
): void {
  checkShape(latencyMs, [shapes.length, maxBatch], path);
  const wholeMs = wholeMsOf(pipelines);
  for (const [row, pipeline] of pipelines.entries()) {
    const start = row * maxBatch;
    const cells = latencyMs.data.subarray(start, start + maxBatch);
    const firstMs = cells[0] ?? 0;
    const fillMs = pipeline === null ? 0 : fillMsOf(pipeline, wholeMs, shapes, firstMs);
    let previousMs = 0;
    for (const [index, ms] of cells.entries()) {
      const at = `${path}.data[${start + index}]`;
      if (pipeline === null) {
        if (ms !== Number.POSITIVE_INFINITY) refuse(at, ms, "Infinity, without a pipeline");
        continue;
      }
      const batch = index + 1;
      const expectedMs =
        timing === "paper"
          ? (batch * wholeMs) / pipeline.speedup
          : fillMs + index * pipeline.stepMs;
      checkClose(ms, expectedMs, at, `what the pipeline takes for ${batch}`);
      if (!(ms > previousMs))
        refuse(at, ms, `more than ${previousMs}, the time of a smaller query`);
      previousMs = ms;
    }
  }
}

/** Returns the time of one instance on the first shape. */
function wholeMsOf([first]: MalleableVariant["pipelines"]): number {
  return first === null || first === undefined ? Number.NaN : (first.stageMs[0] ?? first.stepMs);
}

/**
 * Returns the time until the first instance is done. With speed-ups it is the whole model's time;
 * the bundle does not have it for pools other than the first.
 */
function fillMsOf(
  { stageMs }: LayerPipeline,
  wholeMs: number,
  shapes: Shapes,
  firstMs: number,
): number {
  if (stageMs.length > 0) return stageMs.reduce((sum, ms) => sum + ms, 0);
  return (shapes[0]?.length ?? 0) > 1 ? firstMs : wholeMs;
}

function checkLevel(level: AccordionLevel, ceiling: number, path: string): void {
  const { loadQps, capacityQps, feasible, expected } = level;
  const { violationRate, droppedRate, latencyMsP50, latencyMsP99 } = expected;
  if (feasible && (loadQps > capacityQps || violationRate > ceiling)) {
    const found = `true at ${loadQps} qps with violation rate ${violationRate}`;
    const allowed = `true only up to ${capacityQps} qps and violation rate ${ceiling}`;
    refuse(`${path}.feasible`, found, allowed);
  }
  if (droppedRate > violationRate * (1 + TOLERANCE)) {
    const allowed = `at most ${violationRate}, since what is dropped is a violation`;
    refuse(`${path}.expected.droppedRate`, droppedRate, allowed);
  }
  checkRequests(loadQps, expected.durationMs, `${path}.expected.durationMs`);
  if (latencyMsP50 > latencyMsP99) {
    refuse(`${path}.expected.latencyMsP50`, latencyMsP50, `at most ${latencyMsP99}, the p99`);
  }
}

function placeCount(shape: readonly number[]): number {
  return shape.reduce((sum, count) => sum + count, 0);
}
