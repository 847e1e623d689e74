/**
 * Measures how long a new worker takes to become ready for a variant: process start, model load,
 * and first runs of all batches; and which nodes of the model a GPU leaves to the CPU.
 */
import type { VariantModel } from "stratagem-runtime/internal/exec/models/executor";
import type { LoadFacts } from "stratagem-runtime/internal/exec/models/model-facts";
import { opCounts } from "stratagem-runtime/internal/exec/models/model-facts";
import type { VariantMeasurements } from "../spec/schema/profile-schema.ts";
import { rounded } from "./latency-profile.ts";
import type { ProfilePlan } from "./profile-plan.ts";
import { Change, executorOptions, noWorker, type WorkerSources } from "./profiled-worker.ts";

export interface MeasuredStart extends Pick<VariantMeasurements, "start" | "fallback"> {
  readonly facts: LoadFacts;
}

/**
 * Starts a separate worker for each variant, so that none benefits from another's compilation.
 * @returns measured starts by variant name.
 * @throws InputError if a worker does not start; the signal's reason.
 */
export async function measureStarts(
  plan: ProfilePlan,
  { startExecutor, signal }: WorkerSources,
): Promise<ReadonlyMap<string, MeasuredStart>> {
  const seen = { processMs: [] as number[], facts: new Map<number, LoadFacts>() };
  // Load times of the trial with all models are not those of a starting worker.
  let isTrial = true;
  const change = new Change(signal);
  const isReady = change.begin((reason) => noWorker(plan, reason));
  const options = { ...executorOptions(plan, 1), variants: warmedVariants(plan) };
  const started = startExecutor(options, {
    onReady: () => change.end(),
    onModelReady: () => change.end(),
    onLost: (_worker, reason) => change.fail(reason),
    onStarted: (tookMs) => seen.processMs.push(tookMs),
    onModelFacts: ({ variant, ...facts }) => {
      if (!isTrial) seen.facts.set(variant, facts);
    },
  });
  const executor = await Promise.resolve(started).catch((error: unknown) => {
    throw noWorker(plan, error instanceof Error ? error.message : String(error));
  });
  isTrial = false;
  try {
    await isReady;
    for (const variant of plan.variants.keys()) {
      const isHeld = change.begin((reason) => noWorker(plan, reason));
      executor.assign(0, [variant], plan.cores[0]);
      await isHeld;
      executor.release(0);
    }
  } finally {
    await executor.close();
  }
  return startsOf(plan, seen);
}

/** Warms variants with the profiled batches, unless their models may refuse zeros. */
function warmedVariants(plan: ProfilePlan): VariantModel[] {
  return executorOptions(plan, 1).variants.map((variant, index) => {
    const { batches = [], samples, host } = plan.variants[index] ?? {};
    // Modules and other servers run the samples they have.
    const isSafe = host === undefined || samples !== undefined;
    const warmCores = [plan.cores[0]];
    return { ...variant, warmBatches: isSafe ? batches : [], warmCores, mayRefuseZeros: true };
  });
}

function startsOf(
  { variants }: ProfilePlan,
  seen: { readonly processMs: readonly number[]; readonly facts: ReadonlyMap<number, LoadFacts> },
): Map<string, MeasuredStart> {
  const starts = new Map<string, MeasuredStart>();
  const processMs = toMicroseconds(median(seen.processMs));
  for (const [index, { name }] of variants.entries()) {
    const facts = seen.facts.get(index);
    if (facts === undefined || seen.processMs.length === 0) continue;
    const [loadMs, warmMs] = [toMicroseconds(facts.loadMs), toMicroseconds(facts.warmMs)];
    const start = { processMs, loadMs, warmMs };
    starts.set(name, { start, ...fallbackOf(facts), facts });
  }
  return starts;
}

/** Returns no field if no node falls back, or if that is unknown. */
function fallbackOf({ nodes, cpuNodes }: LoadFacts): Pick<VariantMeasurements, "fallback"> {
  if (cpuNodes.length === 0 || nodes === null) return {};
  const names = cpuNodes.map(({ name }) => name);
  return { fallback: { nodes: names.length, of: nodes, ops: opCounts(cpuNodes), names } };
}

function median(times: readonly number[]): number {
  const sorted = [...times].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

function toMicroseconds(ms: number): number {
  return rounded(Math.round(ms * 1e3) / 1e3);
}
