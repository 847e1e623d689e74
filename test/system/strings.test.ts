/** Models of strings, as their users profile, compile, simulate and serve them. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { stratagemHere } from "../support/cli-here.ts";
import { stringModel } from "../support/onnx-model.ts";
import { withoutProgress } from "../support/progress-lines.ts";
import { startStratagem, urlOf } from "../support/run-cli.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-strings-"));
const running: ReturnType<typeof startStratagem>[] = [];
afterAll(() => {
  for (const child of running) child.kill("SIGKILL");
  rmSync(folder, { recursive: true });
});

const WORDS = [
  ["1.5", "-2"],
  ["0", "1e3"],
];
const NUMBERS = [1.5, -2, 0, 1000];

writeFileSync(join(folder, "words.onnx"), stringModel());

/** Writes a spec of the model by that name, with its profile beside it. @returns its path. */
function specFile(name: string, policy: object): string {
  const path = join(folder, `${name}.json`);
  const profile = `${name}-profile.json#words`;
  const variants = [{ name: "words", accuracy: 0.9, profile, model: "words.onnx" }];
  const spec = {
    version: 1,
    application: name,
    slo: { latency: "5 s" },
    workload: { loads: [1], arrivals: { process: "poisson" } },
    cluster: { workers: 1 },
    tasks: [{ name: "read", variants }],
    policy,
  };
  writeFileSync(path, JSON.stringify(spec));
  return path;
}

async function succeed(...args: string[]): Promise<string> {
  const { status, stdout, stderr } = await stratagemHere(...args);
  expect({ status, stderr: withoutProgress(stderr) }).toEqual({ status: 0, stderr: "" });
  return stdout;
}

/** Serves a bundle until the file is done. @returns where the server is. */
async function served(bundle: string): Promise<string> {
  const child = startStratagem("serve", "--policy", bundle, "--http", "127.0.0.1:0", "--json");
  running.push(child);
  return urlOf(child);
}

function post(url: string, body: string | Blob, headers = {}): Promise<Response> {
  return fetch(url, { method: "POST", body, headers });
}

function bytesOf(texts: readonly (string | Uint8Array)[]): Uint8Array<ArrayBuffer> {
  const parts = texts.flatMap((text) => {
    const bytes = Buffer.from(text);
    const length = Buffer.alloc(4);
    length.writeUInt32LE(bytes.length);
    return [length, bytes];
  });
  return new Uint8Array(Buffer.concat(parts));
}

const LENGTH = "inference-header-content-length";

function binary(url: string, bytes: Uint8Array<ArrayBuffer>, rows: number): Promise<Response> {
  const parameters = { binary_data_size: bytes.length };
  const header = JSON.stringify({
    inputs: [{ name: "words", datatype: "BYTES", shape: [rows, 2], parameters }],
    outputs: [{ name: "twice", parameters: { binary_data: true } }],
  });
  return post(url, new Blob([header, bytes]), { [LENGTH]: String(header.length) });
}

test("are profiled, compiled, simulated and served, in JSON and as bytes", async () => {
  const app = specFile("whole", { method: "ramsis", maxQueue: 4 });
  const profile = join(folder, "whole-profile.json");
  await succeed("profile", app, "-o", profile, "--batches", "1,2", "--repeat", "2", "--force");
  const bundle = join(folder, "whole.msgpack");
  await succeed("compile", app, "-o", bundle);
  const simulated = await succeed(
    "simulate",
    bundle,
    "--arrivals",
    "poisson:1",
    "--duration",
    "5s",
    "--json",
  );
  expect(JSON.parse(simulated).dropped).toBe(0);
  const url = await served(bundle);
  const infer = `${url}/v2/models/whole/infer`;

  const config = await (await fetch(`${url}/v2/models/whole/config`)).json();
  expect(config).toMatchObject({ input: [{ data_type: "TYPE_STRING", dims: [2] }] });
  const input = { name: "words", datatype: "BYTES", shape: [2, 2], data: WORDS };
  const json = await post(infer, JSON.stringify({ inputs: [input] }));
  expect([json.status, await json.json()]).toMatchObject([
    200,
    {
      outputs: [
        { name: "numbers", datatype: "FP32", shape: [2, 2], data: NUMBERS },
        {
          name: "twice",
          datatype: "BYTES",
          shape: [2, 4],
          data: WORDS.flatMap((row) => [...row, ...row]),
        },
      ],
    },
  ]);

  const reply = await binary(infer, bytesOf(WORDS.flat()), 2);
  const body = new Uint8Array(await reply.arrayBuffer());
  const answer = body.slice(Number(reply.headers.get(LENGTH)));
  expect(answer).toEqual(bytesOf(WORDS.flatMap((row) => [...row, ...row])));

  const predicted = await post(
    `${url}/v1/models/whole:predict`,
    JSON.stringify({ instances: WORDS }),
  );
  expect(await predicted.json()).toEqual({
    predictions: WORDS.map((row, index) => {
      return { numbers: NUMBERS.slice(2 * index, 2 * index + 2), twice: [...row, ...row] };
    }),
  });

  // What is no text, and text of which the model makes nothing, are errors of their requests only.
  const image = await binary(infer, bytesOf([Uint8Array.of(0xff, 0xd8), "1"]), 1);
  expect([image.status, await image.text()]).toEqual([
    500,
    expect.stringContaining("expected strings in UTF-8"),
  ]);
  const word = await binary(infer, bytesOf(["one", "1"]), 1);
  expect(word.status).toBe(500);
  expect((await binary(infer, bytesOf(["1", "2"]), 1)).status).toBe(200);
});

test("run as a malleable pipeline, strings among what goes between its stages", async () => {
  const app = specFile("cut", { method: "accordion", maxDepth: 1, maxBatch: 8, meanBatch: 2 });
  const measured = join(folder, "measured.json");
  await succeed("profile", app, "-o", measured, "--layers", "--repeat", "2", "--force");
  const layers = { ms: [10, 10], overheadMs: 0.1, stages: {} };
  const variants = { words: { layers } };
  const profile = { format: "latency-profile/1", hardware: "test", variants };
  writeFileSync(join(folder, "cut-profile.json"), JSON.stringify(profile));
  const bundle = join(folder, "cut.msgpack");
  await succeed("compile", app, "-o", bundle);
  const url = await served(bundle);
  const reply = await binary(`${url}/v2/models/words/infer`, bytesOf(WORDS.flat()), 2);
  expect(reply.status).toBe(200);
});
