/** Workers of other machines, over HTTP: our own agents, and servers that are none of ours. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import {
  type Batch,
  InferenceError,
  type VariantModel,
  WorkerLostError,
} from "../../../runtime/exec/executor.ts";
import type { ProcessExecutor } from "../../../runtime/exec/worker-pool.ts";
import { Hops } from "../../../runtime/remote/hops.ts";
import { startRemoteAssignedExecutor } from "../../../runtime/remote/remote-assigned.ts";
import { startRemoteExecutor } from "../../../runtime/remote/remote-executor.ts";
import type { RemoteOptions } from "../../../runtime/remote/remote-options.ts";
import {
  fixedWorkers,
  type RemoteMember,
  type RemoteWorkers,
  workersAt,
} from "../../../runtime/remote/remote-workers.ts";
import { exposition } from "../../../runtime/server/metrics/exposition.ts";
import { agentWith, modelFolder, type TestedAgent, WIDTH } from "../agent/built-agent.ts";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const FOLDER = modelFolder("m", "n");
const TENSOR = { dtype: "float32", shape: [-1, WIDTH] };

function variantOf(name: string, file = name): VariantModel {
  const path = join(FOLDER, `${file}.onnx`);
  const tensors = { inputs: [{ name: "x", ...TENSOR }], outputs: [{ name: "y", ...TENSOR }] };
  return { name, path, ...tensors, warmBatches: [1], largestBatch: 8 };
}

async function agent(options: Parameters<typeof agentWith>[0] = {}): Promise<TestedAgent> {
  const started = await agentWith({ models: FOLDER, ...options });
  closing.push(() => started.close());
  return started;
}

/** What an executor told, one after the other. */
class Told {
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

function options(workers: RemoteWorkers, more: Partial<RemoteOptions> = {}): RemoteOptions {
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
    limits: { heartbeatMs: 50, backoffMs: 10 },
    ...more,
  };
}

