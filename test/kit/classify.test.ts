/** The largest classes, against sorting all of them. */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, expect, test } from "vitest";
import open from "../../kit/classify.ts";
import { largest, softmax } from "../../kit/numbers/scores.ts";

const folder = mkdtempSync(join(tmpdir(), "kit-classify-"));
afterAll(() => rmSync(folder, { recursive: true }));

function scores(...rows: readonly number[][]) {
  const shape = [rows.length, rows[0]?.length ?? 0];
  return { scores: { data: Float32Array.from(rows.flat()), shape } };
}

test("the largest classes come with their probabilities and labels", async () => {
  writeFileSync(join(folder, "labels.txt"), "cat\r\ndog\r\na bird\r\n");
  const module = await open({ options: { labels: "labels.txt", top: 2 }, folder });
  const found = await module.run(scores([1, 3, 2], [0, 0, -5]), 2);
  expect(found["classes"]).toEqual({ data: BigInt64Array.of(1n, 2n, 0n, 1n), shape: [2, 2] });
  expect(found["labels"]).toEqual({ data: ["dog", "a bird", "cat", "dog"], shape: [2, 2] });
  const sum = Math.exp(1) + Math.exp(3) + Math.exp(2);
  expect(found["confidences"]?.data[0]).toBeCloseTo(Math.exp(3) / sum, 6);
  expect(found["confidences"]?.data[1]).toBeCloseTo(Math.exp(2) / sum, 6);
});

test("probabilities are taken as they are", async () => {
  const module = await open({ options: { classes: 3, from: "probabilities" }, folder });
  const found = await module.run(scores([0.2, 0.5, 0.3]), 1);
  expect(Object.keys(found)).toEqual(["classes", "confidences"]);
  expect(found["confidences"]?.data).toEqual(Float32Array.of(0.5));
});

test("the first of the largest are those of a stable sort", () => {
  const score = fc.integer({ min: -3, max: 3 });
  fc.assert(
    fc.property(fc.array(score, { minLength: 1, maxLength: 12 }), fc.nat(11), (values, more) => {
      const count = Math.min(values.length, more + 1);
      const sorted = values
        .map((_, index) => index)
        .sort((a, b) => (values[b] ?? 0) - (values[a] ?? 0) || a - b);
      expect(largest(Float32Array.from(values), count)).toEqual(sorted.slice(0, count));
    }),
  );
});

test("softmax of large logits is finite, and sums to 1", () => {
  const out = new Float32Array(3);
  softmax(Float32Array.of(1000, 999, -1000), out);
  expect(out[0]).toBeCloseTo(1 / (1 + Math.exp(-1)), 6);
  expect(out.reduce((sum, value) => sum + value, 0)).toBeCloseTo(1, 6);
});

test("a score that is no number is refused by its row", async () => {
  const module = await open({ options: { classes: 2 }, folder });
  await expect(module.run(scores([1, 2], [1, Number.NaN]), 2)).rejects.toMatchObject({
    rows: [1],
    message: 'input "scores" row 1: expected finite scores, got NaN',
  });
});

test.each([
  [{}, "classes: expected an integer from 1 to 10000000, got nothing"],
  [{ labels: ["a", "b"], classes: 3 }, "classes: expected as many as there are labels, 2, got 3"],
  [{ classes: 3, top: 4 }, "top: expected an integer from 1 to 3, got 4"],
  [{ labels: [1] }, "labels: expected a list of texts, or a file with one in each line, got [1]"],
  [{ labels: "none.txt" }, "labels: expected a file that can be read in"],
  [{ labels: "../labels.txt" }, "labels: expected a file in the folder of the models"],
  [{ labels: "/etc/passwd" }, "labels: expected a file in the folder of the models"],
])("options %j are refused in one sentence", async (options, message) => {
  await expect(open({ options, folder })).rejects.toThrow(message);
});
