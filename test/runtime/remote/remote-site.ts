/** Executors over remote workers, and servers that act as such workers. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Batch, VariantModel } from "../../../runtime/exec/models/executor.ts";
import type { ProcessExecutor } from "../../../runtime/exec/pool/worker-pool.ts";
import { Hops } from "../../../runtime/remote/hops.ts";
import { startRemoteExecutor } from "../../../runtime/remote/remote-executor.ts";
import type { RemoteOptions } from "../../../runtime/remote/remote-options.ts";
import {
  fixedWorkers,
  type RemoteWorkers,
  workersAt,
} from "../../../runtime/remote/remote-workers.ts";

export const WIDTH = 4;

export const closing: (() => unknown)[] = [];

/** After each test. */
export async function closeAll(): Promise<void> {
  for (const close of closing.splice(0).reverse()) await close();
}

const TENSOR = { dtype: "float32", shape: [-1, WIDTH] };

export function variantOf(name: string, file = name): VariantModel {
  const path = `${file}.onnx`;
  const tensors = { inputs: [{ name: "x", ...TENSOR }], outputs: [{ name: "y", ...TENSOR }] };
  return { name, path, ...tensors, warmBatches: [1], largestBatch: 8 };
}

/** What an executor told, one after the other. */
export class Told {
  readonly #told: string[] = [];
  readonly #waiting: ((event: string) => void)[] = [];

  readonly tell = (event: string): void => {
    const receiver = this.#waiting.shift();
    if (receiver === undefined) this.#told.push(event);
    else receiver(event);
  };

  async next(): Promise<string> {
    return this.#told.shift() ?? new Promise((resolve) => this.#waiting.push(resolve));
  }
}

export function options(workers: RemoteWorkers, more: Partial<RemoteOptions> = {}): RemoteOptions {
  const { workerCount = 1 } = more;
  return {
    variants: [variantOf("a variant", "m")],
    workerCount,
    threadsPerWorker: 1,
    pools: new Array<number>(workerCount).fill(0),
    poolNames: ["default"],
    workers,
    frontEnd: "front",
    hops: new Hops(0, () => {}),
    readToken: () => Promise.resolve(null),
    onNotice: () => {},
    limits: { heartbeatMs: 50, heartbeatAnswerMs: 10_000, backoffMs: 10 },
    ...more,
  };
}

export async function executorOf(urls: readonly string[], more: Partial<RemoteOptions> = {}) {
  const told = new Told();
  const workers = more.workers ?? fixedWorkers(workersAt("default", urls));
  const executor = await startRemoteExecutor(options(workers, more), {
    onReady: (slot) => told.tell(`ready ${slot}`),
    onLost: (slot, reason) => told.tell(`lost ${slot}: ${reason}`),
    onReplaced: (slot, reason) => told.tell(`replaced ${slot}: ${reason}`),
  });
  closing.push(() => executor.close());
  return { executor, told };
}

export function batchOf(rows: number, more: Partial<Batch> = {}): Batch {
  const numbers = Float32Array.from({ length: rows * WIDTH }, (_, index) => index);
  const bytes = new Uint8Array(numbers.buffer);
  // As of two requests.
  return { variant: 0, rows, inputs: [[bytes.subarray(0, 16), bytes.subarray(16)]], ...more };
}

export function rowsOf(executor: ProcessExecutor, slot: number, batch: Batch) {
  return executor.run(slot, batch).then(({ outputs: [output] }) => ({
    shape: output?.shape,
    values: output === undefined ? [] : [...new Float32Array(output.bytes.slice().buffer)],
  }));
}

export interface OtherServer {
  readonly url: string;
  readonly ids: string[];
  readonly server: Server;
}

export type Answer = (body: Buffer, response: ServerResponse, request: IncomingMessage) => void;

/** A v2 server that is none of ours. @param pages JSON by path, before its own. */
export async function otherServer(
  infer: Answer,
  pages: Readonly<Record<string, object>> = {},
): Promise<OtherServer> {
  const ids: string[] = [];
  const tensor = { datatype: "FP32", shape: [-1, WIDTH] };
  const told: Readonly<Record<string, object>> = {
    "/v2/health/ready": {},
    "/v2/models/m": {
      name: "m",
      inputs: [{ name: "x", ...tensor }],
      outputs: [{ name: "y", ...tensor }],
    },
  };
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    const page = pages[request.url ?? ""] ?? told[request.url ?? ""];
    if (page !== undefined) response.end(JSON.stringify(page));
    else if (request.url !== "/v2/models/m/infer") response.writeHead(404).end("{}");
    else {
      const length = Number(request.headers["inference-header-content-length"]);
      ids.push(JSON.parse(body.subarray(0, length).toString()).id);
      infer(body.subarray(length), response, request);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.push(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, ids, server };
}

export const echo: Answer = (tensor, response) => {
  const rows = tensor.length / 4 / WIDTH;
  const parameters = { binary_data_size: tensor.length };
  const outputs = [{ name: "y", datatype: "FP32", shape: [rows, WIDTH], parameters }];
  const json = Buffer.from(JSON.stringify({ model_name: "m", outputs }));
  response.setHeader("inference-header-content-length", json.length);
  response.end(Buffer.concat([json, tensor]));
};
