/** Letters are the same wherever a variant is told. */
import { expect, test } from "vitest";
import { variantKeys as lokiKeys } from "../../../compiler/methods/loki/report/report.ts";
import { variantKeys } from "../../../compiler/report/palette.ts";
import type { RamsisBundle } from "../../../runtime/bundle/schema.ts";
import { letterAt, positionsOf } from "../../../runtime/describe/letters.ts";
import { variantLetters } from "../../../runtime/methods/loki/describe/letters.ts";
import { ramsisSummary } from "../../../runtime/methods/ramsis/describe/inspect.ts";
import { tableMap } from "../../../runtime/methods/ramsis/describe/inspect-level.ts";
import { treeBundle } from "../../support/loki-samples.ts";
import { sampleBundle } from "../../support/sample-bundle.ts";

/** The sample, its variants in the order of the bundle but the more accurate first. */
function swapped(): RamsisBundle {
  const sample = sampleBundle();
  const tasks = sample.tasks.map((task) => ({
    ...task,
    variants: task.variants.map((variant, index) => ({ ...variant, accuracy: 0.9 - 0.1 * index })),
  }));
  return { ...sample, tasks };
}

test("letters go on after z", () => {
  expect([0, 25, 26, 51, 52].map(letterAt)).toEqual(["a", "z", "a1", "z1", "a2"]);
});

test("positions go from the least accurate up, dominated ones last", () => {
  const variants = [
    { accuracy: 0.9, dominated: false },
    { accuracy: 0.5, dominated: true },
    { accuracy: 0.7, dominated: false },
    { accuracy: 0.7, dominated: false },
  ];
  expect(positionsOf(variants)).toEqual([2, 3, 0, 1]);
});

test("a map, a table and a report have the same letter for a variant of tables", () => {
  const bundle = swapped();
  const keys = variantKeys(bundle.tasks[0]?.variants ?? []);
  const map = tableMap(bundle, 0).text.split("\n");
  const table = ramsisSummary(bundle, { bytes: 1, sha256: "", formatVersion: 1 }).split("\n");
  expect(keys.map(({ letter }) => letter)).toEqual(["b", "a"]);
  for (const { letter, name } of keys) {
    expect(map).toContain(`${letter} ${name}`);
    expect(table.some((line) => line.startsWith(`${letter}  ${name} `))).toBe(true);
  }
});

test("keys of reports are the letters of pipelines with colours", () => {
  const bundle = treeBundle();
  const letters = lokiKeys(bundle).map(({ color: _, ...lettered }) => lettered);
  expect(letters).toEqual(variantLetters(bundle));
});
