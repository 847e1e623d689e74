/** Measured runs → a latency profile, and what is to be known about the measurement. */
import { LatencySample } from "../simulate/latency-sample.ts";
import type { LayersSpec, ProfileSpec } from "../spec/profile-schema.ts";
import type { Machine } from "./machine.ts";
import { type Cell, WARM_UP_RUNS } from "./measure.ts";
import type { ProfilePlan } from "./profile-plan.ts";

export interface Quantiles {
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly mean: number;
}

/** Beside a profile: how it was measured, and what processor time says of the same runs. */
export interface Measurement {
  readonly format: "latency-measurement/1";
  readonly machine: Machine;
  readonly device: string;
  /**
   * Threads that a batch had; where it was measured on several numbers of cores, the first of them.
   */
  readonly threads: number;
  readonly seed: number;
  readonly repeat: number;
  readonly warmUpRuns: number;
  readonly modelSha256ByVariant: Readonly<Record<string, string>>;
  readonly noise: Noise;
  readonly cells: readonly CellMeasurement[];
}

interface Noise {
  /** Mean of the noise of the cells; 1 is a machine that always takes the same time. */
  readonly figure: number;
  readonly limit: number;
  /**
   * Part of the wall time inside the worker that no processor worked for it, over all cells of one
   * core: what neighbours took. Null where there are none, or batches run on an accelerator. It
   * shows a steady neighbour, which the figure does not.
   */
  readonly waitingShare: number | null;
}

interface CellMeasurement {
  readonly variant: string;
  readonly batch: number;
  readonly cores: number;
  readonly samples: number;
  /** (p95 + 0.5 ms) ÷ (p50 + 0.5 ms) of the wall time. */
  readonly noise: number;
  readonly wallMs: Quantiles;
  readonly workerMs: Quantiles;
  readonly cpuMs: Quantiles;
}

/**
 * Added to both sides of a cell's noise: jitter of some tenths of a millisecond, which no deadline
 * notices, must not condemn a model that takes as little.
 */
const JITTER_MS = 0.5;
/**
 * If p99 / p50 is above this, the quantiles are those of the neighbours. A pinned, quiet core has
 * about 1.2, one with a noisy neighbour 2 to 3.
 */
const NOISE_LIMIT = 1.5;

/**
 * @param cells of the plan, at least one run each.
 * @param layersOf what was measured of the layers of a variant, by its name.
 */
export function latencyProfile(
  plan: ProfilePlan,
  cells: readonly Cell[],
  layersOf: ReadonlyMap<string, LayersSpec> = new Map(),
): ProfileSpec {
  const { task, hardware, machine, cores, isByCores, repeat, device } = plan;
  const scaled = layersOf.size === 0 ? "" : " (layers: inside it, scaled to the whole)";
  const source =
    `stratagem profile: wall time around a worker${scaled}, ` +
    `${repeat} runs each after ${WARM_UP_RUNS} to warm up, ${threadsText(plan)}, ` +
    `device ${device}, ${machine.processor}, ${machine.cores} cores, ` +
    `Node ${machine.nodeVersion}, onnxruntime ${machine.onnxruntimeVersion}`;
  return {
    format: "latency-profile/1",
    ...(task === null ? {} : { task }),
    hardware,
    source,
    variants: Object.fromEntries(
      plan.variants.map(({ name, accuracy }) => {
        const own = cells.filter(({ variant }) => variant === name);
        const layers = layersOf.get(name);
        const byCores = cores.map((count) => [count, rowsOf(own, count)] as const);
        return [
          name,
          {
            ...(accuracy === null ? {} : { accuracy }),
            latencyMs: rowsOf(own, cores[0]),
            ...(isByCores ? { byCores: Object.fromEntries(byCores) } : {}),
            ...(layers === undefined ? {} : { layers }),
          },
        ];
      }),
    ),
  };
}

function threadsText({ cores, isByCores }: ProfilePlan): string {
  if (isByCores) return `on ${cores.join(", ")} cores, latencyMs on ${cores[0]}`;
  return cores[0] === 1 ? "1 thread" : `${cores[0]} threads`;
}

/** @param cells of one variant. */
function rowsOf(cells: readonly Cell[], cores: number) {
  return Object.fromEntries(
    cells
      .filter((cell) => cell.cores === cores)
      .map(({ batch, wallMs }) => [batch, { ...quantilesOf(wallMs), samples: wallMs.length }]),
  );
}

/** @param cells of the plan, at least one run each. */
export function describeMeasurement(plan: ProfilePlan, cells: readonly Cell[]): Measurement {
  const { machine, device, cores, seed, repeat } = plan;
  const measured = cells.map((cell): CellMeasurement => {
    const wallMs = quantilesOf(cell.wallMs);
    return {
      variant: cell.variant,
      batch: cell.batch,
      cores: cell.cores,
      samples: cell.wallMs.length,
      noise: (wallMs.p95 + JITTER_MS) / (wallMs.p50 + JITTER_MS),
      wallMs,
      workerMs: quantilesOf(cell.workerMs),
      cpuMs: quantilesOf(cell.cpuMs),
    };
  });
  return {
    format: "latency-measurement/1",
    machine,
    device,
    threads: cores[0],
    seed,
    repeat,
    warmUpRuns: WARM_UP_RUNS,
    modelSha256ByVariant: Object.fromEntries(
      plan.variants.map(({ name, model }) => [name, model.sha256]),
    ),
    noise: {
      figure: measured.reduce((sum, { noise }) => sum + noise, 0) / measured.length,
      limit: NOISE_LIMIT,
      waitingShare: device === "cpu" ? waitingShareOf(measured) : null,
    },
    cells: measured,
  };
}

function waitingShareOf(measured: readonly CellMeasurement[]): number | null {
  const cells = measured.filter(({ cores }) => cores === 1);
  if (cells.length === 0) return null;
  const workerMs = cells.reduce((sum, cell) => sum + cell.workerMs.mean, 0);
  const cpuMs = cells.reduce((sum, cell) => sum + cell.cpuMs.mean, 0);
  return workerMs === 0 ? 0 : Math.max(0, 1 - cpuMs / workerMs);
}

/**
 * Nearest ranks, so with fewer than 100 runs p99 is the longest of them. Rounded to a nanosecond.
 */
export function quantilesOf(times: readonly number[]): Quantiles {
  const sample = new LatencySample();
  for (const time of times) sample.record(time);
  const { p50, p95, p99, mean } = sample.summary() ?? { p50: 0, p95: 0, p99: 0, mean: 0 };
  return { p50: rounded(p50), p95: rounded(p95), p99: rounded(p99), mean: rounded(mean) };
}

/** To a nanosecond. */
export function rounded(ms: number): number {
  return Math.round(ms * 1e6) / 1e6;
}
