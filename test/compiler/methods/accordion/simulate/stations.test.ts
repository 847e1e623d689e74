/** Pipelines of layers on the machine that serves, and the times of their stages as measured. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  DrawnInstanceTimes,
  haveStageSpreads,
} from "../../../../../compiler/methods/accordion/simulate/drawn-instance-times.ts";
import type { AccordionQueries } from "../../../../../compiler/methods/accordion/simulate/queries.ts";
import {
  type AccordionSimulationOptions,
  simulateAccordion,
} from "../../../../../compiler/methods/accordion/simulate/simulate.ts";
import type { AccordionBundle, Spread } from "../../../../../runtime/bundle/schema.ts";
import { Rng } from "../../../../../runtime/core/rng.ts";
import { accordionBundle } from "../../../../support/accordion-bundle.ts";
import { always, CROWDED, onMachine, PATH, servingPath } from "../../../../support/serving-path.ts";

/** Two stages of 20 ms where there are two places. */
const EVEN = [{ name: "even", layerMs: [10, 10, 10, 10] }];

function evenBundle(places: number, maxDepth = places): AccordionBundle {
  return accordionBundle({ models: EVEN, places, maxDepth, timing: "pipelined", sloMs: 1000 });
}

function queriesOf(asked: readonly (readonly [number, number])[]): AccordionQueries {
  return {
    arrivalMs: Float64Array.from(asked, ([arrivalMs]) => arrivalMs),
    model: new Uint16Array(asked.length),
    batch: Uint16Array.from(asked, ([, batch]) => batch),
    isHigh: new Uint8Array(asked.length).fill(1),
    deadlineMs: Float64Array.from(asked, ([arrivalMs]) => arrivalMs + 1000),
  };
}

function latencies(
  bundle: AccordionBundle,
  asked: readonly (readonly [number, number])[],
  options: Partial<AccordionSimulationOptions> = {},
): number[] {
  const arrivals = { kind: "queries", queries: queriesOf(asked) } as const;
  const result = simulateAccordion(bundle, {
    arrivals,
    durationMs: 1000,
    seed: 1,
    withLatencies: true,
    ...options,
  });
  return Array.from(result.latencyMsByQuery ?? [], (ms) => Math.round(ms * 1e9) / 1e9);
}

describe("a query", () => {
  test("that is alone takes the sum of what it passes; stages hold what is between them", () => {
    // There, taken up by a server that slept, two sleeping places, three instances, the last taken
    // back, answered, back.
    const sum = 2 + 2 + (40 + 2 * 20) + 1 + 0.5 + 2 + 3 * 0.25;
    const asked = [
      [0, 3],
      [500, 3],
    ] as const;
    expect(latencies(onMachine(evenBundle(2), PATH), asked)).toEqual([sum, sum]);
  });

  test("finds places awake that the one before has just left", () => {
    const bundle = onMachine(evenBundle(1), servingPath({ wakeMs: always(0.25) }));
    // Server and place slept for the first; nobody for what the second does next.
    expect(
      latencies(bundle, [
        [0, 1],
        [0.25, 1],
      ]),
    ).toEqual([40.5, 80.25]);
  });

  test("on its deadline leaves the path its margin", () => {
    const bundle = onMachine(
      accordionBundle({ models: EVEN, places: 1, maxDepth: 1, timing: "pipelined", sloMs: 90 }),
      servingPath({ marginMs: 15 }),
    );
    const queries = queriesOf([
      [0, 1],
      [0, 1],
    ]);
    queries.deadlineMs.fill(90);
    queries.isHigh.fill(0);
    const run = (one: AccordionBundle) =>
      simulateAccordion(one, {
        arrivals: { kind: "queries", queries },
        durationMs: 100,
        seed: 1,
      }).dropped;
    // The second would be done at 80.
    expect([run(bundle), run(onMachine(bundle, servingPath({ marginMs: 5 })))]).toEqual([1, 0]);
  });
});

