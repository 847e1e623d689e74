import type {
  AccordionBundle,
  AccordionLevel,
  AccordionOptions,
  LayerPipeline,
  MalleableVariant,
  PlaceExpected,
  Pool,
  Table,
} from "stratagem-runtime/internal/bundle/schema";
import { chainModel, chainStages } from "./chain-model.ts";

export { chainModel };

/** Give `layerMs`, or `wholeMs` and `speedups`. */
export interface AccordionModelSketch {
  readonly name: string;
  readonly accuracy?: number;
  /** Of each layer of one instance, on a pool of speed 1. */
  readonly layerMs?: readonly number[];
  /** Of one instance on one place of speed 1. */
  readonly wholeMs?: number;
  /** By number of places, as a profile gives them: those between are linear. */
  readonly speedups?: Readonly<Record<number, number>>;
  /** Whether there are ONNX files, in words only: see `chainModel`. Takes `layerMs`. */
  readonly hasModel?: boolean;
}

interface PlacePoolSketch {
  readonly workers: number;
  readonly name?: string;
  /** Of its places: layer times are divided by it. */
  readonly speed?: number;
}

interface PlaceLevelSketch {
  readonly loadQps: number;
  readonly feasible?: boolean;
  readonly capacityQps?: number;
  readonly expected?: Partial<PlaceExpected>;
}

export interface AccordionBundleSketch {
  readonly models?: readonly AccordionModelSketch[];
  /** Workers of the one pool, unless `pools` are given. */
  readonly places?: number;
  readonly pools?: readonly PlacePoolSketch[];
  readonly timing?: AccordionOptions["timing"];
  readonly maxDepth?: number;
  readonly maxBatch?: number;
  /** `executionPlaces` is all workers unless it is given here. */
  readonly policy?: Partial<AccordionOptions>;
  readonly sloMs?: number;
  readonly maxViolationRate?: number | null;
  readonly percentile?: number;
  readonly communicationLatencyMs?: number;
  readonly levels?: readonly PlaceLevelSketch[];
}

const POLICY: Omit<AccordionOptions, "executionPlaces"> = {
  maxDepth: 4,
  timing: "pipelined",
  maxBatch: 8,
  scheduler: "accordion",
  regrow: false,
  backfill: false,
  reconfigurationMs: 5,
  dropAfterSlos: 1,
  dropout: "arrival",
  meanBatch: 4,
  batchSigma: 0.5,
  lowShare: 0.5,
};

/**
 * Six layers that balance on three places and nearly on four; two that allow two places at most.
 */
const MODELS: readonly AccordionModelSketch[] = [
  { name: "deep", accuracy: 0.9, layerMs: [4, 6, 3, 7, 5, 5] },
  { name: "small", accuracy: 0.8, layerMs: [3, 2] },
];

const EXPECTED: PlaceExpected = {
  violationRate: 0.002,
  droppedRate: 0.001,
  latencyMsP50: 60,
  latencyMsP99: 140,
  occupancy: 0.4,
  activeQueries: 2.5,
  reconfigurations: 0.1,
  queries: 10_000,
  seed: 1,
  durationMs: 600_000,
};

/**
 * A valid bundle in memory, frozen but for its tables: by default two models on eight equal places,
 * of which a query has at most four.
 */
export function accordionBundle(sketch: AccordionBundleSketch = {}): AccordionBundle {
  const pools = sketch.pools ?? [{ workers: sketch.places ?? 8 }];
  const workers = pools.reduce((sum, pool) => sum + pool.workers, 0);
  const policy: AccordionOptions = {
    ...POLICY,
    executionPlaces: workers,
    ...(sketch.maxDepth === undefined ? {} : { maxDepth: sketch.maxDepth }),
    ...(sketch.maxBatch === undefined ? {} : { maxBatch: sketch.maxBatch }),
    ...(sketch.timing === undefined ? {} : { timing: sketch.timing }),
    ...sketch.policy,
  };
  const shapes = shapesOf(usedPlaces(pools, policy.executionPlaces), policy.maxDepth);
  const speeds = pools.map(({ speed = 1 }) => speed);
  const variants = (sketch.models ?? MODELS).map((model) =>
    variantOf(model, { shapes, speeds, policy, poolNames: pools.map(nameOfPool) }),
  );
  const levels = (sketch.levels ?? [{ loadQps: 10 }, { loadQps: 40 }]).map((level) =>
    levelOf(level, variants, policy),
  );
  return freeze({
    application: "places",
    method: "accordion",
    slo: {
      latencyMs: sketch.sloMs ?? 200,
      maxViolationRate: sketch.maxViolationRate === undefined ? null : sketch.maxViolationRate,
      percentile: sketch.percentile ?? 99,
    },
    arrivals: { process: "poisson" },
    cluster: {
      communicationLatencyMs: sketch.communicationLatencyMs ?? 0,
      pools: pools.map((pool, index) => poolOf(pool, index)),
    },
    tasks: [{ name: "infer", variants }],
    policy,
    shapes: {
      dtype: "uint16",
      shape: [shapes.length, pools.length],
      data: Uint16Array.from(shapes.flat()),
    },
    levels,
    provenance: { compiler: "place-bundle", inputs: [] },
  });
}

