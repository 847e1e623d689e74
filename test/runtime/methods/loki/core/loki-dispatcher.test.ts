import { describe, expect, test } from "vitest";
import { type LevelSketch, lokiBundle } from "../../../../support/loki-bundle.ts";
import { LokiDriver } from "../../../../support/loki-driver.ts";
import { chainBundle } from "../../../../support/loki-samples.ts";

const DETECT = 0;
const CLASSIFY = 1;
const FAR_MS = 1e6;

/** One server for each of the two tasks, batches of 2. */
const PAIR: LevelSketch = {
  loadQps: 40,
  instances: [
    { of: "detect/large", batch: 2, replicas: 1 },
    { of: "classify/large", batch: 2, replicas: 1 },
  ],
  paths: [{ along: ["detect/large", "classify/large"], ratio: 1 }],
};

test("counts until the lowest plan is in force, and then waits for a request", () => {
  const driver = new LokiDriver(chainBundle({ levels: [PAIR], workers: [2] })).start();
  driver.query(DETECT, FAR_MS);
  driver.finish(0);
  let beats = 0;
  while (Number.isFinite(driver.dispatcher.wakeMs) && beats < 1000) {
    driver.nowMs = driver.dispatcher.wakeMs;
    driver.startBatches();
    beats++;
  }
  expect(beats).toBeGreaterThan(0);
  expect(beats).toBeLessThan(100);
  driver.nowMs += 1000 * FAR_MS;
  driver.query(DETECT, driver.nowMs + FAR_MS);
  expect(driver.dispatcher.wakeMs).toBeLessThan(Number.POSITIVE_INFINITY);
});

describe("batches", () => {
  test("a free server takes what waits at once, the earliest deadlines first", () => {
    const driver = new LokiDriver(chainBundle({ levels: [PAIR], workers: [2] })).start();
    driver.query(DETECT, 500);
    driver.query(DETECT, 900);
    driver.query(DETECT, 700);
    driver.query(DETECT, 700);
    driver.query(DETECT, 800);
    driver.finish(0);
    driver.finish(0);
    expect(driver.log.slice(2)).toEqual([
      "start 0 detect/large 0",
      "start 0 detect/large 2,3",
      "start 0 detect/large 4,1",
    ]);
  });

  test("the queries of one event for the same idle group start as one batch", () => {
    const levels: LevelSketch[] = [
      {
        ...PAIR,
        instances: [...PAIR.instances.slice(0, 1), { of: "classify/large", batch: 4, replicas: 2 }],
      },
    ];
    const driver = new LokiDriver(chainBundle({ levels, workers: [3] })).start();
    driver.query(DETECT, FAR_MS);
    const [scene = -1] = driver.finish(0);
    const begun = driver.log.length;
    const crops = [1, 2, 3, 4, 5, 6].map(() => driver.handIn(CLASSIFY, FAR_MS, scene));
    // None before its siblings are in; the driver is to call at once.
    expect(driver.log.length).toBe(begun);
    expect(driver.dispatcher.wakeMs).toBe(driver.nowMs);
    driver.startBatches();
    expect(driver.dispatcher.wakeMs).toBeGreaterThan(driver.nowMs);
    const started = driver.running.filter((queries) => queries.length > 0);
    expect(started.toSorted((a, b) => b.length - a.length)).toEqual([
      crops.slice(0, 4),
      crops.slice(4),
    ]);
  });

  test("equal servers share a queue", () => {
    const levels: LevelSketch[] = [
      {
        ...PAIR,
        instances: [{ of: "detect/large", batch: 2, replicas: 2 }, ...PAIR.instances.slice(1)],
      },
    ];
    const driver = new LokiDriver(chainBundle({ levels, workers: [3] })).start();
    const queries = [1, 2, 3, 4].map(() => driver.query(DETECT, FAR_MS));
    const [first = -1, second = -1] = queries.map((query) => driver.workerOf(query));
    expect([first, second].map((worker) => driver.models[worker])).toEqual([
      "detect/large",
      "detect/large",
    ]);
    expect(second).not.toBe(first);
    driver.finish(second);
    expect(driver.running[second]).toEqual(queries.slice(2));
  });

  test("a cancelled query does not run", () => {
    const driver = new LokiDriver(chainBundle({ levels: [PAIR], workers: [2] })).start();
    const [running, waiting, last] = [1, 2, 3].map(() => driver.query(DETECT, FAR_MS));
    expect(driver.cancel(waiting ?? -1)).toBe(true);
    expect(driver.cancel(running ?? -1)).toBe(false);
    driver.finish(0);
    expect(driver.running[0]).toEqual([last]);
  });
});

