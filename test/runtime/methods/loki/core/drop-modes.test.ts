import { describe, expect, test } from "vitest";
import type { DropMode } from "../../../../../runtime/bundle/schema.ts";
import type { LevelSketch } from "../../../../support/loki-bundle.ts";
import { LokiDriver } from "../../../../support/loki-driver.ts";
import { chainBundle, treeBundle } from "../../../../support/loki-samples.ts";

const DETECT = 0;
const CLASSIFY = 1;
const FAR_MS = 1e6;

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
    new LokiDriver(chainBundle({ levels, workers: [3], policy: { drop } }), {
      initialDemandQps: 20,
    }).start();
  /**
   * The detector's budget is 30 / 0.5 = 60 ms; its query comes to the classifiers after this time.
   */
  const detect = (driver: LokiDriver, afterMs: number, deadlineMs: number) => {
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

  test("deadline: siblings that wait for the same idle server are counted", () => {
    const driver = start("deadline");
    driver.query(DETECT, 250);
    driver.nowMs = 225;
    const [scene = -1] = driver.finish(0);
    const crops = [1, 2, 3, 4, 5, 6].map(() => driver.handIn(CLASSIFY, 250, scene));
    driver.startBatches();
    // A batch of four takes 20 of the 25 ms left. Two more one after the other take 8 on the other
    // server.
    const slow = driver.models.indexOf("classify/large");
    const fast = driver.models.indexOf("classify/small");
    expect(driver.running[slow]).toEqual(crops.slice(0, 4));
    expect(driver.running[fast]).toEqual(crops.slice(4, 5));
    driver.nowMs = 229;
    driver.finish(fast);
    expect(driver.running[fast]).toEqual(crops.slice(5));
    expect(driver.dropped).toEqual([]);
  });

  test("deadline: half a query is not thought slower at a later task", () => {
    const FACES = 2;
    const bundle = treeBundle({ policy: { drop: "deadline" } });
    const driver = new LokiDriver(bundle, { initialDemandQps: 60 }).start();
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
    // 30 ms of detection, and then at least 4 ms on the faster classifier: of four queries it
    // serves the last after three others.
    driver.query(DETECT, 30 + 20);
    driver.query(DETECT, 30 + 3);
    expect(driver.log.filter((line) => line.startsWith("drop"))).toEqual([]);
    driver.nowMs = 1;
    driver.finish(0);
    expect(driver.dropped).toEqual([1]);
  });
});