/**
 * The models of Accordion's Table 1, seconds and speed-ups as printed, the depths between
 * interpolated.
 */
const TABLE_1: readonly AccordionModelSketch[] = [
  { name: "ResNet50", accuracy: 1, wholeMs: 1400, speedups: { 2: 1.33, 4: 2.19, 8: 3.29 } },
  { name: "VGG16", accuracy: 1, wholeMs: 690, speedups: { 2: 1.43, 4: 2.71, 8: 3.47 } },
  { name: "ResNet152", accuracy: 1, wholeMs: 4820, speedups: { 2: 1.94, 4: 2.06, 8: 5.66 } },
];

/**
 * The paper's setting: its three models on 64 places, of which a query has at most eight. Scheduler
 * options go into `policy`.
 */
export function table1Bundle(sketch: Omit<AccordionBundleSketch, "models"> = {}): AccordionBundle {
  return accordionBundle({
    models: TABLE_1,
    places: 64,
    maxDepth: 8,
    maxBatch: 100,
    sloMs: 60_000,
    levels: [{ loadQps: 0.5 }],
    ...sketch,
    policy: { meanBatch: 20, ...sketch.policy },
  });
}

function nameOfPool({ name }: PlacePoolSketch, index: number): string {
  return name ?? (index === 0 ? "default" : `pool-${index}`);
}

function poolOf(pool: PlacePoolSketch, index: number): Pool {
  const hardware = nameOfPool(pool, index);
  return { name: hardware, hardware, workers: pool.workers, cores: null, pricePerHour: null };
}

/** Of each pool, the first pools' first. */
function usedPlaces(pools: readonly PlacePoolSketch[], executionPlaces: number): number[] {
  let left = executionPlaces;
  return pools.map(({ workers }) => {
    const used = Math.min(workers, left);
    left -= used;
    return used;
  });
}

/** Counts by pool, every one that the places allow, sorted as bundles hold them. */
function shapesOf(places: readonly number[], maxDepth: number): number[][] {
  let shapes: number[][] = [[]];
  for (const most of places) {
    shapes = shapes.flatMap((shape) =>
      Array.from({ length: Math.min(most, maxDepth) + 1 }, (_, count) => [...shape, count]),
    );
    shapes = shapes.filter((shape) => sumOf(shape) <= maxDepth);
  }
  return shapes.filter((shape) => sumOf(shape) > 0).sort(byPlaces);
}

function byPlaces(a: readonly number[], b: readonly number[]): number {
  const difference = sumOf(a) - sumOf(b);
  if (difference !== 0) return difference;
  const pool = a.findIndex((count, index) => count !== b[index]);
  return (b[pool] ?? 0) - (a[pool] ?? 0);
}

interface Setting {
  readonly shapes: readonly (readonly number[])[];
  readonly speeds: readonly number[];
  readonly poolNames: readonly string[];
  readonly policy: AccordionOptions;
}

function variantOf(sketch: AccordionModelSketch, setting: Setting): MalleableVariant {
  const { shapes, policy } = setting;
  const { layerMs = [], name } = sketch;
  const pipelines = layerMs.length > 0 ? layered(layerMs, setting) : sped(sketch, setting);
  const first = pipelines[0];
  if (first === null || first === undefined) throw new RangeError(`${name}: no first pipeline`);
  const wholeMs = fillMs(first, first.stepMs);
  const latencyMs = pipelines.flatMap((pipeline) =>
    Array.from({ length: policy.maxBatch }, (_, index) => {
      if (pipeline === null) return Number.POSITIVE_INFINITY;
      if (policy.timing === "paper") return ((index + 1) * wholeMs) / pipeline.speedup;
      return fillMs(pipeline, wholeMs) + index * pipeline.stepMs;
    }),
  );
  const model = sketch.hasModel === true ? chainModel(name, layerMs.length) : null;
  return {
    name,
    accuracy: sketch.accuracy ?? 1,
    model,
    profiles: setting.poolNames.map((hardware) => ({
      file: "sketch.json",
      variant: name,
      hardware,
      sha256: "0".repeat(64),
    })),
    layerCount: layerMs.length,
    pipelines,
    latencyMs: doubles(latencyMs, [shapes.length, policy.maxBatch]),
    stages: model === null ? [] : chainStages(name, layerMs.length, pipelines),
  };
}

/** What the first instance takes. */
function fillMs({ stageMs }: LayerPipeline, wholeMs: number): number {
  return stageMs.length === 0 ? wholeMs : sumOf(stageMs);
}

