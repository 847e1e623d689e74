/** What becomes of a sequence when a request of it fails, or its client goes. */
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { Access } from "../../../../runtime/server/access/access.ts";
import { call, closeAll, type Harness, INFER, jsonOf } from "../harness.ts";
import { add, seen, serveSums, summingBundle, told, waiting } from "./accumulator.ts";

afterEach(closeAll);

const START = { sequence_id: 7, sequence_start: true };
const NEXT = { sequence_id: 7 };

async function heldSums(): Promise<Harness> {
  const harness = await serveSums();
  await add(harness, 1, START);
  harness.executor.isHolding = true;
  return harness;
}

test("a request that fails leaves the state as it was, and those behind it go on", async () => {
  const harness = await heldSums();
  const { executor } = harness;
  const failing = add(harness, 10, NEXT);
  await executor.ran(2);
  const next = add(harness, 2, NEXT);
  await waiting(harness, 1);
  executor.refuse();
  executor.isHolding = false;
  expect(told(await failing)).toBe("500 small: the model said no");
  expect(told(await next)).toBe(3);
});

test("a request that begins a sequence and fails has begun it, and may be sent again", async () => {
  const harness = await serveSums();
  const { executor } = harness;
  executor.isHolding = true;
  const failing = add(harness, 10, START);
  await executor.ran(1);
  executor.refuse();
  expect((await failing).status).toBe(500);
  executor.isHolding = false;
  expect(told(await add(harness, 2, NEXT))).toBe(2);
  expect(told(await add(harness, 10, START))).toBe(10);
});

test("a request that ends a sequence and fails has not ended it", async () => {
  const harness = await heldSums();
  const { executor } = harness;
  const failing = add(harness, 10, { ...NEXT, sequence_end: true });
  await executor.ran(2);
  const behind = await add(harness, 1, NEXT);
  expect(told(behind)).toMatch(/^400 .* START flag/);
  executor.refuse();
  expect((await failing).status).toBe(500);
  executor.isHolding = false;
  expect(told(await add(harness, 10, { ...NEXT, sequence_end: true }))).toBe(11);
  expect(told(await add(harness, 1, NEXT))).toMatch(/^400 .* START flag/);
});

test("a lost worker loses no state: its batch runs again with the same", async () => {
  const harness = await heldSums();
  const { executor } = harness;
  const reply = add(harness, 10, NEXT);
  await executor.ran(2);
  executor.replace();
  await executor.ran(3);
  executor.isHolding = false;
  executor.finish();
  expect(told(await reply)).toBe(11);
  expect(told(await add(harness, 1, NEXT))).toBe(12);
});

test("time runs from a request's own coming while it waits for the one before", async () => {
  const harness = await heldSums();
  const { executor, clock } = harness;
  const first = add(harness, 10, NEXT);
  await executor.ran(2);
  const late = add(harness, 2, NEXT);
  await waiting(harness, 1);
  clock.nowMs += 99;
  executor.isHolding = false;
  executor.finish();
  expect(told(await first)).toBe(11);
  // Its 100 ms are nearly over: what it waited is part of the time that answers tell of.
  expect(told(await late)).toBe(13);
  const statistics = jsonOf(await call(harness, "/v2/models/tiny/stats")).model_stats[0];
  expect(statistics.inference_stats.queue.ns).toBe(99e6);
});

test("a request that is late for its turn is dropped, and the state is as before it", async () => {
  const bundle = summingBundle();
  const harness = await serveSums({
    bundle: { ...bundle, policy: { ...bundle.policy, drop: true } },
  });
  const { executor, clock } = harness;
  await add(harness, 1, START);
  executor.isHolding = true;
  const first = add(harness, 10, NEXT);
  await executor.ran(2);
  const late = add(harness, 2, NEXT);
  await waiting(harness, 1);
  clock.nowMs += 101;
  executor.isHolding = false;
  executor.finish();
  expect(told(await first)).toBe(11);
  expect(told(await late)).toMatch(/^503 /);
  expect(told(await add(harness, 2, NEXT))).toBe(13);
});

test("a client that goes while its request waits has not sent it", async () => {
  const harness = await heldSums();
  const { executor } = harness;
  const first = add(harness, 10, NEXT);
  await executor.ran(2);
  const input = { name: "x", datatype: "FP32", shape: [1, 2], data: [100, 0] };
  const body = JSON.stringify({ inputs: [input], parameters: NEXT });
  let leave = () => {};
  const gone = call(harness, INFER, {
    body,
    onRequest: (request) => {
      leave = () => request.destroy();
    },
  });
  gone.catch(() => {});
  await waiting(harness, 1);
  leave();
  await expect(gone).rejects.toThrow();
  await seen(harness, 'nv_inference_request_failure{model="tiny",version="1",reason="CANCELED"} 1');
  const last = add(harness, 2, NEXT);
  await waiting(harness, 2);
  executor.isHolding = false;
  executor.finish();
  expect(told(await first)).toBe(11);
  expect(told(await last)).toBe(13);
});

test("requests that wait for others of their sequences are bounded", async () => {
  const harness = await serveSums({ limits: { maxPending: 1 } });
  const { executor } = harness;
  executor.isHolding = true;
  const first = add(harness, 1, START);
  await executor.ran(1);
  const second = add(harness, 1, NEXT);
  await waiting(harness, 1);
  expect(told(await add(harness, 1, NEXT))).toBe(
    "429 queue full: at most 1 requests of sequences may wait",
  );
  executor.isHolding = false;
  executor.finish();
  expect([told(await first), told(await second)]).toEqual([1, 2]);
});

test("the same id of other clients is another sequence", async () => {
  const folder = mkdtempSync(join(tmpdir(), "stratagem-"));
  const tokens = join(folder, "tokens.yaml");
  const entry = (name: string) => {
    const hash = `sha256:${createHash("sha256").update(`secret-${name}`).digest("hex")}`;
    return { name, hash, scopes: ["infer", "metrics"] };
  };
  writeFileSync(tokens, JSON.stringify([entry("ann"), entry("bob")]));
  try {
    const access = await Access.open({ tokens }, { nowMs: () => 0 });
    const harness = await serveSums({ access });
    const by = (name: string) => ({ authorization: `Bearer secret-${name}` });
    expect(told(await add(harness, 1, START, by("ann")))).toBe(1);
    expect(told(await add(harness, 1, NEXT, by("bob")))).toMatch(/^400 .* START flag/);
    expect(told(await add(harness, 5, START, by("bob")))).toBe(5);
    expect(told(await add(harness, 1, NEXT, by("ann")))).toBe(2);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
