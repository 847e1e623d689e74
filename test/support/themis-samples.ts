import { fittedMs, type LatencyFit, type ThemisBundle } from "../../runtime/bundle/schema.ts";
import {
  type InferlineTaskSketches,
  type ThemisBundleSketch,
  type ThemisTaskSketch,
  themisBundle,
} from "./themis-bundle.ts";

const SLO_MS = 180;
/** Of the longest path. */
const DEPTH = 3;
const MAX_BATCH = 8;
const MAX_CORES = 4;
const LOADS_QPS = [10, 20, 40, 80, 160, 240, 320];
/** Beyond what the pool of 64 cores carries. */
const BEYOND = { loadQps: 500, capacityQps: 360 };
/** Measured latency over fitted, point by point. */
const ERRORS = [1, 1.02, 0.97, 1.01, 0.99, 1.06, 1, 0.95, 1.03, 1, 0.98, 1.015];

const DETECT: LatencyFit = { gamma: 30, epsilon: 8, delta: 1.5, eta: 6 };
const FACES: LatencyFit = { gamma: 12, epsilon: 5, delta: 1, eta: 3 };
const RANK: LatencyFit = { gamma: 4, epsilon: 2, delta: 0.25, eta: 1 };

/**
 * Finds objects, reads what 60 % and 30 % of the images need, and ranks what was read; one of the
 * models was measured on all cores.
 */
const TASKS: readonly ThemisTaskSketch[] = [
  { name: "detect", accuracy: 0.9, fit: DETECT, points: pointsOf(DETECT) },
  { name: "faces", accuracy: 0.8, from: { detect: 0.6 }, fit: FACES },
  { name: "plates", accuracy: 0.85, from: { detect: 0.3 }, latencyMs: tableOf(18, 9) },
  { name: "rank", from: { faces: 1, plates: 1 }, fit: RANK, points: pointsOf(RANK) },
];

const SCALE_FACTORS = [1, 0.6, 0.3, 0.72];

/**
 * A pipeline with branches and a join, its plans for eight loads, the last of which is beyond what
 * the pool carries.
 */
export function themisSample(sketch: ThemisBundleSketch = {}): ThemisBundle {
  const bundle = themisBundle({
    tasks: TASKS,
    sloMs: SLO_MS,
    communicationLatencyMs: 1,
    maxViolationRate: 0.01,
    workers: 16,
    cores: 4,
    levels: [
      ...LOADS_QPS.map((loadQps) => ({
        loadQps,
        steady: stagesFor(loadQps, MAX_CORES, 64),
        horizontal: stagesFor(loadQps, 1, 64),
        vertical: orNull(stagesFor(loadQps, MAX_CORES, 1)),
      })),
      {
        ...BEYOND,
        steady: stagesFor(BEYOND.capacityQps, MAX_CORES, 64),
        horizontal: null,
        vertical: null,
        solve: { bindingTask: 0 },
      },
    ],
    ...sketch,
  });
  const levels = bundle.levels.map((level, index) => ({
    ...level,
    steady: {
      ...level.steady,
      expected: { ...level.steady.expected, violationRate: 0.0005 * (1 + (index % 5) ** 2) },
    },
  }));
  return { ...bundle, levels };
}

function pointsOf(fit: LatencyFit): [number, number, number][] {
  return [1, 2, 4].flatMap((cores, row) =>
    [1, 2, 4, 8].map((batch, column): [number, number, number] => {
      const error = ERRORS[4 * row + column] ?? 1;
      return [batch, cores, Number((fittedMs(fit, batch, cores) * error).toFixed(3))];
    }),
  );
}

function tableOf(perQueryMs: number, baseMs: number): number[][] {
  return Array.from({ length: MAX_CORES }, (_, core) =>
    Array.from({ length: MAX_BATCH }, (_unused, batch) =>
      Number(((perQueryMs * (batch + 1)) / (core + 1) ** 0.9 + baseMs).toFixed(3)),
    ),
  );
}

/**
 * Of each stage the fewest cores within its part of the SLO, and of those the fastest; no stage at
 * all where it cannot carry the load.
 */
function stagesFor(loadQps: number, maxCores: number, maxInstances: number): InferlineTaskSketches {
  return TASKS.flatMap((task, index) => {
    const neededQps = 1.05 * loadQps * (SCALE_FACTORS[index] ?? 1);
    let best: readonly [number, number, number] | null = null;
    let least = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY] as const;
    for (let cores = 1; cores <= maxCores; cores++) {
      for (let batch = 1; batch <= MAX_BATCH; batch++) {
        const ms = task.latencyMs?.[cores - 1]?.[batch - 1] ?? fitted(task, batch, cores);
        const stageMs = ms + (1000 * (batch - 1)) / neededQps;
        const instances = Math.ceil((neededQps * ms) / (1000 * batch));
        if (stageMs > SLO_MS / DEPTH || instances > maxInstances) continue;
        const total = cores * instances;
        if (total > least[0] || (total === least[0] && stageMs >= least[1])) continue;
        least = [total, stageMs];
        best = [batch, cores, instances];
      }
    }
    return best === null ? [] : [best];
  });
}

function fitted({ fit }: ThemisTaskSketch, batch: number, cores: number): number {
  return fit === undefined ? Number.NaN : fittedMs(fit, batch, cores);
}

function orNull(stages: InferlineTaskSketches): InferlineTaskSketches | null {
  return stages.length === TASKS.length ? stages : null;
}
