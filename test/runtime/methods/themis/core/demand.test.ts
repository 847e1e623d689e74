import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ThemisOptions } from "../../../../../runtime/bundle/schema.ts";
import { Rng } from "../../../../../runtime/core/rng.ts";
import {
  NO_WISH,
  type ThemisDemand,
  themisDemandOf,
} from "../../../../../runtime/methods/themis/core/demand.ts";
import { themisShapeOf } from "../../../../../runtime/methods/themis/core/shape.ts";
import { type ThemisLevelSketch, themisBundle } from "../../../../support/themis-bundle.ts";

/** A plan of its own for each load. */
function levelsOf(loadsQps: readonly number[]): ThemisLevelSketch[] {
  return loadsQps.map((loadQps, index) => ({
    loadQps,
    steady: [
      [1, 1, index + 1],
      [1, 1, 1],
    ],
    horizontal: null,
    vertical: null,
  }));
}

interface DemandSketch extends Partial<ThemisOptions> {
  readonly loadsQps?: readonly number[];
  readonly levels?: readonly ThemisLevelSketch[];
  readonly sloMs?: number;
}

function demandOf({ loadsQps = [10, 20, 40, 80], levels, sloMs = 1000, ...policy }: DemandSketch) {
  const bundle = themisBundle({
    levels: levels ?? levelsOf(loadsQps),
    sloMs,
    workers: 64,
    policy: { stableTicks: 3, predictor: "last-max", ...policy },
  });
  return themisDemandOf(bundle, themisShapeOf(bundle));
}

/** Looks once a second at requests that come evenly, so many in each. */
class Looker {
  readonly demand: ThemisDemand;
  nowMs = 0;
  level = 0;
  base = 0;
  backlog = 0;

  constructor(demand: ThemisDemand) {
    this.demand = demand;
  }

  /** @returns what is needed and wanted at the end of each second. */
  send(...perSecond: readonly number[]): [needed: number, wanted: number][] {
    return perSecond.map((count) => {
      for (let n = 0; n < count; n++) this.demand.onArrival(this.nowMs + (n * 1000) / count);
      this.nowMs += 1000;
      return this.look();
    });
  }

  look(): [needed: number, wanted: number] {
    this.demand.look(this.nowMs, this.backlog, this.level, this.base);
    return [this.demand.needed, this.demand.wanted];
  }
}

describe("every demand", () => {
  const scalings = ["joint", "themis", "horizontal", "vertical"] as const;

  test("asks for nothing before anything is known", () => {
    for (const scaling of scalings) {
      const looker = new Looker(demandOf({ scaling }));
      expect(looker.look()).toEqual([0, NO_WISH]);
      looker.demand.onArrival(0);
      looker.nowMs = 50;
      expect(looker.look()).toEqual([0, NO_WISH]);
    }
  });

  test("asks for the highest level when no level is enough", () => {
    for (const scaling of scalings) {
      const looker = new Looker(demandOf({ scaling }));
      const [first] = looker.send(500);
      expect(first?.[0]).toBe(3);
      looker.demand.onForecast(Number.POSITIVE_INFINITY);
      expect(looker.send(500)[0]?.[0]).toBe(3);
    }
  });

  test("tells what a forecast can be made of", () => {
    for (const scaling of scalings) {
      const looker = new Looker(demandOf({ scaling }));
      looker.send(3, 0, 7);
      const known = [...looker.demand.perBeat].filter((qps) => !Number.isNaN(qps));
      expect(known).toEqual([3, 0, 7]);
    }
  });
});

describe("the demand of one front end of several", () => {
  const share = { othersVariance: 1, workers: 1, allWorkers: 2 };

  test("is its part of what all see, but for what rises here", () => {
    const looker = new Looker(demandOf({ scaling: "joint" }));
    looker.level = looker.base = 2;
    looker.demand.onShare({ ...share, othersQps: 40 });
    // 12 come here each second: alone it would want the level of 20.
    const last = looker.send(...Array<number>(30).fill(12)).at(-1);
    expect(last?.[1]).toBe(NO_WISH);
    looker.demand.onShare({ ...share, othersQps: 12 });
    expect(looker.send(...Array<number>(30).fill(12)).at(-1)?.[1]).toBe(1);
    expect(looker.send(79, 79)[1]?.[0]).toBe(3);
  });

  test("is that of the paper by what comes here", () => {
    const looker = new Looker(demandOf({ scaling: "themis" }));
    looker.demand.onShare({ ...share, othersQps: 70 });
    expect(looker.send(10)[0]?.[0]).toBe(0);
  });
});

