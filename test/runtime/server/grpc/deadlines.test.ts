/** Deadlines of gRPC clients, and timeouts in their requests, that cannot be met. */
import { type ClientUnaryCall, status } from "@grpc/grpc-js";
import { afterEach, expect, test } from "vitest";
import { ofOneModel } from "../../../support/metrics-text.ts";
import { call, closeAll, type Harness, servedBundle } from "../harness.ts";
import { closeClients, parameter, rawRequest, serveGrpc } from "./client.ts";

afterEach(async () => {
  closeClients();
  await closeAll();
});

const SLO_MS = 60_000;
const DROPPED = 'stratagem_queries_total{outcome="dropped"}';
const PENDING = "stratagem_pending_queries";
const REJECTED = 'nv_inference_request_failure{model="tiny",version="1",reason="REJECTED"}';

async function metric(harness: Harness, series: string): Promise<number> {
  const text = ofOneModel((await call(harness, "/metrics")).body.toString());
  const line = text.split("\n").find((one) => one.startsWith(`${series} `));
  return Number(line?.slice(series.length + 1) ?? Number.NaN);
}

function served(): ReturnType<typeof serveGrpc> {
  const bundle = servedBundle({ workers: 1, sloMs: SLO_MS });
  return serveGrpc({ bundle: { ...bundle, policy: { ...bundle.policy, drop: true } } });
}

const ROWS = [
  [1, 2],
  [3, 4],
];

test("a timeout below what the fastest variant takes is refused at once, and dropped", async () => {
  const harness = await served();
  const parameters = { timeout: parameter(1n) };
  const error = await harness.client.infer(rawRequest(ROWS, { parameters })).catch((one) => one);
  expect(error).toMatchObject({
    code: status.DEADLINE_EXCEEDED,
    details: expect.stringMatching(/^parameters.timeout: expected at least \d+ µs/),
  });
  expect(error.metadata.get("grpc-retry-pushback-ms")).toEqual([]);
  expect(await metric(harness, DROPPED)).toBe(2);
  expect(await metric(harness, REJECTED)).toBe(1);
  expect(harness.executor.batches).toHaveLength(0);
});

test("what waits past the deadline of its call is dropped; what is given up is not", async () => {
  const harness = await served();
  const { client, executor } = harness;
  executor.isHolding = true;
  const first = client.infer(rawRequest([[1, 2]]));
  await executor.ran(1);
  const hasty = client.infer(rawRequest(ROWS), { deadline: Date.now() + 100 });
  await expect(hasty).rejects.toMatchObject({ code: status.DEADLINE_EXCEEDED });
  while ((await metric(harness, DROPPED)) < 2) await new Promise(setImmediate);
  const calls: ClientUnaryCall[] = [];
  const gone = client.infer(rawRequest(ROWS), {
    deadline: Date.now() + SLO_MS,
    onCall: (made) => void calls.push(made),
  });
  while ((await metric(harness, PENDING)) < 3) await new Promise(setImmediate);
  calls[0]?.cancel();
  await expect(gone).rejects.toMatchObject({ code: status.CANCELLED });
  while ((await metric(harness, PENDING)) > 1) await new Promise(setImmediate);
  executor.finish();
  await first;
  expect(await metric(harness, DROPPED)).toBe(2);
  expect(await metric(harness, REJECTED)).toBe(1);
  expect(executor.batches).toHaveLength(1);
});
