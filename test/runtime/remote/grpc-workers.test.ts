/** Workers of other machines over gRPC: what is asked of them and what follows. */
import { Metadata, status } from "@grpc/grpc-js";
import { afterEach, expect, test } from "vitest";
import { InferenceError, WorkerLostError } from "../../../runtime/exec/executor.ts";
import { Hops } from "../../../runtime/remote/hops.ts";
import { fixedWorkers } from "../../../runtime/remote/remote-workers.ts";
import { exposition } from "../../../runtime/server/metrics/exposition.ts";
import { echoed, grpcSite } from "./grpc-site.ts";
import { batchOf, closeAll, executorOf, rowsOf, WIDTH } from "./remote-site.ts";

afterEach(closeAll);

const numbers = (rows: number) => Array.from({ length: rows * WIDTH }, (_, index) => index);

test("batches are raw contents under names of their own, with lease and deadline", async () => {
  const { url, ids, heads, deadlinesMs } = await grpcSite();
  const member = { name: "w", url, pool: "default", lease: "front/3" };
  const { executor } = await executorOf([], {
    workers: fixedWorkers([member]),
    readToken: () => Promise.resolve("Bearer secret"),
  });
  for (const rows of [1, 3, 8]) {
    const answer = await rowsOf(executor, 0, batchOf(rows));
    expect(answer).toEqual({ shape: [rows, WIDTH], values: numbers(rows) });
  }
  expect(new Set(ids).size).toBe(3);
  for (const id of ids) expect(id).toMatch(/^front-\d+$/);
  for (const head of heads) {
    expect(head.get("stratagem-lease")).toEqual(["front/3"]);
    expect(head.get("authorization")).toEqual(["Bearer secret"]);
    expect(Number(head.get("stratagem-deadline-ms")[0])).toBeGreaterThan(0);
  }
  for (const ms of deadlinesMs) expect(ms).toBeGreaterThan(Date.now());
});

test.each([
  [{ dynamicBatching: true }, /expected no dynamic_batching/],
  [{ maxBatchSize: 4 }, /at least 8 .*, got 4/],
])("a server that makes batches of its own is refused: %j", async (config, message) => {
  const { url } = await grpcSite({ config });
  await expect(executorOf([url])).rejects.toThrow(message);
});

test("a model that is not there is loaded, by the repository extension", async () => {
  const { url, loads } = await grpcSite({ isLoaded: false });
  const { executor } = await executorOf([url]);
  expect(loads).toEqual([{ model: "m", parameters: {} }]);
  expect(await rowsOf(executor, 0, batchOf(2))).toMatchObject({ values: numbers(2) });
});

test("a server that is busy is asked again; what it refuses harms no other batch", async () => {
  const said = [
    { code: status.UNAVAILABLE, details: "no room" },
    { code: status.RESOURCE_EXHAUSTED, details: "too many requests" },
    { code: status.INVALID_ARGUMENT, details: "not this one" },
  ];
  const { url, ids } = await grpcSite({
    infer: (message, reply) => {
      const refusal = said.shift();
      if (refusal === undefined) reply(null, echoed(message));
      else reply(refusal);
    },
  });
  const { executor } = await executorOf([url]);
  await expect(executor.run(0, batchOf(2))).rejects.toThrow(InferenceError);
  expect(ids.length).toBe(3);
  expect(await rowsOf(executor, 0, batchOf(1))).toMatchObject({ shape: [1, WIDTH] });
});

test("a server that ends under a batch is lost, and comes back", async () => {
  const first = await grpcSite({ infer: () => first.server.forceShutdown() });
  const { executor, told } = await executorOf([first.url]);
  expect(await told.next()).toBe("ready 0");
  await expect(executor.run(0, batchOf(1))).rejects.toThrow(WorkerLostError);
  expect(await told.next()).toMatch(/^lost 0: grpc:/);
  await grpcSite({ port: Number(new URL(first.url).port) });
  expect(await told.next()).toBe("ready 0");
  expect(await rowsOf(executor, 0, batchOf(2))).toMatchObject({ shape: [2, WIDTH] });
});

test("a batch that ran already, or is somebody else's, costs the worker", async () => {
  const { url } = await grpcSite({
    infer: (_, reply) => reply({ code: status.FAILED_PRECONDITION, details: "it ran already" }),
  });
  const { executor } = await executorOf([url]);
  await expect(executor.run(0, batchOf(1))).rejects.toThrow(/it said 409: it ran already/);
});

test("a server that says what the run took has its hop known", async () => {
  const { url } = await grpcSite({
    infer: (message, reply) => {
      const trailer = new Metadata();
      trailer.set("stratagem-wall-ms", "0.25");
      trailer.set("stratagem-cpu-ms", "0.125");
      reply(null, echoed(message), trailer);
    },
  });
  const hops = new Hops(0, () => {});
  const { executor } = await executorOf([url], { hops });
  expect(await executor.run(0, batchOf(1))).toMatchObject({ wallMs: 0.25, cpuMs: 0.125 });
  expect(exposition(hops.metricLines())).toContain(
    `stratagem_worker_hop_seconds_count{pool="default",worker="${url}"} 1`,
  );
});

test("an answer without the bytes of its outputs is none", async () => {
  const { url } = await grpcSite({ infer: (_, reply) => reply(null, new Uint8Array()) });
  const { executor } = await executorOf([url]);
  await expect(executor.run(0, batchOf(1))).rejects.toThrow(/output "y" is missing/);
});
