/** A model of an open width, from its file to answers: measured, compiled, simulated and served. */
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { onnxModel } from "../../lab/models/onnx-graph.ts";
import { startStratagem, stratagem, urlOf } from "../support/run-cli.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-buckets-"));
const at = (file: string) => join(folder, file);
afterAll(() => rmSync(folder, { recursive: true }));

/** The sum of each row, as often negated twice as asked. */
function sumModel(detours: number): Uint8Array {
  const names = Array.from({ length: 2 * detours + 1 }, (_, step) => `s${step}`);
  return onnxModel({
    inputs: [{ name: "x", type: "float32", shape: ["rows", "width"] }],
    constants: [{ name: "axes", type: "int64", shape: [1], values: [1] }],
    nodes: [
      { op: "Identity", inputs: ["x"], output: "s0" },
      ...names.slice(1).map((output, step) => ({ op: "Neg", inputs: [`s${step}`], output })),
      { op: "ReduceSum", inputs: [`s${2 * detours}`, "axes"], output: "y" },
    ],
    outputs: [{ name: "y", type: "float32", shape: ["rows", 1] }],
  });
}

const APP = `version: 1
application: sums
slo: { latency: 60 ms, maxViolationRate: 2% }
workload: { arrivals: { process: poisson }, loads: [50, 200] }
cluster: { workers: 2 }
tasks:
  - name: sum
    bucketShares: [60%, 30%, 10%]
    variants:
      - name: plain
        accuracy: 0.7
        model: plain.onnx
        profile: "p.json#plain"
        axes: { width: [64, 4096, 65536] }
        padding: 0.5
      - name: detour
        accuracy: 0.8
        model: detour.onnx
        profile: "p.json#detour"
        axes: { width: [64, 4096, 65536] }
        padding: 0.5
policy: { method: ramsis, maxQueue: 4 }
`;

test("profile, compile, verify, simulate and serve agree on the buckets", async () => {
  writeFileSync(at("plain.onnx"), sumModel(0));
  writeFileSync(at("detour.onnx"), sumModel(8));
  writeFileSync(at("app.yaml"), APP);
  const measured = stratagem(
    ...["profile", at("app.yaml"), "-o", at("p.json"), "--batches", "1,2,4"],
    ...["--repeat", "5", "--budget", "3s", "--force"],
  );
  expect(measured.status).toBe(0);
  const profile = JSON.parse(readFileSync(at("p.json"), "utf8"));
  expect(Object.keys(profile.variants.plain.byBucket)).toEqual(["64", "4096", "65536"]);
  expect(profile.variants.plain.latencyMs).toEqual(profile.variants.plain.byBucket["65536"]);
  const compiled = stratagem("compile", at("app.yaml"), "-o", at("b.msgpack"));
  expect(compiled.stderr).toBe("");
  expect(compiled.status).toBe(0);
  expect(stratagem("verify", at("b.msgpack")).status).toBe(0);
  const simulated = stratagem(
    ...["simulate", at("b.msgpack"), "--arrivals", "poisson:100", "--duration", "20s", "--json"],
  );
  const { byBucket } = JSON.parse(simulated.stdout);
  expect(Object.keys(byBucket)).toEqual(["64", "4096", "65536"]);
  await expectServed();
});

async function expectServed(): Promise<void> {
  const server = startStratagem(
    ...["serve", "--policy", at("b.msgpack"), "--http", "127.0.0.1:0", "--json"],
  );
  try {
    const url = await urlOf(server);
    for (const [width, bucket] of [
      [1, 64],
      [64, 64],
      [100, 4096],
      [5000, 65_536],
    ] as const) {
      const data = Array.from({ length: 2 * width }, (_, index) => (index < width ? 1 : 2));
      const inputs = [{ name: "x", datatype: "FP32", shape: [2, width], data }];
      const reply = await fetch(`${url}/v2/models/sums/infer`, {
        method: "POST",
        body: JSON.stringify({ inputs }),
      });
      const padding = 0.5 * (bucket - width);
      expect(await reply.json()).toMatchObject({
        parameters: { bucket: String(bucket) },
        outputs: [{ name: "y", shape: [2, 1], data: [width + padding, 2 * width + padding] }],
      });
    }
    const metrics = await (await fetch(`${url}/metrics`)).text();
    expect(metrics).toContain(
      'stratagem_input_elements_total{model="sums",bucket="64",kind="padding"} 126',
    );
  } finally {
    server.kill();
    await once(server, "exit");
  }
}
