/** Pipelines whose tasks have lists of sizes: measured, compiled, simulated and served. */
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { InferenceSession, Tensor } from "onnxruntime-node";
import { afterAll, beforeAll, expect, test } from "vitest";
import { onnxModel } from "../../lab/models/onnx-graph.ts";
import { startStratagem, stratagem, urlOf } from "../support/run-cli.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-sized-"));
const at = (file: string) => join(folder, file);
afterAll(() => rmSync(folder, { recursive: true }));

/** Sizes of the first task, and of the second. */
const SIZES = [
  [4, 8, 16],
  [6, 16],
] as const;
const PADDINGS = [0.25, 3] as const;

/** The row times its mean, so that each output depends on all that was padded. */
function scaleModel(): Uint8Array {
  return onnxModel({
    inputs: [{ name: "x", type: "float32", shape: ["rows", "width"] }],
    constants: [],
    nodes: [
      { op: "ReduceMean", inputs: ["x"], output: "mean", attributes: { axes: [1], keepdims: 1 } },
      { op: "Mul", inputs: ["x", "mean"], output: "scaled" },
    ],
    outputs: [{ name: "scaled", type: "float32", shape: ["rows", "width"] }],
  });
}

function sumModel(): Uint8Array {
  return onnxModel({
    inputs: [{ name: "scaled", type: "float32", shape: ["rows", "width"] }],
    constants: [{ name: "axes", type: "int64", shape: [1], values: [1] }],
    nodes: [{ op: "ReduceSum", inputs: ["scaled", "axes"], output: "sum" }],
    outputs: [{ name: "sum", type: "float32", shape: ["rows", 1] }],
  });
}

const POLICIES = {
  loki: "{ method: loki }",
  inferline: "{ method: inferline, sampleDuration: 30 s, sampleRequests: 200 }",
  themis: "{ method: themis, maxCores: 1, maxBatch: 4 }",
} as const;
type Method = keyof typeof POLICIES;
const METHODS = Object.keys(POLICIES) as Method[];

function appOf(method: Method): string {
  const task = (name: string, index: 0 | 1) => `
      - name: ${name}
        accuracy: 0.8
        model: ${name}.onnx
        profile: "p.json#${name}"
        axes: { width: [${SIZES[index].join(", ")}] }
        padding: ${PADDINGS[index]}`;
  return `version: 1
application: sized
slo: { latency: 5 s, maxViolationRate: 5% }
workload: { arrivals: { process: poisson }, loads: [20, 50] }
cluster: { pools: [{ name: here, workers: 2, pricePerHour: 1 }] }
tasks:
  - name: scale
    variants:${task("scale", 0)}
    to: [{ task: sum, inputs: { scaled: scaled } }]
  - name: sum
    variants:${task("sum", 1)}
policy: ${POLICIES[method]}
`;
}

const sessions = new Map<string, InferenceSession>();

async function ran(name: string, input: string, row: readonly number[]): Promise<number[]> {
  const session = sessions.get(name) ?? (await InferenceSession.create(at(`${name}.onnx`)));
  sessions.set(name, session);
  const { data } = Object.values(
    await session.run({ [input]: new Tensor("float32", row, [1, row.length]) }),
  )[0] as Tensor;
  return [...(data as Float32Array)];
}

function padded(row: readonly number[], index: 0 | 1): number[] {
  const size = SIZES[index].find((one) => one >= row.length) ?? 0;
  return [...row, ...new Array<number>(size - row.length).fill(PADDINGS[index])];
}

/** What onnxruntime answers for a row alone, padded to its own sizes. */
async function expectedOf(row: readonly number[]): Promise<number[]> {
  const scaled = await ran("scale", "x", padded(row, 0));
  return ran("sum", "scaled", padded(scaled, 1));
}

interface Reply {
  readonly parameters: { readonly bucket: string };
  readonly outputs: readonly { readonly name: string; readonly data: number[] }[];
}

beforeAll(() => {
  writeFileSync(at("scale.onnx"), scaleModel());
  writeFileSync(at("sum.onnx"), sumModel());
  for (const method of METHODS) writeFileSync(at(`${method}.yaml`), appOf(method));
  const measured = stratagem(
    ...["profile", at("themis.yaml"), "-o", at("p.json"), "--batches", "1,2,4", "--repeat", "5"],
    ...["--budget", "3s", "--force", "--cores", "1"],
  );
  expect(measured.status, measured.stderr).toBe(0);
}, 120_000);

test("profile measures each size of each task", () => {
  const { variants } = JSON.parse(readFileSync(at("p.json"), "utf8"));
  expect(Object.keys(variants.scale.byBucket)).toEqual(["4", "8", "16"]);
  expect(Object.keys(variants.sum.byBucket)).toEqual(["6", "16"]);
  expect(variants.sum.latencyMs).toEqual(variants.sum.byBucket["16"]);
});

test.each(METHODS)("%s compiles, simulates and serves rows of several sizes", async (method) => {
  const [app, bundle] = [`${method}.yaml`, `${method}.msgpack`];
  const compiled = stratagem("compile", at(app), "-o", at(bundle));
  expect(compiled.status, compiled.stderr).toBe(0);
  expect(stratagem("verify", at(bundle)).status).toBe(0);
  const simulated = stratagem(
    ...["simulate", at(bundle), "--arrivals", "poisson:30", "--duration", "10s", "--json"],
  );
  expect(simulated.status, simulated.stderr).toBe(0);
  await expectServed(bundle);
});

async function expectServed(bundle: string): Promise<void> {
  const server = startStratagem(
    ...["serve", "--policy", at(bundle), "--http", "127.0.0.1:0", "--json"],
  );
  try {
    const url = await urlOf(server);
    const ask = async (rows: readonly (readonly number[])[]): Promise<Reply> => {
      const shape = [rows.length, rows[0]?.length];
      const inputs = [{ name: "x", datatype: "FP32", shape, data: rows.flat() }];
      const body = JSON.stringify({ inputs });
      const reply = await fetch(`${url}/v2/models/sized/infer`, { method: "POST", body });
      expect(await reply.clone().text()).toContain("outputs");
      return (await reply.json()) as Reply;
    };
    // Many at once, so that rows of several sizes share batches.
    await Promise.all(
      Array.from({ length: 60 }, async (_, client) => {
        const width = 1 + (client % 16);
        const rows = Array.from({ length: 1 + (client % 3) }, (__, row) =>
          Array.from({ length: width }, (___, index) => client + row - index / 8),
        );
        const { parameters, outputs } = await ask(rows);
        expect(parameters.bucket).toBe(String(SIZES[0].find((size) => size >= width)));
        const sums = outputs.find(({ name }) => name === "sum.sum")?.data;
        const expected = await Promise.all(rows.map(expectedOf));
        expect(sums).toEqual(expected.flat());
      }),
    );
    const large = JSON.stringify({
      inputs: [{ name: "x", datatype: "FP32", shape: [1, 17], data: new Array(17).fill(1) }],
    });
    const refused = await fetch(`${url}/v2/models/sized/infer`, { method: "POST", body: large });
    expect(refused.status).toBe(400);
    expect(await refused.text()).toContain("expected 1 to 16, which is padded to the next of 4");
  } finally {
    server.kill();
    await once(server, "exit");
  }
}
