import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { AccordionQueries } from "../../../../../compiler/methods/accordion/simulate/queries.ts";
import {
  type AccordionSimulationOptions,
  type AccordionSimulationResult,
  simulateAccordion,
} from "../../../../../compiler/methods/accordion/simulate/simulate.ts";
import type { AccordionBundle, AccordionOptions } from "../../../../../runtime/bundle/schema.ts";
import type { AccordionCommands } from "../../../../../runtime/methods/accordion/core/commands.ts";
import { AccordionScheduler } from "../../../../../runtime/methods/accordion/core/scheduler.ts";
import { accordionBundle } from "../../../../support/accordion-bundle.ts";

const SCHEDULERS = ["accordion", "slo-conforming", "fastest", "bbs", "one-stage"] as const;

/** Four layers of 10 ms: 40, 20, 20 and 10 ms between instances on one to four places. */
const EVEN = [{ name: "even", accuracy: 0.75, layerMs: [10, 10, 10, 10] }];

function evenBundle(policy: Partial<AccordionOptions> = {}, places = 4): AccordionBundle {
  return accordionBundle({ models: EVEN, places, timing: "paper", sloMs: 200, policy });
}

type Asked = readonly [arrivalMs: number, batch: number, priority?: "low"];

/** Of the first model, due 200 ms after they come. */
function queriesOf(asked: readonly Asked[], sloMs = 200): AccordionQueries {
  return {
    arrivalMs: Float64Array.from(asked, ([arrivalMs]) => arrivalMs),
    model: new Uint16Array(asked.length),
    batch: Uint16Array.from(asked, ([, batch]) => batch),
    isHigh: Uint8Array.from(asked, ([, , priority]) => (priority === "low" ? 0 : 1)),
    deadlineMs: Float64Array.from(asked, ([arrivalMs]) => arrivalMs + sloMs),
  };
}

function serve(
  bundle: AccordionBundle,
  queries: AccordionQueries,
  options: Partial<AccordionSimulationOptions> = {},
): AccordionSimulationResult {
  const arrivals = { kind: "queries", queries } as const;
  return simulateAccordion(bundle, {
    arrivals,
    durationMs: 1000,
    seed: 1,
    withLatencies: true,
    ...options,
  });
}

function latencies(result: AccordionSimulationResult): number[] {
  return [...(result.latencyMsByQuery ?? [])];
}

