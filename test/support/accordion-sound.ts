import type { AccordionBundle, LayerPipeline } from "../../runtime/bundle/schema.ts";
import { inspectBundle } from "../../runtime/bundles/inspect.ts";
import { AccordionCommands, DROP } from "../../runtime/methods/accordion/core/commands.ts";
import { AccordionScheduler } from "../../runtime/methods/accordion/core/scheduler.ts";
import { inspectState } from "../../runtime/methods/accordion/describe/state-view.ts";

/**
 * Everything that scheduling by an Accordion bundle relies on, spelled out without the validator.
 */
export function checkPlacesInRange(bundle: AccordionBundle): void {
  const { tasks, shapes, policy, cluster, levels } = bundle;
  const [shapeCount = 0, poolCount = 0] = shapes.shape;
  const problems: string[] = [];
  const require = (holds: boolean, what: string): void => {
    if (!holds) problems.push(what);
  };
  require(tasks.length === 1 && levels.length >= 1, "one task, some levels");
  require(poolCount === cluster.pools.length &&
    shapes.data.length === shapeCount * poolCount, "shapes");
  const workers = cluster.pools.reduce((sum, pool) => sum + pool.workers, 0);
  require(policy.executionPlaces <= workers, "places");
  const sizes = Array.from({ length: shapeCount }, (_, shape) =>
    Array.from(shapes.data.subarray(shape * poolCount, (shape + 1) * poolCount)).reduce(
      (sum, count) => sum + count,
    ),
  );
  require(sizes[0] === 1 && sizes.every((size) => size >= 1 && size <= policy.maxDepth), "sizes");
  for (const { pipelines, latencyMs, layerCount, model, stages } of tasks[0]?.variants ?? []) {
    require(pipelines.length === shapeCount && pipelines[0] !== null, "a pipeline to begin with");
    require(latencyMs.data.length === shapeCount * policy.maxBatch, "a latency for every query");
    latencyMs.data.forEach((ms, cell) => {
      const pipeline = pipelines[Math.floor(cell / policy.maxBatch)];
      require(ms > 0 && Number.isFinite(ms) === (pipeline !== null), "latencies");
      const before = cell % policy.maxBatch > 0 ? (latencyMs.data[cell - 1] ?? 0) : 0;
      require(pipeline === null || ms > before, "ascending latencies");
    });
    pipelines.forEach((pipeline, shape) => {
      if (pipeline === null) return;
      require(pipeline.pools.length === sizes[shape], "a place for each stage");
      require(pipeline.pools.every((pool) => pool < poolCount), "pools");
      const layers = pipeline.cut.reduce((sum, count) => sum + count, 0);
      require(layers === layerCount, "all layers");
      require(model === null || hasStages(pipeline, stages), "a model for every stage");
    });
  }
  if (problems.length > 0) throw new Error(`accepted, but wrong: ${[...new Set(problems)]}`);
}

function hasStages(
  { cut }: LayerPipeline,
  stages: readonly { readonly from: number; readonly to: number }[],
): boolean {
  let start = 0;
  return cut.every((count) => {
    const from = start;
    start += count;
    return stages.some((stage) => stage.from === from && stage.to === start);
  });
}

/**
 * Runs a small and a large query of every model, loses a place under them, and reads the bundle in
 * all ways that there are.
 * @returns what was read.
 */
export function drivePlaces(bundle: AccordionBundle): unknown {
  const models = (bundle.tasks[0]?.variants ?? []).map(({ name }) => name);
  runQueries(bundle, 2 * models.length);
  const free = bundle.cluster.pools.map(() => 0);
  const { levels } = inspectBundle(bundle, { byteCount: 0, sha256: "" });
  return [levels, inspectState(bundle, { batch: 1, free, slackMs: 100, models })];
}

const MAX_STEPS = 100_000;

/** @throws Error if a query never ends. */
function runQueries(bundle: AccordionBundle, queryCount: number): void {
  const scheduler = new AccordionScheduler(bundle, { queryCapacity: queryCount });
  const out = new AccordionCommands();
  const left = new Map<number, number>();
  const placesByQuery = new Map<number, number[]>();
  const obey = (): void => {
    for (let command = 0; command < out.count; command++) {
      const query = out.query(command);
      if (out.kind(command) === DROP) placesByQuery.delete(query);
      else placesByQuery.set(query, placesOf(out, command));
    }
    out.clear();
  };
  for (let place = 0; place < scheduler.placeCount; place++) scheduler.onPlaceReady(place, 0, out);
  for (let query = 0; query < queryCount; query++) {
    const batch = query % 2 === 0 ? 1 : bundle.policy.maxBatch;
    left.set(query, batch);
    const asked = { model: query >> 1, batch, isHigh: query % 2 === 0, deadlineMs: 1000 };
    scheduler.onQuery(query, asked, 0, out);
  }
  obey();
  for (const [query, places] of placesByQuery) if (places.includes(0)) placesByQuery.delete(query);
  scheduler.onPlaceLost(0, 1, out);
  obey();
  let nowMs = 1;
  for (let step = 0; step < MAX_STEPS; step++) {
    const [query] = placesByQuery.keys();
    if (query === undefined && !Number.isFinite(scheduler.wakeMs)) break;
    nowMs++;
    if (query === undefined) {
      nowMs = Math.max(nowMs, scheduler.wakeMs);
      scheduler.onWake(nowMs, out);
    } else {
      const rest = (left.get(query) ?? 0) - 1;
      left.set(query, rest);
      if (rest === 0) placesByQuery.delete(query);
      scheduler.onInstanceDone(query, nowMs, out);
    }
    obey();
  }
  if (scheduler.activeCount + scheduler.waitingCount > 0) throw new Error("a query never ends");
}

function placesOf(out: AccordionCommands, command: number): number[] {
  return Array.from({ length: out.placeCount(command) }, (_, stage) => out.place(command, stage));
}
