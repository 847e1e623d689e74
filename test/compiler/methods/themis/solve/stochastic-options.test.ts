import { describe, expect, test } from "vitest";
import type { ScalingTask } from "../../../../../compiler/methods/themis/solve/problem.ts";
import { stochasticOptions } from "../../../../../compiler/methods/themis/solve/stochastic-options.ts";
import type { TaskLimits } from "../../../../../compiler/methods/themis/solve/task-options.ts";
import { erlangQuantile } from "../../../../../compiler/numeric/erlang.ts";
import { Frontier } from "../../../../../compiler/numeric/frontier.ts";
import { Rng } from "../../../../../runtime/core/rng.ts";

/**
 * One batch size and number of cores, so that the frontier tells the options apart by their
 * instances.
 */
function stageOf(batch: number, ms: number): ScalingTask {
  const latencyMs = new Float64Array(batch).fill(Number.POSITIVE_INFINITY);
  latencyMs[batch - 1] = ms;
  return { parents: [], scale: 1, maxBatch: batch, maxCores: 1, latencyMs };
}

const FREE: TaskLimits = { leastCores: 1, mostCores: 1, instances: null };

interface Point {
  readonly cores: number;
  readonly ms: number;
  readonly batch: number;
  readonly each: number;
}

function optionsOf(
  stage: ScalingTask,
  qps: number,
  quantile: number,
  {
    limits = FREE,
    dispersion = 1,
    limitMs = Number.MAX_VALUE,
  }: Partial<{ limits: TaskLimits; dispersion: number; limitMs: number }> = {},
): Point[] {
  const out = new Frontier();
  out.clear(0, limitMs);
  stochasticOptions(quantile, dispersion, stage.maxBatch)(stage, qps, limits, out);
  return pointsOf(out);
}

function pointsOf({ start, count, cores, latencyMs, first, second }: Frontier): Point[] {
  return Array.from({ length: count - start }, (_, index) => {
    const at = start + index;
    return {
      cores: cores[at] ?? 0,
      ms: latencyMs[at] ?? 0,
      batch: first[at] ?? 0,
      each: second[at] ?? 0,
    };
  });
}

describe("a batch fills", () => {
  test.each([1, 2, 3, 7, 15, 63])(
    "within a time that is Erlang's quantile of %i gaps",
    (phases) => {
      for (const quantile of [0.1, 0.5, 0.95, 0.999]) {
        const time = erlangQuantile(phases, quantile);
        // The probability up to there, from the density alone.
        expect(integral((t) => erlangDensity(phases, t), time)).toBeCloseTo(quantile, 9);
      }
    },
  );

  test("as simulated arrivals fill it", () => {
    const rng = new Rng(1, 1);
    const draws = Float64Array.from({ length: 200_000 }, () => {
      let sum = 0;
      for (let gap = 0; gap < 3; gap++) sum -= Math.log(1 - rng.nextFloat());
      return sum;
    }).sort();
    const limit = erlangQuantile(3, 0.95);
    const below = draws.findIndex((one) => one > limit) / draws.length;
    expect(Math.abs(below - 0.95)).toBeLessThan(5 * Math.sqrt((0.95 * 0.05) / draws.length));
  });

  test("before it is processed: of one query at once, of more after the gaps at the load", () => {
    // So many instances that nobody waits for one.
    const rare = optionsOf(stageOf(4, 10), 100, 0.95);
    expect(rare.at(-1)?.ms).toBeCloseTo(10 + 10 * erlangQuantile(3, 0.95), 9);
    expect(optionsOf(stageOf(1, 10), 1, 0.9).at(-1)?.ms).toBe(10);
  });

  test("in the same mean time, more evenly or less, where arrivals are not Poisson's", () => {
    const even = optionsOf(stageOf(5, 10), 100, 0.95, { dispersion: 0.5 }).at(-1)?.ms;
    expect(even).toBeCloseTo(10 + 10 * (4 / 8) * erlangQuantile(8, 0.95), 9);
    const bursty = optionsOf(stageOf(5, 10), 100, 0.95, { dispersion: 4 }).at(-1)?.ms;
    expect(bursty).toBeCloseTo(10 + 10 * 4 * erlangQuantile(1, 0.95), 9);
  });
});

