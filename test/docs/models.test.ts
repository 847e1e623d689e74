/**
 * The specs of docs/models.md are as specs have them, its table is as methods have it, and its
 * module does what the page says.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { parse } from "yaml";
import { allMethods } from "../../compiler/methods/registry.ts";
import type { Variant } from "../../compiler/spec/application.ts";
import { bindingMistakes } from "../../compiler/spec/binding.ts";
import { kindMistakes } from "../../compiler/spec/host-tasks.ts";
import { rulesOf } from "../../compiler/spec/policy.ts";
import { applicationSchema } from "../../compiler/spec/schema/application-schema.ts";
import { readHost } from "../../runtime/exec/modules/host-source.ts";
import { ModuleModel } from "../../runtime/exec/modules/module-model.ts";
import { encodeStrings } from "../../runtime/exec/tensors/string-data.ts";
import { readMarkdown } from "./markdown.ts";

const { fences, text } = readMarkdown("docs/models.md");
/** Specs of tasks or variants; the others are of the kit and of pools. */
const examples = fences
  .filter(({ language }) => language === "yaml")
  .map(({ line, lines }) => ({ line, items: itemsOf(parse(lines.join("\n"))) }))
  .filter(({ items }) => items.length > 0);
const profile = "profile.json#variant";

type Item = { readonly variants?: object[] };

function itemsOf(example: Item[] | { readonly tasks?: Item[] }): Item[] {
  return Array.isArray(example) ? example : (example.tasks ?? []);
}

test.each(examples)("the example in line $line is as specs have it", ({ items }) => {
  const tasks = items.every(({ variants }) => variants !== undefined)
    ? items
    : [{ name: "task", variants: items }];
  const whole = tasks.map((task) => ({
    ...task,
    variants: task.variants?.map((variant) => ({ profile, ...variant })),
  }));
  const parsed = applicationSchema.shape.tasks.parse(whole);
  expect(parsed).toMatchObject(whole);
  const mistakes = parsed
    .flatMap(({ variants }) => variants)
    .flatMap((variant) => [...kindMistakes(variant, []), ...bindingMistakes(variant, [])]);
  expect(mistakes).toEqual([]);
});

/** What the table says of something, by method. */
function rowOf(title: string): Record<string, string> {
  const [head, row] = ["|", title].map((start) => {
    const line = text.find((each) => each.text.startsWith(start === "|" ? "| | " : `| ${start}`));
    return (line?.text ?? "").split("|").map((cell) => cell.trim());
  });
  return Object.fromEntries(
    (head ?? []).flatMap((name, at) => (name === "" ? [] : [[name, row?.[at] ?? ""]])),
  );
}

test("the table knows which methods take lists of sizes, state and bindings", async () => {
  const methods = await allMethods();
  expect(Object.keys(rowOf("tasks"))).toEqual(methods.map(({ name }) => name));
  const variant = { profiles: [], binding: { axes: { x: 320 } } } as unknown as Variant;
  for (const { name, keepsState = false } of methods) {
    const rules = rulesOf({ method: name });
    expect(rowOf("lists of sizes")[name] === "no", name).toBe(rules.sizes === undefined);
    expect(rowOf("`bucketShares`")[name] === "no", name).toBe(rules.sizes !== "tables");
    expect(rowOf("`state`")[name] === "no", name).toBe(!keepsState);
    if (name !== "accordion") continue;
    const [mistake] = rules.measurementMistakes(variant, ["variants", 0, "profile"]);
    expect(mistake).toMatchObject({
      path: ["variants", 0],
      message: expect.stringContaining("expected no axes, padding, inputs, outputs"),
    });
    expect(rowOf("one size of an axis")[name]).toBe("no");
  }
});

const folder = mkdtempSync(join(tmpdir(), "stratagem-models-docs-"));
afterAll(() => rmSync(folder, { recursive: true }));

test("the module on the page reads lines of numbers, and names those that are none", async () => {
  const path = join(folder, "features.mjs");
  const options = '{"columns":3}';
  const example = fences.find(({ mark }) => mark === "features.mjs");
  writeFileSync(path, example?.lines.join("\n") ?? "");
  const source = { kind: "module", path, specifier: null, options, folder } as const;
  const { inputs, outputs } = await readHost(source, 1000);
  const variant = { name: "csv", path, inputs, outputs, warmBatches: [1, 2] };
  const model = await ModuleModel.load(variant, { options, folder }, 1, () => {});
  const { outputs: given } = await model.run(2, [encodeStrings(["1,2,3", "4,5,6"])]);
  const [x] = given;
  const numbers = new Float32Array(x?.bytes.slice().buffer ?? new ArrayBuffer());
  expect([x?.shape, [...numbers]]).toEqual([
    [2, 3],
    [1, 2, 3, 4, 5, 6],
  ]);
  const bad = model.run(3, [encodeStrings(["1,2,3", "a,b,c", "1,2"])]);
  await expect(bad).rejects.toMatchObject({ message: "expected 3 numbers", rows: [1, 2] });
});
