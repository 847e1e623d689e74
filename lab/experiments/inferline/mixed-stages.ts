/**
 * Harpagon's several (batch, hardware) tuples in one stage, on the random pipelines: whether a plan
 * that is proven the cheapest of one hardware for each stage becomes cheaper where one of its
 * stages has two.
 *
 * A stage of two keeps one queue; of its idle replicas the faster ones take what waits, in batches
 * of their own limit. One stage at a time is changed, so what is found is the least that mixing
 * could save, not the most.
 */
import { allowedMisses } from "stratagem/internal/graph/served-tasks";
import { planWithMargin } from "stratagem/internal/methods/inferline/solve/margin";
import {
  costOf,
  hardwareOf,
  type ProvisioningProblem,
  type TaskHardware,
} from "stratagem/internal/methods/inferline/solve/problem";
import type { RequestTrace } from "stratagem/internal/simulate/graph/visits";
import type { Experiment, Run } from "../harness/experiment.ts";
import { ascending, percent, present, quantile } from "../harness/numbers.ts";
import { type Instance, instanceOf, SAMPLE_MS, tracesOf } from "./random-pipelines.ts";

const QUERY_LIMIT = 5000 * 100_000;
const HELD_OUT = 20;
const TRIED_BATCHES = [1, 4, 16];
/** Of the queries of a sample; with less, far more than may are late. */
const LEAST_CAPACITY = 0.97;

/** Replicas of one hardware with one limit of batches. */
interface Group {
  readonly hardware: TaskHardware;
  readonly batch: number;
  readonly replicas: number;
}

/** The fastest first. */
type MixedStage = readonly Group[];

interface Found {
  readonly seed: number;
  /** Millionths per hour. */
  readonly plainCost: number;
  readonly mixedCost: number;
  /** Misses of traces that no plan was made with, mean. */
  readonly plainMisses: number;
  readonly mixedMisses: number;
}

export const mixed: Experiment = {
  name: "mixed",
  about: "Harpagon's several tuples in one stage, beside exact plans of random pipelines",
  takes: "ten minutes",
  isExtra: true,
  options: { instances: "how many; 40", first: "seed of the first; 1" },
  run: mixAll,
};

function mixAll({ page, flags }: Run): void {
  const first = flags.number("first") ?? 1;
  const count = flags.number("instances") ?? 40;
  const found: Found[] = [];
  for (let seed = first; seed < first + count; seed++) {
    const one = foundFor(seed);
    if (one === null) continue;
    found.push(one);
    const saving = 1 - one.mixedCost / one.plainCost;
    page.say(
      `${seed}: ${(one.plainCost / 1e6).toFixed(3)} $/h, mixed ` +
        `${(one.mixedCost / 1e6).toFixed(3)} (${percent(saving, 1)} less), held-out misses ` +
        `${percent(one.plainMisses)} and ${percent(one.mixedMisses)}`,
    );
  }
  const savings = found.map(({ plainCost, mixedCost }) => 1 - mixedCost / plainCost);
  const cheaper = ascending(savings.filter((saving) => saving > 0));
  page.say(
    `\n${found.length} instances; mixed cheaper in ${cheaper.length}, median of these ` +
      `${percent(quantile(cheaper, 0.5), 1)}, most ${percent(Math.max(0, ...cheaper), 1)}`,
  );
}

/** Null where nothing meets the SLO. */
function foundFor(seed: number): Found | null {
  const instance = instanceOf(seed);
  const { problem } = instance;
  const [sample] = tracesOf(instance, seed, 1);
  const trace = present(sample);
  const { configuration } = planWithMargin(problem, [trace], 0, {
    refine: "exact",
    queryLimit: QUERY_LIMIT,
  });
  if (configuration === null) return null;
  const plain = configuration.map((one, stage): MixedStage => {
    const { batch, replicas } = one;
    return [{ hardware: hardwareOf(problem, stage, one), batch, replicas }];
  });
  const allowed = allowedMisses(trace.arrivalMs.length, problem.violationCeiling);
  if (lateOf(problem, trace, plain, Number.POSITIVE_INFINITY) > allowed) {
    throw new RangeError("a plan of one hardware for each stage serves as the planner says");
  }
  const plainCost = costOf(problem, configuration);
  const best = cheapestMix(problem, trace, plain);
  const heldOut = tracesOf(instance, 2_000_000 + 1000 * seed, HELD_OUT);
  return {
    seed,
    plainCost,
    mixedCost: priceOf(best),
    plainMisses: missesOf(instance, plain, heldOut),
    mixedMisses: missesOf(instance, best, heldOut),
  };
}

