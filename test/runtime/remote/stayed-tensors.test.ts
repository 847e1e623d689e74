/** Tensors passed from worker to worker by an executor. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import type { Batch } from "../../../runtime/exec/models/executor.ts";
import { startDivided } from "../../../runtime/remote/divided-executor.ts";
import { Hops } from "../../../runtime/remote/hops.ts";
import { startRemoteExecutor } from "../../../runtime/remote/remote-executor.ts";
import { fixedWorkers, workersAt } from "../../../runtime/remote/remote-workers.ts";
import { agentWith, modelFolder, WIDTH } from "../agent/built-agent.ts";

const FOLDER = modelFolder("m");
const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function agent() {
  const started = await agentWith({ models: FOLDER });
  closing.push(() => started.close());
  return started;
}

/** Kept once both slots are ready. */
async function executorOn(urls: readonly string[]) {
  const tensor = { dtype: "float32", shape: [-1, WIDTH] };
  const tensors = { inputs: [{ name: "x", ...tensor }], outputs: [{ name: "y", ...tensor }] };
  const ready = new Set<number>();
  let onAll = () => {};
  const all = new Promise<void>((resolve) => {
    onAll = resolve;
  });
  const executor = await startRemoteExecutor(
    {
      variants: [{ name: "m", path: join(FOLDER, "m.onnx"), ...tensors, warmBatches: [1] }],
      workerCount: urls.length,
      threadsPerWorker: 1,
      pools: urls.map(() => 0),
      poolNames: ["default"],
      workers: fixedWorkers(workersAt("default", urls)),
      frontEnd: "front",
      hops: new Hops(0, () => {}),
      readToken: () => Promise.resolve(null),
      onNotice: () => {},
    },
    {
      onReady: (slot) => {
        ready.add(slot);
        if (ready.size === urls.length) onAll();
      },
      onLost: () => {},
    },
  );
  closing.push(() => executor.close());
  await all;
  return executor;
}

const ROWS = Float32Array.from({ length: 2 * WIDTH }, (_, index) => index);
const SENT: Batch = { variant: 0, rows: 2, inputs: [[new Uint8Array(ROWS.buffer)]] };
const STAYS: Batch = { ...SENT, stays: new Set([0]) };

test("an output stays on its worker, and another worker reads it there", async () => {
  const agents = [await agent(), await agent()];
  const urls = agents.map(({ url }) => url);
  const executor = await executorOn(urls);
  const { outputs } = await executor.run(0, STAYS);
  const [made] = outputs;
  expect(made).toMatchObject({ shape: [2, WIDTH], bytes: new Uint8Array() });
  expect(urls).toContain(made?.stayed?.url);
  const { outputs: taken } = await executor.run(1, {
    ...{ variant: 0, rows: 2, inputs: [[]], stayed: [made?.stayed] },
  });
  expect([...new Float32Array(taken[0]?.bytes.slice().buffer ?? [])]).toEqual([...ROWS]);
  expect(taken[0]).not.toHaveProperty("stayed");
});

test("a tensor that is no longer stored fails the batch, and the next one runs", async () => {
  const executor = await executorOn([(await agent()).url, (await agent()).url]);
  const { outputs } = await executor.run(0, STAYS);
  const stayed = outputs[0]?.stayed;
  expect(stayed).toBeDefined();
  if (stayed === undefined) return;
  const gone = { ...stayed, key: "01234567-89ab-cdef-0123-456789abcdef" };
  const batch = { variant: 0, rows: 2, inputs: [[]], stayed: [gone] };
  await expect(executor.run(1, batch)).rejects.toThrow("status 424");
  expect((await executor.run(0, SENT)).outputs[0]?.shape).toEqual([2, WIDTH]);
});

test("outputs are returned if a worker cannot store tensors or is local", async () => {
  const { url, client } = await agent();
  const metadata = JSON.stringify((await client.get("/v2/models/m")).json);
  // A server of others: it has the model, and no extension of ours.
  const plain = createServer((request, response) => {
    const { url: path = "" } = request;
    response.end(path === "/v2/models/m" ? metadata : "{}");
  });
  await new Promise<void>((resolve) => plain.listen(0, "127.0.0.1", resolve));
  closing.push(() => {
    plain.closeAllConnections();
    plain.close();
  });
  const other = `http://127.0.0.1:${(plain.address() as AddressInfo).port}`;
  const mixed = await executorOn([url, other]);
  for (const slot of [0, 1]) {
    const ran = await mixed.run(slot, STAYS).catch(() => null);
    // That of others answers nothing here; the agent's comes back whole.
    if (ran !== null) expect(ran.outputs[0]?.bytes).toHaveLength(32);
  }
  const handlers = { onReady: () => {}, onLost: () => {} };
  const [here, elsewhere] = [await executorOn([url]), await executorOn([url])];
  const divided = await startDivided(
    [
      { slots: [0], start: async () => here },
      { slots: [1], start: async () => elsewhere },
    ],
    handlers,
  );
  for (const slot of [0, 1]) {
    expect((await divided.run(slot, STAYS)).outputs[0]?.bytes).toHaveLength(32);
  }
});