describe("a query waits for an instance", () => {
  test("as the formula says, of batches that are as even as their arrivals make them", () => {
    // 9 batches of 4 per second of 250 ms each: 2.25 instances are busy.
    const [three] = optionsOf(stageOf(4, 250), 36, 0.95);
    const chance = erlangC(3, 2.25);
    const waitMs = ((250 * (1 / 4)) / (2 * (3 - 2.25))) * Math.log(chance / 0.05);
    const fillMs = (1000 / 36) * erlangQuantile(3, 0.95);
    expect(three).toMatchObject({ cores: 3, batch: 4, each: 1 });
    expect(three?.ms).toBeCloseTo(250 + fillMs + waitMs, 9);
  });

  test("for whole queries half as long as where service is random, since it is not", () => {
    // M/M/n: the wait of those that wait is exponential, of mean l / (n - load).
    const [, , four] = optionsOf(stageOf(1, 100), 15, 0.99);
    const [two] = optionsOf(stageOf(1, 100), 15, 0.99);
    expect(two?.cores).toBe(2);
    expect(two?.ms).toBeCloseTo(100 + (200 / 2) * Math.log(erlangC(2, 1.5) / 0.01), 9);
    expect(four?.cores).toBe(4);
    expect(four?.ms).toBeCloseTo(100 + (40 / 2) * Math.log(erlangC(4, 1.5) / 0.01), 9);
  });

  test("not at all at a quantile at which most do not", () => {
    const [one] = optionsOf(stageOf(1, 100), 1, 0.5);
    expect(erlangC(1, 0.1)).toBeLessThan(0.5);
    expect(one).toMatchObject({ cores: 1, ms: 100 });
  });

  test("longer the more the arrivals come in bursts", () => {
    const ms = (dispersion: number) =>
      optionsOf(stageOf(1, 100), 15, 0.99, { dispersion })[0]?.ms ?? 0;
    expect(ms(4) - 100).toBeCloseTo(4 * (ms(1) - 100), 9);
  });
});

test("more instances are never slower, and options that do not carry the load are left out", () => {
  for (let seed = 1; seed <= 100; seed++) {
    const rng = new Rng(seed, 5);
    const batch = 1 + Math.floor(8 * rng.nextFloat());
    const ms = 1 + 300 * rng.nextFloat();
    const qps = 1 + 400 * rng.nextFloat();
    const load = (qps * ms) / (1000 * batch);
    let before = Number.POSITIVE_INFINITY;
    for (let instances = 1; instances <= load + 12; instances++) {
      const limits = { ...FREE, instances };
      const [option] = optionsOf(stageOf(batch, ms), qps, 0.95, { limits });
      if (instances <= load) {
        expect(option).toBeUndefined();
        continue;
      }
      expect(option?.cores).toBe(instances);
      expect(option?.ms).toBeLessThanOrEqual(before);
      before = option?.ms ?? 0;
    }
    expect(before).toBeLessThan(Number.POSITIVE_INFINITY);
  }
});

test("leaves an instance no load of exactly what it carries: the wait would have no end", () => {
  expect(optionsOf(stageOf(1, 100), 10, 0.5, { limits: { ...FREE, instances: 1 } })).toEqual([]);
  expect(optionsOf(stageOf(1, 100), 10, 0.5)[0]).toMatchObject({ cores: 2 });
});

