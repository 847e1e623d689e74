/** What specs say of state: who may, and under which names it is in the bundle. */
import { expect, test } from "vitest";
import { stateMistakes, stateUseMistakes, withState } from "../../../compiler/model/model-state.ts";
import type { Application } from "../../../compiler/spec/application.ts";
import type { ModelFile, StatePair, TensorInfo } from "../../../runtime/bundle/schema.ts";

const float = (name: string, ...row: number[]): TensorInfo => {
  return { name, dtype: "float32", shape: [-1, ...row] };
};
const PLAIN: ModelFile = {
  file: "vad.onnx",
  sha256: "0".repeat(64),
  inputs: [float("input", 512), float("state", 2, 128)],
  outputs: [float("output", 1), float("stateN", 2, 128)],
};
const PAIR: StatePair = { input: "state", output: "stateN" };

function applicationOf(state: readonly StatePair[], count = 1, model: string | null = "vad.onnx") {
  const variants = Array.from({ length: count }, (_, index) => ({
    name: `v${index}`,
    model,
    state,
  }));
  return { tasks: [{ name: "vad", variants }] } as unknown as Application;
}

const mistakes = (state: readonly StatePair[], model = PLAIN) =>
  [...stateMistakes(applicationOf(state), new Map([["vad.onnx", model]]))].map(
    (one) => one.message,
  );

test("other methods than ramsis, variants beside it and no model are refused", () => {
  const stateless = { name: "loki", keepsState: false };
  const loki = [...stateUseMistakes(applicationOf([PAIR]), stateless)];
  expect(loki).toMatchObject([
    {
      code: "INPUT_UNSUPPORTED",
      path: ["tasks", 0, "variants", 0, "state"],
      message: "loki keeps no state between requests; ramsis does",
    },
  ]);
  const ramsis = { name: "ramsis", keepsState: true };
  expect([...stateUseMistakes(applicationOf([PAIR]), ramsis)]).toEqual([]);
  expect([...stateUseMistakes(applicationOf([PAIR], 2), ramsis)][0]?.message).toMatch(
    /^a variant cannot continue from the state of another, and task "vad" has 2; keep one/,
  );
  expect([...stateUseMistakes(applicationOf([PAIR], 1, null), ramsis)][0]?.message).toBe(
    "expected model as well, got none",
  );
});

test("names and shapes that do not fit are told by the model's own names", () => {
  expect(mistakes([PAIR])).toEqual([]);
  expect(mistakes([{ input: "stat", output: "stateM" }])).toEqual([
    expect.stringMatching(/^vad.onnx has no output "stateM".*its outputs are "output", "stateN"$/),
    expect.stringMatching(/^vad.onnx has no input "stat".*its inputs are "input", "state"$/),
  ]);
  expect(mistakes([{ input: "input", output: "stateN" }])).toEqual([
    'output "stateN" is float32[rows, 2, 128] and input "input" float32[rows, 512]; ' +
      "expected the same type and shape",
  ]);
  expect(mistakes([PAIR, { input: "state", output: "output" }])).toContain(
    'input "state" already takes another output',
  );
  expect(mistakes([PAIR], { ...PLAIN, inputs: PLAIN.inputs.slice(1) })).toEqual([
    "expected an input that clients send; all inputs are state",
  ]);
});

test("a bundle has state under its public names", () => {
  const input = { dtype: "float32", shape: [-1, 1], batchAxis: 0, constant: null, resize: null };
  const output = { batchAxis: 0, k: null, labels: null, blank: null };
  const adapted: ModelFile = {
    ...PLAIN,
    inputs: [float("memory", 2, 128), float("audio", 512)],
    outputs: [float("speech", 1), float("remembered", 2, 128)],
    adapter: {
      maxRows: null,
      inputs: [
        { ...input, name: "input", from: 1 },
        { ...input, name: "sr", from: null, constant: 16_000 },
        { ...input, name: "state", from: 0 },
      ],
      outputs: [
        { ...output, name: "output", as: "tensor" },
        { ...output, name: "stateN", as: "tensor" },
      ],
    },
  };
  expect(mistakes([PAIR], adapted)).toEqual([]);
  expect(withState(adapted, { state: [PAIR] })?.state).toEqual([
    { input: "memory", output: "remembered" },
  ]);
  expect(mistakes([{ input: "sr", output: "stateN" }], adapted)).toEqual([
    expect.stringMatching(/^vad.onnx has no input "sr".*its inputs are "input", "state"$/),
  ]);
  expect(withState(PLAIN, {})).toBe(PLAIN);
});