describe("the paper's demand", () => {
  test("takes the requests of the last second for the load", () => {
    const looker = new Looker(demandOf({ scaling: "themis" }));
    expect(looker.send(10, 11, 20, 79, 5).map(([needed]) => needed)).toEqual([0, 1, 1, 3, 0]);
  });

  test("looks at the last second even between two whole ones", () => {
    const looker = new Looker(demandOf({ scaling: "themis" }));
    looker.send(10);
    for (let n = 0; n < 30; n++) looker.demand.onArrival(1000 + n);
    looker.nowMs = 1100;
    // Nine of the first second's ten, and thirty.
    expect(looker.look()[0]).toBe(2);
  });

  test("wants the plan once load and forecast call for it so many times in a row", () => {
    const looker = new Looker(demandOf({ scaling: "themis" }));
    looker.demand.onForecast(40);
    expect(looker.send(30, 30, 30, 30).map(([, wanted]) => wanted)).toEqual([
      NO_WISH,
      NO_WISH,
      2,
      2,
    ]);
  });

  test("counts anew after one look at which they differ", () => {
    const looker = new Looker(demandOf({ scaling: "themis" }));
    looker.demand.onForecast(40);
    looker.send(30, 30);
    looker.demand.onForecast(41);
    expect(looker.send(30)[0]).toEqual([2, NO_WISH]);
    looker.demand.onForecast(40);
    expect(looker.send(30, 30, 30).map(([, wanted]) => wanted)).toEqual([NO_WISH, NO_WISH, 2]);
  });

  test("takes levels with one plan for one", () => {
    const [low, high] = levelsOf([10, 40]);
    const twin = { ...(low ?? { steady: [] }), loadQps: 20 };
    const looker = new Looker(
      demandOf({
        scaling: "themis",
        levels: [low, twin, high].filter((one) => one !== undefined),
      }),
    );
    looker.demand.onForecast(5);
    expect(looker.send(15, 15, 15).map(([, wanted]) => wanted)).toEqual([NO_WISH, NO_WISH, 1]);
    looker.demand.onForecast(40);
    expect(looker.send(15)[0]).toEqual([1, NO_WISH]);
  });

  test("makes a forecast of its own where the driver has none, or none any more", () => {
    const looker = new Looker(demandOf({ scaling: "themis" }));
    // The highest of the last ten seconds is 40.
    looker.send(40);
    expect(looker.send(5, 5, 5).map(([, wanted]) => wanted)).toEqual(Array(3).fill(NO_WISH));
    looker.demand.onForecast(5);
    expect(looker.send(5, 5, 5).at(-1)).toEqual([0, 0]);
    looker.demand.onForecast(Number.NaN);
    expect(looker.send(5)[0]).toEqual([0, NO_WISH]);
  });
});

describe("horizontal scaling alone", () => {
  test("adds instances at once, and takes some away when the load has been steady", () => {
    const looker = new Looker(demandOf({ scaling: "horizontal" }));
    looker.demand.onForecast(80);
    expect(looker.send(30)[0]).toEqual([2, 2]);
    looker.level = 2;
    looker.base = 2;
    looker.demand.onForecast(5);
    expect(looker.send(5, 5).map(([, wanted]) => wanted)).toEqual([NO_WISH, NO_WISH]);
    expect(looker.send(5)[0]).toEqual([0, 0]);
  });
});

describe("vertical scaling alone", () => {
  test("follows the load at once, up and down, whatever is foretold", () => {
    const looker = new Looker(demandOf({ scaling: "vertical", stableTicks: 100 }));
    looker.demand.onForecast(80);
    expect(looker.send(30, 5, 80)).toEqual([
      [2, 2],
      [0, 0],
      [3, 3],
    ]);
  });
});

