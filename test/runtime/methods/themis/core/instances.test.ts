import { describe, expect, test } from "vitest";
import { ThemisDriver } from "../../../../support/themis-driver.ts";
import { LEVELS, TRANSITIONS, twoTasks, twoTasksUp } from "../../../../support/themis-two-tasks.ts";

describe("instances", () => {
  test("start with the cores of the plan", () => {
    const driver = new ThemisDriver(twoTasks(), { initialDemandQps: 200 }).start();
    expect(driver.placed).toEqual(["first 2 2 2 2", "second 2 2"]);
    expect(driver.log.slice(0, 2)).toEqual(["assign 0 0 2", "assign 1 1 2"]);
  });

  test("get cores at once in a burst, then others beside them, and shrink", () => {
    const driver = twoTasksUp();
    driver.dispatcher.onForecast(200);
    driver.serveEvenly(45, 5000, false);
    expect(driver.placed).toEqual(["first 1 1", "second 1"]);
    driver.serveEvenly(190, 100, false);
    expect(driver.placed).toEqual(["first 1>4 1>4 0>4", "second 1>4"]);
    driver.serveEvenly(190, 1500, false);
    expect(driver.placed).toEqual(["first 1>4 1>4 0>4 0>2", "second 1>4 0>2"]);
    expect(driver.dispatcher.goal).toBe(1);
    driver.finishResizes();
    expect(driver.dispatcher.settledCount).toBe(0);
    driver.finishLoads();
    expect(driver.dispatcher.settledCount).toBe(1);
    driver.finishResizes();
    expect(driver.placed).toEqual(["first 2 2 2 2", "second 2 2"]);
    expect(driver.held).toEqual([8, 4]);
  });

  test("that stay are resized before others go", () => {
    const driver = new ThemisDriver(twoTasks(), { initialDemandQps: 200 }).start();
    driver.dispatcher.onForecast(0);
    driver.serveEvenly(10, 30_000, false);
    const first = driver.log.findIndex((line) => line.startsWith("release"));
    const last = driver.log.findLastIndex((line) => line.startsWith("resize"));
    expect(first).toBeGreaterThan(last);
    driver.finishResizes();
    expect(driver.placed).toEqual(["first 1 1", "second 1"]);
  });

  test("that are lost are started again, and the others carry what they carried until then", () => {
    const driver = new ThemisDriver(twoTasks(), { initialDemandQps: 200 }).start();
    expect(driver.placed).toEqual(["first 2 2 2 2", "second 2 2"]);
    driver.lose(0);
    driver.comeUp(0);
    expect(driver.placed).toEqual(["first 0>4 2>4 2>4 2>4", "second 2>4 2>4"]);
    driver.finishResizes();
    expect(driver.dispatcher.settledCount).toBe(0);
    driver.finishLoads();
    driver.finishResizes();
    expect(driver.placed).toEqual(["first 2 2 2 2", "second 2 2"]);
    expect(driver.dispatcher.burstCount).toBe(0);
  });

  test("that are lost before they were up are only started again", () => {
    const driver = new ThemisDriver(twoTasks(), { initialDemandQps: 200 });
    for (const worker of driver.workers) driver.comeUp(worker);
    driver.lose(0);
    driver.finishLoads();
    expect(driver.placed).toEqual(["first 2 2 2", "second 2 2"]);
    driver.comeUp(0);
    driver.finishLoads();
    expect(driver.placed).toEqual(["first 2 2 2 2", "second 2 2"]);
    expect(driver.log.some((line) => line.startsWith("resize"))).toBe(false);
  });

  test("that are lost during a burst come back with the cores of the others", () => {
    const driver = twoTasksUp({ policy: { extraCores: "one" } });
    driver.serveEvenly(45, 5000, false);
    driver.serveEvenly(190, 100, false);
    expect(driver.placed).toEqual(["first 1>4 1>4 0>1", "second 1>4"]);
    const [worker = -1] = [...driver.instances].find(([, { task }]) => task === 1) ?? [];
    driver.lose(worker);
    expect(driver.placed[1]).toBe("second 0>4");
  });

  test("stay as they are at a level that is fixed, and where there is just one", () => {
    const fixed = twoTasksUp({}, { level: 0 });
    const [only] = LEVELS;
    const [[cell] = []] = TRANSITIONS;
    const single = twoTasksUp({
      levels: only === undefined ? [] : [only],
      transitions: cell === undefined ? [] : [[cell]],
    });
    for (const driver of [fixed, single]) {
      const before = driver.log.length;
      driver.serveEvenly(500, 3000);
      driver.serveEvenly(1, 30_000);
      expect(driver.log.slice(before).every((line) => line.startsWith("start"))).toBe(true);
      expect(driver.dispatcher.lookCount).toBeGreaterThan(100);
    }
  });

  test("are told of in numbers", () => {
    const driver = twoTasksUp();
    driver.request(0, 1);
    driver.endEvent();
    const { dispatcher } = driver;
    expect(dispatcher.servers).toBe(3);
    expect([...dispatcher.targetsByTask]).toEqual([2, 1]);
    expect([...dispatcher.targetCoresByTask]).toEqual([1, 1]);
    expect([...dispatcher.assignedByTask]).toEqual([2, 1]);
    expect([...dispatcher.readyByTask]).toEqual([2, 1]);
    expect([...dispatcher.coresByTask]).toEqual([2, 1]);
    expect(dispatcher.loadQps(0)).toBe(50);
  });
});