describe("places", () => {
  const twice = [
    [0, 4],
    [0, 4],
  ] as const;

  test("that share one processor take twice as long", () => {
    const on = (processors: number) =>
      latencies(onMachine(evenBundle(2, 1), servingPath({ processors })), twice);
    // They take turns of 4 ms.
    expect(on(1)).toEqual([316, 320]);
    expect(on(2)).toEqual([160, 160]);
  });

  test("of one query contend no more than they did when their stages were measured", () => {
    const path = servingPath({ processors: 2, contention: [1, 1.5] });
    const takes = (batch: number) => {
      // In sixteenths of a processor.
      const demand = Math.round((16 * batch * 40) / (40 + (batch - 1) * 20)) / 16;
      return ((40 + (batch - 1) * 20) / 1.5) * (1 + 0.5 * (demand - 1));
    };
    // The fewer instances, the less of the time both places have something to do.
    for (const batch of [2, 8]) {
      const [ms] = latencies(onMachine(evenBundle(2), path), [[0, batch]]);
      expect(ms).toBeCloseTo(takes(batch), 6);
    }
  });

  test("are free again in full: queries far apart take as long as the first", () => {
    const path = servingPath({ processors: 2, contention: [1, 1.5] });
    const asked = Array.from(
      { length: 50 },
      (_, query) => [query * 1000, 2 + (query % 7)] as const,
    );
    const all = latencies(onMachine(evenBundle(2), path), asked);
    expect(all.slice(7)).toEqual(all.slice(0, -7));
  });

  test("without path and contention are what they are where nothing is known, to the bit", () => {
    const bundle = accordionBundle({ policy: { regrow: true } });
    const options = {
      arrivals: { kind: "poisson", qps: 60 },
      durationMs: 5000,
      seed: 2,
      withLatencies: true,
      timelineStepMs: 50,
    } as const;
    const stations = { path: false, contention: false };
    const zero = onMachine(bundle, { ...CROWDED, marginMs: 0 });
    expect(simulateAccordion(zero, { ...options, stations })).toEqual(
      simulateAccordion(bundle, options),
    );
  });
});

/** Of every stage, relative to what the bundle says it takes. */
function spreading(bundle: AccordionBundle, of: (ms: number) => Spread): AccordionBundle {
  const tasks = bundle.tasks.map((task) => ({
    ...task,
    variants: task.variants.map((variant) => ({
      ...variant,
      pipelines: variant.pipelines.map(
        (one) => one && { ...one, stageSpreads: one.stageMs.map(of) },
      ),
    })),
  }));
  return { ...bundle, tasks };
}

test("every query ends once, whatever it passes and is given", () => {
  const anyRun = fc.record({
    regrow: fc.boolean(),
    dropAfterSlos: fc.constantFrom(null, 1),
    dropout: fc.constantFrom("turn", "arrival"),
    reconfigurationMs: fc.constantFrom(0, 5, 60),
    places: fc.integer({ min: 1, max: 6 }),
    qps: fc.constantFrom(10, 40, 150),
    seed: fc.nat(1000),
    serviceTimes: fc.constantFrom("p95", "sampled"),
  });
  let changes = 0;
  fc.assert(
    fc.property(anyRun, ({ places, qps, seed, serviceTimes, ...policy }) => {
      const plain = onMachine(accordionBundle({ places, policy }), CROWDED);
      const bundle = spreading(plain, (ms) => ({
        p50: 0.8 * ms,
        p95: ms,
        p99: 1.4 * ms,
        mean: 0.85 * ms,
      }));
      const options = {
        arrivals: { kind: "poisson", qps },
        durationMs: 1000,
        seed,
        serviceTimes,
        withLatencies: true,
      } as const;
      const result = simulateAccordion(bundle, options);
      const { queries, satisfied, late, dropped, latencyMsByQuery } = result;
      changes += result.reconfigurations;
      expect(satisfied + late + dropped).toBe(queries);
      expect(latencyMsByQuery?.filter(Number.isNaN)).toHaveLength(dropped);
      expect(result.occupancy).toBeLessThanOrEqual(1 + 1e-12);
      expect(simulateAccordion(bundle, options)).toEqual(result);
    }),
    { numRuns: 60 },
  );
  expect(changes).toBeGreaterThan(50);
});

