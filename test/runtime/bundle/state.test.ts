/** State of models in bundles: what is refused, and what its tensors are to a server. */
import { expect, test } from "vitest";
import type { ModelFile, RamsisBundle, TensorInfo } from "../../../runtime/bundle/schema.ts";
import { readRamsisBundle } from "../../../runtime/methods/ramsis/bundle/fields.ts";
import { StateTensors } from "../../../runtime/server/sequences/state-tensors.ts";
import { signatureOf } from "../../../runtime/server/tensors/signature.ts";
import { LARGE, SMALL } from "../../support/tiny-bundle.ts";
import { INPUTS, OUTPUTS, summingBundle } from "../server/sequences/accumulator.ts";

function withModel(change: Partial<ModelFile>, variants = [SMALL]): RamsisBundle {
  const bundle = summingBundle({ variants });
  return {
    ...bundle,
    tasks: bundle.tasks.map((task) => ({
      ...task,
      variants: task.variants.map((variant) => {
        return variant.model === null
          ? variant
          : { ...variant, model: { ...variant.model, ...change } };
      }),
    })),
  };
}

const refusal = (bundle: RamsisBundle) => {
  try {
    readRamsisBundle(bundle);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  return "read";
};

const tensor = (name: string, dtype: string, shape: number[]): TensorInfo => ({
  name,
  dtype,
  shape,
});

test.each<[string, Partial<ModelFile>, string]>([
  ["none", { state: [] }, "state: expected an array of 1 to 256"],
  ["a name that is none", { state: [{ input: "sun", output: "next" }] }, '"sum" or "x", got sun'],
  ["an output that is none", { state: [{ input: "sum", output: "n" }] }, '"y" or "next", got n'],
  [
    "an input twice",
    {
      state: [
        { input: "sum", output: "next" },
        { input: "sum", output: "y" },
      ],
    },
    "state[1].input: expected each tensor once, got sum",
  ],
  [
    "another type",
    { outputs: [...OUTPUTS.slice(0, 1), tensor("next", "float16", [-1, 2])] },
    'expected float32 [rows, 2], as input "sum" is, got float16 [rows, 2]',
  ],
  [
    "another shape",
    { outputs: [...OUTPUTS.slice(0, 1), tensor("next", "float32", [-1, 3])] },
    'expected float32 [rows, 2], as input "sum" is, got float32 [rows, 3]',
  ],
  [
    "an open axis",
    { inputs: [tensor("sum", "float32", [-1, -1]), ...INPUTS.slice(1)] },
    "expected only axis 0 open, got float32 [rows, -1]",
  ],
  ["all inputs", { inputs: INPUTS.slice(0, 1) }, "one that clients send"],
  ["all outputs", { outputs: OUTPUTS.slice(1) }, "one that clients get"],
])("state with %s is refused", (_, change, message) => {
  expect(refusal(withModel(change))).toContain(message);
});

test("state is read where it is sound, and refused beside another variant", () => {
  expect(refusal(withModel({}))).toBe("read");
  expect(refusal(withModel({}, [SMALL, LARGE]))).toContain(
    "tasks[0].variants[0].model.state: expected none where a task has variants",
  );
});

test("a sequence of texts begins with empty ones", () => {
  const inputs = [INPUTS[1] ?? tensor("x", "float32", [-1, 2]), tensor("said", "string", [-1, 3])];
  const outputs = [...OUTPUTS.slice(0, 1), tensor("says", "string", [-1, 3])];
  const state = [{ input: "said", output: "says" }];
  const bundle = withModel({ inputs, outputs, state });
  const model = bundle.tasks[0]?.variants[0]?.model;
  if (model === null || model === undefined) throw new Error("the bundle has a model");
  const tensors = new StateTensors(signatureOf(bundle), model);
  expect(tensors.zeros).toEqual([new Uint8Array(12)]);
  expect(tensors.signature.inputs.map(({ name }) => name)).toEqual(["x"]);
});

test("an axis of several sizes is found among the inputs that clients send", () => {
  const bundle = summingBundle();
  const model = bundle.tasks[0]?.variants[0]?.model;
  if (model === null || model === undefined) throw new Error("the bundle has a model");
  const axes = [{ inputs: [{ input: 1, axis: 1 }], sizes: [2, 4], padding: 0 }];
  const { signature } = new StateTensors({ ...signatureOf(bundle), axes }, model);
  expect(signature.inputs.map(({ name }) => name)).toEqual(["x"]);
  expect(signature.axes).toEqual([{ ...axes[0], inputs: [{ input: 0, axis: 1 }] }]);
});

test("a model that gives state of another shape than it says fails its request", () => {
  const bundle = summingBundle();
  const model = bundle.tasks[0]?.variants[0]?.model;
  if (model === null || model === undefined) throw new Error("the bundle has a model");
  const tensors = new StateTensors(signatureOf(bundle), model);
  const output = (shape: number[]) => ({ shape, parts: [new Uint8Array(8)] });
  const answer = {
    kind: "answered" as const,
    outputs: [output([1, 2]), output([1, 1, 2])],
    answerer: { variant: "small", accuracy: 1 },
    ...{ queueMs: 0, inputMs: 0, inferMs: 0, doneMs: 0, runs: [] },
  };
  expect(tensors.stateOf(answer)).toBe('state output "next": expected shape [1, 2], got [1, 1, 2]');
});
