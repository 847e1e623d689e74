/** Models of other servers: what is asked of them, and what is made of what they answer. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { VariantModel } from "../../../../runtime/exec/models/executor.ts";
import { readHost } from "../../../../runtime/exec/modules/host-source.ts";
import { RemoteModel } from "../../../../runtime/exec/modules/remote-model.ts";

const LENGTH = "inference-header-content-length";
const X = { name: "x", datatype: "FP32", shape: [-1, 2] };
const Y = { name: "y", datatype: "BYTES", shape: [-1] };
const TOLD = { name: "m", inputs: [X], outputs: [Y] };

type Handler = (request: IncomingMessage, response: ServerResponse, body: Buffer) => void;

let server: Server;
let url: string;
let onInfer: Handler;
let served: unknown;
const sockets = new Set<unknown>();

beforeAll(async () => {
  server = createServer(async (request, response) => {
    sockets.add(request.socket);
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    if (request.url === "/base/v2/models/a%2Fb") response.end(JSON.stringify(served));
    else if (request.url === "/base/v2/models/a%2Fb/infer") {
      onInfer(request, response, Buffer.concat(chunks));
    } else response.writeHead(404).end(JSON.stringify({ error: "unknown model" }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  url = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}/base`;
});
afterAll(() => server.close());
beforeEach(() => {
  served = TOLD;
  onInfer = (_, response) => response.writeHead(500).end();
});

const source = (model = "a/b") => ({ kind: "remote", url, model }) as const;

function variant(more: Partial<VariantModel> = {}): VariantModel {
  return {
    name: "far",
    path: `${url}/v2/models/a%2Fb`,
    inputs: [{ name: "x", dtype: "float32", shape: [-1, 2] }],
    outputs: [{ name: "y", dtype: "string", shape: [-1] }],
    warmBatches: [1],
    ...more,
  };
}

function load(timeoutMs = 5000, more: Partial<VariantModel> = {}): Promise<RemoteModel> {
  return RemoteModel.load(variant(more), { url, model: "a/b", timeoutMs }, 1, () => {});
}

const ROWS = Float32Array.of(1, 2, 3, 4);
const BYTES = new Uint8Array(ROWS.buffer);

/** Answers with that JSON, and bytes behind it. */
function answering(outputs: unknown, bytes: Buffer = Buffer.alloc(0)): Handler {
  return (_, response) => {
    const json = Buffer.from(JSON.stringify({ model_name: "a/b", outputs }));
    response.setHeader(LENGTH, json.length).end(Buffer.concat([json, bytes]));
  };
}

const TEXTS = Buffer.from([1, 0, 0, 0, 97, 2, 0, 0, 0, 98, 99]);
const SIZED = { name: "y", datatype: "BYTES", parameters: { binary_data_size: TEXTS.length } };

test("what it takes and gives is read from the server", async () => {
  const read = await readHost(source(), 5000);
  expect(read).toMatchObject({
    file: "a_b",
    inputs: variant().inputs,
    outputs: variant().outputs,
    remote: { url, model: "a/b" },
  });
  expect(read.sha256).toMatch(/^[0-9a-f]{64}$/);
});

test.each([
  [{ ...TOLD, inputs: [{ ...X, shape: [4, 2] }] }, /first axis is the rows, −1, got \[4, 2\]/],
  [{ ...TOLD, inputs: [{ ...X, datatype: "BF16" }] }, /element type BF16 is not supported/],
  [{ ...TOLD, outputs: "many" }, /expected outputs to be a list/],
  [[], /expected its description to be an object/],
  [{ ...TOLD, inputs: [{ ...X, name: 5 }] }, /expected inputs\[0\] to have a name/],
])("a description that is none is refused: %#", async (description, message) => {
  served = description;
  await expect(readHost(source(), 5000)).rejects.toThrow(message);
});

test("a missing model is reported with the server's message", async () => {
  const expected = `remote ${url}/v2/models/other answered 404: unknown model`;
  await expect(readHost(source("other"), 5000)).rejects.toThrow(expected);
});

test("an unreachable server is reported", async () => {
  const nobody = { ...source(), url: "http://127.0.0.1:9" };
  await expect(readHost(nobody, 5000)).rejects.toThrow(
    /^remote http:\/\/127\.0\.0\.1:9\/v2\/models\/a%2Fb: .+/,
  );
});