/** One stage after the other, as long as something is cheaper. */
function cheapestMix(
  problem: ProvisioningProblem,
  trace: RequestTrace,
  plan: readonly MixedStage[],
): readonly MixedStage[] {
  const allowed = allowedMisses(trace.arrivalMs.length, problem.violationCeiling);
  let best = plan;
  for (const [stage, groups] of plan.entries()) {
    const [own] = groups;
    if (own === undefined) continue;
    // The cheapest first, so that the first that serves is the best of the stage.
    const queries = trace.arrivalMs.length * shareOf(trace, stage);
    for (const mix of mixesOf(problem, stage, own)) {
      if (capacityOf(mix) < LEAST_CAPACITY * queries) continue;
      const candidate = best.with(stage, mix);
      if (lateOf(problem, trace, candidate, allowed) > allowed) continue;
      if (priceOf(candidate) < priceOf(best)) best = candidate;
      break;
    }
  }
  return best;
}

/** Some replicas of one hardware and some of another, cheaper in all than what a stage has. */
function mixesOf(problem: ProvisioningProblem, stage: number, own: Group): MixedStage[] {
  const price = own.replicas * own.hardware.price;
  const { hardware } = present(problem.stages[stage]);
  const mixes: { readonly mix: MixedStage; readonly price: number }[] = [];
  for (const [index, main] of hardware.entries()) {
    for (const other of hardware.slice(0, index)) {
      for (const mainBatch of batchesOf(main, own)) {
        for (const otherBatch of batchesOf(other, own)) {
          for (let mains = 1; mains * main.price < price; mains++) {
            const left = price - mains * main.price;
            for (let others = 1; others * other.price < left; others++) {
              const groups = [
                { hardware: main, batch: mainBatch, replicas: mains },
                { hardware: other, batch: otherBatch, replicas: others },
              ];
              const mix = groups.sort((a, b) => aloneMs(a) - aloneMs(b));
              mixes.push({ mix, price: mains * main.price + others * other.price });
            }
          }
        }
      }
    }
  }
  return mixes.sort((a, b) => a.price - b.price).map(({ mix }) => mix);
}

/** The planned one, or some of others. */
function batchesOf(hardware: TaskHardware, own: Group): readonly number[] {
  return hardware === own.hardware ? [own.batch] : TRIED_BATCHES;
}

/** Part of the requests that come to a stage of a chain. */
function shareOf({ takenByEdge, arrivalMs }: RequestTrace, stage: number): number {
  let count = arrivalMs.length;
  for (const taken of takenByEdge.slice(0, stage + 1)) {
    if (taken !== null)
      count = Math.min(
        count,
        taken.reduce((sum, one) => sum + one, 0),
      );
  }
  return count / arrivalMs.length;
}

/** Queries that whole batches of all replicas are in the time of a sample, and some. */
function capacityOf(mix: MixedStage): number {
  return mix.reduce((sum, { hardware, batch, replicas }) => {
    return sum + (replicas * batch * SAMPLE_MS) / (hardware.batchMs[batch - 1] ?? Number.NaN);
  }, 0);
}

function aloneMs({ hardware }: Group): number {
  return hardware.batchMs[0] ?? Number.POSITIVE_INFINITY;
}

function priceOf(plan: readonly MixedStage[]): number {
  return plan.flat().reduce((sum, { hardware, replicas }) => sum + hardware.price * replicas, 0);
}

