import { afterEach, describe, expect, test } from "vitest";
import type { RamsisBundle, RamsisLevel } from "../../../../../runtime/bundle/schema.ts";
import { LevelGeneration } from "../../../../../runtime/methods/ramsis/serve/level-generation.ts";
import type { GenerationOutcome } from "../../../../../runtime/methods/ramsis/serve/metrics.ts";
import type {
  RecordedCommand,
  RecordedEvent,
} from "../../../../../runtime/methods/ramsis/serve/recorded-dispatcher.ts";
import { ServedPolicy } from "../../../../../runtime/methods/ramsis/serve/served-policy.ts";
import { ofOneModel } from "../../../../support/metrics-text.ts";
import { tinyBundle } from "../../../../support/tiny-bundle.ts";
import {
  call,
  closeAll,
  type Harness,
  INFER,
  inferJson,
  serve,
  servedBundle,
} from "../../../server/harness.ts";

afterEach(closeAll);

const CAPACITY_QPS = 2000;

function limited(bundle: RamsisBundle, capacityQps = CAPACITY_QPS): RamsisBundle {
  const levels = bundle.levels.map((level) => ({ ...level, capacityQps }));
  return { ...bundle, levels };
}

/** What a solver would give: the level of the top load, for another one. */
function levelFor(
  { levels }: RamsisBundle,
  loadQps: number,
  change: Partial<RamsisLevel> = {},
): RamsisLevel {
  const top = levels.at(-1);
  if (top === undefined) throw new Error("a bundle has a level");
  return { ...top, loadQps, ...change };
}

interface Request {
  readonly loadQps: number;
  readonly signal: AbortSignal;
  readonly resolve: (change?: Partial<RamsisLevel>) => Promise<void>;
  readonly reject: (error: Error) => Promise<void>;
}

/** A generation over a tiny bundle with a top level of 100 qps, whose levels the test computes. */
function generating(capacityQps = CAPACITY_QPS) {
  const swapped: RamsisBundle[] = [];
  const bundle = limited(tinyBundle({ loadsQps: [50, 100] }), capacityQps);
  const policy = new ServedPolicy(bundle, "", { replaceBundle: (next) => swapped.push(next) });
  const requests: Request[] = [];
  const outcomes: GenerationOutcome[] = [];
  const notices: string[] = [];
  const generation = new LevelGeneration({
    policy,
    generateLevel: (bundle, loadQps, signal) =>
      new Promise((resolve, reject) => {
        requests.push({
          loadQps,
          signal,
          resolve: (change) => settled(() => resolve(levelFor(bundle, loadQps, change))),
          reject: (error) => settled(() => reject(error)),
        });
      }),
    onDone: (outcome) => outcomes.push(outcome),
    onNotice: (message) => notices.push(message),
  });
  let nowMs = 0;
  const load = (qps: number, seconds: number) => {
    for (let query = 0; query < qps * seconds; query++) {
      nowMs += 1000 / qps;
      generation.onArrival(nowMs);
    }
  };
  return { policy, generation, requests, outcomes, notices, swapped, load };
}

/** Acts, then lets what awaits the outcome run. */
async function settled(act: () => void): Promise<void> {
  act();
  await new Promise((resolve) => setImmediate(resolve));
}