describe("times of stages that are drawn", () => {
  test("are those of a line of stages: what never varies takes what the table says", () => {
    const bundle = spreading(evenBundle(2), always);
    for (const batch of [1, 2, 8]) {
      const asked = [[0, batch]] as const;
      expect(latencies(bundle, asked, { serviceTimes: "sampled" })).toEqual(
        latencies(bundle, asked),
      );
    }
  });

  test("let no stage begin while two wait behind it, as one that steps through them tells", () => {
    const stages = [
      { p50: 5, p95: 30, p99: 60, mean: 9 },
      { p50: 8, p95: 10, p99: 40, mean: 9 },
      { p50: 2, p95: 40, p99: 50, mean: 8 },
    ];
    const three = accordionBundle({
      models: [{ name: "three", layerMs: [1, 1, 1] }],
      places: 3,
      maxDepth: 3,
    });
    let next = 0;
    const bundle = spreading(three, () => stages[next++ % 3] ?? always(1));
    const shape = 2;
    const spreads = bundle.tasks[0]?.variants[0]?.pipelines[shape]?.stageSpreads ?? [];
    expect(spreads).toHaveLength(3);
    const COUNT = 400;
    const times = new DrawnInstanceTimes(bundle, new Rng(5, 6));
    times.begin(0, 0, shape);
    const fast = Array.from({ length: COUNT }, () => times.doneMs(0));
    // The twin has the same draws, by instance and stage: each takes its turn in the stream.
    const twin = new DrawnInstanceTimes(
      { ...bundle, tasks: oneStageEach(bundle, spreads) },
      new Rng(5, 6),
    );
    const drawn = Array.from({ length: COUNT }, () =>
      spreads.map((_, stage) => {
        twin.begin(0, stage, 0);
        return twin.doneMs(0);
      }),
    );
    expect(fast.map(toNanos)).toEqual(steppedThrough(drawn).map(toNanos));
  });

  test("are refused where a pipeline has no quantiles", () => {
    expect(haveStageSpreads(evenBundle(2))).toBe(false);
    expect(() => latencies(evenBundle(2), [[0, 1]], { serviceTimes: "sampled" })).toThrow(
      /tasks\/infer\/even: sampled service times need/,
    );
  });
});

const toNanos = (ms: number) => Math.round(ms * 1e6);

/** A model for each stage, which is all of its first pipeline. */
function oneStageEach({ tasks }: AccordionBundle, spreads: readonly Spread[]) {
  return tasks.map((task) => ({
    ...task,
    variants: spreads.flatMap((spread) =>
      task.variants.map((variant) => ({
        ...variant,
        pipelines: variant.pipelines.map((one) => one && { ...one, stageSpreads: [spread] }),
      })),
    ),
  }));
}

/** The rule of service, event by event: `canRun` of a seat, the last first. */
function steppedThrough(drawn: readonly (readonly number[])[]): number[] {
  const depth = drawn[0]?.length ?? 0;
  const waiting = Array.from({ length: depth }, (): number[] => []);
  const running = new Array<{ instance: number; untilMs: number } | null>(depth).fill(null);
  const outMs: number[] = [];
  let entering = 0;
  let nowMs = 0;
  while (outMs.length < drawn.length) {
    for (let stage = depth - 1; stage >= 0; stage--) {
      if (running[stage] !== null || (waiting[stage]?.length ?? 0) >= 2) continue;
      const instance = stage === 0 ? nextOf(entering, drawn.length) : waiting[stage - 1]?.shift();
      if (instance === undefined) continue;
      if (stage === 0) entering++;
      running[stage] = { instance, untilMs: nowMs + (drawn[instance]?.[stage] ?? Number.NaN) };
    }
    nowMs = Math.min(...running.flatMap((one) => (one === null ? [] : [one.untilMs])));
    for (const [stage, one] of running.entries()) {
      if (one === null || one.untilMs !== nowMs) continue;
      running[stage] = null;
      if (stage === depth - 1) outMs[one.instance] = nowMs;
      else waiting[stage]?.push(one.instance);
    }
  }
  return outMs;
}

function nextOf(entering: number, count: number): number | undefined {
  return entering < count ? entering : undefined;
}

describe("the door of the server", () => {
  /** One place of 40 ms an instance, so 25 queries of one instance a second. */
  const bundle = onMachine(evenBundle(1), PATH);
  const outcomeAt = (qps: number, isHigh: 0 | 1) => {
    const asked = Array.from(
      { length: 60 * qps },
      (_, index) => [(1000 / qps) * index, 1] as const,
    );
    const queries = queriesOf(asked);
    queries.isHigh.fill(isHigh);
    const arrivals = { kind: "queries", queries } as const;
    return simulateAccordion(bundle, { arrivals, durationMs: 60_000, seed: 1 });
  };

  test("lets all in whom the places can serve", () => {
    expect(outcomeAt(20, 1).violationRate).toBe(0);
    expect(outcomeAt(20, 0).violationRate).toBe(0);
  });

  test("refuses who would make all of high priority late, as the server does", () => {
    const { late, dropped, queries, throughputQps } = outcomeAt(50, 1);
    expect(dropped / queries).toBeGreaterThan(0.45);
    expect(late / queries).toBeLessThan(0.05);
    expect(throughputQps).toBeGreaterThan(20);
  });
});