function missesOf(
  { problem }: Instance,
  plan: readonly MixedStage[],
  traces: readonly RequestTrace[],
): number {
  const late = traces.map((trace) => lateOf(problem, trace, plan, Number.POSITIVE_INFINITY));
  const requests = traces.reduce((sum, { arrivalMs }) => sum + arrivalMs.length, 0);
  return late.reduce((sum, count) => sum + count, 0) / requests;
}

/**
 * Requests of a chain that are late; a request ends where it does not take the next edge.
 * @param limit beyond which nobody wants to know.
 */
function lateOf(
  { sloMs }: Pick<ProvisioningProblem, "sloMs">,
  { arrivalMs, takenByEdge }: RequestTrace,
  plan: readonly MixedStage[],
  limit: number,
): number {
  let request = Uint32Array.from(arrivalMs, (_, index) => index);
  let readyMs = arrivalMs;
  let late = 0;
  for (const [stage, groups] of plan.entries()) {
    const taken = takenByEdge[stage] ?? null;
    if (taken !== null) {
      const stays = (_: number, position: number) => taken[request[position] ?? 0] === 1;
      const keptMs = readyMs.filter(stays);
      request = request.filter(stays);
      readyMs = keptMs;
    }
    const names = request;
    const deadlineOf = (position: number) => (arrivalMs[names[position] ?? 0] ?? 0) + sloMs;
    const doneMs = servedBy(groups, readyMs, deadlineOf, limit);
    if (doneMs === null) return limit + 1;
    const next = takenByEdge[stage + 1] ?? null;
    const isLast = stage === plan.length - 1;
    for (const [position, name] of request.entries()) {
      const isEnd = isLast || (next !== null && next[name] === 0);
      if (isEnd && (doneMs[position] ?? 0) > (arrivalMs[name] ?? 0) + sloMs) late++;
    }
    if (late > limit) return late;
    const order = Uint32Array.from(request.keys());
    order.sort((a, b) => (doneMs[a] ?? 0) - (doneMs[b] ?? 0) || a - b);
    request = order.map((position) => names[position] ?? 0);
    readyMs = Float64Array.from(order, (position) => doneMs[position] ?? 0);
  }
  return late;
}

/**
 * When queries are done that come in their order to one queue.
 * @returns null where more than the limit are done after their deadlines.
 */
function servedBy(
  groups: MixedStage,
  readyMs: Float64Array,
  deadlineOf: (position: number) => number,
  limit: number,
): Float64Array | null {
  let late = 0;
  const idleMs = groups.map(({ replicas }) => new Float64Array(replicas));
  const doneMs = new Float64Array(readyMs.length);
  for (let next = 0; next < readyMs.length; ) {
    const { group, replica, startMs } = firstFree(idleMs, readyMs[next] ?? 0);
    const { hardware, batch } = present(groups[group]);
    const first = next++;
    while (next < readyMs.length && next - first < batch && (readyMs[next] ?? 0) <= startMs) {
      next++;
    }
    const endMs = startMs + (hardware.batchMs[next - first - 1] ?? Number.NaN);
    for (let position = first; position < next; position++) {
      doneMs[position] = endMs;
      if (endMs > deadlineOf(position)) late++;
    }
    if (late > limit) return null;
    present(idleMs[group])[replica] = endMs;
  }
  return doneMs;
}

/** The first of the fastest that are idle when a query comes, or whoever is idle first. */
function firstFree(
  idleMs: readonly Float64Array[],
  readyMs: number,
): { readonly group: number; readonly replica: number; readonly startMs: number } {
  let best = { group: 0, replica: 0, startMs: Number.POSITIVE_INFINITY };
  for (const [group, replicas] of idleMs.entries()) {
    for (let replica = 0; replica < replicas.length; replica++) {
      const startMs = Math.max(readyMs, replicas[replica] ?? 0);
      if (startMs < best.startMs) best = { group, replica, startMs };
      if (startMs === readyMs) return best;
    }
  }
  return best;
}
