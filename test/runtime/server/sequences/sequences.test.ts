/** Requests of sequences in their turn, whatever becomes of those before them. */
import { expect, test } from "vitest";
import { DEFAULT_LIMITS } from "../../../../runtime/server/applications/limits.ts";
import type { Answer, Outcome } from "../../../../runtime/server/requests/request.ts";
import { Sequences } from "../../../../runtime/server/sequences/sequences.ts";
import { signatureOf } from "../../../../runtime/server/tensors/signature.ts";
import { floatsOf, summingBundle } from "./accumulator.ts";

function sequences(limits: Partial<typeof DEFAULT_LIMITS> = {}): Sequences {
  const bundle = summingBundle();
  const model = bundle.tasks[0]?.variants[0]?.model;
  if (model === null || model === undefined) throw new Error("the bundle has a model");
  const own = { ...DEFAULT_LIMITS, ...limits };
  return new Sequences({ signature: signatureOf(bundle), model, limits: own, nowMs: () => 0 });
}

function answerOf(values: readonly (readonly number[])[]): Answer {
  const outputs = values.map((row) => {
    return { shape: [1, row.length], parts: [new Uint8Array(new Float32Array(row).buffer)] };
  });
  const times = { queueMs: 0, inputMs: 0, inferMs: 0, doneMs: 0, runs: [] };
  return { kind: "answered", outputs, answerer: { variant: "small", accuracy: 1 }, ...times };
}

const STEP = { id: "7", client: "", isStart: false, isEnd: false };
const START = { ...STEP, isStart: true };
const X = [new Uint8Array(new Float32Array([1, 2]).buffer)];
const onceGone = () => () => {};

test("what throws ends its request and leaves the turn to the next", async () => {
  const own = sequences();
  const thrown = own.inTurn({
    ...{ step: START, inputs: X, onceGone },
    serve: () => {
      throw new Error("out of order");
    },
  });
  const next = own.inTurn({
    ...{ step: STEP, inputs: X, onceGone },
    serve: (inputs) => {
      expect(inputs.map(floatsOf)).toEqual([
        [0, 0],
        [1, 2],
      ]);
      return answerOf([[3], [4, 5]]);
    },
  });
  await expect(thrown).rejects.toThrow("out of order");
  expect(await next).toMatchObject({ outputs: [{ shape: [1, 1] }] });
});

test("a state of another shape fails its request, and the one before stays", async () => {
  const own = sequences();
  const asked = (step: typeof STEP, outcome: Outcome, found: number[]) =>
    own.inTurn({
      ...{ step, inputs: X, onceGone },
      serve: ([state = new Uint8Array()]) => {
        expect(floatsOf(state)).toEqual(found);
        return outcome;
      },
    });
  await asked(START, answerOf([[1], [4, 5]]), [0, 0]);
  expect(await asked(STEP, answerOf([[1], [4, 5, 6]]), [4, 5])).toMatchObject({
    kind: "failed",
    reason: "inference",
    message: 'state output "next": expected shape [1, 2], got [1, 3]',
  });
  await asked(STEP, answerOf([[1], [6, 7]]), [4, 5]);
});

test("the state of an answer is no view of its batch", async () => {
  const own = sequences();
  const answer = answerOf([[1], [4, 5]]);
  await own.inTurn({ ...{ step: START, inputs: X, onceGone }, serve: () => answer });
  answer.outputs[1]?.parts[0]?.fill(0);
  await own.inTurn({
    ...{ step: STEP, inputs: X, onceGone },
    serve: ([state = new Uint8Array()]) => {
      expect(floatsOf(state)).toEqual([4, 5]);
      return answer;
    },
  });
});
