/** Specs that `init` writes: what is in them, that they compile, and what is refused. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { expect, test } from "vitest";
import { defaultTargets, profileBudgetS } from "../../../compiler/init/default-targets.ts";
import type { Ask } from "../../../compiler/init/questions.ts";
import { parseAxis } from "../../../compiler/init/write-spec.ts";
import { readDocument } from "../../../compiler/spec/document/document.ts";
import { parseStructure } from "../../../compiler/spec/document/structure.ts";
import { applicationSchema } from "../../../compiler/spec/schema/application-schema.ts";
import { onnxModel } from "../../../lab/models/onnx-graph.ts";
import { initFile, initFolder, initHere } from "../../support/init-here.ts";
import { identityModel } from "../../support/onnx-model.ts";

test("one plain model is one variant, with a place for what only the user knows", async () => {
  const { out, spec, text } = await initHere([initFile("plain.onnx", identityModel(3))]);
  expect(spec.tasks[0]?.variants).toMatchObject([{ name: "plain", model: "plain.onnx" }]);
  expect(spec.tasks[0]?.variants[0]?.axes).toBeUndefined();
  expect(readFileSync(out, "utf8")).toMatch(/accuracy: 90% {4}# a placeholder/);
  expect(text).toMatch(/profile .*\n.*compile .*\n.*serve .*\n.*curl/);
});

test.each([
  [0.3, 1, "1 s", [1, 2, 5]],
  [150, 1, "1 s", [0.6, 1.2, 3]],
  [3800, 1, "20 s", [0.02, 0.04, 0.1]],
  [3800, 8, "20 s", [0.2, 0.4, 1]],
  [Number.NaN, 1, "1 s", [1, 2, 5]],
])("the SLO and loads of a model that takes %f ms on %i workers", (ranMs, workers, slo, loads) => {
  const tasks = [{ models: [{ ranMs: 0.1 }, { ranMs }], count: null }];
  expect(defaultTargets(tasks, { slo: null, loads: null, workers })).toEqual({ slo, loads });
  const stated = { slo: "5 ms", loads: [100], workers };
  expect(defaultTargets(tasks, stated)).toEqual({ slo: "5 ms", loads: [100] });
});

test("the first profile of models that run for long has a budget", () => {
  const ofRuns = (...times: number[]) => profileBudgetS(times.map((ranMs) => ({ ranMs })));
  expect([ofRuns(1), ofRuns(30, 30), ofRuns(Number.NaN)]).toEqual([null, null, null]);
  expect([ofRuns(3800), ofRuns(0.3, 200)]).toEqual([15, 30]);
});

test("the sample request has ones where a mask is", async () => {
  const inputs = ["input_ids", "attention_mask"].map((name) => {
    return { name, type: "int64" as const, shape: ["batch", 4] };
  });
  const model = onnxModel({
    nodes: [{ op: "Add", inputs: ["input_ids", "attention_mask"], output: "sum" }],
    inputs,
    outputs: [{ name: "sum", type: "int64", shape: ["batch", 4] }],
  });
  const { text } = await initHere([initFile("tokens.onnx", model)]);
  const [requests = "", triton = ""] = text.split("\n").slice(-2);
  expect(text).toContain(
    '"attention_mask", datatype: "INT64", shape: [1, 4], data: Array(4).fill(1)',
  );
  expect(requests).toContain(
    '"attention_mask", "datatype": "INT64", "shape": [1, 4], "data": [1] * 4',
  );
  expect(triton).toContain('i0.set_data_from_numpy(numpy.full([1, 4], 0, "int64"))');
});

test("open axes get a size, rows are found where they are, settings are constants", async () => {
  const model = onnxModel({
    nodes: [
      { op: "Cast", inputs: ["sr"], output: "hz", attributes: { to: 1 } },
      { op: "Add", inputs: ["state", "hz"], output: "stateN" },
      { op: "ReduceSum", inputs: ["audio", "last"], output: "sum" },
    ],
    constants: [{ name: "last", type: "int64", shape: [1], values: [1] }],
    inputs: [
      { name: "audio", type: "float32", shape: ["n", "samples"] },
      { name: "state", type: "float32", shape: [2, "n", 4] },
      { name: "sr", type: "int64", shape: [] },
    ],
    outputs: [
      { name: "sum", type: "float32", shape: ["n", 1] },
      { name: "stateN", type: "float32", shape: [2, "n", 4] },
    ],
  });
  const { spec } = await initHere([initFile("stream.onnx", model)]);
  expect(spec.tasks[0]?.variants[0]).toMatchObject({
    axes: { n: "batch", samples: 512 },
    constants: { sr: 16_000 },
    state: { stateN: "state" },
  });
  const wrong = initHere([join(initFolder, "stream.onnx")], { axes: { sample: 160 } });
  await expect(wrong).rejects.toThrow(/"sample": no input has this axis; did you mean "samples"/);
  const halves = onnxModel({
    nodes: [{ op: "Reshape", inputs: ["x", "pairs"], output: "y" }],
    constants: [{ name: "pairs", type: "int64", shape: [3], values: [0, -1, 2] }],
    inputs: [{ name: "x", type: "float32", shape: ["n", "even"] }],
    outputs: [{ name: "y", type: "float32", shape: ["n", "half", 2] }],
  });
  await expect(initHere([initFile("even.onnx", halves)], { axes: { even: 3 } })).rejects.toThrow(
    /with the axes "even": 3 \(change them with --axes\) onnxruntime says: .*Reshape/,
  );
  const stated = await initHere([join(initFolder, "stream.onnx")], {
    axes: { samples: [160, 320] },
  });
  expect(stated.spec.tasks[0]?.variants[0]?.axes).toMatchObject({ samples: [160, 320] });
});

test("models that differ in names only are variants, the larger guessed the better", async () => {
  const [small, large] = [initFile("a.onnx", identityModel(3)), initFile("b.onnx", renamed(3))];
  const { spec } = await initHere([small, large], { accuracies: new Map([["a", 0.7]]) });
  expect(spec.tasks[0]?.variants).toMatchObject([
    { name: "a", accuracy: 0.7 },
    { name: "b", accuracy: 0.9, inputs: { x: "image" }, outputs: { y: "scores" } },
  ]);
});

/** The mean of each channel of images. */
function imageModel(name: string, image: readonly number[], pixels: readonly number[]): string {
  const model = onnxModel({
    nodes: [
      {
        op: "ReduceMean",
        inputs: ["image"],
        output: "y",
        attributes: { axes: pixels, keepdims: 0 },
      },
    ],
    inputs: [{ name: "image", type: "float32", shape: ["n", ...image] }],
    outputs: [{ name: "y", type: "float32", shape: ["n", 3] }],
  });
  return initFile(name, model);
}

