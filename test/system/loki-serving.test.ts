/** The whole way: HTTP, the decision core, worker processes and models. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { afterAll, afterEach, expect, test } from "vitest";
import type { LokiBundle } from "../../runtime/bundle/schema.ts";
import { type RealServer, realServer } from "../runtime/server/graph/real-server.ts";
import {
  expectedOutputs,
  FACTORS,
  LARGE_ONLY,
  type SceneRow,
  sceneBytes,
  servedPipeline,
  writeModels,
} from "../runtime/server/graph/served-pipeline.ts";
import { ofOneModel } from "../support/metrics-text.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-pipeline-"));
writeModels(folder);
afterAll(() => rmSync(folder, { recursive: true }));

let open: RealServer | undefined;
afterEach(() => open?.server.close());

async function serving(bundle: LokiBundle): Promise<RealServer> {
  open = await realServer(bundle, folder);
  return open;
}

interface Answer {
  readonly parameters: { readonly variant: string; readonly accuracy: number };
  readonly outputs: readonly { name: string; shape: number[]; data: number[] }[];
}

function inferBody(rows: readonly SceneRow[], extra: object = {}): string {
  const data = rows.map(({ crops, value }) => [crops, value]);
  const input = { name: "x", datatype: "FP32", shape: [rows.length, 2], data };
  return JSON.stringify({ inputs: [input], ...extra });
}

function infer(url: string, rows: readonly SceneRow[], extra: object = {}): Promise<Response> {
  const body = inferBody(rows, extra);
  return fetch(`${url}/v2/models/pipeline/infer`, { method: "POST", body });
}

/** Checks that an answer has the rows of its request, in order, and nothing else. */
function expectOwnRows(answer: Answer, rows: readonly SceneRow[]): void {
  const expected = expectedOutputs(rows);
  const byName = Object.fromEntries(answer.outputs.map((output) => [output.name, output]));
  const total = expected.boxes.length;
  expect(Object.keys(byName)).toEqual([
    "detect.crop_count",
    "detect.boxes",
    "detect.value",
    "classify.logits",
  ]);
  expect(byName["detect.crop_count"]).toMatchObject({
    shape: [rows.length],
    data: expected.cropCount,
  });
  expect(byName["detect.boxes"]).toMatchObject({ shape: [total, 1], data: expected.boxes });
  expect(byName["detect.value"]).toMatchObject({ shape: [rows.length, 1], data: expected.value });
  const logits = byName["classify.logits"];
  expect(logits?.shape).toEqual([total, 2]);
  for (let crop = 0; crop < total; crop++) {
    const own = expected.crops.slice(2 * crop, 2 * crop + 2);
    const answered = logits?.data.slice(2 * crop, 2 * crop + 2);
    // Either variant may have answered, but one of them did.
    expect(FACTORS.map((factor) => own.map((v) => 0 + v * factor))).toContainEqual(
      answered?.map((v) => 0 + v),
    );
  }
}

function sceneRows(client: number, round: number): SceneRow[] {
  return Array.from({ length: 1 + ((client + round) % 3) }, (_, row) => ({
    crops: (3 * client + round + row) % 5,
    value: 1 + client * 1000 + round * 10 + row,
  }));
}

test("answers every client with its own rows in order, whatever batches they share", async () => {
  const { url } = await serving(servedPipeline({ sloMs: 30_000 }));
  const client = async (index: number) => {
    for (let round = 0; round < 20; round++) {
      const rows = sceneRows(index, round);
      const reply = await infer(url, rows);
      expect(reply.status).toBe(200);
      expectOwnRows((await reply.json()) as Answer, rows);
    }
  };
  await Promise.all(Array.from({ length: 8 }, (_, index) => client(index)));
});

test("says which path answered, and tells of what is sent on only if asked", async () => {
  const { url } = await serving(servedPipeline({ sloMs: 30_000, levels: LARGE_ONLY }));
  const rows = [
    { crops: 2, value: 5 },
    { crops: 0, value: 6 },
  ];
  const outputs = [{ name: "detect.crops" }, { name: "classify.logits" }];
  const reply = await infer(url, rows, { id: "q", outputs });
  expect(reply.headers.get("stratagem-variant")).toBe("large%7Clarge");
  expect(await reply.json()).toEqual({
    model_name: "pipeline",
    model_version: "1",
    id: "q",
    parameters: { variant: "large|large", accuracy: 1 },
    outputs: [
      { name: "detect.crops", datatype: "FP32", shape: [2, 2], data: [5, 0, 5, 1] },
      { name: "classify.logits", datatype: "FP32", shape: [2, 2], data: [10, 0, 10, 2] },
    ],
  });
  const none = await infer(url, [{ crops: 0, value: 6 }]);
  expect(await none.json()).toMatchObject({
    parameters: { variant: "large", accuracy: 1 },
    outputs: [
      { name: "detect.crop_count", shape: [1], data: [0] },
      { name: "detect.boxes", shape: [0, 1], data: [] },
      { name: "detect.value", shape: [1, 1], data: [6] },
      { name: "classify.logits", shape: [0, 2], data: [] },
    ],
  });
});