describe("what is worked out by hand", () => {
  test("a query alone has the fastest pipeline, and its instances come one by one", () => {
    const result = serve(evenBundle(), queriesOf([[100, 8]]));
    expect(latencies(result)).toEqual([80]);
    expect(result).toMatchObject({
      satisfied: 1,
      accuracyPerSatisfied: 0.75,
      makespanMs: 180,
      occupancy: 80 / 180,
      activeQueries: { mean: 80 / 180, max: 1 },
      throughputQps: 1000 / 180,
      instances: 8,
      reconfigurations: 0,
    });
  });

  test("a query that ends when it is due is on time, whatever its sum is rounded to", () => {
    const models = [{ name: "odd", accuracy: 0.75, layerMs: [0.1, 0.2] }];
    const bundle = accordionBundle({ models, places: 1, sloMs: 0.3 });
    const result = serve(bundle, queriesOf([[0, 1]], 0.3));
    expect(latencies(result)).toEqual([0.1 + 0.2]);
    expect(result).toMatchObject({ satisfied: 1, late: 0 });
  });

  test("a pipelined query fills its pipeline first", () => {
    const bundle = accordionBundle({ models: EVEN, places: 4, timing: "pipelined" });
    expect(latencies(serve(bundle, queriesOf([[0, 3]])))).toEqual([60]);
  });

  test("a query gives up the place that another needs, loses one instance, and goes on", () => {
    // The first has done three of eight when the second comes, and then has 20 ms for each of five,
    // from 40 ms on; the second has one place for 160 ms.
    const asked: Asked[] = [
      [0, 8],
      [35, 4],
    ];
    const result = serve(evenBundle(), queriesOf(asked), { timelineStepMs: 100 });
    expect(latencies(result)).toEqual([140, 160]);
    expect(result).toMatchObject({
      satisfied: 2,
      shrinks: 1,
      grows: 0,
      reconfigurations: 1,
      instancesRedone: 1,
      makespanMs: 195,
      occupancy: (140 * 4 + 55) / (4 * 195),
      activeQueries: { mean: (35 + 105 * 2 + 55) / 195, max: 2 },
      timeline: {
        stepMs: 100,
        busyPlaces: [4, (40 * 4 + 55) / 95],
        activeQueries: [(35 + 65 * 2) / 100, (40 * 2 + 55) / 95],
        waitingQueries: [0, 0],
      },
    });
  });

  test("a shrink costs what the policy says", () => {
    const asked: Asked[] = [
      [0, 8],
      [35, 4],
    ];
    const result = serve(evenBundle({ reconfigurationMs: 25 }), queriesOf(asked));
    expect(latencies(result)).toEqual([160, 160]);
  });

  test("a query that is alone again grows, if that is asked for", () => {
    // When the second is done, at 75 ms, the first has done four of eight, and the rest would take
    // it until 140 ms; with all places they take 40 ms from 80 ms on.
    const asked: Asked[] = [
      [0, 8],
      [35, 1],
    ];
    const growing = serve(evenBundle({ regrow: true }), queriesOf(asked));
    expect(latencies(growing)).toEqual([120, 40]);
    expect(growing).toMatchObject({ shrinks: 1, grows: 1, reconfigurations: 2 });
    expect(growing.instancesRedone).toBe(2);
    expect(latencies(serve(evenBundle(), queriesOf(asked)))).toEqual([140, 40]);
  });

  test("a query that cannot be in time is late, and a low one behind it given up", () => {
    const asked: Asked[] = [
      [0, 8],
      [10, 8, "low"],
    ];
    const result = serve(evenBundle({}, 1), queriesOf(asked));
    expect(latencies(result)).toEqual([320, Number.NaN]);
    expect(result).toMatchObject({
      queries: 2,
      satisfied: 0,
      late: 1,
      dropped: 1,
      violationRate: 1,
      accuracyPerSatisfied: null,
      accuracyPerQuery: 0,
      byPriority: {
        high: { queries: 1, late: 1, dropped: 0 },
        low: { queries: 1, late: 0, dropped: 1, violationRate: 1, latencyMs: null },
      },
      byVariant: { even: { queries: 2, late: 1, dropped: 1, meanBatch: 8, accuracy: 0.75 } },
    });
  });

  test("a query that comes as another ends has its places", () => {
    const asked: Asked[] = [
      [0, 5],
      [50, 5],
    ];
    const result = serve(evenBundle(), queriesOf(asked));
    expect(latencies(result)).toEqual([50, 50]);
    expect(result).toMatchObject({ reconfigurations: 0, activeQueries: { mean: 1, max: 1 } });
  });

  test("a query that ends at its deadline is in time", () => {
    const result = serve(evenBundle({ scheduler: "one-stage" }), queriesOf([[0, 5]]));
    expect(latencies(result)).toEqual([200]);
    expect(result.satisfied).toBe(1);
  });

  test("of no queries there is nothing to tell", () => {
    expect(serve(evenBundle(), queriesOf([]), { timelineStepMs: 10 })).toMatchObject({
      queries: 0,
      violationRate: 0,
      latencyMs: null,
      accuracyPerQuery: null,
      makespanMs: 0,
      throughputQps: 0,
      occupancy: 0,
      activeQueries: { mean: 0, max: 0 },
      timeline: { busyPlaces: [] },
      byVariant: { even: { queries: 0, meanBatch: null } },
    });
  });
});

describe.each(SCHEDULERS)("under %s", (scheduler) => {
  const bundle = accordionBundle({ places: 6, policy: { scheduler } });
  const options = {
    arrivals: { kind: "poisson", qps: 120 },
    durationMs: 3000,
    seed: 3,
    withLatencies: true,
  } as const;

  test("the same seed gives the same result, another one another", () => {
    const result = simulateAccordion(bundle, options);
    expect(simulateAccordion(bundle, options)).toEqual(result);
    expect(simulateAccordion(bundle, { ...options, seed: 4 }).queries).not.toBe(result.queries);
  });

  test("times twice as long change nothing else", () => {
    const drawn = simulateAccordion(bundle, options);
    const twice = accordionBundle({
      models: [
        { name: "deep", accuracy: 0.9, layerMs: [8, 12, 6, 14, 10, 10] },
        { name: "small", accuracy: 0.8, layerMs: [6, 4] },
      ],
      places: 6,
      sloMs: 400,
      policy: { scheduler, reconfigurationMs: 10 },
    });
    const slower = simulateAccordion(twice, {
      ...options,
      arrivals: { kind: "poisson", qps: 60 },
      durationMs: 6000,
    });
    expect(latencies(slower)).toEqual(latencies(drawn).map((ms) => 2 * ms));
    expect(slower.byPriority.high.late).toBe(drawn.byPriority.high.late);
  });
});