test.each([
  ["first", [3, 8, 6], [3, 16, 12], [2, 3]],
  ["last", [8, 6, 3], [16, 12, 3], [1, 2]],
])("offers to resize images with channels %s", async (order, image, larger, pixels) => {
  const small = imageModel(`small-${order}.onnx`, image, pixels);
  const { out } = await initHere([small]);
  const text = readFileSync(out, "utf8");
  expect(text).toContain("# resize: { image: { size: [16, 12], fit: fill } }    # resizes");
  writeFileSync(out, text.replace("# resize:", "resize:"));
  const given = parseStructure(readDocument(out), applicationSchema).tasks[0]?.variants[0];
  expect(given?.resize).toMatchObject({ image: { size: [16, 12], fit: "fill" } });

  const { spec } = await initHere([imageModel(`large-${order}.onnx`, larger, pixels), small]);
  expect(spec.tasks[0]?.variants.map(({ resize }) => resize)).toMatchObject([
    undefined,
    { image: { size: [16, 12] } },
  ]);
});

test("asks for what no flag says, and again for an answer that says nothing", async () => {
  const answers = ["soon", "50 ms", "", "93%"];
  const asked: string[] = [];
  const ask: Ask = async (question) => {
    asked.push(question);
    return answers.shift() ?? "";
  };
  const { spec } = await initHere([initFile("asked.onnx", identityModel(2))], {}, ask);
  expect(spec.slo.latency).toBe(50);
  expect(spec.tasks[0]?.variants[0]?.accuracy).toBe(0.93);
  expect(asked[1]).toContain("expected a time with its unit such as 150 ms");
});