describe("routing", () => {
  test("follows the shares of the plan's paths, each to within a query", () => {
    const driver = new LokiDriver(chainBundle(), { initialDemandQps: 150 }).start();
    const counts = new Map<string, number>();
    // So many at once are no leap of the demand yet.
    const queries = 500;
    for (let query = 0; query < queries; query++) {
      const detected = driver.query(DETECT, FAR_MS);
      const worker = driver.workerOf(detected);
      const first = driver.models[worker];
      const [served = -1] = driver.finish(worker);
      const child = driver.query(CLASSIFY, FAR_MS, served);
      const classifier = driver.workerOf(child);
      const path = `${first} ${driver.models[classifier]}`;
      counts.set(path, (counts.get(path) ?? 0) + 1);
      driver.finish(classifier);
    }
    const expected = {
      "large classify/small": 0.6,
      "large classify/large": 0.1,
      "small classify/large": 0.3,
    };
    expect(counts.size).toBe(3);
    for (const [path, ratio] of Object.entries(expected)) {
      expect(Math.abs((counts.get(`detect/${path}`) ?? 0) - ratio * queries)).toBeLessThanOrEqual(
        2,
      );
    }
  });

  test("goes round a variant that has no server left, to the most accurate of the task", () => {
    const driver = new LokiDriver(chainBundle(), { initialDemandQps: 150 }).start();
    const small = driver.models.indexOf("detect/small");
    driver.lose(small);
    const models = new Set<string | null | undefined>();
    for (let query = 0; query < 20; query++) {
      const worker = driver.workerOf(driver.query(DETECT, FAR_MS));
      models.add(driver.models[worker]);
      driver.finish(worker);
    }
    expect(models).toEqual(new Set(["detect/large"]));
  });

  test("keeps what a loading worker will serve, and drops what no worker is for", () => {
    const driver = new LokiDriver(chainBundle({ levels: [PAIR], workers: [2] }));
    driver.comeUp(0);
    driver.comeUp(1);
    const waiting = driver.query(DETECT, FAR_MS);
    expect(driver.log).toEqual(["assign 0 detect/large", "assign 1 classify/large"]);
    driver.finishLoads();
    expect(driver.running[0]).toEqual([waiting]);
    driver.lose(1);
    const [served] = driver.finish(0);
    const child = driver.query(CLASSIFY, FAR_MS, served);
    expect(driver.log.at(-1)).toBe(`drop ${child} 1`);
    // Without a server for every task a request would be begun in vain.
    expect(driver.query(DETECT, FAR_MS)).toBe(-1);
  });

  test("one of two tasks that have lost their servers gets the first one back", () => {
    const driver = new LokiDriver(chainBundle(), { initialDemandQps: 60 }).start();
    for (let worker = 0; worker < 5; worker++) driver.lose(worker);
    expect(driver.dispatcher.servers).toBe(1);
    driver.comeUp(3);
    driver.finishLoads();
    const tasks = driver.models.flatMap((model) => model?.split("/")[0] ?? []);
    expect(tasks.toSorted()).toEqual(["classify", "detect"]);
  });
});

