import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { onnxModel } from "../../lab/models/onnx-graph.ts";
import { stratagemHere } from "../support/cli-here.ts";
import { identityModel } from "../support/onnx-model.ts";
import { stratagemIn } from "../support/run-cli.ts";

const home = mkdtempSync(join(tmpdir(), "stratagem-profiled-models-"));
afterAll(() => rmSync(home, { recursive: true }));

const APP = `version: 1
application: demo
slo: { latency: 100 ms }
workload: { arrivals: { process: poisson }, loads: [50] }
cluster: { workers: 1 }
tasks: [{ name: t, variants: [VARIANT] }]
policy:
  { method: ramsis, balancer: round-robin, maxQueue: 4, discretization: { kind: fixed, steps: 10 } }
`;

/** Two trainings of a model: the same tensors, other bytes. */
const [BEFORE, AFTER] = [identityModel(4), trainedAgain(identityModel(4))];

/** Appends a doc_string. */
function trainedAgain(model: Uint8Array): Uint8Array {
  return Buffer.concat([model, Buffer.from([0x32, 0x01, 0x61])]);
}

/** Returns z = y. */
function following(): Uint8Array {
  const tensor = (name: string) => ({ name, type: "float32" as const, shape: ["batch", 4] });
  const nodes = [{ op: "Identity", inputs: ["y"], output: "z" }];
  return onnxModel({ nodes, inputs: [tensor("y")], outputs: [tensor("z")] });
}

const digestOf = (bytes: string | Uint8Array) => createHash("sha256").update(bytes).digest("hex");

/** Writes a spec with one variant and its profile. @returns the path of the spec. */
function written(name: string, model: string, measured: object): string {
  const variant = `{ name: v, accuracy: 0.9, profile: ${name}-profile.json#v${model} }`;
  writeFileSync(join(home, `${name}.yaml`), APP.replace("VARIANT", variant));
  const profile = { latencyMs: { 1: 10, 4: 22 }, ...measured };
  const document = { format: "latency-profile/1", hardware: "test", percentile: 95 };
  const content = JSON.stringify({ ...document, variants: { v: profile } });
  writeFileSync(join(home, `${name}-profile.json`), content);
  return join(home, `${name}.yaml`);
}

const compile = (app: string) => stratagemHere("compile", app, "-o", join(home, "out.msgpack"));

test("compile refuses a model that was trained again and says how to profile it", async () => {
  writeFileSync(join(home, "one.onnx"), BEFORE);
  const app = written("one", ", model: one.onnx", { modelSha256: digestOf(BEFORE) });
  expect(await compile(app)).toMatchObject({ status: 0, stderr: "" });
  writeFileSync(join(home, "one.onnx"), AFTER);
  const { status, stderr } = await compile(app);
  expect(status).toBe(65);
  expect(stderr).toBe(
    `INPUT_CONFLICT ${app}:6 tasks[0].variants[0].profile: expected the model that "v" was ` +
      `measured with, SHA-256 ${digestOf(BEFORE).slice(0, 12)}…, got ` +
      `${digestOf(AFTER).slice(0, 12)}…; measure it again (and its accuracy, if it was trained ` +
      `again): stratagem profile ${app} -o ${home}/one-profile.json --batches 1,4\n`,
  );
  const shard = await stratagemHere("compile", app, "-o", join(home, "part"), "--shard", "1/1");
  expect(shard.stderr).toBe(stderr);
});

test("any file of several that changed is refused", async () => {
  writeFileSync(join(home, "first.onnx"), BEFORE);
  writeFileSync(join(home, "second.onnx"), following());
  const files = ", model: [first.onnx, second.onnx]";
  const modelSha256 = [BEFORE, following()].map(digestOf).join("+");
  const app = written("chain", files, { modelSha256 });
  expect(await compile(app)).toMatchObject({ status: 0, stderr: "" });
  writeFileSync(join(home, "second.onnx"), trainedAgain(following()));
  expect((await compile(app)).stderr).toContain('expected the model that "v" was measured with');
});

test("code that changed gives a warning", async () => {
  const module = (comment: string) => `export default () => ({
    inputs: [{ name: "x", datatype: "FP32", shape: [1] }],
    outputs: [{ name: "y", datatype: "FP32", shape: [1] }],
    run: ({ x }) => ({ y: x }) }); // ${comment}`;
  writeFileSync(join(home, "code.mjs"), module("before"));
  const model = ", kind: module, model: ./code.mjs";
  const app = written("code", model, { modelSha256: digestOf(module("before")) });
  expect((await compile(app)).stdout).not.toContain("expected the model");
  writeFileSync(join(home, "code.mjs"), module("after"));
  const { status, stdout } = await compile(app);
  expect(status).toBe(0);
  expect(stdout).toContain('\nv: expected the model that "v" was measured with, SHA-256 ');
});

test("a profile that names no model is used, with a warning if there is a model", async () => {
  writeFileSync(join(home, "old.onnx"), BEFORE);
  const app = written("old", ", model: old.onnx", { byCores: { 1: { 1: 10 }, 2: { 1: 6 } } });
  const { status, stdout } = await compile(app);
  expect(status).toBe(0);
  expect(stdout).toContain(
    "\nold-profile.json does not say which files v were measured with, so other models would get " +
      `their times; stratagem profile ${app} -o ${home}/old-profile.json --batches 1,4 ` +
      "--cores 1,2 adds it\n",
  );
  const { stdout: simulated } = await compile(written("simulated", "", {}));
  expect(simulated).not.toContain("does not say");
});

test("a digest in another form is refused where it is", async () => {
  const { stderr } = await compile(written("form", "", { modelSha256: "ABC" }));
  expect(stderr).toContain("variants.v.modelSha256: expected a SHA-256 in lower-case hexadecimal");
});

test("a model whose weights are inputs as well, as in older exports, brings no warnings", () => {
  const tensor = (name: string) => ({ name, type: "float32" as const, shape: ["batch", 4] });
  const weight = { name: "weight", type: "float32" as const, shape: [1] };
  const model = onnxModel({
    inputs: [tensor("x"), weight],
    constants: [{ ...weight, values: [3] }],
    nodes: [{ op: "Mul", inputs: ["x", "weight"], output: "y" }],
    outputs: [tensor("y")],
  });
  writeFileSync(join(home, "older.onnx"), model);
  const init = stratagemIn(home, "init", "older.onnx", "-o", "older.yaml");
  expect([init.status, init.stderr]).toEqual([0, ""]);
  const profile = ["profile", "older.yaml", "-o", "older.json", "--repeat", "2", "--force"];
  const { status, stderr } = stratagemIn(home, ...profile);
  expect([status, stderr.includes("onnxruntime")]).toEqual([0, false]);
});
