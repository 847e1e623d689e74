import { expect, test } from "vitest";
import { fallbackText, refusalText } from "../../../../runtime/exec/models/model-facts.ts";
import { nodePlaces, PlacesProfile, placesOf } from "../../../../runtime/exec/onnx/node-places.ts";

function event(name: string, op: string, provider: string, index: number) {
  const args = { node_index: String(index), op_name: op, provider };
  return { cat: "Node", name: `${name}_kernel_time`, dur: 1, args };
}

const [CPU, GPU] = ["CPUExecutionProvider", "WebGpuExecutionProvider"] as const;
const PROFILE = [
  { cat: "Session", name: "session_initialization", dur: 7 },
  event("/Conv", "Conv", GPU, 0),
  event("/NonZero", "NonZero", CPU, 1),
  event("/Transpose", "Transpose", CPU, 2),
  // In a loop it runs again, and that of a graph within has the same name.
  event("/Transpose", "Transpose", CPU, 2),
  event("/Transpose", "Transpose", CPU, 5),
  { cat: "Node", name: "/Conv_fence_before", args: {} },
];

test("a profile tells which nodes ran, each once, and which of them on the CPU", () => {
  expect(nodePlaces(PROFILE)).toEqual({
    nodes: 4,
    cpuNodes: [
      { name: "/NonZero", op: "NonZero" },
      { name: "/Transpose", op: "Transpose" },
      { name: "/Transpose", op: "Transpose" },
    ],
  });
});

test.each([[null], [{}], [[]], [[{ cat: "Session", name: "model_run" }]]])(
  "of %j nothing is known",
  (profile) => {
    expect(nodePlaces(profile)).toBeNull();
  },
);

test("nodes that fall back are listed by operator, and refused by name", () => {
  const facts = { ...nodePlaces(PROFILE), hasFallback: true };
  const known = { nodes: null, cpuNodes: [], ...facts };
  expect(fallbackText(known)).toBe("3 of 4 nodes run on the CPU: Transpose (2), NonZero");
  expect(refusalText(known)).toBe(
    "expected every node on the GPU (--cpu-fallback refuse); 3 of 4 would run on the CPU: " +
      "/NonZero (NonZero), /Transpose (Transpose), /Transpose (Transpose)",
  );
  const many = Array.from({ length: 9 }, (_, index) => ({ name: `n${index}`, op: `Op${index}` }));
  const reported = fallbackText({ nodes: 9, cpuNodes: many, hasFallback: true });
  expect(reported).toBe("9 of 9 nodes run on the CPU: Op0, Op1, Op2, Op3, Op4, Op5, …");
});

test("reports a fallback of unknown nodes, and nothing without a fallback", () => {
  expect(fallbackText({ nodes: 4, cpuNodes: [], hasFallback: false })).toBeNull();
  const unknown = { nodes: null, cpuNodes: [], hasFallback: true };
  expect(fallbackText(unknown)).toBe("some nodes run on the CPU; which ones is not known");
  expect(refusalText(unknown)).toMatch(/some would run on the CPU$/);
});

test("a model that refuses zeros, or without a profile, is opened strictly", async () => {
  const session = { endProfiling: () => {} };
  const released: string[] = [];
  const opened = { release: async () => void released.push("strict") };
  const profile = PlacesProfile.begin();
  const refused = { run: () => Promise.reject(new Error("no such index")) };
  const whole = { openStrictly: async () => opened };
  const broken = { openStrictly: () => Promise.reject(new Error("nodes on the CPU")) };
  expect(await placesOf(session, profile, { ...refused, ...whole })).toMatchObject({
    nodes: null,
    hasFallback: false,
  });
  expect(released).toEqual(["strict"]);
  const runs = { run: async () => ({}) };
  expect(await placesOf(session, null, { ...runs, ...broken })).toEqual({
    nodes: null,
    cpuNodes: [],
    hasFallback: true,
  });
  profile?.remove();
});