/** At the SLO of 100 ms a beat is a second. */
describe("plan switches", () => {
  test("load as few models as there are places to change", () => {
    const driver = new LokiDriver(chainBundle({ sloMs: 100 }), { initialDemandQps: 60 }).start();
    const before = ["classify/large", "classify/large", "detect/large", "detect/large"];
    expect(driver.models.filter((model) => model !== null).toSorted()).toEqual(before);
    driver.loads = 0;
    // The first beat of 130 is within chance of 75: 3 deviations for the mean, and 3.5 for a level.
    flood(driver, 130);
    expect(driver.dispatcher.level).toBe(0);
    flood(driver, 130);
    expect(driver.dispatcher.level).toBe(1);
    driver.finishLoads();
    expect(driver.loads).toBe(3);
    const held = driver.models.toSorted();
    expect(held).toEqual([
      "classify/large",
      "classify/small",
      "detect/large",
      "detect/large",
      "detect/large",
      "detect/small",
    ]);
  });

  test("leave every task a ready server while another one loads", () => {
    const driver = new LokiDriver(chainBundle({ sloMs: 100 }), { initialDemandQps: 60 }).start();
    flood(driver, 900);
    expect(driver.dispatcher.level).toBe(2);
    for (let round = 0; round < 10; round++) {
      for (const task of ["detect", "classify"]) {
        const ready = driver.models.filter(
          (model, worker) =>
            model?.startsWith(task) && ["ready", "busy"].includes(driver.states[worker] ?? ""),
        );
        expect(ready.length).toBeGreaterThan(0);
      }
      const worker = driver.states.indexOf("loading");
      if (worker >= 0) driver.finishLoad(worker);
      for (let busy = 0; busy < 6; busy++) driver.finish(busy);
    }
    expect(driver.models.toSorted()).toEqual([
      ...Array<string>(2).fill("classify/small"),
      ...Array<string>(4).fill("detect/small"),
    ]);
  });

  test("hand what a leaving server has left behind to an idle one at once", () => {
    const driver = new LokiDriver(chainBundle({ sloMs: 100 }), { initialDemandQps: 400 }).start();
    // All detectors are busy when the plan of fewer, larger ones takes over.
    for (let request = 0; request < 1150; request++) {
      driver.nowMs += 10;
      driver.query(DETECT, FAR_MS);
    }
    expect(driver.dispatcher.level).toBe(1);
    for (const query of [...driver.waiting]) driver.cancel(query);
    // Planned for a large detector; none has it yet, and two of the small ones stand in for it.
    const left = driver.query(DETECT, FAR_MS);
    const busy = driver.states.flatMap((state, worker) => (state === "busy" ? [worker] : []));
    expect(busy.map((worker) => driver.models[worker])).toEqual(Array(4).fill("detect/small"));
    // The first stays small; the others load another model once they are done, both that stand in
    // among them.
    const [stays = -1, ...leaving] = busy;
    driver.finish(stays);
    expect(driver.states[stays]).toBe("ready");
    for (const worker of leaving.slice(0, 2)) {
      driver.finish(worker);
      expect(driver.states[worker]).toBe("loading");
    }
    expect(driver.running[stays]).toEqual([left]);
  });

  test("switch off what the plan does not need, and give back nothing else", () => {
    const driver = new LokiDriver(chainBundle({ sloMs: 100 }), { initialDemandQps: 140 }).start();
    for (let second = 0; second < 40; second++) {
      driver.nowMs += 1000;
      driver.wake();
      driver.finishLoads();
    }
    expect(driver.dispatcher.level).toBe(1);
    // Nothing has come, so nothing was counted; a few requests start the clock.
    flood(driver, 20, 40);
    expect(driver.dispatcher.level).toBe(0);
    expect(driver.dispatcher.servers).toBe(4);
    expect(driver.states.filter((state) => state === "off").length).toBe(2);
  });

  test("are those of the load of all front ends, where several share the workers", () => {
    const levelOf = (othersQps: number | null) => {
      const driver = new LokiDriver(chainBundle({ sloMs: 100 }), { initialDemandQps: 70 });
      for (let worker = 0; worker < 3; worker++) driver.comeUp(worker);
      driver.finishLoads();
      const share = { othersQps, othersVariance: 100, workers: 3, allWorkers: 6 };
      driver.dispatcher.onShare(share);
      flood(driver, 70, 12);
      return driver.dispatcher.level;
    };
    // Half of the six servers carries 75 of the 150 per second of the second level.
    expect(levelOf(null)).toBe(1);
    expect(levelOf(70)).toBe(1);
    // 70 here and 180 there are 125 for each half.
    expect(levelOf(180)).toBe(2);
  });

  test("do not flap at a demand on the border of two levels", () => {
    const driver = new LokiDriver(chainBundle({ sloMs: 100 }), { initialDemandQps: 75 }).start();
    let switches = 0;
    let level = driver.dispatcher.level;
    let seed = 1;
    for (let second = 0; second < 300; second++) {
      // Counts of mean 75 and standard deviation 8.7, as those of a Poisson process.
      seed = (seed * 48271) % 0x7fffffff;
      const count = Math.round(75 + (seed / 0x7fffffff - 0.5) * 30);
      flood(driver, count);
      if (driver.dispatcher.level !== level) switches++;
      level = driver.dispatcher.level;
    }
    expect(switches).toBeLessThanOrEqual(2);
  });

  /** Requests spread over a second, and served at once; then the next. */
  function flood(driver: LokiDriver, perSecond: number, seconds = 1): void {
    for (let request = 0; request < perSecond * seconds; request++) {
      driver.nowMs += 1000 / perSecond;
      driver.query(DETECT, driver.nowMs + 250);
      for (let worker = 0; worker < driver.states.length; worker++) driver.finish(worker);
      if (seconds > 1) driver.finishLoads();
    }
    driver.nowMs += 1000 / perSecond + 1e-3;
    driver.wake();
  }
});

