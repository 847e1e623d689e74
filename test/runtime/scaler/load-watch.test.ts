import { expect, test } from "vitest";
import { loadBundle } from "../../../runtime/bundles/load-bundle.ts";
import { FrontEnds } from "../../../runtime/scaler/front-ends.ts";
import { LoadWatch } from "../../../runtime/scaler/load-watch.ts";
import { Clock, pass, ToldTraffic } from "../../support/told-traffic.ts";

/** Levels of 0.5, 1 and 2 requests a second, whose plans have 2, 4 and 7 readers. */
const POLICY = "policies/ocr-inferline/bundle.msgpack";
const READ = { task: "read" };

async function watched(count = 1) {
  const { bundle } = await loadBundle(POLICY);
  const clock = new Clock();
  const traffics = Array.from({ length: count }, () => new ToldTraffic(bundle.application));
  const frontEnds = new FrontEnds({
    urls: traffics.map((_, index) => `http://front-end-${index}/metrics`),
    application: bundle.application,
    read: async (url) => traffics[Number(/(\d+)\//.exec(url)?.[1])]?.text() ?? "",
  });
  const watch = new LoadWatch({ bundle, frontEnds, nowMs: clock.now });
  const [traffic = new ToldTraffic("")] = traffics;
  return { watch, clock, traffic, traffics, frontEnds };
}

test("has no result until it has polled for ten seconds", async () => {
  const at = await watched();
  await pass(8, 0, at);
  expect(at.watch.outlook.whyUnknown).toMatch(/less than 10 s/);
  await pass(4, 0, at);
  expect(at.watch.outlook).toMatchObject({ whyUnknown: null, loadQps: 0, isActive: false });
});

test("requires the workers of the level for the load", async () => {
  const at = await watched();
  await pass(40, 2, at);
  expect(at.watch.outlook).toMatchObject({ loadQps: 2, level: 2, isActive: true });
  expect(at.watch.plan.wanted(READ)).toBe(7);
  expect(at.watch.plan.wanted({ pool: "cpu" })).toBe(12);
});

test("keeps the workers of a level for a minute after the load has fallen", async () => {
  const at = await watched();
  await pass(40, 2, at);
  await pass(60, 0, at);
  expect(at.watch.outlook.level).toBe(0);
  expect(at.watch.plan.wanted(READ)).toBe(7);
  await pass(60, 0, at);
  expect(at.watch.plan.wanted(READ)).toBe(2);
});

test("counts requests that are rejected unread, so that overload is visible", async () => {
  const at = await watched();
  await pass(12, 0, at);
  for (let second = 0; second < 30; second++) {
    at.traffic.rejected += 5;
    await pass(1, 0, at);
  }
  expect(at.watch.outlook.loadQps).toBe(5);
  expect(at.watch.plan.wanted(READ)).toBe(7);
});

test("a restarted front end counts from 0", async () => {
  const at = await watched();
  await pass(20, 1, at);
  at.traffic.rows = 0;
  await pass(20, 1, at);
  expect(at.watch.outlook.loadQps).toBeCloseTo(1, 1);
});

test("adds up front ends, and forgets a silent one after half a minute", async () => {
  const at = await watched(2);
  const [one, other] = at.traffics;
  if (one === undefined || other === undefined) throw new Error("there are two");
  for (let second = 0; second < 30; second++) {
    other.rows += 1;
    await pass(1, 1, at);
  }
  expect(at.watch.outlook.loadQps).toBe(2);
  other.isAway = true;
  await pass(20, 1, at);
  expect(at.watch.outlook).toMatchObject({ whyUnknown: null, loadQps: 2 });
  await pass(12, 1, at);
  expect(at.watch.outlook).toMatchObject({ whyUnknown: null, loadQps: 1 });
  expect(at.frontEnds.count).toBe(1);
});

test("the load is unknown when no front end answers", async () => {
  const at = await watched();
  await pass(20, 1, at);
  at.traffic.isAway = true;
  await pass(4, 0, at);
  expect(at.watch.outlook.whyUnknown).toBeNull();
  await pass(3, 0, at);
  expect(at.watch.outlook.whyUnknown).toBe("connect ECONNREFUSED");
});

test("polls the front end at each address of a name", async () => {
  const { bundle } = await loadBundle(POLICY);
  const asked: string[] = [];
  const frontEnds = new FrontEnds({
    urls: ["dns+http://front-end:8002/metrics"],
    application: bundle.application,
    addressesOf: async () => ["10.0.0.1", "fd00::2"],
    read: async (url) => {
      asked.push(url);
      return new ToldTraffic(bundle.application).text();
    },
  });
  await frontEnds.look(() => 1);
  expect(asked).toEqual(["http://10.0.0.1:8002/metrics", "http://[fd00::2]:8002/metrics"]);
  expect(frontEnds.count).toBe(2);
});
