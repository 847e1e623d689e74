/** Accuracies that `profile` measures with rows whose classes are known. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { profileCommand } from "../../../compiler/commands/profile/profile.ts";
import type { AdaptedOutput, TensorInfo } from "../../../runtime/bundle/schema.ts";
import { encodeStrings } from "../../../runtime/exec/tensors/string-data.ts";
import { folderOf } from "../spec/spec-folder.ts";
import { type Answer, commandFor, fakeMachine, type Timing, UNPROFILED } from "./fake-machine.ts";

const constant: Timing = () => ({ wallMs: 1, cpuMs: 1 });
const [SMALL, LARGE] = [0, 1];

/** Rows of two numbers: the first is the class that the row shows. */
function rowsOf(classes: readonly number[]): Buffer {
  return Buffer.from(Float32Array.from(classes.flatMap((one) => [one, 0])).buffer);
}

function shownIn(inputs: Parameters<Answer>[0]["inputs"], rows: number): number[] {
  const bytes = Buffer.concat(inputs[0] ?? []);
  return Array.from({ length: rows }, (_, row) => bytes.readFloatLE(8 * row));
}

/** The large variant sees every class; the small one takes 2 for 0. Scores of three classes. */
const scores: Answer = ({ variant, inputs, rows }) => {
  const values = shownIn(inputs, rows).flatMap((shown) => {
    const seen = variant === SMALL && shown === 2 ? 0 : shown;
    return [0, 1, 2].map((own) => (own === seen ? 1 : 0));
  });
  return [{ shape: [rows, 3], bytes: new Uint8Array(Float32Array.from(values).buffer) }];
};

const SHOWN = [0, 1, 2, 2, 1, 0, 2];

function folderWith(labels: string, app = UNPROFILED): string {
  return folderOf({
    "app.yaml": app,
    "small.onnx": "small",
    "large.onnx": "large",
    "rows.bin": rowsOf(SHOWN),
    "labels.txt": labels,
  });
}

function modelOf(output: TensorInfo, forms: readonly AdaptedOutput[] = []) {
  return async (path: string) => ({
    model: {
      ...{ file: path, sha256: "0".repeat(64), outputs: [output] },
      inputs: [{ name: "x", dtype: "float32", shape: [-1, 2] }],
      ...(forms.length > 0 && { adapter: { maxRows: null, inputs: [], outputs: forms } }),
    },
  });
}

const asked = (folder: string) =>
  commandFor(folder, { inputs: `${folder}/rows.bin`, labels: `${folder}/labels.txt` });

function accuraciesIn(folder: string): Record<string, number> {
  const { variants } = JSON.parse(readFileSync(`${folder}/profile.json`, "utf8"));
  return { small: variants.small.accuracy, large: variants.large.accuracy };
}

test("every variant is judged on every row, also where the last batch is not full", async () => {
  const app = UNPROFILED.replace("accuracy: 75%, ", "");
  const folder = folderWith(`${SHOWN.join("\n")}\n`, app);
  const { text, json } = await profileCommand(asked(folder), fakeMachine(constant, {}, scores));
  expect(accuraciesIn(folder)).toEqual({ small: 0.571429, large: 1 });
  expect(json).toMatchObject({
    accuracies: [
      { variant: "small", rows: 7, correct: 4, stated: 0.5 },
      { variant: "large", rows: 7, correct: 7, upper: 1, stated: null },
    ],
  });
  expect(text).toMatch(/variant +rows +correct +accuracy +95 % interval +in the spec/);
  expect(text).toMatch(/small +7 +4 +57\.143% +25\.046% to 84\.178% +50\.000%/);
  expect(text).toContain("but those of the spec count: delete accuracy there for small");
  expect(existsSync(`${folder}/profile.json.partial`)).toBe(false);
});

