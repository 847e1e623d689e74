/** Models of half floats, as their users profile, cut and serve them; on every Node. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { afterAll, expect, test } from "vitest";
import {
  TensorProto_DataType as DataType,
  TensorProtoSchema,
} from "../../compiler/onnx/onnx-pb.ts";
import { readProfile } from "../../compiler/spec/profile.ts";
import { numberToHalf } from "../../runtime/core/half.ts";
import { stratagemHere } from "../support/cli-here.ts";
import { GraphBuilder, modelOf, tensorOf } from "../support/onnx-graphs.ts";
import { withoutProgress } from "../support/progress-lines.ts";
import { startStratagem, urlOf } from "../support/run-cli.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-float16-"));
const running: ReturnType<typeof startStratagem>[] = [];
afterAll(() => {
  for (const child of running) child.kill("SIGKILL");
  rmSync(folder, { recursive: true });
});

const WEIGHTS = [2, 0.5, 1, -1];
/** The largest half, the smallest, and numbers between; none is rounded on its way. */
const ROWS = [
  [1.5, 65_504, 2 ** -23, -0.333_251_953_125],
  [-7, 3, 1, 2048],
  [32_752, -65_504, -(2 ** -14), 0.099_975_585_937_5],
];
/** −|x w| */
const ANSWERS = ROWS.map((row) => row.map((x, at) => -Math.abs(x * (WEIGHTS[at] ?? Number.NaN))));

/** y = −|x w| in three layers, all of half floats. */
function halfModel(): Uint8Array {
  const g = new GraphBuilder();
  const rawData = new Uint8Array(Uint16Array.from(WEIGHTS, numberToHalf).buffer);
  const dims = [BigInt(WEIGHTS.length)];
  const weights = { name: "w", dataType: DataType.FLOAT16, dims, rawData };
  g.initializers.push(create(TensorProtoSchema, weights));
  g.node("Neg", [g.node("Abs", [g.node("Mul", ["x", "w"])])], {}, { output: ["y"] });
  const half = (name: string) => tensorOf(name, ["batch", WEIGHTS.length], DataType.FLOAT16);
  return modelOf(g.graph([half("x")], [half("y")]));
}

writeFileSync(join(folder, "half.onnx"), halfModel());

/** Writes a spec of the model by that name, with its profile beside it. @returns its path. */
function specFile(name: string, policy: object): string {
  const path = join(folder, `${name}.json`);
  const profile = `${name}-profile.json#half`;
  const variants = [{ name: "half", accuracy: 0.9, profile, model: "half.onnx" }];
  const spec = {
    version: 1,
    application: name,
    slo: { latency: "5 s" },
    workload: { loads: [1], arrivals: { process: "poisson" } },
    cluster: { workers: 2 },
    tasks: [{ name: "classify", variants }],
    policy,
  };
  writeFileSync(path, JSON.stringify(spec));
  return path;
}

async function succeed(...args: string[]): Promise<void> {
  const { status, stderr } = await stratagemHere(...args);
  expect({ status, stderr: withoutProgress(stderr) }).toEqual({ status: 0, stderr: "" });
}

/** Serves a bundle until the file is done. @returns where the model is asked. */
async function served(bundle: string, model: string): Promise<string> {
  const child = startStratagem("serve", "--policy", bundle, "--http", "127.0.0.1:0", "--json");
  running.push(child);
  const url = await urlOf(child);
  return `${url}/v2/models/${model}/infer`;
}

async function answerTo(url: string, body: string | Blob, headers = {}): Promise<Response> {
  const reply = await fetch(url, { method: "POST", body, headers });
  expect(reply.status).toBe(200);
  return reply;
}

function jsonRequest(rows: readonly (readonly number[])[]): string {
  const input = { name: "x", datatype: "FP16", shape: [rows.length, 4], data: rows };
  return JSON.stringify({ inputs: [input] });
}

test("are profiled, compiled and served, in JSON and as raw bits", async () => {
  const app = specFile("whole", { method: "ramsis", maxQueue: 4 });
  const profile = join(folder, "whole-profile.json");
  await succeed("profile", app, "-o", profile, "--batches", "1,2", "--repeat", "2", "--force");
  const bundle = join(folder, "whole.msgpack");
  await succeed("compile", app, "-o", bundle);
  const url = await served(bundle, "whole");

  const output = { name: "y", datatype: "FP16", shape: [3, 4], data: ANSWERS.flat() };
  const json = await (await answerTo(url, jsonRequest(ROWS))).json();
  expect(json).toMatchObject({ outputs: [output] });

  const bits = Uint16Array.from(ROWS.flat(), numberToHalf);
  const parameters = { binary_data_size: bits.byteLength };
  const header = JSON.stringify({
    inputs: [{ name: "x", datatype: "FP16", shape: [3, 4], parameters }],
    parameters: { binary_data_output: true },
  });
  const length = "inference-header-content-length";
  const reply = await answerTo(url, new Blob([header, bits]), { [length]: String(header.length) });
  const bytes = new Uint8Array(await reply.arrayBuffer());
  const answer = new Uint16Array(bytes.slice(Number(reply.headers.get(length))).buffer);
  expect(answer).toEqual(Uint16Array.from(ANSWERS.flat(), numberToHalf));
});

test("are cut into stages, which are profiled, and served by two workers", async () => {
  const app = specFile("cut", { method: "accordion", maxDepth: 2, maxBatch: 8, meanBatch: 2 });
  const measured = join(folder, "measured.json");
  await succeed("profile", app, "-o", measured, "--layers", "--repeat", "2", "--force");
  expect(readProfile(measured).variants.get("half")?.profile.layers?.layerMs).toHaveLength(3);

  // With latencies that make two workers worth it, whatever machine this is.
  const layers = { ms: [10, 10, 10], overheadMs: 0.1, stages: {} };
  const profile = { format: "latency-profile/1", hardware: "test", variants: { half: { layers } } };
  writeFileSync(join(folder, "cut-profile.json"), JSON.stringify(profile));
  const bundle = join(folder, "cut.msgpack");
  await succeed("compile", app, "-o", bundle);
  const url = await served(bundle, "half");
  const json = await (await answerTo(url, jsonRequest(ROWS))).json();
  expect(json).toMatchObject({ outputs: [{ datatype: "FP16", data: ANSWERS.flat() }] });
  const metrics = await (await fetch(new URL("/metrics", url))).text();
  expect(metrics).toContain('stratagem_start_places_sum{model="half"} 2\n');
});