test("offers all that every way to run a stage would put on the frontier", () => {
  let points = 0;
  for (let seed = 1; seed <= 300; seed++) {
    const rng = new Rng(seed, 6);
    const upTo = (most: number) => 1 + Math.floor(most * rng.nextFloat());
    const [maxBatch, maxCores] = [upTo(8), upTo(4)];
    const parts = [60, 40, 20, 30].map((top) => top * rng.nextFloat());
    const latencyMs = Float64Array.from({ length: maxBatch * maxCores }, (_, at) => {
      const batch = 1 + (at % maxBatch);
      const cores = 1 + Math.floor(at / maxBatch);
      const [gamma = 0, epsilon = 0, delta = 0, eta = 0] = parts;
      return (gamma * batch + epsilon) / cores + delta * batch + eta + 0.1;
    });
    const stage = { parents: [], scale: 1, maxBatch, maxCores, latencyMs };
    const qps = 1 + 200 * rng.nextFloat();
    const limits = {
      leastCores: upTo(maxCores),
      mostCores: maxCores,
      instances: rng.nextFloat() < 0.3 ? upTo(20) : null,
    };
    const limitMs = rng.nextFloat() < 0.3 ? 400 * rng.nextFloat() : Number.MAX_VALUE;
    const quantile = [0, 0.5, 0.95, 0.99][seed % 4] ?? 0;
    const dispersion = [0.5, 1, 4][seed % 3] ?? 1;
    const found = optionsOf(stage, qps, quantile, { limits, dispersion, limitMs });
    const all = everyOption(stage, qps, quantile, dispersion, limits).filter(
      ({ ms }) => ms <= limitMs,
    );
    const expected = frontierOf(all);
    expect(
      found.map(({ cores }) => cores),
      `seed ${seed}`,
    ).toEqual(expected.map(({ cores }) => cores));
    for (const [at, { ms }] of found.entries()) {
      expect(ms / (expected[at]?.ms ?? 0), `seed ${seed}`).toBeCloseTo(1, 9);
    }
    points += found.length;
  }
  expect(points).toBeGreaterThan(1000);
});

/** Each batch, number of cores and number of instances, from the text of the formula. */
function everyOption(
  { maxBatch, latencyMs }: ScalingTask,
  qps: number,
  quantile: number,
  dispersion: number,
  { leastCores, mostCores, instances }: TaskLimits,
): Point[] {
  const options: Point[] = [];
  for (let each = leastCores; each <= mostCores; each++) {
    for (let batch = 1; batch <= maxBatch; batch++) {
      const processingMs = latencyMs[(each - 1) * maxBatch + batch - 1] ?? 0;
      const load = (qps * processingMs) / (1000 * batch);
      const phases = Math.max(1, Math.round((batch - 1) / dispersion));
      const gapMs = 1000 / qps;
      const fillMs =
        batch === 1 ? 0 : (((batch - 1) * gapMs) / phases) * erlangQuantile(phases, quantile);
      const counts =
        instances === null
          ? Array.from({ length: 60 }, (_, more) => Math.floor(load) + 1 + more)
          : [instances];
      for (const count of counts) {
        if (count <= load) continue;
        const meanMs = (processingMs / (count - load)) * (dispersion / batch / 2);
        const waitMs = Math.max(0, meanMs * Math.log(erlangC(count, load) / (1 - quantile)));
        options.push({ cores: count * each, ms: processingMs + fillMs + waitMs, batch, each });
      }
    }
  }
  return options;
}

function frontierOf(options: readonly Point[]): Point[] {
  const best: Point[] = [];
  for (const option of options.toSorted((a, b) => a.cores - b.cores || a.ms - b.ms)) {
    if (option.ms < (best.at(-1)?.ms ?? Number.POSITIVE_INFINITY)) best.push(option);
  }
  return best;
}

/** Chance to wait in M/M/n, from the sums of its definition. */
function erlangC(servers: number, load: number): number {
  let term = 1;
  let sum = 0;
  for (let busy = 0; busy < servers; busy++) {
    sum += term;
    term *= load / (busy + 1);
  }
  const all = term * (servers / (servers - load));
  return all / (sum + all);
}

function erlangDensity(phases: number, time: number): number {
  let density = Math.exp(-time);
  for (let phase = 1; phase < phases; phase++) density *= time / phase;
  return density;
}

/** From 0, by Simpson's rule. */
function integral(f: (t: number) => number, to: number): number {
  const steps = 20_000;
  const width = to / steps;
  let sum = f(0) + f(to);
  for (let step = 1; step < steps; step++) sum += (step % 2 === 0 ? 2 : 4) * f(step * width);
  return (sum * width) / 3;
}
