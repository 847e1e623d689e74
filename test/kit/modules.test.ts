/** What every module of the kit keeps to, whatever it does. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import type { HostModule, NamedTensors, OpenModule, Tensor } from "../../kit/module/contract.ts";
import { TINY_TOKENIZER } from "./tiny-tokenizer.ts";

const folder = mkdtempSync(join(tmpdir(), "kit-"));
afterAll(() => rmSync(folder, { recursive: true }));
writeFileSync(join(folder, "tokenizer.json"), JSON.stringify(TINY_TOKENIZER));
writeFileSync(join(folder, "labels.txt"), "one\ntwo\nthree\n");

const IMAGE = { size: [64, 96] };
const OPTIONS: readonly (readonly [string, object])[] = [
  ["decode-image", { size: [32, 48], fit: "contain" }],
  ["resize-image", { image: IMAGE, size: [16, 16], datatype: "UINT8" }],
  ["crop-rows", { size: [8, 16] }],
  ["crop-rows", { size: [8, 16], max: 5 }],
  ["crop-rows", { size: [8, 16], image: IMAGE, boxes: "corners" }],
  ["classify", { labels: "labels.txt", top: 2, probabilities: true }],
  ["ctc", { labels: ["a", "b", "c"], space: true, blank: "last" }],
  ["nms", {}],
  ["nms", { from: "yolov8", classes: 3 }],
  ["nms", { from: "yolov5", classes: 3, acrossClasses: true }],
  ["db-boxes", { size: [96, 128] }],
  ["db-boxes", { size: [96, 128], original: true, order: "score" }],
  ["tokenize", { tokenizer: "tokenizer.json", length: 12, pair: true }],
];
/** Outputs with rows of their own number. */
const MULTIPLIED = ["crops", "corners"];
const ARRAYS = { FP32: Float32Array, UINT8: Uint8Array, INT64: BigInt64Array, BYTES: Array };

const modules = JSON.parse(readFileSync("kit/package.json", "utf8")).exports as Record<
  string,
  object
>;

test("the package exports each module, and nothing else but its types", () => {
  const files = readdirSync("kit").filter((name) => name.endsWith(".ts") && name !== "index.ts");
  const names = files.map((name) => `./${name.replace(/\.ts$/, "")}`);
  expect(Object.keys(modules).sort()).toEqual([".", "./package.json", ...names].sort());
  expect(new Set(OPTIONS.map(([name]) => `./${name}`))).toEqual(new Set(names));
});

const [, page = ""] =
  /^## The kit$([\s\S]*?)^## /m.exec(readFileSync("docs/models.md", "utf8")) ?? [];
const PIXELS = "size layout channels datatype factor mean std padding fit place kernel".split(" ");

/** The paragraph of the page that begins with a name in bold. */
function partOf(name: string): string {
  return page.split(/^(?:- )?(?=\*\*)/m).find((part) => part.startsWith(`**${name}**`)) ?? "";
}

async function opening(name: string, options: object): Promise<HostModule> {
  const path = `../../kit/dist/${name}.js`;
  const { default: open } = (await import(path)) as { default: OpenModule };
  return await open({ options, folder });
}

describe("docs/models.md", () => {
  test.each([...new Set(OPTIONS.map(([name]) => name))])("has every option of %s", async (name) => {
    const options = OPTIONS.find(([other]) => other === name)?.[1];
    const error: unknown = await opening(name, { ...options, sise: 1 }).catch((found) => found);
    const [, list = ""] = /allowed are (.+)$/.exec(String(error)) ?? [];
    const own = partOf(name);
    const isShared = (option: string) =>
      /\bpixels(,|\.| without)/.test(own) && PIXELS.includes(option);
    const isTold = (option: string, part: string) => part.includes(`\`${option}`);
    const missing = list.split(", ").filter((option) => {
      return !isTold(option, own) && !(isShared(option) && isTold(option, partOf("Pixels")));
    });
    expect(list).not.toBe("");
    expect(missing).toEqual([]);
  });

  test("has options that its modules open with", async () => {
    const fences = [...page.matchAll(/^```yaml\n([\s\S]*?)^```/gm)].map(([, text = ""]) => text);
    const examples = fences.map((text) => parse(text)).filter(({ model }) => model !== undefined);
    expect(examples).toHaveLength(2);
    for (const { model, options } of examples) {
      const name = String(model).replace("stratagem-kit/", "");
      await expect(opening(name, options)).resolves.toBeDefined();
    }
  });
});

describe.each(OPTIONS)("%s with %j", (name, options) => {
  let count = 0;
  // The same in every run: a sequence of its own for each module.
  const random = () => {
    count = (count * 16807 + 11) % 2147483647;
    return count / 2147483647;
  };

  const opened = () => opening(name, options);

  test("samples what it takes, and gives what it declares", async () => {
    const module = await opened();
    for (const rows of [1, 3]) {
      const inputs = await module.sample(rows, random);
      expectDeclared(module.inputs, inputs, rows);
      const outputs = await module.run(inputs, rows);
      expectDeclared(module.outputs, outputs, rows);
    }
    await module.close();
  });

  test("answers each row as if it were alone, and twice the same", async () => {
    const module = await opened();
    const inputs = await module.sample(3, random);
    const together = await module.run(inputs, 3);
    const other = await opened();
    const alone: NamedTensors[] = [];
    for (const row of [0, 1, 2]) alone.push(await other.run(rowOf(inputs, row), 1));
    for (const { name } of module.outputs) {
      const joined = alone.flatMap((tensors) => valuesOf(tensors[name]));
      expect(joined).toEqual(valuesOf(together[name]));
    }
    expect(await module.run(inputs, 3)).toEqual(together);
  });

  test("refuses an option that it does not know", async () => {
    await expect(opening(name, { ...options, sise: 1 })).rejects.toThrow(
      `stratagem-kit/${name}: found the option "sise", allowed are `,
    );
  });

  test("refuses inputs that are not its own", async () => {
    const module = await opened();
    const [first] = module.inputs;
    const inputs = { ...(await module.sample(2, random)) };
    delete inputs[first?.name ?? ""];
    const refused = async () => await module.run(inputs, 2);
    await expect(refused()).rejects.toThrow(`input "${first?.name}": expected a tensor of 2 rows`);
  });
});

function expectDeclared(specs: HostModule["inputs"], tensors: NamedTensors, rows: number): void {
  expect(Object.keys(tensors)).toEqual(specs.map(({ name }) => name));
  for (const { name, datatype, shape } of specs) {
    const { data, shape: found } = tensors[name] as Tensor;
    expect(data).toBeInstanceOf(ARRAYS[datatype as keyof typeof ARRAYS]);
    expect(found).toHaveLength(shape.length + 1);
    if (!MULTIPLIED.includes(name)) expect(found[0]).toBe(rows);
    for (const [axis, size] of shape.entries()) if (size !== -1) expect(found[axis + 1]).toBe(size);
    expect(data).toHaveLength(found.reduce((product, size) => product * size, 1));
  }
}

function rowOf(tensors: NamedTensors, row: number): NamedTensors {
  return Object.fromEntries(
    Object.entries(tensors).map(([name, { data, shape }]) => {
      const size = data.length / (shape[0] ?? 1);
      return [
        name,
        { data: data.slice(row * size, (row + 1) * size), shape: [1, ...shape.slice(1)] },
      ];
    }),
  );
}

function valuesOf(tensor: Tensor | undefined): unknown[] {
  return [...(tensor?.data ?? [])];
}