test("classes may be named where the outputs name them, and integers are classes", async () => {
  const names = ["ant", "bee", "cat"];
  const form = { name: "y", batchAxis: 0, as: "top-k", k: 1, labels: names, blank: null } as const;
  const tops = modelOf({ name: "y", dtype: "string", shape: [-1, 1] }, [form]);
  const top: Answer = ({ inputs, rows }) => {
    const texts = shownIn(inputs, rows).map((shown) => `0.900000:${shown}:${names[shown]}`);
    return [{ shape: [rows, 1], bytes: encodeStrings(texts) }];
  };
  const named = folderWith(SHOWN.map((shown) => names[shown]).join("\n"));
  await profileCommand(asked(named), fakeMachine(constant, { readModel: tops }, top));
  expect(accuraciesIn(named)).toEqual({ small: 1, large: 1 });

  writeFileSync(`${named}/labels.txt`, ["ant", "be", "cat", "2", "1", "0", "2"].join("\n"));
  const wrong = profileCommand(asked(named), fakeMachine(constant, { readModel: tops }, top));
  await expect(wrong).rejects.toThrow(
    'labels.txt:2: expected a class of small or its index, got "be"; did you mean "bee"?',
  );

  const indices = modelOf({ name: "y", dtype: "int64", shape: [-1] });
  const index: Answer = ({ variant, inputs, rows }) => {
    const classes = shownIn(inputs, rows).map((shown) => BigInt(variant === LARGE ? shown : 1));
    return [{ shape: [rows], bytes: new Uint8Array(BigInt64Array.from(classes).buffer) }];
  };
  const folder = folderWith(SHOWN.join("\n"));
  await profileCommand(asked(folder), fakeMachine(constant, { readModel: indices }, index));
  expect(accuraciesIn(folder)).toEqual({ small: 0.285714, large: 1 });
});

test.each([
  [
    "0\n1\n",
    "labels.txt: expected a class for each of the 7 rows of rows.bin, one per line, got 2",
  ],
  ["", "one per line, got 0 lines"],
  ["0\n1\n2\n3\n1\n0\n2\n", "labels.txt:4: expected the index of a class, 0 to 2, got 3"],
  ["0\n1\n2\ncat\n1\n0\n2\n", 'labels.txt:4: expected the index of a class, got "cat"'],
])("refuses the labels %j before anything is measured", async (labels, message) => {
  const folder = folderWith(labels);
  const machine = fakeMachine(constant, {}, scores);
  await expect(profileCommand(asked(folder), machine)).rejects.toThrow(message);
  expect(machine.runs.length).toBeLessThan(2);
  expect(existsSync(`${folder}/profile.json`)).toBe(false);
});

test("refuses labels without rows, and answers that are no classes", async () => {
  const folder = folderWith(SHOWN.join("\n"));
  const alone = commandFor(folder, { labels: `${folder}/labels.txt` });
  await expect(profileCommand(alone, fakeMachine(constant))).rejects.toThrow(
    "expected --inputs with --labels, got none",
  );
  const none = commandFor(folder, { inputs: `${folder}/rows.bin`, labels: `${folder}/none` });
  await expect(profileCommand(none, fakeMachine(constant))).rejects.toThrow("none: cannot be read");
  const boxes = modelOf({ name: "boxes", dtype: "float32", shape: [-1, 10, 4] });
  const machine = fakeMachine(constant, { readModel: boxes }, ({ rows }) => {
    return [{ shape: [rows, 10, 4], bytes: new Uint8Array(160 * rows) }];
  });
  await expect(profileCommand(asked(folder), machine)).rejects.toThrow(
    "expected one output of small with a class per row (scores of all classes, the index, or " +
      'texts), got "boxes" float32[-1,10,4]; choose it by outputs in the spec',
  );
});

test("an interruption while accuracies are measured keeps the times", async () => {
  const folder = folderWith(SHOWN.join("\n"));
  const abort = new AbortController();
  const onProgress = (_done: number, _total: number, stage?: string) => {
    if (stage === "accuracy") abort.abort(new Error("interrupted here"));
  };
  const stopped = fakeMachine(constant, { signal: abort.signal, onProgress }, scores);
  await expect(profileCommand(asked(folder), stopped)).rejects.toThrow("interrupted here");
  expect(stopped.closedCount).toBe(2);
  const again = fakeMachine(constant, {}, scores);
  await profileCommand(asked(folder), again);
  // The warm-up of four cells, and two variants in four batches of two.
  expect(again.runs).toHaveLength(4 * 2 + 2 * 4);
  expect(accuraciesIn(folder)).toEqual({ small: 0.571429, large: 1 });
});
