import { describe, expect, test } from "vitest";
import {
  type CascadeRow,
  expectedOutputs,
  GATE,
  SLOW,
} from "../../../server/graph/served-tasks.ts";
import {
  answerOf,
  finishAll,
  finishOf,
  running,
  settled,
} from "../../inferline/serve/scheduled.ts";
import { type ScaleSetup, scheduledScales, traffic } from "./scheduled.ts";
import { servedScales } from "./served.ts";

const ESCALATED: CascadeRow = { escalate: 1, keep: 0, value: 3 };
const KEPT: CascadeRow = { escalate: 0, keep: 1, value: 5 };
const BOTH: CascadeRow = { escalate: 1, keep: 1, value: 7 };
const NEITHER: CascadeRow = { escalate: 0, keep: 0, value: 9 };

/** What the executor was told since the last call, of the workers of the slow task. */
function toldOfSlow({ executor, log }: ScaleSetup, since: number): string[] {
  const assigned = log.flatMap((entry) =>
    entry.kind === "assign" && entry.variant === SLOW ? [entry.worker] : [],
  );
  return executor.told
    .slice(since)
    .filter((told) => assigned.includes(Number(told.split(":")[0])))
    .map((told) => told.slice(told.indexOf(":") + 2));
}

/** The plan of the lowest level, which follows twenty calm beats: at this SLO seconds. */
async function calmed(bundle = servedScales({ sloMs: 100 })): Promise<ScaleSetup> {
  const setup = scheduledScales(bundle);
  setup.start();
  await traffic(setup, 30, 2);
  expect([...setup.pipeline.dispatcher.assignedByTask]).toEqual([1, 1, 1]);
  expect(setup.scheduler.level).toBe(0);
  return setup;
}

describe("instances", () => {
  test("start with the plan of the highest level and its cores, as the load is not known", () => {
    const setup = scheduledScales();
    setup.start();
    expect(setup.executor.told).toEqual(["0: 0 on 1", "1: 1 on 1", "2: 2 on 1", "3: 1 on 1"]);
    expect(setup.scheduler.workers.canServe).toBe(true);
  });

  test("have more cores at once in a burst, until others beside them are up", async () => {
    const setup = await calmed();
    const { executor, pipeline } = setup;
    const { dispatcher } = pipeline;
    const before = executor.told.length;
    const resizesBefore = dispatcher.burstCount;
    while (executor.loading.length === 0) await traffic(setup, 1, 70);
    expect(dispatcher.burstCount).toBeGreaterThan(resizesBefore);
    expect(toldOfSlow(setup, before)).toEqual(["on 2", "1 on 1"]);
    expect([...dispatcher.coresByTask]).toEqual([1, 3, 1]);
    await traffic(setup, 2, 70);
    expect(toldOfSlow(setup, before)).toEqual(["on 2", "1 on 1"]);
    executor.load();
    await settled(setup);
    expect(toldOfSlow(setup, before)).toEqual(["on 2", "1 on 1", "on 1"]);
    expect([...dispatcher.coresByTask]).toEqual([1, 2, 1]);
    await traffic(setup, 40, 2);
    expect(toldOfSlow(setup, before)).toEqual(["on 2", "1 on 1", "on 1", "off"]);
  });

  test("are on the way to a plan until the executor says that they have its cores", async () => {
    const setup = await calmed();
    const { executor, scheduler, pipeline } = setup;
    const { dispatcher } = pipeline;
    const settledBefore = dispatcher.settledCount;
    executor.resize = (worker, cores) => {
      executor.told.push(`${worker}: on ${cores}`);
    };
    while (dispatcher.goal !== 1) await traffic(setup, 1, 35);
    await traffic(setup, 3, 35);
    expect(dispatcher.settledCount).toBe(settledBefore);
    const resized = executor.told.findLast((told) => told.endsWith(": on 2"));
    // Of a worker that is not an instance nothing is heard.
    scheduler.onResized(3);
    expect(dispatcher.settledCount).toBe(settledBefore);
    scheduler.onResized(Number(resized?.split(":")[0]));
    expect(dispatcher.settledCount).toBe(settledBefore + 1);
    expect(setup.log.filter(({ kind }) => kind === "resized")).toHaveLength(1);
  });
});

describe("a request", () => {
  test("goes where its verdicts send it, whatever the cores", async () => {
    const setup = scheduledScales();
    setup.start();
    const rows = [ESCALATED, KEPT, BOTH, NEITHER];
    const submission = setup.submit(rows);
    await finishAll(setup);
    expect(setup.valuesOf(await answerOf(submission))).toEqual(expectedOutputs(rows));
  });

  test("that is too old when its turn comes is given up; one in time is served", async () => {
    const setup = scheduledScales();
    setup.start();
    const first = setup.submit([KEPT], 100);
    await settled(setup);
    const old = setup.submit([KEPT], 50);
    const young = setup.submit([KEPT], 200);
    setup.clock.nowMs = 60;
    await finishOf(setup, GATE);
    expect(await old.outcome).toEqual({
      kind: "failed",
      reason: "late",
      message: "gate: its deadline can no longer be met",
    });
    await finishAll(setup);
    for (const submission of [first, young]) {
      expect(setup.valuesOf(await answerOf(submission))).toEqual(expectedOutputs([KEPT]));
    }
    expect(setup.scheduler.pendingCount).toBe(0);
  });

  test("is served however late it is where nothing is to be given up", async () => {
    const setup = scheduledScales(servedScales({ policy: { dropAfterSlos: null } }));
    setup.start();
    const first = setup.submit([KEPT], 100);
    await settled(setup);
    const old = setup.submit([KEPT], 50);
    setup.clock.nowMs = 5000;
    await finishAll(setup);
    for (const submission of [first, old]) {
      expect(setup.valuesOf(await answerOf(submission))).toEqual(expectedOutputs([KEPT]));
    }
  });

  test("goes on with who takes the place of its worker, and the next too", async () => {
    const setup = await calmed();
    const { executor, scheduler } = setup;
    const submission = setup.submit([ESCALATED]);
    await finishOf(setup, GATE);
    expect(running(setup)).toEqual([[SLOW, 1]]);
    const worker = executor.held[0]?.worker ?? -1;
    executor.lose(worker);
    scheduler.onWorkerReady(worker);
    const next = setup.submit([BOTH]);
    await finishAll(setup);
    expect(setup.valuesOf(await answerOf(submission))).toEqual(expectedOutputs([ESCALATED]));
    expect(setup.valuesOf(await answerOf(next))).toEqual(expectedOutputs([BOTH]));
    expect([...setup.pipeline.dispatcher.readyByTask]).toEqual([1, 1, 1]);
  });
});