function layered(
  layerMs: readonly number[],
  { shapes, speeds }: Setting,
): (LayerPipeline | null)[] {
  const alone = sumOf(layerMs) / (speeds[shapes[0]?.findIndex((count) => count > 0) ?? 0] ?? 1);
  return shapes.map((shape): LayerPipeline | null => {
    const best = balanced(layerMs, speeds, shape);
    if (best === null) return null;
    const { cut, pools } = best;
    let from = 0;
    const stageMs = cut.map((layers, stage) => {
      const ms = sumOf(layerMs.slice(from, from + layers)) / (speeds[pools[stage] ?? 0] ?? 1);
      from += layers;
      return ms;
    });
    const stepMs = Math.max(...stageMs);
    return { cut, pools, stageMs, stepMs, speedup: alone / stepMs, isMeasured: false };
  });
}

interface Cut {
  readonly heaviestMs: number;
  readonly cut: readonly number[];
  readonly pools: readonly number[];
}

/**
 * The cut whose heaviest stage is the least, by trying all from the last stage on; null where there
 * are fewer layers than places.
 */
function balanced(
  layerMs: readonly number[],
  speeds: readonly number[],
  shape: readonly number[],
): Cut | null {
  const known = new Map<string, Cut | null>();
  const search = (left: readonly number[], layers: number): Cut | null => {
    if (sumOf(left) === 0) return layers === 0 ? { heaviestMs: 0, cut: [], pools: [] } : null;
    const key = `${left}/${layers}`;
    const found = known.get(key);
    if (found !== undefined) return found;
    let best: Cut | null = null;
    for (const [pool, count] of left.entries()) {
      if (count === 0) continue;
      const rest = left.with(pool, count - 1);
      let lastMs = 0;
      for (let before = layers - 1; before >= 0; before--) {
        lastMs += (layerMs[before] ?? 0) / (speeds[pool] ?? 1);
        const head = search(rest, before);
        if (head === null) continue;
        const heaviestMs = Math.max(head.heaviestMs, lastMs);
        if (best !== null && heaviestMs >= best.heaviestMs) continue;
        const cut = [...head.cut, layers - before];
        best = { heaviestMs, cut, pools: [...head.pools, pool] };
      }
    }
    known.set(key, best);
    return best;
  };
  return search(shape, layerMs.length);
}

/** Speed-ups are those of the slowest of the places. */
function sped(
  { wholeMs = 0, speedups = {} }: AccordionModelSketch,
  { shapes, speeds }: Setting,
): (LayerPipeline | null)[] {
  const slowest = (shape: readonly number[]): number =>
    Math.min(...shape.flatMap((count, pool) => (count > 0 ? [speeds[pool] ?? 1] : [])));
  const first = slowest(shapes[0] ?? []);
  return shapes.map((shape): LayerPipeline | null => {
    const places = sumOf(shape);
    const alone = interpolated({ 1: 1, ...speedups }, places);
    if (alone === null) return null;
    const speedup = (alone * slowest(shape)) / first;
    return {
      cut: [],
      pools: shape.flatMap((count, pool) => new Array<number>(count).fill(pool)),
      stageMs: [],
      stepMs: wholeMs / first / speedup,
      speedup,
      isMeasured: places === 1 || speedups[places] !== undefined,
    };
  });
}

function interpolated(points: Readonly<Record<number, number>>, at: number): number | null {
  const known = Object.keys(points)
    .map(Number)
    .sort((a, b) => a - b);
  const upper = known.find((places) => places >= at);
  const lower = known.findLast((places) => places <= at);
  if (upper === undefined || lower === undefined) return null;
  const low = points[lower] ?? 0;
  const high = points[upper] ?? 0;
  return upper === lower ? low : low + ((high - low) * (at - lower)) / (upper - lower);
}

/** Capacity: every place runs a query of the mean batch of its own, the models by turns. */
function levelOf(
  { loadQps, feasible, expected, ...sketch }: PlaceLevelSketch,
  variants: readonly MalleableVariant[],
  { executionPlaces, meanBatch }: AccordionOptions,
): AccordionLevel {
  const meanMs =
    sumOf(variants.map(({ pipelines }) => meanBatch * (pipelines[0]?.stepMs ?? 0))) /
    variants.length;
  const capacityQps = sketch.capacityQps ?? (1000 * executionPlaces) / meanMs;
  return {
    loadQps,
    feasible: feasible ?? loadQps <= capacityQps,
    capacityQps,
    expected: { ...EXPECTED, ...expected },
  };
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}

function doubles(values: readonly number[], shape: readonly number[]): Table {
  return { dtype: "float64", shape, data: Float64Array.from(values) };
}

function freeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return value;
  Object.freeze(value);
  for (const child of Object.values(value)) freeze(child);
  return value;
}