async function executorOf(urls: readonly string[], more: Partial<RemoteOptions> = {}) {
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

function batchOf(rows: number, more: Partial<Batch> = {}): Batch {
  const numbers = Float32Array.from({ length: rows * WIDTH }, (_, index) => index);
  const bytes = new Uint8Array(numbers.buffer);
  // As of two requests.
  return { variant: 0, rows, inputs: [[bytes.subarray(0, 16), bytes.subarray(16)]], ...more };
}

function rowsOf(executor: ProcessExecutor, slot: number, batch: Batch) {
  return executor.run(slot, batch).then(({ outputs: [output] }) => ({
    shape: output?.shape,
    values: output === undefined ? [] : [...new Float32Array(output.bytes.slice().buffer)],
  }));
}

describe("an agent", () => {
  test("runs batches, by the name of the file where it knows no other", async () => {
    const { url } = await agent();
    const hops = new Hops(0, () => {});
    const { executor, told } = await executorOf([url], { hops });
    expect(await told.next()).toBe("ready 0");
    const answered = await rowsOf(executor, 0, batchOf(3));
    expect(answered).toEqual({
      shape: [3, WIDTH],
      values: Array.from({ length: 3 * WIDTH }, (_, index) => index),
    });
    const lines = exposition(hops.metricLines());
    expect(lines).toContain(`stratagem_worker_hop_seconds_count{pool="default",worker="${url}"} 1`);
  });

  test("that ends under a batch is lost, and what stands by has its slot", async () => {
    const [first, second] = [await agent(), await agent({ name: "w2" })];
    const { executor, told } = await executorOf([first.url, second.url]);
    expect(await told.next()).toBe("ready 0");
    // Whichever of them has the slot is the one that is held.
    const holds = [first, second].flatMap((one) => one.pids().get("m") ?? []);
    for (const pid of holds) process.kill(pid, "SIGSTOP");
    const running = executor.run(0, batchOf(1));
    const lost = expect(running).rejects.toBeInstanceOf(WorkerLostError);
    for (;;) {
      const [one, other] = [first, second].map((each) => each.document().running);
      if (one === 0 && other === 0) await new Promise((resolve) => setImmediate(resolve));
      else {
        const pid = (one === 1 ? first : second).pids().get("m");
        if (pid !== undefined) process.kill(pid, "SIGKILL");
        break;
      }
    }
    for (const pid of holds) {
      try {
        process.kill(pid, "SIGCONT");
      } catch {
        // It is the one that was killed.
      }
    }
    await lost;
    expect(await told.next()).toMatch(/^replaced 0: .*it said 502/);
    expect(await rowsOf(executor, 0, batchOf(2))).toMatchObject({ shape: [2, WIDTH] });
  });

  test("that somebody else has leased since is lost, until it is leased again", async () => {
    const { url, client } = await agent();
    let lease = "front/1";
    let changed = () => {};
    const members = (): RemoteMember[] => [{ name: "w1", url, pool: "default", lease }];
    const onChange: RemoteWorkers["onChange"] = (listener) => {
      changed = listener;
      return () => {};
    };
    const { executor, told } = await executorOf([], { workers: { members, onChange } });
    expect(await told.next()).toBe("ready 0");
    await executor.run(0, batchOf(1));
    const headers = { "stratagem-lease": "other/2" };
    expect(await client.infer("m", { headers })).toMatchObject({ status: 200 });
    await expect(executor.run(0, batchOf(1))).rejects.toBeInstanceOf(WorkerLostError);
    expect(await told.next()).toMatch(/^lost 0: .*it said 409/);
    lease = "front/3";
    changed();
    expect(await told.next()).toBe("ready 0");
    await executor.run(0, batchOf(1));
  });

  test("loads what it is assigned, and lets the oldest go", async () => {
    const { url, client } = await agent({ load: [] });
    const told = new Told();
    const variants = [variantOf("m"), variantOf("n")];
    const workers = fixedWorkers(workersAt("default", [url]));
    const executor = await startRemoteAssignedExecutor(options(workers, { variants }), {
      onReady: (slot) => told.tell(`ready ${slot}`),
      onLost: (slot, reason) => told.tell(`lost ${slot}: ${reason}`),
      onModelReady: (slot, loads) => told.tell(`holds ${slot}: ${loads}`),
      onResized: (slot, cores) => told.tell(`resized ${slot}: ${cores}`),
    });
    closing.push(() => executor.close());
    expect(await told.next()).toBe("ready 0");
    executor.assign(0, [1], 1);
    expect(await told.next()).toBe("holds 0: 1");
    const { outputs } = await executor.run(0, batchOf(1, { variant: 1 }));
    expect(outputs).toHaveLength(1);
    await expect(executor.run(0, batchOf(1))).rejects.toBeInstanceOf(WorkerLostError);
    executor.assign(0, [1, 0], 1);
    expect(await told.next()).toBe("holds 0: 1");
    executor.resize(0, 2);
    expect(await told.next()).toBe("resized 0: 2");
    expect((await executor.run(0, batchOf(1))).cores).toBe(2);
    const { json } = await client.get("/v2/stratagem/worker");
    expect(json.models).toMatchObject([{ name: "m" }, { name: "n" }]);
  });
});

interface OtherServer {
  readonly url: string;
  readonly ids: string[];
  readonly server: Server;
}

type Answer = (body: Buffer, response: ServerResponse, request: IncomingMessage) => void;

/** A v2 server that is none of ours. @param pages JSON by path. */
async function otherServer(
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
    ...pages,
  };
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    const page = told[request.url ?? ""];
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

const echo: Answer = (tensor, response) => {
  const rows = tensor.length / 4 / WIDTH;
  const parameters = { binary_data_size: tensor.length };
  const outputs = [{ name: "y", datatype: "FP32", shape: [rows, WIDTH], parameters }];
  const json = Buffer.from(JSON.stringify({ model_name: "m", outputs }));
  response.setHeader("inference-header-content-length", json.length);
  response.end(Buffer.concat([json, tensor]));
};

describe("a server that is none of ours", () => {
  test("runs batches under names that are never used twice", async () => {
    const { url, ids } = await otherServer(echo);
    const { executor } = await executorOf([url]);
    for (const rows of [1, 2, 3]) {
      expect(await rowsOf(executor, 0, batchOf(rows))).toMatchObject({ shape: [rows, WIDTH] });
    }
    expect(new Set(ids).size).toBe(3);
    for (const id of ids) expect(id).toMatch(/^front-\d+$/);
  });

  test.each([
    [{ dynamic_batching: {} }, /expected no dynamic_batching/],
    [{ sequence_batching: {} }, /expected no sequence_batching/],
    [{ max_batch_size: 4 }, /a max_batch_size of at least 8 in its configuration, got 4/],
  ])("that makes batches of its own is refused: %j", async (config, message) => {
    const { url } = await otherServer(echo, { "/v2/models/m/config": config });
    await expect(executorOf([url])).rejects.toThrow(message);
  });

  test("that has another model is refused", async () => {
    const x = [{ name: "x", datatype: "FP32", shape: [-1, 5] }];
    const page = { name: "m", inputs: x, outputs: x };
    const { url } = await otherServer(echo, { "/v2/models/m": page });
    await expect(executorOf([url])).rejects.toThrow(/its model "m": expected the inputs x FP32/);
  });

  test("that is busy is asked again, while there is time", async () => {
    let refusals = 2;
    const { url, ids } = await otherServer((tensor, response, request) => {
      if (refusals === 0) return echo(tensor, response, request);
      refusals--;
      return void response.writeHead(503, { "retry-after": "0" }).end("{}");
    });
    const { executor } = await executorOf([url]);
    await executor.run(0, batchOf(1));
    expect(ids).toHaveLength(3);
  });

  test("may refuse a batch, which harms no other", async () => {
    let isFirst = true;
    const { url } = await otherServer((tensor, response, request) => {
      if (!isFirst) return echo(tensor, response, request);
      isFirst = false;
      return void response.writeHead(500).end(JSON.stringify({ error: "too long" }));
    });
    const { executor } = await executorOf([url]);
    const refused = executor.run(0, batchOf(2));
    await expect(refused).rejects.toBeInstanceOf(InferenceError);
    await expect(refused).rejects.toThrow(/it said 500: too long/);
    expect(await rowsOf(executor, 0, batchOf(1))).toMatchObject({ shape: [1, WIDTH] });
  });

  test("that does not answer in time is lost, and its late answer is dropped", async () => {
    const late: ServerResponse[] = [];
    const { url } = await otherServer((_, response) => void late.push(response));
    const limits = { heartbeatMs: 50, backoffMs: 10, hungFloorMs: 20, firstKernelsMs: 20 };
    const { executor, told } = await executorOf([url], { limits });
    expect(await told.next()).toBe("ready 0");
    const given = executor.run(0, batchOf(1, { p99Ms: 1 }));
    await expect(given).rejects.toThrow(/no answer within 20 ms/);
    expect(await told.next()).toMatch(/^lost 0: /);
    for (const response of late) response.end();
    expect(await told.next()).toBe("ready 0");
  });

  test("that says nothing three heartbeats long is lost, and comes back", async () => {
    let isReady = true;
    const { url, server } = await otherServer(echo);
    server.prependListener("request", (request, response) => {
      if (!isReady && request.url === "/v2/health/ready") response.writeHead(503).end("{}");
    });
    const { told } = await executorOf([url]);
    expect(await told.next()).toBe("ready 0");
    isReady = false;
    expect(await told.next()).toMatch(/^lost 0: .*3 heartbeats in a row failed: it said 503/);
    isReady = true;
    expect(await told.next()).toBe("ready 0");
  });
});

test("one that is away does not hold up the start, and is taken in once it is there", async () => {
  const { url, server } = await otherServer(echo);
  const { port } = server.address() as AddressInfo;
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  const notices: string[] = [];
  const { executor, told } = await executorOf([url], {
    onNotice: (message) => notices.push(message),
  });
  expect(notices).toEqual([expect.stringMatching(/cannot be used yet: .*ECONNREFUSED/)]);
  await expect(executor.run(0, batchOf(1))).rejects.toBeInstanceOf(WorkerLostError);
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  expect(await told.next()).toBe("ready 0");
});
