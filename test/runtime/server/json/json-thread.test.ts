/** Long JSON beside the event loop: by a thread that may hang, end or be asked too much. */
import { afterEach, expect, test } from "vitest";
import { inferLimits } from "../../../../runtime/server/bodies/body-memory.ts";
import type { ReadModel } from "../../../../runtime/server/json/json-jobs.ts";
import { JsonThread, type JsonThreadLimits } from "../../../../runtime/server/json/json-thread.ts";
import { parseInferRequest } from "../../../../runtime/server/protocol/protocol.ts";
import { signatureOf } from "../../../../runtime/server/tensors/signature.ts";
import { jsonOfBytes } from "../../../../runtime/server/tensors/tensors.ts";
import { ECHOED, servedBundle } from "../harness.ts";

const INPUT = { name: "x", dtype: "int64", shape: [-1, 40_000] };
const { names, inputs, outputs, variants } = signatureOf(servedBundle({}, [INPUT], [ECHOED]));
const signature = { names, inputs, outputs, variants: variants.map(({ name }) => ({ name })) };
const MODEL: ReadModel = {
  signature,
  maxRows: 4,
  parts: inferLimits(inputs, 4, 2 ** 26).parts,
};

const open: JsonThread[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((thread) => thread.close()));
});

function started(limits: Partial<JsonThreadLimits> = {}, program?: URL): JsonThread {
  const thread = new JsonThread(limits, program);
  open.push(thread);
  return thread;
}

/** A thread whose program is this text. */
function programOf(text: string): URL {
  return new URL(`data:text/javascript,${encodeURIComponent(text)}`);
}

const HANGS_AT_FIRST = `
  import { parentPort } from "node:worker_threads";
  parentPort.on("message", () => { for (;;); });
`;

function rightBody(more = {}): Buffer {
  const data = Array.from({ length: 40_000 }, (_, index) => index);
  const text = JSON.stringify({
    inputs: [{ name: "x", datatype: "INT64", shape: [1, 40_000], data }],
    ...more,
  });
  return Buffer.from(text.replace("[0,1,", "[9223372036854775807,-9223372036854775808,"));
}

function copyOf(body: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(body.length);
  body.copy(copy);
  return copy;
}

test("reads as the event loop would, and refuses with the same words", async () => {
  const thread = started();
  expect(thread.isRunning).toBe(false);
  const body = rightBody({ id: "long", parameters: { timeout: 5 } });
  const read = await thread.read(MODEL, copyOf(body), undefined);
  expect(thread.isRunning).toBe(true);
  expect(read).toEqual(parseInferRequest(body, undefined, signature, 4));
  for (const wrong of [rightBody({ id: 5 }), body.subarray(0, 70_000)]) {
    let message = "";
    try {
      parseInferRequest(wrong, undefined, signature, 4);
    } catch (error) {
      message = (error as Error).message;
    }
    expect(message).toMatch(/^(id: expected a string|request: expected JSON)/);
    const refused = thread.read(MODEL, copyOf(wrong), undefined);
    await expect(refused).rejects.toMatchObject({ status: 400, message });
  }
});

test.each([
  ["arrays and objects", "[],", "containers"],
  ["arrays and objects", "{},", "containers"],
  ["names and strings", '"",', "strings"],
  ["names and values", "0,", "values"],
] as const)("refuses JSON of more %s than the shapes need: %s", async (words, part, kind) => {
  const most = MODEL.parts[kind];
  const body = Buffer.from(`{"inputs":[${part.repeat(most)}0]}`);
  await expect(started().read(MODEL, body, undefined)).rejects.toMatchObject({
    status: 400,
    message: expect.stringContaining(`(of at most ${most} ${words}, got `),
  });
});

test("writes as the event loop would, also where the text is made in pieces", async () => {
  const thread = started();
  const floats = Float32Array.from({ length: 150_000 }, (_, index) => index / 7);
  const bytes = new Uint8Array(floats.buffer);
  const expected = jsonOfBytes("FP32", bytes);
  const text = await thread.write("FP32", new Uint8Array(bytes));
  expect(Buffer.from(text ?? []).toString()).toBe(expected);
  floats[149_999] = Number.NaN;
  expect(await thread.write("FP32", new Uint8Array(bytes))).toBeUndefined();
  expect(Buffer.from((await thread.write("FP32", new Uint8Array())) ?? []).toString()).toBe("[]");
});

test("a thread that hangs is replaced, and its job refused", async () => {
  const thread = started({ jobTimeoutMs: 20 }, programOf(HANGS_AT_FIRST));
  const both = [
    thread.read(MODEL, rightBody(), undefined),
    thread.read(MODEL, rightBody(), undefined),
  ];
  for (const one of both) {
    await expect(one).rejects.toMatchObject({
      status: 413,
      message: "request: reading its JSON took longer than 20 ms",
    });
  }
});

test("a thread that ends by itself is replaced, and its job refused", async () => {
  const thread = started({}, programOf("process.exit(3)"));
  await expect(thread.read(MODEL, rightBody(), undefined)).rejects.toMatchObject({ status: 413 });
  const bytes = new Uint8Array(8);
  await expect(thread.write("FP32", bytes)).rejects.toMatchObject({ status: 500 });
});

test("refuses what would wait behind too many, to be tried again", async () => {
  const thread = started({ maxWaiting: 2, jobTimeoutMs: 60_000 }, programOf(HANGS_AT_FIRST));
  const waiting = [1, 2, 3].map(() => thread.read(MODEL, rightBody(), undefined));
  await expect(thread.read(MODEL, rightBody(), undefined)).rejects.toMatchObject({
    status: 503,
    headers: { "retry-after": "1" },
    message: "request: 2 long bodies wait to be read, try again later",
  });
  const refusals = waiting.map((one) => expect(one).rejects.toMatchObject({ status: 503 }));
  await thread.close();
  await Promise.all(refusals);
});

const COUNTS_JOBS = `
  import { parentPort } from "node:worker_threads";
  let jobs = 0;
  parentPort.on("message", ({ kind }) => {
    jobs++;
    if (kind === "write") parentPort.postMessage({ kind: "written", text: null });
    else parentPort.postMessage({ kind: jobs > 6 ? "refused" : "read", message: "job " + jobs });
  });
`;

test("is warm after three jobs of each kind, and stays: a request starts no thread", async () => {
  const thread = started({}, programOf(COUNTS_JOBS));
  await thread.warm();
  expect(thread.isRunning).toBe(true);
  await expect(thread.read(MODEL, rightBody(), undefined)).rejects.toThrow("job 7");
  await expect(thread.read(MODEL, rightBody(), undefined)).rejects.toThrow("job 8");
});

test("warms its own program without a failure", async () => {
  const thread = started();
  await expect(thread.warm()).resolves.toBeUndefined();
});