test("refuses other tasks, invalid models and an existing spec", async () => {
  const [one, other] = [initFile("c.onnx", identityModel(3)), initFile("d.onnx", identityModel(4))];
  await expect(initHere([one, other])).rejects.toThrow(/expected variants of one task.*\[-1, 4\]/);
  const broken = initFile("broken.onnx", Buffer.from("no model"));
  await expect(initHere([broken])).rejects.toThrow(/broken\.onnx: expected an ONNX model/);
  const { out } = await initHere([one]);
  await expect(initHere([one], { out })).rejects.toThrow(/already exists/);
  expect(() => parseAxis("width")).toThrow(/expected AXIS=batch, AXIS=320 or AXIS=160,320/);
});

function renamed(width: number): Uint8Array<ArrayBuffer> {
  return onnxModel({
    name: "a longer name, so that the file is larger",
    nodes: [{ op: "Identity", inputs: ["image"], output: "scores" }],
    inputs: [{ name: "image", type: "float32", shape: ["batch", width] }],
    outputs: [{ name: "scores", type: "float32", shape: ["batch", width] }],
  });
}

test("outputs without rows are left out, or a request is a run of its own", async () => {
  const inputs = [{ name: "x", type: "float32", shape: ["N", 3] }] as const;
  const sum = { op: "ReduceSum", inputs: ["x"], output: "sum", attributes: { keepdims: 0 } };
  const total = { name: "sum", type: "float32", shape: [] } as const;
  const both = onnxModel({
    nodes: [sum, { op: "Identity", inputs: ["x"], output: "y" }],
    inputs: [...inputs],
    outputs: [total, { name: "y", type: "float32", shape: ["N", 3] }],
  });
  const { spec } = await initHere([initFile("both.onnx", both)]);
  expect(spec.tasks[0]?.variants[0]).toMatchObject({ outputs: { y: "y" } });
  const alone = onnxModel({ nodes: [sum], inputs: [...inputs], outputs: [total] });
  const { spec: other, out } = await initHere([initFile("alone.onnx", alone)]);
  expect(other.tasks[0]?.variants[0]).toMatchObject({ axes: { N: 1 } });
  expect(readFileSync(out, "utf8")).toMatch(/axis 0 of x; every request has the whole axis/);
  const where = onnxModel({
    nodes: [
      { op: "NonZero", inputs: ["x"], output: "at" },
      { op: "Transpose", inputs: ["at"], output: "places" },
    ],
    inputs: [...inputs],
    outputs: [{ name: "places", type: "int64", shape: ["found", 2] }],
  });
  const { spec: counted } = await initHere([initFile("where.onnx", where)]);
  expect(counted.tasks[0]?.variants[0]).toMatchObject({ axes: { N: 1 } });
});

test("a first axis of several rows is of one request; rows are known by name", async () => {
  const ofShape = (...shape: (string | number)[]) =>
    onnxModel({
      nodes: [{ op: "Identity", inputs: ["x"], output: "y" }],
      inputs: [{ name: "x", type: "float32", shape }],
      outputs: [{ name: "y", type: "float32", shape }],
    });
  const { spec } = await initHere([initFile("four.onnx", ofShape(4, 3))]);
  expect(spec.tasks[0]?.variants[0]).toMatchObject({ axes: { "x.0": 4 } });
  const { spec: timed } = await initHere([
    initFile("timed.onnx", ofShape("steps", "batch_size", 3)),
  ]);
  expect(timed.tasks[0]?.variants[0]).toMatchObject({ axes: { batch_size: "batch", steps: 16 } });
});

