import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { DropMode, LokiBundle } from "../../../../runtime/bundle/schema.ts";
import { type LevelSketch, pipelineBundle } from "../../../support/pipeline-bundle.ts";
import { PipelineDriver } from "../../../support/pipeline-driver.ts";
import { chainBundle, treeBundle } from "../../../support/pipeline-samples.ts";

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

describe("batches", () => {
  test("a free server takes what waits at once, the earliest deadlines first, up to its batch", () => {
    const driver = new PipelineDriver(chainBundle({ levels: [PAIR], workers: [2] })).start();
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

  test("the queries of one event that go to the same idle group start as one batch, not one and the rest", () => {
    const levels: LevelSketch[] = [
      {
        ...PAIR,
        instances: [...PAIR.instances.slice(0, 1), { of: "classify/large", batch: 4, replicas: 2 }],
      },
    ];
    const driver = new PipelineDriver(chainBundle({ levels, workers: [3] })).start();
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
    const driver = new PipelineDriver(chainBundle({ levels, workers: [3] })).start();
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
    const driver = new PipelineDriver(chainBundle({ levels: [PAIR], workers: [2] })).start();
    const [running, waiting, last] = [1, 2, 3].map(() => driver.query(DETECT, FAR_MS));
    expect(driver.cancel(waiting ?? -1)).toBe(true);
    expect(driver.cancel(running ?? -1)).toBe(false);
    driver.finish(0);
    expect(driver.running[0]).toEqual([last]);
  });
});

describe("routing", () => {
  test("follows the shares of the plan's paths, each to within a query", () => {
    const driver = new PipelineDriver(chainBundle(), { initialDemandQps: 150 }).start();
    const counts = new Map<string, number>();
    const queries = 1000;
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
    const driver = new PipelineDriver(chainBundle(), { initialDemandQps: 150 }).start();
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
    const driver = new PipelineDriver(chainBundle({ levels: [PAIR], workers: [2] }));
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
    const driver = new PipelineDriver(chainBundle(), { initialDemandQps: 60 }).start();
    for (let worker = 0; worker < 5; worker++) driver.lose(worker);
    expect(driver.dispatcher.servers).toBe(1);
    driver.comeUp(3);
    driver.finishLoads();
    const tasks = driver.models.flatMap((model) => model?.split("/")[0] ?? []);
    expect(tasks.toSorted()).toEqual(["classify", "detect"]);
  });
});

describe("drop modes", () => {
  /** A fast and a slow classifier, and capacity to spare on both. */
  const levels: LevelSketch[] = [
    {
      loadQps: 20,
      instances: [
        { of: "detect/large", batch: 1, replicas: 1 },
        { of: "classify/large", batch: 4, replicas: 1 },
        { of: "classify/small", batch: 1, replicas: 1 },
      ],
      paths: [{ along: ["detect/large", "classify/large"], ratio: 1 }],
    },
  ];
  const start = (drop: DropMode) =>
    new PipelineDriver(chainBundle({ levels, workers: [3], policy: { drop } }), {
      initialDemandQps: 20,
    }).start();
  /** The detector's budget is 30 / 0.5 = 60 ms; its query comes to the classifiers after this time. */
  const detect = (driver: PipelineDriver, afterMs: number, deadlineMs: number) => {
    driver.query(DETECT, deadlineMs);
    driver.nowMs = afterMs;
    const [served = -1] = driver.finish(0);
    const child = driver.query(CLASSIFY, deadlineMs, served);
    return driver.dropped.includes(child) ? "dropped" : driver.models[driver.workerOf(child)];
  };

  test("none: late queries are served", () => {
    expect(detect(start("none"), 300, 250)).toBe("classify/large");
  });

  test("last task: dropped when the time left is less than a batch takes, 20 ms", () => {
    expect(detect(start("last-task"), 230, 250)).toBe("classify/large");
    expect(detect(start("last-task"), 230.1, 250)).toBe("dropped");
  });

  test("per task: dropped when the task before took longer than its budget", () => {
    expect(detect(start("per-task"), 60, 250)).toBe("classify/large");
    expect(detect(start("per-task"), 60.1, 250)).toBe("dropped");
  });

  test("reroute: to a server that makes up for the overrun, 20 − 4 ms at most", () => {
    expect(detect(start("reroute"), 60, 250)).toBe("classify/large");
    expect(detect(start("reroute"), 75.9, 250)).toBe("classify/small");
    expect(detect(start("reroute"), 76.1, 250)).toBe("dropped");
  });

  test("deadline: another way when the planned one takes 8 ms and not that much is left", () => {
    expect(detect(start("deadline"), 241.9, 250)).toBe("classify/large");
    expect(detect(start("deadline"), 242.1, 250)).toBe("classify/small");
    // Even the fastest way is too slow; the batch that would serve it does not start.
    expect(detect(start("deadline"), 246.1, 250)).toBe("dropped");
  });

  test("deadline: siblings that wait for the same idle server are counted, as they are not begun yet", () => {
    const driver = start("deadline");
    driver.query(DETECT, 250);
    driver.nowMs = 225;
    const [scene = -1] = driver.finish(0);
    const crops = [1, 2, 3, 4, 5, 6].map(() => driver.handIn(CLASSIFY, 250, scene));
    driver.startBatches();
    // A batch of four takes 20 of the 25 ms left. Two more one after the other take 8 on the other server.
    const slow = driver.models.indexOf("classify/large");
    const fast = driver.models.indexOf("classify/small");
    expect(driver.running[slow]).toEqual(crops.slice(0, 4));
    expect(driver.running[fast]).toEqual(crops.slice(4, 5));
    driver.nowMs = 229;
    driver.finish(fast);
    expect(driver.running[fast]).toEqual(crops.slice(5));
    expect(driver.dropped).toEqual([]);
  });

  test("deadline: a later task to which half a query comes is not thought slower than for a whole one", () => {
    const FACES = 2;
    const bundle = treeBundle({ policy: { drop: "deadline" } });
    const driver = new PipelineDriver(bundle, { initialDemandQps: 60 }).start();
    const first = driver.query(DETECT, FAR_MS);
    const [scene = -1] = driver.finish(driver.workerOf(first));
    const face = driver.query(FACES, FAR_MS, scene);
    expect(driver.workerOf(face)).toBeGreaterThanOrEqual(0);
    // Four cars on two servers take 20 / 2 + 20 ms, a face 5 + 5 behind the one that runs.
    const inTime = driver.query(DETECT, 30 + 30);
    expect(driver.workerOf(inTime)).toBeGreaterThanOrEqual(0);
    driver.query(DETECT, 30 + 30 - 0.1);
    expect(driver.dropped).toHaveLength(1);
  });

  test("deadline: what cannot get through the rest of the pipeline is not begun", () => {
    const driver = start("deadline");
    // 30 ms of detection, and then at least 4 ms on the faster classifier: of four queries it serves the last after three others.
    driver.query(DETECT, 30 + 20);
    driver.query(DETECT, 30 + 3);
    expect(driver.log.filter((line) => line.startsWith("drop"))).toEqual([]);
    driver.nowMs = 1;
    driver.finish(0);
    expect(driver.dropped).toEqual([1]);
  });
});

describe("plan switches", () => {
  test("load as few models as there are places to change", () => {
    const driver = new PipelineDriver(chainBundle(), { initialDemandQps: 60 }).start();
    const before = ["classify/large", "classify/large", "detect/large", "detect/large"];
    expect(driver.models.filter((model) => model !== null).toSorted()).toEqual(before);
    driver.loads = 0;
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
    const driver = new PipelineDriver(chainBundle(), { initialDemandQps: 60 }).start();
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
    const driver = new PipelineDriver(chainBundle(), { initialDemandQps: 400 }).start();
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
    // The first stays small; the others load another model once they are done, both that stand in among them.
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
    const driver = new PipelineDriver(chainBundle(), { initialDemandQps: 140 }).start();
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

  test("do not flap at a demand on the border of two levels", () => {
    const driver = new PipelineDriver(chainBundle(), { initialDemandQps: 75 }).start();
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
  function flood(driver: PipelineDriver, perSecond: number, seconds = 1): void {
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
    // Slack grid 0, 50: with 50 ms and one query the large variant, with more queries the small one; late: given up, so served last on the fastest.
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
    const driver = new PipelineDriver(chainBundle({ levels, workers: [2] })).start();
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

describe("whatever happens", () => {
  const event = fc.oneof(
    {
      weight: 8,
      arbitrary: fc.record({ kind: fc.constant("request" as const), slackMs: fc.nat(300) }),
    },
    {
      weight: 8,
      arbitrary: fc.record({ kind: fc.constant("finish" as const), worker: fc.nat(5) }),
    },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant("load" as const), worker: fc.nat(5) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("lose" as const), worker: fc.nat(5) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("up" as const), worker: fc.nat(5) }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant("cancel" as const), nth: fc.nat(20) }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant("time" as const), ms: fc.nat(900) }) },
    {
      weight: 1,
      arbitrary: fc.record({ kind: fc.constant("burst" as const), count: fc.nat(150) }),
    },
  );
  const modes = ["none", "last-task", "per-task", "reroute", "deadline"] as const;
  const policy = fc.record({
    drop: fc.constantFrom(...modes),
    routing: fc.constantFrom("plan", "auto", "most-accurate-first"),
  });

  test("no query is lost or served twice, and no worker gets what it cannot do", () => {
    fc.assert(
      fc.property(
        fc.boolean(),
        policy,
        fc.array(event, { minLength: 20, maxLength: 200 }),
        (isTree, options, events) => {
          const bundle = isTree
            ? treeBundle({ policy: options })
            : chainBundle({ policy: options });
          run(bundle, events);
        },
      ),
      { numRuns: 300 },
    );
  });

  test("the same events give the same commands", () => {
    fc.assert(
      fc.property(policy, fc.array(event, { minLength: 50, maxLength: 100 }), (options, events) => {
        const bundle = treeBundle({ policy: options });
        expect(run(bundle, events).log).toEqual(run(bundle, events).log);
      }),
      { numRuns: 20 },
    );
  });

  function run(
    bundle: LokiBundle,
    events: readonly (typeof event extends fc.Arbitrary<infer E> ? E : never)[],
  ): PipelineDriver {
    const driver = new PipelineDriver(bundle, { capacity: 8192 }).start();
    for (const step of events) {
      switch (step.kind) {
        case "request":
          driver.query(0, driver.nowMs + step.slackMs);
          break;
        case "burst":
          for (let n = 0; n < step.count; n++) driver.query(0, driver.nowMs + 250);
          break;
        case "finish":
          handOn(driver, bundle, step.worker);
          break;
        case "load":
          driver.finishLoad(step.worker);
          break;
        case "lose":
          driver.lose(step.worker);
          break;
        case "up":
          if (driver.states[step.worker] === "down") driver.comeUp(step.worker);
          break;
        case "cancel": {
          const query = [...driver.waiting][step.nth];
          if (query !== undefined) driver.cancel(query);
          break;
        }
        case "time":
          driver.nowMs += step.ms;
          if (driver.dispatcher.wakeMs <= driver.nowMs) driver.wake();
          break;
      }
    }
    // In the end all workers come back and everything that waits is served or dropped.
    for (let worker = 0; worker < driver.states.length; worker++) {
      if (driver.states[worker] === "down") driver.comeUp(worker);
    }
    for (let round = 0; round < 3000 && busy(driver); round++) {
      driver.nowMs += 1;
      driver.finishLoads();
      for (let worker = 0; worker < driver.states.length; worker++) {
        handOn(driver, bundle, worker);
      }
    }
    expect(driver.waiting.size).toBe(0);
    return driver;
  }

  function busy(driver: PipelineDriver): boolean {
    return driver.waiting.size > 0 || driver.states.some((state) => state === "busy");
  }

  function handOn(driver: PipelineDriver, { tasks }: LokiBundle, worker: number): void {
    const name = driver.models[worker]?.split("/")[0];
    for (const query of driver.finish(worker)) {
      for (const [child, { parent }] of tasks.entries()) {
        if (parent === null || tasks[parent]?.name !== name) continue;
        driver.dispatcher.onFanout(query, child, 2);
        driver.handIn(child, driver.nowMs + 100, query);
        driver.handIn(child, driver.nowMs + 100, query);
      }
    }
    driver.startBatches();
  }
});

test("pools hold apart what runs where", () => {
  const bundle = pipelineBundle({
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
  const driver = new PipelineDriver(bundle).start();
  expect(driver.models).toEqual(["b/v", "a/v", null]);
  expect(driver.dispatcher.servers).toBe(2);
});
