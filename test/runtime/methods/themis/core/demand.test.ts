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

const BEAT_MS = 1000;

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

/** At the SLO of 100 ms a beat is a second. */
function demandOf({ loadsQps = [10, 20, 40, 80], levels, sloMs = 100, ...policy }: DemandSketch) {
  const bundle = themisBundle({
    levels: levels ?? levelsOf(loadsQps),
    sloMs,
    workers: 64,
    policy: { stableTicks: 3, predictor: "last-max", ...policy },
  });
  return themisDemandOf(bundle, themisShapeOf(bundle));
}

/** Looks once a beat at requests that come evenly, so many in each. */
class Looker {
  readonly demand: ThemisDemand;
  nowMs = 0;
  level = 0;
  base = 0;
  backlog = 0;

  constructor(demand: ThemisDemand) {
    this.demand = demand;
  }

  /** @returns what is needed and wanted at the end of each beat. */
  send(...perBeat: readonly number[]): [needed: number, wanted: number][] {
    return perBeat.map((count) => {
      for (let n = 0; n < count; n++) this.demand.onArrival(this.nowMs + (n * BEAT_MS) / count);
      this.nowMs += BEAT_MS;
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
      looker.nowMs = 20;
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
    // 12 come here each beat: alone it would want the level of 20.
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
  test("takes the requests of the last beat for the load", () => {
    const looker = new Looker(demandOf({ scaling: "themis" }));
    expect(looker.send(10, 11, 20, 79, 5).map(([needed]) => needed)).toEqual([0, 1, 1, 3, 0]);
  });

  test("looks at the last beat even between two whole ones", () => {
    const looker = new Looker(demandOf({ scaling: "themis" }));
    looker.send(10);
    for (let n = 0; n < 30; n++) looker.demand.onArrival(1000 + n);
    looker.nowMs = 1100;
    // Nine of the first beat's ten, and thirty.
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
    // The highest of the last ten beats is 40.
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
  /** Probability that a normal variable is 3.5 standard deviations above its mean. */
  const TAIL = 0.000_233;
  const WINDOWS = 10;
  const LASTING_WINDOWS = 4;

  test("takes Poisson traffic of its own load for more as seldom as its windows say", () => {
    for (const tickMs of [25, 1000]) {
      for (const qps of [5, 20, 100, 500]) {
        const loadsQps = [qps, 1.25 * qps, 2 * qps];
        const demand = demandOf({ scaling: "joint", loadsQps });
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
      const demand = demandOf({ scaling: "joint", loadsQps: [qps, 2 * qps] });
      const options = { qps: 0.8 * qps, tickMs: 25, looks: 20_000, seed: qps };
      expect(alarms(demand, options).risenPerMille).toBeLessThan(0.5);
    }
  });

  test("notices 2.5 times the load within half of the SLO and a look", () => {
    // As many come within a quarter of the SLO; of fewer nothing is sure.
    const load = fc.integer({ min: 12, max: 250 });
    const slo = fc.integer({ min: 10, max: 4000 });
    const part = fc.double({ min: 0, max: 1, noNaN: true });
    fc.assert(
      fc.property(load, slo, part, part, (count, sloMs, stepPart, lookPart) => {
        const quarterMs = sloMs / 4;
        const qps = (1000 * count) / quarterMs;
        const demand = demandOf({ scaling: "joint", loadsQps: [qps, 2.5 * qps], sloMs });
        const beatMs = 10 * sloMs;
        const stepMs = 10 * beatMs + stepPart * quarterMs;
        const tickMs = quarterMs;
        let [nextMs, seenMs] = [0, Number.POSITIVE_INFINITY];
        let nowMs = (1 + lookPart) * tickMs;
        for (; nowMs < 11 * beatMs && seenMs > nowMs; nowMs += tickMs) {
          for (; nextMs <= nowMs; nextMs += 1000 / (nextMs < stepMs ? qps : 2.5 * qps)) {
            demand.onArrival(nextMs);
          }
          demand.look(nowMs, 0, 0, 0);
          // Until there are five beats, the windows are not what they are taken for.
          if (demand.needed > 0 && nowMs > 5 * beatMs) seenMs = nowMs;
        }
        expect(seenMs).toBeGreaterThan(stepMs);
        // What has come in a quarter is known once that is over.
        expect(seenMs - stepMs).toBeLessThanOrEqual(sloMs / 2 + tickMs);
      }),
      { numRuns: 100 },
    );
  });

  test("does not ask for instances because of what is over within half a beat", () => {
    const looker = new Looker(demandOf({ scaling: "joint", loadsQps: [40, 80, 160] }));
    looker.send(40, 40, 40);
    for (let n = 0; n < 24; n++) looker.demand.onArrival(looker.nowMs + n);
    looker.nowMs += 200;
    const [needed, wanted] = looker.look();
    expect(needed).toBe(2);
    expect(wanted).toBe(NO_WISH);
  });

  test("looks as closely as at a quarter of the SLO, however long that is, and no closer", () => {
    for (const sloMs of [4, 100, 60_000]) {
      const quarterMs = sloMs / 4;
      // Ten of the lowest load in a quarter, of which 3.5 deviations are up to 24.
      const loadsQps = [10, 20, 40].map((count) => (1000 * count) / quarterMs);
      for (const [count, level] of [
        [24, 0],
        [25, 2],
      ] as const) {
        const demand = demandOf({ scaling: "joint", loadsQps, sloMs });
        for (let n = 0; n < 1200; n++) demand.onArrival((n * quarterMs) / 10);
        const nowMs = 120 * quarterMs;
        for (let n = 0; n < count; n++) demand.onArrival(nowMs + (n * quarterMs) / 50);
        demand.look(nowMs + 0.6 * quarterMs, 0, 0, 0);
        expect([demand.needed, demand.wanted]).toEqual([0, NO_WISH]);
        demand.look(nowMs + quarterMs, 0, 0, 0);
        expect([demand.needed, demand.wanted]).toEqual([level, NO_WISH]);
      }
    }
  });

  test("asks for the instances of the rate that has lasted for a beat", () => {
    const looker = new Looker(demandOf({ scaling: "joint", loadsQps: [40, 80, 160] }));
    looker.send(40, 40, 40);
    expect(looker.send(100)[0]).toEqual([2, 2]);
  });

  test("lets requests wait as a level's load does, and asks for cores beyond it", () => {
    const looker = new Looker(demandOf({ scaling: "joint", loadsQps: [400, 800, 1600] }));
    looker.send(400, 400, 400);
    // Three quarters of an SLO's requests are usual; what is beyond them is to be served in an SLO.
    looker.backlog = 30;
    expect(looker.send(400)[0]).toEqual([0, NO_WISH]);
    looker.backlog = 30 + 40;
    expect(looker.send(400)[0]).toEqual([1, NO_WISH]);
    looker.backlog = 30 + 41;
    expect(looker.send(400)[0]?.[0]).toBe(2);
    expect(looker.demand.wanted).toBe(NO_WISH);
  });

  test("calls off only once so many looks in a row would do with less", () => {
    const looker = new Looker(
      demandOf({ scaling: "joint", loadsQps: [10, 40, 160], stableTicks: 3 }),
    );
    looker.send(10, 10, 10, 10, 10);
    const [[, high] = [0, 0]] = looker.send(120);
    expect(high).toBe(2);
    // The longest window has the burst for four more beats; then three looks in a row speak for
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

  test("takes the highest beat for what it is: higher than the rate", () => {
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
