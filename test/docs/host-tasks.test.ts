/** The module of docs/host-tasks.md does what the page says. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { parse } from "yaml";
import { applicationSchema } from "../../compiler/spec/application-schema.ts";
import { readHost } from "../../runtime/exec/host-source.ts";
import { ModuleModel } from "../../runtime/exec/module-model.ts";
import { encodeStrings } from "../../runtime/exec/string-data.ts";
import { readMarkdown } from "./markdown.ts";

const { fences } = readMarkdown("docs/host-tasks.md");
const folder = mkdtempSync(join(tmpdir(), "stratagem-host-docs-"));
afterAll(() => rmSync(folder, { recursive: true }));

const path = join(folder, "features.mjs");
const options = '{"columns":3}';

test("the module on the page reads lines of numbers, and names those that are none", async () => {
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

test("the variants on the page are as specs have them", () => {
  const [tasks, remote] = fences
    .filter(({ language }) => language === "yaml")
    .map((fence) => {
      return parse(fence.lines.join("\n"));
    });
  const [variant] = tasks.tasks[0].variants;
  const taskSchema = applicationSchema.shape.tasks;
  const all = [{ name: "t", variants: [variant, ...remote] }];
  expect(taskSchema.parse(all)).toMatchObject(all);
});