/** Counts the instances that a scheduler is told of. */
class Counting extends AccordionScheduler {
  instances = 0;

  override onInstanceDone(query: number, nowMs: number, out: AccordionCommands): void {
    this.instances++;
    super.onInstanceDone(query, nowMs, out);
  }
}

const anyRun = fc.record({
  scheduler: fc.constantFrom(...SCHEDULERS),
  regrow: fc.boolean(),
  timing: fc.constantFrom("paper", "pipelined"),
  dropAfterSlos: fc.constantFrom(null, 0.5, 1, 2),
  reconfigurationMs: fc.constantFrom(0, 5, 60),
  places: fc.integer({ min: 1, max: 9 }),
  qps: fc.constantFrom(20, 100, 300),
  seed: fc.nat(1000),
});

test("every query ends once, in time, late or dropped, with all its instances done once", () => {
  fc.assert(
    fc.property(anyRun, ({ places, qps, seed, ...policy }) => {
      const bundle = accordionBundle({ places, policy });
      let scheduler: Counting | undefined;
      const result = simulateAccordion(bundle, {
        arrivals: { kind: "poisson", qps },
        durationMs: 1000,
        seed,
        withLatencies: true,
        timelineStepMs: 7,
        schedulerOf: (of, options) => {
          scheduler = new Counting(of, options);
          return scheduler;
        },
      });
      const { queries, satisfied, late, dropped, byPriority, byVariant, bySize } = result;
      expect(satisfied + late + dropped).toBe(queries);
      expect(latencies(result).filter(Number.isNaN)).toHaveLength(dropped);
      if (policy.dropAfterSlos === null) expect(dropped).toBe(0);
      expect(byPriority.high.dropped).toBe(0);
      for (const key of ["queries", "satisfied", "late", "dropped"] as const) {
        expect(byPriority.high[key] + byPriority.low[key]).toBe(result[key]);
        const models = Object.values(byVariant).map((model) => model[key]);
        expect(models.reduce((sum, count) => sum + count, 0)).toBe(result[key]);
        for (const priority of ["high", "low"] as const) {
          const sizes = bySize.map((size) => size[priority][key]);
          expect(sizes.reduce((sum, count) => sum + count, 0)).toBe(byPriority[priority][key]);
        }
      }
      if (dropped === 0) expect(scheduler?.instances).toBe(result.instances);
      else expect(scheduler?.instances).toBeLessThan(result.instances);
      if (policy.scheduler !== "accordion") expect(result.reconfigurations).toBe(0);
      checkOccupancy(result, places);
    }),
    { numRuns: 150 },
  );
});

function checkOccupancy(result: AccordionSimulationResult, places: number): void {
  const { occupancy, activeQueries, makespanMs, timeline } = result;
  expect(occupancy).toBeLessThanOrEqual(1 + 1e-12);
  expect(activeQueries.max).toBeLessThanOrEqual(places);
  // Every query that runs has a place at least.
  expect(activeQueries.mean).toBeLessThanOrEqual(occupancy * places + 1e-9);
  const { stepMs, busyPlaces } = timeline ?? { stepMs: 0, busyPlaces: [] };
  const busyMs = busyPlaces.reduce(
    (sum, busy, step) => sum + busy * Math.min(stepMs, makespanMs - step * stepMs),
    0,
  );
  expect(busyMs).toBeCloseTo(occupancy * places * makespanMs, 6);
}

test("queries that are not in the order in which they come are refused", () => {
  const asked: Asked[] = [
    [5, 1],
    [4, 1],
  ];
  expect(() => serve(evenBundle(), queriesOf(asked))).toThrow("in arrival order");
});
