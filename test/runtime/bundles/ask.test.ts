/** What programs ask of bundles, of every method, by the types that the package exports. */
import { readdirSync } from "node:fs";
import { describe, expect, expectTypeOf, test } from "vitest";
import {
  type AccordionBundle,
  ASSIGN,
  type Bundle,
  decide,
  type LokiBundle,
  type LokiLevel,
  levelIndex,
  loadBundle,
  openCore,
  type RamsisBundle,
  START_BATCH,
  START_QUERY,
} from "../../../runtime/index.ts";

async function bundleOf<M extends Bundle["method"]>(policy: string, method: M) {
  const { bundle } = await loadBundle(`policies/${policy}/bundle.msgpack`);
  if (bundle.method !== method) throw new Error(`${policy} is of ${bundle.method}`);
  return bundle as Extract<Bundle, { readonly method: M }>;
}

describe("levelIndex", () => {
  test("is the lowest level that carries a load, or the highest", async () => {
    const bundle = await bundleOf("letters", "ramsis");
    const loads = bundle.levels.map(({ loadQps }) => loadQps);
    expect(loads.map((loadQps) => levelIndex(bundle, { loadQps }))).toEqual([0, 1, 2, 3]);
    expect(levelIndex(bundle, { loadQps: 0 })).toBe(0);
    expect(levelIndex(bundle, { loadQps: 1e9 })).toBe(3);
    expect(levelIndex(bundle, { level: 2 })).toBe(2);
  });

  test.each([
    [{ level: 4 }, "level: expected a whole number, 0 to 3, got 4"],
    [{ level: 0.5 }, "level: expected a whole number, 0 to 3, got 0.5"],
    [{ loadQps: Number.NaN }, "loadQps: expected 0 or more, got NaN"],
    [{ loadQps: -1 }, "loadQps: expected 0 or more, got -1"],
  ])("refuses %o", async (at, message) => {
    const bundle = await bundleOf("letters", "ramsis");
    expect(() => levelIndex(bundle, at)).toThrow(message);
  });
});

describe("decide", () => {
  test("looks into the table of a class, where there are classes", async () => {
    const bundle = await bundleOf("classes", "ramsis");
    const names = (bundle.slo.classes ?? []).map(({ name }) => name);
    expect(names.length).toBeGreaterThan(1);
    for (const sloClass of names) {
      const decision = decide(bundle, { level: 0 }, { queued: 1, slackMs: 1e6, sloClass });
      expect(Object.keys(decision)).not.toEqual([]);
    }
    const unknown = { queued: 1, slackMs: 10, sloClass: "none" };
    expect(() => decide(bundle, { level: 0 }, unknown)).toThrow(/expected class to be /);
  });

  test.each([
    [{ queued: 0, slackMs: 10 }, "state.queued: expected a whole number from 1, got 0"],
    [{ queued: 1.5, slackMs: 10 }, "state.queued: expected a whole number from 1, got 1.5"],
    [{ queued: 1, slackMs: Number.NaN }, "state.slackMs: expected a number of milliseconds"],
  ])("refuses the state %o", async (state, message) => {
    const bundle = await bundleOf("letters", "ramsis");
    expect(() => decide(bundle, { level: 0 }, state)).toThrow(message);
  });

  test.each([
    [{ model: "none" }, "state.model: expected one of detector-l, cnn-xl, got none"],
    [{ batch: 0 }, "state.batch: expected a whole number from 1 to "],
    [{ free: [3] }, "state.free: expected free places of each pool, [0 to 2], got [3]"],
    [{ free: [] }, "state.free: expected free places of each pool, [0 to 2], got []"],
    [{ slackMs: Number.POSITIVE_INFINITY }, "state.slackMs: expected a number of milliseconds"],
  ])("refuses a query of accordion with %o", async (wrong, message) => {
    const bundle = await bundleOf("malleable", "accordion");
    const sound = { model: "cnn-xl", batch: 4, free: [1], slackMs: 100 };
    expect(decide(bundle, { level: 0 }, sound)).toHaveProperty("action");
    expect(() => decide(bundle, { level: 0 }, { ...sound, ...wrong })).toThrow(message);
  });

  test("is typed by the method of the bundle", () => {
    type Asked<B extends Bundle> = ReturnType<typeof decide<B>>;
    expectTypeOf<Asked<LokiBundle>>().toEqualTypeOf<LokiLevel>();
    expectTypeOf<Asked<RamsisBundle>>().toExtend<object>();
    expectTypeOf<Parameters<typeof decide<AccordionBundle>>["length"]>().toEqualTypeOf<3>();
    expectTypeOf<Parameters<typeof decide<LokiBundle>>["length"]>().toEqualTypeOf<2>();
  });
});

describe("openCore", () => {
  test("starts a batch of what arrives (ramsis)", async () => {
    const { core, commands } = openCore(await bundleOf("letters", "ramsis"), { ready: true });
    core.onArrival(7, 100, 0, commands);
    expect([commands.count, commands.kind(0), commands.query(0, 0)]).toEqual([1, START_BATCH, 7]);
  });

  test.each(["cascade", "scaling", "scenes"])("assigns models to workers (%s)", async (policy) => {
    const { bundle } = await loadBundle(`policies/${policy}/bundle.msgpack`);
    if (bundle.method === "ramsis" || bundle.method === "accordion") throw new Error(policy);
    const { core, commands } = openCore(bundle, { queryCapacity: 1000 });
    for (let worker = 0; worker < core.workerCount; worker++) {
      core.onWorkerReady(worker, 0, commands);
    }
    core.onWake(0, commands);
    const kinds = Array.from({ length: commands.count }, (_, command) => commands.kind(command));
    expect(kinds).toContain(ASSIGN);
  });

  test("starts a query on places (accordion)", async () => {
    const bundle = await bundleOf("malleable", "accordion");
    const { core, commands } = openCore(bundle, { queryCapacity: 8 });
    core.onPlaceReady(0, 0, commands);
    core.onQuery(3, { model: 0, batch: 4, isHigh: true, deadlineMs: 1000 }, 1, commands);
    expect(commands.count).toBe(1);
    expect([commands.kind(0), commands.query(0)]).toEqual([START_QUERY, 3]);
  });
});

test("every committed policy answers", async () => {
  const policies = readdirSync("policies");
  expect(policies.length).toBeGreaterThan(5);
  for (const policy of policies) {
    const { bundle } = await loadBundle(`policies/${policy}/bundle.msgpack`);
    expect(levelIndex(bundle, { loadQps: 0.05 })).toBe(0);
  }
});