describe("level generation", () => {
  test("asks once for a level with head-room, and adds it above the others", async () => {
    const { policy, requests, outcomes, swapped, load } = generating();
    load(100, 60);
    expect(requests).toEqual([]);
    load(200, 60);
    expect(requests.map(({ loadQps }) => loadQps)).toEqual([220]);
    await requests[0]?.resolve();
    expect(outcomes).toEqual(["added"]);
    expect(policy.bundle.levels.map(({ loadQps }) => loadQps)).toEqual([50, 100, 220]);
    expect(swapped).toEqual([policy.bundle]);
    load(200, 60);
    expect(requests).toHaveLength(1);
    load(400, 60);
    expect(requests.map(({ loadQps }) => loadQps)).toEqual([220, 440]);
  });

  test("a level that is not feasible is a ceiling for the next ones", async () => {
    const { policy, requests, outcomes, notices, load } = generating();
    load(1000, 10);
    await requests[0]?.resolve({ feasible: false });
    expect(policy.bundle.levels).toHaveLength(2);
    expect(notices.at(-1)).toMatch(
      /^no level for 1100 qps, the top level of 100 qps stays in use.*, expected violations/,
    );
    for (let round = 1; round < 20; round++) {
      load(1000, 10);
      await requests[round]?.resolve({ feasible: (requests[round]?.loadQps ?? 0) < 1000 });
    }
    const asked = requests.map(({ loadQps }) => loadQps);
    expect(asked.slice(0, 4)).toEqual([1100, 1050, 1030, 565]);
    expect(asked.length).toBeLessThan(10);
    expect(outcomes).toEqual(asked.map((loadQps) => (loadQps < 1000 ? "added" : "infeasible")));
    expect(policy.topLevel.loadQps).toBeGreaterThan(950);
  });

  test("a load above the capacity gets the level next to the capacity", async () => {
    const { policy, requests, notices, load } = generating();
    for (let round = 0; round < 20; round++) {
      load(3000, 10);
      await requests[round]?.resolve({ feasible: (requests[round]?.loadQps ?? 0) <= 1900 });
    }
    expect(requests.every(({ loadQps }) => loadQps < CAPACITY_QPS)).toBe(true);
    expect(requests.length).toBeLessThan(10);
    expect(policy.topLevel.loadQps).toBeGreaterThan(1850);
    expect(policy.topLevel.loadQps).toBeLessThanOrEqual(1900);
    expect(notices.filter((notice) => notice.includes("carries no more"))).toHaveLength(1);
  });

  test("after a failure it says why and waits a minute", async () => {
    const { requests, outcomes, notices, load } = generating();
    load(200, 10);
    await requests[0]?.reject(new Error("out of memory"));
    expect(outcomes).toEqual(["failed"]);
    expect(notices.at(-1)).toBe(
      "no level for 220 qps, the top level of 100 qps stays in use: out of memory",
    );
    load(200, 50);
    expect(requests).toHaveLength(1);
    load(200, 20);
    expect(requests).toHaveLength(2);
  });

  test("a level that the runtime cannot follow changes nothing", async () => {
    const { policy, requests, outcomes, notices, swapped, load } = generating();
    load(200, 10);
    const data = new Uint16Array(4 * 11).fill(999);
    await requests[0]?.resolve({ actionByState: { dtype: "uint16", shape: [4, 11], data } });
    expect(outcomes).toEqual(["failed"]);
    expect(notices.at(-1)).toMatch(/levels\[0\]\.actionByState/);
    expect([policy.bundle.levels.length, swapped.length]).toEqual([2, 0]);
  });

  test("adds sixteen levels at most", async () => {
    const { policy, requests, notices, load } = generating(1e6);
    for (let round = 0; round < 18; round++) {
      load(policy.topLevel.loadQps * 1.2, 7);
      await requests[round]?.resolve();
    }
    expect(policy.bundle.levels).toHaveLength(2 + 16);
    expect(notices.filter((notice) => notice.includes("16 levels"))).toHaveLength(1);
  });

  test("another bundle makes a level in the making void, and closing ends it", async () => {
    const { policy, generation, requests, outcomes, load } = generating();
    load(200, 10);
    policy.replace(limited(tinyBundle({ loadsQps: [80] })), "");
    generation.onPolicyReplaced();
    expect(requests[0]?.signal.aborted).toBe(true);
    await requests[0]?.resolve();
    expect(policy.bundle.levels.map(({ loadQps }) => loadQps)).toEqual([80]);
    load(200, 10);
    generation.close();
    expect(requests[1]?.signal.aborted).toBe(true);
    await requests[1]?.reject(new Error("aborted"));
    load(200, 10);
    expect([requests.length, outcomes.length]).toEqual([2, 0]);
  });
});

