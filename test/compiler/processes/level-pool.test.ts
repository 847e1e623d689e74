import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { constants, getPriority, tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { afterAll, expect, test } from "vitest";
import { ramsisMethod as method } from "../../../compiler/methods/ramsis/ramsis.ts";
import { loadApplication } from "../../../compiler/spec/load-application.ts";
import type { RamsisBundle } from "../../../runtime/bundle/schema.ts";
import { ofMethod } from "../../support/of-method.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-pool-"));
afterAll(() => rmSync(folder, { recursive: true }));

const CHILDREN = `/proc/self/task/${process.pid}/children`;

function children(): number[] {
  return readFileSync(CHILDREN, "utf8").split(" ").filter(Boolean).map(Number);
}

/** As it ships: its workers are files of dist/. */
async function shipped(): Promise<typeof import("../../../compiler/processes/level-pool.ts")> {
  return import(new URL("../../../compiler/dist/processes/level-pool.js", import.meta.url).href);
}

async function compiled() {
  const variants = { small: { accuracy: 0.7, latencyMs: { 1: 10, 4: 22 } } };
  const profile = { format: "latency-profile/1", hardware: "test", variants };
  const spec = {
    version: 1,
    application: "pool",
    slo: { latency: "100 ms" },
    workload: { arrivals: { process: "poisson" }, loads: [50] },
    cluster: { workers: 2 },
    tasks: [{ name: "classify", variants: [{ name: "small", profile: "profile.json#small" }] }],
    policy: { method: "ramsis", maxQueue: 4 },
  };
  writeFileSync(join(folder, "profile.json"), JSON.stringify(profile));
  writeFileSync(join(folder, "app.json"), JSON.stringify(spec));
  const { application, inputs } = loadApplication(join(folder, "app.json"));
  const frame = method.frame(ofMethod("ramsis", application), new Map());
  const levelAt = async (loadQps: number) =>
    (await method.solveLevel(frame, loadQps, () => performance.now())).level;
  const levels = [await levelAt(50)];
  const bundle: RamsisBundle = { ...frame, levels, provenance: { compiler: "test", inputs } };
  return { bundle, expected: await levelAt(120) };
}

test("one more level, solved in its own process, is what compile would have made", async () => {
  const { bundle, expected } = await compiled();
  const { solveLevelOf } = await shipped();
  expect(await solveLevelOf(bundle, 120, new AbortController().signal)).toEqual(expected);
});

test.skipIf(!existsSync(CHILDREN))(
  "a level of a running server takes only the processor time that it leaves",
  async () => {
    const { bundle } = await compiled();
    const { solveLevelOf } = await shipped();
    const before = new Set(children());
    const running = solveLevelOf(bundle, 120, new AbortController().signal);
    // The process is forked once the module is there, a few turns later.
    let solver: number | undefined;
    while (solver === undefined) {
      await turn();
      solver = children().find((pid) => !before.has(pid));
    }
    expect(getPriority(solver)).toBe(constants.priority.PRIORITY_LOW);
    await running;
  },
);

test("an aborted one rejects with the reason, before it begins and while it runs", async () => {
  const { bundle } = await compiled();
  const { solveLevelOf } = await shipped();
  const reason = new Error("enough");
  await expect(solveLevelOf(bundle, 120, AbortSignal.abort(reason))).rejects.toBe(reason);
  const abort = new AbortController();
  const running = solveLevelOf(bundle, 120, abort.signal);
  abort.abort(reason);
  await expect(running).rejects.toBe(reason);
});

test("workers answer in the order of the requests, run after run", async () => {
  const { bundle } = await compiled();
  const { LevelWorkers } = await shipped();
  const { levels: _, provenance: __, ...frame } = bundle;
  const progress: [number, number, string | undefined][] = [];
  const threads = new LevelWorkers(frame, {
    jobs: 2,
    onProgress: (...call) => progress.push([call[0], call[1], call[2]]),
    signal: new AbortController().signal,
  });
  const solve = async (loadsQps: readonly number[], stage: string) => {
    const requests = loadsQps.map((loadQps) => ({ kind: "solve", loadQps }) as const);
    const replies = await threads.run(requests, stage);
    return replies.map((reply) => (reply.kind === "solved" ? reply.level.loadQps : null));
  };
  try {
    expect(await solve([60, 20, 100], "round 1")).toEqual([60, 20, 100]);
    expect(await solve([], "round 2")).toEqual([]);
    expect(await solve([80], "round 3")).toEqual([80]);
  } finally {
    await threads.close();
  }
  expect(progress).toEqual([
    [1, 3, "round 1"],
    [2, 3, "round 1"],
    [3, 3, "round 1"],
    [4, 4, "round 3"],
  ]);
});

test("a request that the solver cannot answer rejects", async () => {
  const { bundle } = await compiled();
  const { solveLevelOf } = await shipped();
  const signal = new AbortController().signal;
  await expect(solveLevelOf({ ...bundle, tasks: [] }, 120, signal)).rejects.toThrow("one task");
});