test("a batch goes there as bytes and comes back as bytes, over one connection", async () => {
  const model = await load();
  const asked: unknown[] = [];
  sockets.clear();
  onInfer = (request, response, body) => {
    const length = Number(request.headers[LENGTH]);
    asked.push(JSON.parse(body.toString("utf8", 0, length)), body.subarray(length));
    answering([{ ...SIZED, shape: [2] }], TEXTS)(request, response, body);
  };
  for (let run = 0; run < 2; run++) {
    const { outputs, cores } = await model.run(2, [BYTES]);
    expect(cores).toBe(1);
    expect(outputs.map(({ shape, bytes }) => [shape, Buffer.from(bytes)])).toEqual([[[2], TEXTS]]);
  }
  expect(asked[0]).toEqual({
    inputs: [{ ...X, shape: [2, 2], parameters: { binary_data_size: 16 } }],
    outputs: [{ name: "y", parameters: { binary_data: true } }],
  });
  expect(asked[1]).toEqual(Buffer.from(ROWS.buffer));
  expect(sockets.size).toBe(1);
});

test.each([
  [
    "says no",
    (_, response) => response.writeHead(503).end('{"error":"no\\n room"}'),
    "answered 503: no room",
  ],
  ["says nothing", (_, response) => response.writeHead(502).end(), "answered 502: nothing"],
  ["hangs up", (request) => request.socket.destroy(), /\/infer: .+/],
  ["answers no JSON", (_, response) => response.end("<html>"), /\/infer: .*JSON/],
  [
    "leads elsewhere",
    (_, response) => response.writeHead(307, { location: "/" }).end(),
    /redirect/,
  ],
  ["answers nothing", answering([]), 'output "y" is missing'],
  [
    "answers in JSON",
    answering([{ ...SIZED, parameters: {} }]),
    'output "y": expected binary data',
  ],
  ["answers something else", answering([{ ...SIZED, name: "z" }]), "that was not requested"],
  ["adds bytes", answering([{ ...SIZED, shape: [2] }], Buffer.concat([TEXTS, TEXTS])), "11 more"],
  ["cuts it short", answering([{ ...SIZED, shape: [2] }]), 'output "y": its data are cut short'],
  [
    "answers another type",
    answering([{ ...SIZED, datatype: "FP32", shape: [2] }], TEXTS),
    'output "y": expected BYTES and a shape, got FP32 [2]',
  ],
  [
    "answers other rows",
    answering([{ ...SIZED, shape: [3] }], TEXTS),
    'output "y": expected BYTES [2], got [3]',
  ],
  [
    "answers other bytes",
    answering([{ ...SIZED, shape: [2] }], Buffer.alloc(TEXTS.length)),
    'output "y": expected the bytes of BYTES [2], got 11 bytes',
  ],
] satisfies [string, Handler, string | RegExp][])(
  "a server that %s fails the batch",
  async (_, handler, message) => {
    const model = await load();
    onInfer = handler;
    const run = model.run(2, [BYTES]);
    await expect(run).rejects.toThrow(message);
    await expect(run).rejects.toThrow(/^remote http:\/\/127\.0\.0\.1:\d+\/base\/v2\/models\/a%2Fb/);
  },
);

test("what it refuses of one row is that row's fault, and of several nobody's", async () => {
  const model = await load();
  onInfer = (_, response) => response.writeHead(400).end('{"error":"no image"}');
  const one = model.run(1, [BYTES.subarray(0, 8)]);
  await expect(one).rejects.toMatchObject({
    rows: [0],
    message: expect.stringMatching(/answered 400: no image$/),
  });
  const two = model.run(2, [BYTES]);
  await expect(two).rejects.toThrow(/answered 400: no image$/);
  await expect(two).rejects.not.toHaveProperty("rows");
});

test("a server that does not answer is given up", async () => {
  const model = await load(50);
  onInfer = () => {};
  await expect(model.run(2, [BYTES])).rejects.toThrow(/\/infer: no complete answer within 50 ms$/);
});

test("a model that has become another is refused at the start", async () => {
  served = { ...TOLD, inputs: [{ ...X, shape: [-1, 3] }] };
  const expected = "expected the inputs x FP32 [rows, 2]; has x FP32 [rows, 3]";
  await expect(load()).rejects.toThrow(expected);
  await expect(load()).rejects.toThrow(/^far \(http:\/\/127/);
});