describe("a server whose load is above the top level", () => {
  const bundle = limited(servedBundle({ loadsQps: [5, 10], maxQueue: 8 }));
  type Entry = RecordedEvent | RecordedCommand;

  async function overloaded(generateLevel: () => Promise<RamsisLevel>) {
    const log: Entry[] = [];
    const notices: string[] = [];
    let askedCount = 0;
    const harness = await serve({
      bundle,
      generateLevel: () => {
        askedCount++;
        return generateLevel();
      },
      onNotice: (message) => notices.push(message),
      recorder: (entry) => log.push(entry),
    });
    const run = async (seconds: number) => {
      for (let request = 0; request < seconds * 4; request++) {
        harness.clock.nowMs += 250;
        const rows = Array.from({ length: 5 }, () => [1, 2]);
        expect((await call(harness, INFER, { body: inferJson(rows) })).status).toBe(200);
      }
    };
    return { harness, log, notices, run, asked: () => askedCount };
  }

  async function metric(harness: Harness, name: string): Promise<number> {
    const text = ofOneModel((await call(harness, "/metrics")).body.toString());
    const line = text.split("\n").find((each) => each.startsWith(`stratagem_${name} `));
    return Number(line?.split(" ")[1]);
  }

  test("computes one level, which decides once it is there", async () => {
    const { harness, log, notices, run, asked } = await overloaded(async () =>
      levelFor(bundle, 22),
    );
    await run(4);
    expect([asked(), await metric(harness, "level")]).toEqual([0, 1]);
    await run(10);
    expect(asked()).toBe(1);
    expect(await metric(harness, "level")).toBe(2);
    expect(await metric(harness, "top_level_qps")).toBe(22);
    expect(await metric(harness, 'level_generations_total{outcome="added"}')).toBe(1);
    expect(notices.at(-1)).toMatch(/^level for 22 qps added/);
    const [policy, ...others] = log.filter((entry) => entry.kind === "policy");
    expect(others).toEqual([]);
    expect(policy?.bundle.levels.map(({ loadQps }) => loadQps)).toEqual([5, 10, 22]);
    const levels = log
      .slice(log.findIndex(({ kind }) => kind === "policy"))
      .flatMap((entry) => (entry.kind === "start-batch" ? [entry.level] : []));
    expect(new Set(levels)).toEqual(new Set([2]));
  });

  test("goes on with the top level when there is no other, and says why", async () => {
    const { harness, log, notices, run, asked } = await overloaded(() =>
      Promise.reject(new Error("the solver gave up")),
    );
    await run(14);
    expect(asked()).toBe(1);
    expect(await metric(harness, "level")).toBe(1);
    expect(await metric(harness, "top_level_qps")).toBe(10);
    expect(await metric(harness, 'level_generations_total{outcome="failed"}')).toBe(1);
    expect(notices.at(-1)).toMatch(/the top level of 10 qps stays in use: the solver gave up$/);
    expect(log.some((entry) => entry.kind === "policy")).toBe(false);
  });
});

describe("replacing the bundle of a running server", () => {
  const before = servedBundle({ loadsQps: [10] });

  test("follows other levels at once, and reports the new digest", async () => {
    const harness = await serve({ bundle: before });
    const after = servedBundle({ loadsQps: [10, 20, 30] });
    expect(harness.server.replaceBundle(after, "cd".repeat(32))).toBe(null);
    expect((await call(harness, INFER, { body: inferJson([[1, 2]]) })).status).toBe(200);
    const text = ofOneModel((await call(harness, "/metrics")).body.toString());
    expect(text).toContain("stratagem_level 0\n");
    expect(text).toContain(`sha256="${"cd".repeat(32)}"} 1\n`);
  });

  test.each<[string, RamsisBundle]>([
    ["SLO latency", servedBundle({ sloMs: 90 })],
    ["cluster", servedBundle({ workers: 2 })],
    ["grid of states", servedBundle({ slackSteps: 20 })],
    ["list of variants", servedBundle({}, [{ name: "z", dtype: "float32", shape: [-1, 2] }])],
  ])("refuses another %s and stays as it is", async (difference, after) => {
    const harness = await serve({ bundle: before });
    expect(harness.server.replaceBundle(after, "cd".repeat(32))).toContain(difference);
    const text = ofOneModel((await call(harness, "/metrics")).body.toString());
    expect(text).toContain(`sha256="${"ab".repeat(32)}"} 1\n`);
  });
});