describe("stage policies", () => {
  test("choose variant and batch by the queue and the slack to the stage's deadline", () => {
    // Slack grid 0, 50: with 50 ms and one query the large variant, with more queries the small
    // one; late: given up, so served last on the fastest.
    const slackMs = { dtype: "float64", shape: [2], data: Float64Array.of(0, 50) } as const;
    const actions = { dtype: "uint16", shape: [2, 2], data: Uint16Array.of(0, 2, 1, 1) } as const;
    const decisionMs = {
      dtype: "float64",
      shape: [2, 2],
      data: Float64Array.of(10, 15, 30, 50),
    } as const;
    const stage = {
      budgetMs: 50,
      serviceTimes: { percentile: null, decisionMs, quantiles: null },
      decisionSpace: { maxQueue: 1, slackMs, actions },
      actionByState: {
        dtype: "uint16",
        shape: [2, 2],
        data: Uint16Array.of(0xfffe, 1, 0, 0),
      } as const,
    };
    const levels: LevelSketch[] = [{ ...PAIR, stages: [stage, null] }];
    const driver = new LokiDriver(chainBundle({ levels, workers: [2] })).start();
    driver.query(DETECT, 250);
    driver.query(DETECT, 250);
    driver.query(DETECT, 250);
    driver.nowMs = 10;
    driver.finish(0);
    driver.query(DETECT, 12);
    driver.nowMs = 20;
    driver.finish(0);
    expect(driver.log.slice(2)).toEqual([
      "start 0 detect/large 0",
      "start 0 detect/small 1,2",
      "start 0 detect/small 3",
    ]);
  });
});

test("pools hold apart what runs where", () => {
  const bundle = lokiBundle({
    tasks: [
      { name: "a", variants: [{ name: "v", accuracy: 1, latencyMs: { 1: 10 } }] },
      { name: "b", parent: "a", variants: [{ name: "v", accuracy: 1, latencyMs: { 1: 10 } }] },
    ],
    workers: [1, 2],
    levels: [
      {
        loadQps: 50,
        instances: [
          { of: "a/v", batch: 1, replicas: 1, pool: 1 },
          { of: "b/v", batch: 1, replicas: 1, pool: 0 },
        ],
        paths: [{ along: ["a/v", "b/v"], ratio: 1 }],
      },
    ],
  });
  const driver = new LokiDriver(bundle).start();
  expect(driver.models).toEqual(["b/v", "a/v", null]);
  expect(driver.dispatcher.servers).toBe(2);
});
