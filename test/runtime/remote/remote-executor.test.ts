/** Remote workers that are servers of other vendors. */
import type { ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { InferenceError, WorkerLostError } from "../../../runtime/exec/models/executor.ts";
import { batchOf, closeAll, echo, executorOf, otherServer, rowsOf, WIDTH } from "./remote-site.ts";

afterEach(closeAll);

interface OddAnswer {
  readonly more?: number;
  readonly copies?: number;
  readonly head?: number;
  readonly encoding?: string;
}

describe("a server of another vendor", () => {
  test("runs batches with unique ids", async () => {
    const { url, ids } = await otherServer(echo);
    const { executor } = await executorOf([url]);
    for (const rows of [1, 2, 3]) {
      expect(await rowsOf(executor, 0, batchOf(rows))).toMatchObject({ shape: [rows, WIDTH] });
    }
    expect(new Set(ids).size).toBe(3);
    for (const id of ids) expect(id).toMatch(/^front-\d+$/);
  });

  test.each([
    [{ dynamic_batching: {} }, /configuration without dynamic_batching/],
    [{ sequence_batching: {} }, /configuration without sequence_batching/],
    [{ max_batch_size: 4 }, /expected max_batch_size >= 8 in its configuration, got 4/],
  ])("that does its own batching is rejected: %j", async (config, message) => {
    const { url } = await otherServer(echo, { "/v2/models/m/config": config });
    await expect(executorOf([url])).rejects.toThrow(message);
  });

  test("with another model is rejected", async () => {
    const x = [{ name: "x", datatype: "FP32", shape: [-1, 5] }];
    const page = { name: "m", inputs: x, outputs: x };
    const { url } = await otherServer(echo, { "/v2/models/m": page });
    await expect(executorOf([url])).rejects.toThrow(/its model "m": expected the inputs x FP32/);
  });

  test("that is busy is retried while time permits", async () => {
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

  test("can reject a batch without affecting others", async () => {
    let isFirst = true;
    const { url } = await otherServer((tensor, response, request) => {
      if (!isFirst) return echo(tensor, response, request);
      isFirst = false;
      return void response.writeHead(500).end(JSON.stringify({ error: "too long" }));
    });
    const { executor } = await executorOf([url]);
    const refused = executor.run(0, batchOf(2));
    await expect(refused).rejects.toBeInstanceOf(InferenceError);
    await expect(refused).rejects.toThrow(/status 500: too long/);
    expect(await rowsOf(executor, 0, batchOf(1))).toMatchObject({ shape: [1, WIDTH] });
  });

  test.each([
    ["surplus bytes", { more: 4 }, "expected 16 bytes of tensors, got 4 more"],
    ["too few bytes", { more: -4 }, 'output "y": its data are cut short'],
    ["another id", { id: "front-0" }, /expected an answer of id "front-\d+", got "front-0"/],
    ["a number as id", { id: 7 }, /expected an answer of id "front-\d+", got 7/],
    ["another model", { model_name: "n" }, 'expected an answer of model_name "m", got "n"'],
    ["an output twice", { copies: 2 }, 'output "y" is there twice'],
    ["a longer head", { head: 10 }, "expected the length of the JSON"],
    ["compressed bytes", { encoding: "gzip" }, /got content-encoding gzip/],
  ])("that answers with %s is lost, and may come back", async (_, wrong, message) => {
    const { more = 0, copies = 1, head = 0, encoding, ...fields } = wrong as OddAnswer;
    let isOdd = true;
    const { url } = await otherServer((tensor, response, request) => {
      if (!isOdd) return echo(tensor, response, request);
      isOdd = false;
      const parameters = { binary_data_size: tensor.length };
      const output = { name: "y", datatype: "FP32", shape: [1, WIDTH], parameters };
      const outputs = new Array<object>(copies).fill(output);
      const json = Buffer.from(JSON.stringify({ ...fields, outputs }));
      response.setHeader("inference-header-content-length", json.length + 1000 * head);
      if (encoding !== undefined) response.setHeader("content-encoding", encoding);
      const bytes = Buffer.alloc(copies * tensor.length + more);
      response.end(Buffer.concat([json, bytes]));
    });
    const { executor, told } = await executorOf([url]);
    expect(await told.next()).toBe("ready 0");
    const given = executor.run(0, batchOf(1));
    await expect(given).rejects.toBeInstanceOf(WorkerLostError);
    await expect(given).rejects.toThrow(message);
    expect(await told.next()).toMatch(/^lost 0: /);
    expect(await told.next()).toBe("ready 0");
    expect(await rowsOf(executor, 0, batchOf(1))).toMatchObject({ shape: [1, WIDTH] });
  });

  test("that does not answer in time is lost, and its late answer is dropped", async () => {
    const late: ServerResponse[] = [];
    const { url } = await otherServer((_, response) => void late.push(response));
    const short = { hungFloorMs: 20, firstKernelsMs: 20 };
    const limits = { heartbeatMs: 50, heartbeatAnswerMs: 10_000, backoffMs: 10, ...short };
    const { executor, told } = await executorOf([url], { limits });
    expect(await told.next()).toBe("ready 0");
    const given = executor.run(0, batchOf(1, { p99Ms: 1 }));
    await expect(given).rejects.toThrow(/no answer within 20 ms/);
    expect(await told.next()).toMatch(/^lost 0: /);
    for (const response of late) response.end();
    expect(await told.next()).toBe("ready 0");
  });

  test("that misses three heartbeats is lost and can return", async () => {
    let isReady = true;
    const { url, server } = await otherServer(echo);
    server.prependListener("request", (request, response) => {
      if (!isReady && request.url === "/v2/health/ready") response.writeHead(503).end("{}");
    });
    const { told } = await executorOf([url]);
    expect(await told.next()).toBe("ready 0");
    isReady = false;
    expect(await told.next()).toMatch(/^lost 0: .*3 heartbeats in a row failed: status 503/);
    isReady = true;
    expect(await told.next()).toBe("ready 0");
  });
});

test("an unreachable worker does not delay the start and joins later", async () => {
  const { url, server } = await otherServer(echo);
  const { port } = server.address() as AddressInfo;
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  const notices: string[] = [];
  const { executor, told } = await executorOf([url], {
    onNotice: (message) => notices.push(message),
  });
  expect(notices).toEqual([expect.stringMatching(/cannot be used: .*ECONNREFUSED/)]);
  await expect(executor.run(0, batchOf(1))).rejects.toBeInstanceOf(WorkerLostError);
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  expect(await told.next()).toBe("ready 0");
});
