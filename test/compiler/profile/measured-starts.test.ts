import { expect, test } from "vitest";
import { measureStarts } from "../../../compiler/profile/measured-starts.ts";
import type { ProfilePlan } from "../../../compiler/profile/profile-plan.ts";
import type { WorkerSources } from "../../../compiler/profile/profiled-worker.ts";
import { defaultDevice } from "../../../runtime/exec/models/worker-device.ts";

const MODEL = { file: "a.onnx", sha256: "", inputs: [], outputs: [] };
const PLAN = {
  variants: ["a", "b"].map((name) => ({
    ...{ name, path: `${name}.onnx`, model: MODEL, accuracy: null },
    ...{ outputsAreRows: true, batches: [1, 4], layers: null },
  })),
  cores: [2],
  device: "webgpu",
} as unknown as ProfilePlan;

const NODES = [
  { name: "/NonZero", op: "NonZero" },
  { name: "/Add", op: "Add" },
  { name: "/Add_1", op: "Add" },
];

/** A machine on which the process of variant i takes 10 (i + 1) ms. */
function machine(calls: string[]) {
  const { signal } = new AbortController();
  const startExecutor: WorkerSources["startExecutor"] = (options, handlers) => {
    const { onReady, onModelReady, onStarted, onModelFacts } = handlers;
    calls.push(`${options.variants.map(({ warmBatches }) => `[${warmBatches}]`)}`);
    calls.push(`on ${options.devices.map(({ provider }) => provider)}`);
    const facts = (variant: number, loadMs: number) => ({
      ...{ variant, loadMs, warmMs: 7, nodes: 5, hasFallback: variant === 1 },
      cpuNodes: variant === 1 ? NODES : [],
    });
    // The trial, which is no start.
    onModelFacts?.(facts(0, 999), defaultDevice("webgpu"));
    queueMicrotask(() => onReady(0));
    return {
      assign: (_worker, variants, cores) => {
        calls.push(`assign ${variants} on ${cores}`);
        onStarted?.(10 * ((variants[0] ?? 0) + 1));
        onModelFacts?.(facts(variants[0] ?? 0, 3), defaultDevice("webgpu"));
        queueMicrotask(() => onModelReady(0, 1));
      },
      release: () => void calls.push("release"),
      resize: () => {},
      run: () => Promise.reject(new Error("nothing runs")),
      close: async () => void calls.push("close"),
    };
  };
  return { startExecutor, signal };
}

test("each variant is started on a worker of its own, with all its batches", async () => {
  const calls: string[] = [];
  const starts = await measureStarts(PLAN, machine(calls));
  expect(calls).toEqual([
    ...["[1,4],[1,4]", "on webgpu"],
    ...["assign 0 on 2", "release", "assign 1 on 2", "release", "close"],
  ]);
  const start = { processMs: 20, loadMs: 3, warmMs: 7 };
  expect(starts.get("a")).toMatchObject({ start });
  expect(starts.get("a")).not.toHaveProperty("fallback");
  expect(starts.get("b")).toMatchObject({
    start,
    fallback: {
      nodes: 3,
      of: 5,
      ops: { Add: 2, NonZero: 1 },
      names: NODES.map(({ name }) => name),
    },
  });
});

test("a worker that is lost says why no variant starts", async () => {
  const { startExecutor, signal } = machine([]);
  const lossy: WorkerSources["startExecutor"] = async (options, handlers) => ({
    ...(await startExecutor(options, handlers)),
    assign: () => handlers.onLost(0, "out of memory"),
  });
  const starts = measureStarts(PLAN, { startExecutor: lossy, signal });
  await expect(starts).rejects.toThrow(/device webgpu: expected a worker that starts, got: out of/);
});