test("specs and commands hold whatever names files, tensors and axes have", async () => {
  const [input, axis] = ['in "put": #1 - é', "un\"k: 'wide' #$HOME"];
  const model = onnxModel({
    nodes: [{ op: "Identity", inputs: [input], output: "y #&*{}: [1]" }],
    inputs: [{ name: input, type: "float32", shape: ["n", axis] }],
    outputs: [{ name: "y #&*{}: [1]", type: "float32", shape: ["n", axis] }],
  });
  const path = initFile('it\'s a: "modèle" $HOME.onnx', model);
  const { spec, out, text } = await initHere([path]);
  const [variant] = spec.tasks[0]?.variants ?? [];
  expect(variant).toMatchObject({ axes: { [axis]: 512 }, model: basename(path) });
  expect(readFileSync(out, "utf8")).toMatch(/axis 1 of in "put": #1 - é, samples or features\?;/);
  const request = /^node -p .*(?= \| curl)/m.exec(text)?.[0];
  const printed = execFileSync("bash", ["-c", request ?? ""], { encoding: "utf8" });
  expect(JSON.parse(printed).inputs).toMatchObject([{ name: input, shape: [1, 512] }]);
});

test("models of several folders are gathered in one, if their names differ", async () => {
  const other = mkdtempSync(join(tmpdir(), "stratagem init "));
  const [first, second] = [initFile("e.onnx", identityModel(3)), join(other, "f.onnx")];
  writeFileSync(second, identityModel(3));
  const { text } = await initHere([first, second]);
  expect(text).toMatch(/mkdir -p (\S+) && cp \S+ '.*f\.onnx' \1 && npx .* --models \1$/m);
  const same = join(other, "e.onnx");
  writeFileSync(same, renamed(3));
  await expect(initHere([first, same])).rejects.toThrow(
    /expected models with different file names/,
  );
});

test("says what a file is that is no model", async () => {
  const refused = async (name: string, bytes: string | Uint8Array) => {
    const path = initFile(name, Buffer.from(bytes));
    const reason = (await initHere([path]).catch((error: Error) => error)) as Error;
    return reason.message.replace(path, "");
  };
  const expected = ": expected an ONNX model that can be served: the file is ";
  expect(await refused("zero.onnx", "")).toBe(`${expected}empty`);
  expect(await refused("page.onnx", "<!DOCTYPE html>")).toMatch(`${expected}a web page`);
  const pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:aa\n";
  expect(await refused("lfs.onnx", pointer)).toMatch(/git lfs pull/);
  expect(await refused("a.ort", "\0\0\0\0ORTM")).toMatch(/in the ORT format; use the \.onnx/);
  const fixed = onnxModel({
    nodes: [{ op: "Identity", inputs: ["one"], output: "y" }],
    constants: [{ name: "one", type: "float32", shape: [1], values: [1] }],
    inputs: [],
    outputs: [{ name: "y", type: "float32", shape: [1] }],
  });
  expect(await refused("fixed.onnx", fixed)).toMatch(/it has no inputs/);
  const lines = onnxModel({
    nodes: [{ op: "Identity", inputs: ["a\nb"], output: "y" }],
    inputs: [{ name: "a\nb", type: "float32", shape: [1] }],
    outputs: [{ name: "y", type: "float32", shape: [1] }],
  });
  expect(await refused("lines.onnx", lines)).toMatch(/"a\\nb" has a control character/);
  await expect(initHere([join(initFolder, "none.onnx")])).rejects.toThrow(/no such file/);
});