test("takes and gives tensors as bytes", async () => {
  const { url } = await serving(servedPipeline({ sloMs: 30_000, levels: LARGE_ONLY }));
  const bytes = sceneBytes([
    { crops: 1, value: 3 },
    { crops: 2, value: 4 },
  ]);
  const head = JSON.stringify({
    inputs: [
      {
        name: "x",
        datatype: "FP32",
        shape: [2, 2],
        parameters: { binary_data_size: bytes.length },
      },
    ],
    parameters: { binary_data_output: true },
  });
  const reply = await fetch(`${url}/v2/models/pipeline/infer`, {
    method: "POST",
    headers: { "inference-header-content-length": String(head.length) },
    body: Buffer.concat([Buffer.from(head), bytes]),
  });
  const body = Buffer.from(await reply.arrayBuffer());
  const jsonLength = Number(reply.headers.get("inference-header-content-length"));
  const { outputs } = JSON.parse(body.toString("utf8", 0, jsonLength));
  let offset = jsonLength;
  const tensors: Buffer[] = [];
  for (const { parameters } of outputs) {
    tensors.push(body.subarray(offset, offset + parameters.binary_data_size));
    offset += parameters.binary_data_size;
  }
  const [counts, boxes, value, logits] = tensors;
  expect([counts?.readBigInt64LE(0), counts?.readBigInt64LE(8)]).toEqual([1n, 2n]);
  expect(boxes).toEqual(Buffer.from(new Float32Array([3, 4, 5]).buffer));
  expect(value).toEqual(Buffer.from(new Float32Array([3, 4]).buffer));
  expect(logits).toEqual(Buffer.from(new Float32Array([6, 0, 8, 0, 8, 2]).buffer));
  expect(offset).toBe(body.length);
});

test("a killed worker takes only its batch along, and comes back", async () => {
  const { url, server, executor } = await serving(servedPipeline({ sloMs: 30_000 }));
  const statuses = new Map<number, number>();
  let killed = 0;
  const client = async (index: number) => {
    for (let round = 0; round < 40; round++) {
      const rows = sceneRows(index, round);
      const reply = await infer(url, rows);
      const answer = await reply.json();
      statuses.set(reply.status, (statuses.get(reply.status) ?? 0) + 1);
      if (reply.status === 200) expectOwnRows(answer as Answer, rows);
      else expect(answer).toEqual({ error: expect.stringMatching(/.+/) });
      if (index === 0 && round % 20 === 5) {
        const pids = executor.pids().slots.filter((pid) => pid !== undefined);
        const pid = pids[killed++ % pids.length];
        if (pid !== undefined) process.kill(pid, "SIGKILL");
      }
    }
  };
  await Promise.all(Array.from({ length: 6 }, (_, index) => client(index)));
  expect(killed).toBe(2);
  // No kill harms more requests than are in the house.
  const failed = [...statuses].reduce(
    (sum, [status, count]) => sum + (status === 200 ? 0 : count),
    0,
  );
  expect(failed).toBeLessThanOrEqual(2 * 6);
  expect([...statuses.keys()].every((status) => [200, 500, 503].includes(status))).toBe(true);
  while (!server.isReady()) await new Promise(setImmediate);
  expect((await infer(url, [{ crops: 3, value: 1 }])).status).toBe(200);
});

test("a change of plan under load loses no request", async () => {
  const { url, executor } = await serving(servedPipeline({ sloMs: 500 }));
  const metrics = async () => ofOneModel(await (await fetch(`${url}/metrics`)).text());
  expect(await metrics()).toContain("stratagem_level 2\n");
  let sent = 0;
  const startMs = performance.now();
  // Sixty a second, for which the lowest level is made, until it has come down to that. In real
  // time, as the policy reads what batches take.
  const client = async (index: number) => {
    for (let round = 0; round < 60; round++) {
      await setTimeout(startMs + (1000 / 60) * sent - performance.now());
      const rows = sceneRows(index, sent++).slice(0, 1);
      const reply = await infer(url, rows);
      expect(reply.status).toBe(200);
      expectOwnRows((await reply.json()) as Answer, rows);
    }
  };
  await Promise.all(Array.from({ length: 8 }, (_, index) => client(index)));
  const text = await metrics();
  expect(text).toContain("stratagem_level 0\n");
  expect(text).toContain(`stratagem_queries_total{outcome="satisfied"} ${sent}\n`);
  expect(executor.pids().slots.filter((pid) => pid !== undefined)).toHaveLength(4);
});
