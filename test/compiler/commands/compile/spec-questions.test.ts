/** Valid specifications that are perhaps not as meant. */
import { expect, test } from "vitest";
import { specQuestions } from "../../../../compiler/commands/compile/spec-questions.ts";

function questions(...accuracies: readonly number[]): string[] {
  const variants = accuracies.map((accuracy, index) => ({ name: `v${index}`, accuracy }));
  return specQuestions({ arrivals: { process: "poisson" }, tasks: [{ variants }] });
}

test("asks about an accuracy of 0.97825% beside others of 96%", () => {
  expect(questions(0.9643, 0.0097825)).toEqual([
    "variant v1: its accuracy is 0.978%, beside 96.430% of the best; if 97.825% is meant, " +
      "write that",
  ]);
});

test.each([
  ["one variant", [0.0097825], 1],
  ["all variants", [0.0097825, 0.0096], 1],
  ["two of three", [0.0097825, 0.0096, 0.97], 2],
  ["a variant of another scale", [0.01, 0.11], 1],
])("asks about %s", (_, accuracies, count) => {
  expect(questions(...accuracies)).toHaveLength(count);
});

test.each([
  ["ratios", [0.97, 0.96, 0.5]],
  ["a useless variant, which cannot be meant as more", [0.97, 0.02]],
  ["an accuracy of 0", [0.97, 0]],
  ["low accuracies of the same scale", [0.009, 0.05]],
])("does not ask about %s", (_, accuracies) => {
  expect(questions(...accuracies)).toEqual([]);
});