/** Poisson arrivals at a rate, looked at while nothing changes. */
function alarms(
  demand: ThemisDemand,
  { qps, tickMs, looks, seed }: Readonly<Record<"qps" | "tickMs" | "looks" | "seed", number>>,
) {
  const rng = new Rng(seed, 1);
  let [risen, wished, nextMs] = [0, 0, 0];
  for (let look = 1; look <= looks; look++) {
    while (nextMs <= look * tickMs) {
      demand.onArrival(nextMs);
      nextMs -= (Math.log(1 - rng.nextFloat()) * 1000) / qps;
    }
    demand.look(look * tickMs, 0, 0, 0);
    if (demand.needed > 0) risen++;
    if (demand.wanted > 0) wished++;
  }
  return { risenPerMille: (1000 * risen) / looks, wishedPerMille: (1000 * wished) / looks };
}

describe("what is sure", () => {
  /** Probability that a normal variable is 2.5 standard deviations above its mean. */
  const TAIL = 0.0062;
  const WINDOWS = 8;
  const LASTING_WINDOWS = 4;

  test("takes Poisson traffic of its own load for more as seldom as its windows say", () => {
    for (const tickMs of [100, 1000]) {
      for (const qps of [5, 20, 100, 500]) {
        const loadsQps = [qps, 1.25 * qps, 2 * qps];
        const demand = demandOf({ scaling: "joint", loadsQps, sloMs: 250 });
        const { risenPerMille, wishedPerMille } = alarms(demand, {
          qps,
          tickMs,
          looks: 20_000,
          seed: qps,
        });
        expect(risenPerMille).toBeGreaterThan(0);
        expect(risenPerMille).toBeLessThan(1000 * WINDOWS * TAIL);
        expect(wishedPerMille).toBeLessThan(1000 * LASTING_WINDOWS * TAIL);
      }
    }
  });

  test("takes next to nothing for more when a fifth of the load is missing", () => {
    for (const qps of [20, 100, 500]) {
      const demand = demandOf({ scaling: "joint", loadsQps: [qps, 2 * qps], sloMs: 250 });
      const options = { qps: 0.8 * qps, tickMs: 100, looks: 20_000, seed: qps };
      expect(alarms(demand, options).risenPerMille).toBeLessThan(4);
    }
  });

  test("notices 2.5 times the load within a quarter of the SLO and a look", () => {
    const tickMs = 100;
    const load = fc.integer({ min: 40, max: 1000 });
    const slo = fc.integer({ min: 400, max: 4000 });
    fc.assert(
      fc.property(load, slo, fc.nat(99), (qps, sloMs, phaseMs) => {
        // Of fewer requests nothing is sure.
        fc.pre((qps * sloMs) / 4000 >= 12);
        const demand = demandOf({ scaling: "joint", loadsQps: [qps, 2.5 * qps], sloMs });
        const stepMs = 10_000 + phaseMs;
        let [nextMs, seenMs] = [0, Number.POSITIVE_INFINITY];
        for (let nowMs = tickMs; nowMs < 20_000 && seenMs > nowMs; nowMs += tickMs) {
          for (; nextMs <= nowMs; nextMs += 1000 / (nextMs < stepMs ? qps : 2.5 * qps)) {
            demand.onArrival(nextMs);
          }
          demand.look(nowMs, 0, 0, 0);
          // Until there are five seconds, the windows are not what they are taken for.
          if (demand.needed > 0 && nowMs > 5000) seenMs = nowMs;
        }
        expect(seenMs).toBeGreaterThan(stepMs);
        expect(seenMs - stepMs).toBeLessThanOrEqual(sloMs / 4 + tickMs);
      }),
      { numRuns: 100 },
    );
  });

  test("does not ask for instances because of what is over within half a second", () => {
    const looker = new Looker(demandOf({ scaling: "joint", loadsQps: [40, 80, 160], sloMs: 400 }));
    looker.send(40, 40, 40);
    for (let n = 0; n < 18; n++) looker.demand.onArrival(looker.nowMs + n);
    looker.nowMs += 200;
    const [needed, wanted] = looker.look();
    expect(needed).toBe(2);
    expect(wanted).toBe(NO_WISH);
  });

  test("looks no closer than at a quarter of the SLO", () => {
    for (const [sloMs, level] of [
      [2000, 1],
      [2100, 0],
    ] as const) {
      const looker = new Looker(demandOf({ scaling: "joint", loadsQps: [40, 80, 160], sloMs }));
      looker.send(40, 40, 40, 40, 40);
      // More than is usual in half a second, and not in a whole one.
      for (let n = 0; n < 34; n++) looker.demand.onArrival(looker.nowMs + 10 * n);
      looker.nowMs += 500;
      expect(looker.look()).toEqual([level, NO_WISH]);
    }
  });

  test("asks for the instances of the rate that has lasted for a second", () => {
    const looker = new Looker(demandOf({ scaling: "joint", loadsQps: [40, 80, 160] }));
    looker.send(40, 40, 40);
    expect(looker.send(100)[0]).toEqual([2, 2]);
  });

  test("lets requests wait as a level's load does, and asks for cores beyond it", () => {
    const looker = new Looker(demandOf({ scaling: "joint", loadsQps: [40, 80, 160] }));
    looker.send(40, 40, 40);
    // Half an SLO's requests are usual.
    looker.backlog = 20;
    expect(looker.send(40)[0]).toEqual([0, NO_WISH]);
    looker.backlog = 20 + 81;
    expect(looker.send(40)[0]?.[0]).toBe(2);
    expect(looker.demand.wanted).toBe(NO_WISH);
  });

  test("calls off only once so many looks in a row would do with less", () => {
    const looker = new Looker(
      demandOf({ scaling: "joint", loadsQps: [10, 40, 160], stableTicks: 3 }),
    );
    looker.send(10, 10, 10, 10, 10);
    const [[, high] = [0, 0]] = looker.send(120);
    expect(high).toBe(2);
    // The longest window has the burst for four more seconds; then three looks in a row speak for
    // less, but for more than is settled on.
    const wishes = looker.send(30, 30, 30, 30, 30, 30, 30).map(([, wanted]) => wanted);
    expect(wishes).toEqual([2, 2, 2, 2, 2, 2, 1]);
  });

  test("goes down when neither recent rate nor forecast needs more, in a row", () => {
    const looker = new Looker(demandOf({ scaling: "joint" }));
    looker.level = 3;
    looker.base = 3;
    looker.demand.onForecast(0);
    expect(looker.send(8, 8, 8).map(([, wanted]) => wanted)).toEqual([NO_WISH, NO_WISH, 0]);
  });

  test("waits for as long again when the forecast has called for more in between", () => {
    const looker = new Looker(demandOf({ scaling: "joint" }));
    looker.level = 3;
    looker.base = 3;
    looker.demand.onForecast(0);
    looker.send(8, 8);
    looker.demand.onForecast(200);
    expect(looker.send(8)[0]?.[1]).toBe(NO_WISH);
    looker.demand.onForecast(0);
    expect(looker.send(8, 8, 8).map(([, wanted]) => wanted)).toEqual([NO_WISH, NO_WISH, 0]);
  });

  test("goes back to the plan in force, unstretched, after a false burst", () => {
    const looker = new Looker(demandOf({ scaling: "joint" }));
    looker.demand.onForecast(0);
    looker.base = 1;
    looker.level = 3;
    expect(looker.send(18, 18, 18).map(([, wanted]) => wanted)).toEqual([NO_WISH, NO_WISH, 1]);
  });

  test("takes the highest second for what it is: higher than the rate", () => {
    const looker = new Looker(demandOf({ scaling: "joint", loadsQps: [100, 200] }));
    looker.level = 1;
    looker.base = 1;
    // 1.54 standard deviations above 98.
    looker.demand.onForecast(98 + 1.54 * Math.sqrt(98));
    expect(looker.send(90, 90, 90).at(-1)?.[1]).toBe(0);
    looker.demand.onForecast(102 + 1.54 * Math.sqrt(102));
    expect(looker.send(90, 90, 90).at(-1)?.[1]).toBe(NO_WISH);
  });
});
