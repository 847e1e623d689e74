/** Memory of bodies is used again, and never while anybody may still read it. */
import type { ClientRequest } from "node:http";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { TensorInfo } from "../../../../runtime/bundle/schema.ts";
import { BodyMemory, YoungMemory } from "../../../../runtime/server/bodies/body-memory.ts";
import { call, closeAll, type Harness, INFER, serve, servedBundle } from "../harness.ts";

const KIB = 1024;

describe("memory of bodies", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test("that is given back is taken again for a body of about the size", () => {
    const memory = new BodyMemory();
    const first = memory.take(100 * KIB);
    expect(first).toHaveLength(100 * KIB);
    if (first !== undefined) memory.giveBack(first.buffer);
    expect(memory.keptBytes).toBe(128 * KIB);
    expect(memory.take(120 * KIB)?.buffer).toBe(first?.buffer);
    expect(memory.take(120 * KIB)?.buffer).not.toBe(first?.buffer);
    expect(memory.keptBytes).toBe(0);
  });

  test("is taken back once, and only what was taken", () => {
    const memory = new BodyMemory();
    const taken = memory.take(64 * KIB)?.buffer ?? new ArrayBuffer(0);
    memory.giveBack(taken);
    memory.giveBack(taken);
    memory.giveBack(new ArrayBuffer(64 * KIB));
    memory.giveBack(new SharedArrayBuffer(64 * KIB));
    expect(memory.keptBytes).toBe(64 * KIB);
  });

  test("that another thread has taken over is not kept", () => {
    const memory = new BodyMemory();
    const taken = memory.take(64 * KIB)?.buffer as ArrayBuffer;
    structuredClone(taken, { transfer: [taken] });
    memory.giveBack(taken);
    expect(memory.keptBytes).toBe(0);
  });

  test("is kept up to a limit, and within a minute of idleness not at all", () => {
    const memory = new BodyMemory(1024 * KIB);
    const taken = Array.from({ length: 20 }, () => memory.take(128 * KIB));
    for (const body of taken) if (body !== undefined) memory.giveBack(body.buffer);
    expect(memory.keptBytes).toBe(1024 * KIB);
    vi.advanceTimersByTime(60_000);
    expect(memory.keptBytes).toBe(0);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("of short and of very long bodies is not kept", () => {
    const memory = new BodyMemory();
    expect(memory.take(64 * KIB - 1)).toBeUndefined();
    expect(memory.take(1024 * KIB + 1)).toBeUndefined();
  });
});

test("what is young is collected after as many bytes as make V8 mark its heap", () => {
  const collect = vi.fn();
  const young = new YoungMemory(collect);
  for (let chunk = 0; chunk < 2 * 24 * 16; chunk++) young.onBytes(64 * KIB);
  expect(collect.mock.calls).toEqual([[{ type: "minor" }], [{ type: "minor" }]]);
});

describe("a server of large bodies", () => {
  afterEach(closeAll);

  const WIDTH = 50_000;
  const X: TensorInfo = { name: "x", dtype: "uint8", shape: [-1, 2 * WIDTH] };
  const Y: TensorInfo = { name: "y", dtype: "uint8", shape: [-1, 2 * WIDTH] };

  /** A request whose row is one byte again and again. */
  function ask(harness: Harness, byte: number, onRequest?: (request: ClientRequest) => void) {
    const length = 2 * WIDTH;
    const parameters = { binary_data_size: length };
    const input = { name: "x", datatype: "UINT8", shape: [1, length], parameters };
    const json = JSON.stringify({ inputs: [input], parameters: { binary_data_output: true } });
    const headers = { "inference-header-content-length": json.length };
    const body = Buffer.concat([Buffer.from(json), Buffer.alloc(length, byte)]);
    return call(harness, INFER, { body, headers, ...(onRequest ? { onRequest } : {}) });
  }

  /** The bytes that were given to a worker, as they are now. */
  function given({ executor }: Harness, batch: number): Uint8Array {
    const [part] = executor.batches[batch]?.inputs[0] ?? [];
    return part ?? new Uint8Array();
  }

  async function gauge(harness: Harness, name: string): Promise<number> {
    const text = (await call(harness, "/metrics")).body.toString();
    return Number(new RegExp(`^${name}(?:\\{.*\\})? (\\d+)$`, "m").exec(text)?.[1]);
  }

  const isFilled = (bytes: Uint8Array, byte: number) => bytes.every((one) => one === byte);

  test("uses the memory of an answered request for the next", async () => {
    const harness = await serve({ bundle: servedBundle({ maxQueue: 8 }, [X], [Y]) });
    for (const byte of [1, 2, 3]) {
      const reply = await ask(harness, byte);
      expect(reply.status).toBe(200);
      const json = Number(reply.headers["inference-header-content-length"]);
      expect(isFilled(reply.body.subarray(json), byte)).toBe(true);
    }
    expect(given(harness, 0).buffer).toBe(given(harness, 1).buffer);
    expect(isFilled(given(harness, 0), 3)).toBe(true);
  });

  test("leaves a request alone whose client has gone, for its worker may still read", async () => {
    const harness = await serve({ bundle: servedBundle({ maxQueue: 8 }, [X], [Y]) });
    const { executor } = harness;
    executor.isHolding = true;
    let gone: ClientRequest | undefined;
    const left = ask(harness, 7, (request) => {
      gone = request;
    }).catch(() => "gone");
    await executor.ran(1);
    gone?.destroy();
    expect(await left).toBe("gone");
    // The one that asks is in flight, and nobody else.
    await vi.waitFor(async () => {
      expect(await gauge(harness, 'stratagem_requests_in_flight{protocol="http"}')).toBe(1);
    });
    const others = [8, 9, 10].map((byte) => ask(harness, byte));
    // The one that is gone runs, and those that came after it wait.
    await vi.waitFor(async () => {
      expect(await gauge(harness, "stratagem_pending_queries")).toBe(4);
    });
    expect(isFilled(given(harness, 0), 7)).toBe(true);
    executor.isHolding = false;
    while (executor.held.length > 0) executor.finish();
    const replies = await Promise.all(others);
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(isFilled(given(harness, 0), 7)).toBe(true);
  });

  test("leaves a request alone whose worker was lost until another has answered", async () => {
    const harness = await serve({ bundle: servedBundle({ maxQueue: 8 }, [X], [Y]) });
    const { executor } = harness;
    executor.isHolding = true;
    const reply = ask(harness, 5);
    await executor.ran(1);
    executor.replace();
    await executor.ran(2);
    expect(isFilled(given(harness, 1), 5)).toBe(true);
    executor.isHolding = false;
    executor.finish();
    expect((await reply).status).toBe(200);
  });
});
