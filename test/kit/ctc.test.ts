/** Lines of text from steps, against the definition. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import open from "../../kit/ctc.ts";
import { bestPath } from "../../kit/text/best-path.ts";

const folder = ".";

/** Steps whose likeliest class is as told, with its probability. */
function steps(classes: number, ...lines: readonly (readonly [number, number])[][]) {
  const time = lines[0]?.length ?? 0;
  const data = new Float32Array(lines.length * time * classes);
  for (const [row, line] of lines.entries()) {
    for (const [step, [best, score]] of line.entries()) {
      const start = (row * time + step) * classes;
      data.fill((1 - score) / (classes - 1), start, start + classes);
      data[start + best] = score;
    }
  }
  return { steps: { data, shape: [lines.length, time, classes] } };
}

test("runs are one character, and a blank between two of the same keeps both", async () => {
  const module = await open({ options: { labels: ["a", "b", "你"] }, folder });
  const line = [0, 1, 1, 0, 1, 2, 3, 3].map((best): [number, number] => [best, 0.5]);
  const blank = line.map((): [number, number] => [0, 0.9]);
  const found = await module.run(steps(4, line, blank), 2);
  expect(found["text"]).toEqual({ data: ["aab你", ""], shape: [2] });
  expect(found["confidence"]).toEqual({ data: Float32Array.of(0.5, 0), shape: [2] });
});

test("the confidence is the mean of the first steps of what was read", async () => {
  const module = await open({
    options: { labels: ["a", "b"], space: true, blank: "last" },
    folder,
  });
  const line: [number, number][] = [
    [0, 0.9],
    [0, 0.5],
    [3, 0.99],
    [2, 0.7],
    [1, 0.8],
  ];
  const found = await module.run(steps(4, line), 1);
  expect(found["text"]?.data).toEqual(["a b"]);
  expect(found["confidence"]?.data[0]).toBeCloseTo((0.9 + 0.7 + 0.8) / 3, 6);
});

test("logits are read as their softmax is", async () => {
  const options = { labels: ["a", "b"], from: "logits" };
  const module = await open({ options, folder });
  const data = Float32Array.of(1, 4, 2, 50, 1, 1);
  const found = await module.run({ steps: { data, shape: [1, 2, 3] } }, 1);
  const sum = Math.exp(1) + Math.exp(4) + Math.exp(2);
  expect(found["text"]?.data).toEqual(["a"]);
  expect(found["confidence"]?.data[0]).toBeCloseTo(Math.exp(4) / sum, 6);
});

test("is what the definition says: the best path, without repetitions, without blanks", () => {
  const characters = ["", "a", "b", "c"];
  fc.assert(
    fc.property(fc.array(fc.nat(3), { maxLength: 12 }), (path) => {
      const data = steps(
        4,
        path.map((best): [number, number] => [best, 0.7]),
      ).steps.data;
      const merged = path.filter((one, index) => index === 0 || one !== path[index - 1]);
      const text = merged.map((one) => characters[one]).join("");
      expect(bestPath(data, { characters, blank: 0, areLogits: false }).text).toBe(text);
    }),
  );
});

describe("what does not fit", () => {
  test("is told with how many classes there are", async () => {
    const module = await open({ options: { labels: ["a", "b"] }, folder });
    await expect(module.run(steps(4, [[0, 1]]), 1)).rejects.toThrow(
      'input "steps": expected 3 classes, labels and blank, got 4',
    );
  });

  test("is a step that is no number, by its row", async () => {
    const module = await open({ options: { labels: ["a"] }, folder });
    const data = Float32Array.of(1, 0, Number.NaN, 0);
    await expect(module.run({ steps: { data, shape: [2, 1, 2] } }, 2)).rejects.toMatchObject({
      rows: [1],
      message: 'input "steps" row 1: expected numbers, got NaN in step 0',
    });
  });

  test.each([
    [{}, "labels: expected the characters, a list or a file, got nothing"],
    [{ labels: ["a"], blank: 2 }, "blank: expected an integer from 0 to 1, got 2"],
  ])("are the options %j", async (options, message) => {
    await expect(open({ options, folder })).rejects.toThrow(message);
  });
});
