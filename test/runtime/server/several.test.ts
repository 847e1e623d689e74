import { afterEach, expect, test } from "vitest";
import { ramsisApplication } from "../../../runtime/methods/ramsis/serve/ramsis-application.ts";
import type { RunningServer } from "../../../runtime/server/serve.ts";
import { serveSeveral } from "../../support/serve-one.ts";
import { FakeExecutor, inferJson, servedBundle } from "./harness.ts";

const open: RunningServer[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((server) => server.close()));
});

interface Hosted {
  readonly server: RunningServer;
  readonly executors: ReadonlyMap<string, FakeExecutor>;
}

/** Serves a tiny application of each name, without a worker that is ready. */
async function serve(names: readonly string[], failing?: string): Promise<Hosted> {
  const executors = new Map<string, FakeExecutor>();
  const nowMs = () => 1000;
  const applications = names.map((application) =>
    ramsisApplication({
      bundle: { ...servedBundle(), application },
      bundleSha256: "ab".repeat(32),
      nowMs,
      executorFactory: (handlers) => {
        if (application === failing) throw new Error("no means");
        const executor = new FakeExecutor(handlers);
        executors.set(application, executor);
        hosted.push(executor);
        return executor;
      },
    }),
  );
  const hosted: FakeExecutor[] = [];
  try {
    const at = { host: "127.0.0.1", port: 0, nowMs, version: "0.0.0" };
    const server = await serveSeveral(applications, at);
    open.push(server);
    return { server, executors };
  } catch (error) {
    expect(hosted.map(({ isClosed }) => isClosed)).toEqual(hosted.map(() => true));
    throw error;
  }
}

test("each model is ready when its own workers are, and the server when all are", async () => {
  const { server, executors } = await serve(["one", "two"]);
  const status = async (path: string) => (await fetch(server.url + path)).status;
  const paths = ["one/ready", "two/ready"].map((path) => `/v2/models/${path}`);
  const ready = () => Promise.all([...paths, "/v2/health/ready"].map(status));
  const infer = async (name: string) => {
    const body = inferJson([[1, 2]]);
    const url = `${server.url}/v2/models/${name}/infer`;
    return (await fetch(url, { method: "POST", body })).status;
  };
  const index = async (body?: string) => {
    const asked = { method: "POST", ...(body === undefined ? {} : { body }) };
    const reply = await fetch(`${server.url}/v2/repository/index`, asked);
    const entries = (await reply.json()) as { name: string; state: string }[];
    return entries.map(({ name, state }) => `${name} ${state}`);
  };
  expect(await ready()).toEqual([503, 503, 503]);
  executors.get("two")?.handlers.onReady(0);
  executors.get("two")?.handlers.onReady(1);
  expect(await ready()).toEqual([503, 200, 503]);
  expect(server.isReady()).toBe(false);
  expect([await infer("one"), await infer("two")]).toEqual([503, 200]);
  // Both have a task of this name.
  expect(await infer("classify")).toBe(404);
  expect(await index()).toEqual(["one UNAVAILABLE", "two READY"]);
  expect(await index('{"ready": true}')).toEqual(["two READY"]);
  executors.get("one")?.handlers.onReady(0);
  executors.get("one")?.handlers.onReady(1);
  expect(await ready()).toEqual([200, 200, 200]);
  expect(await infer("one")).toBe(200);
  executors.get("two")?.handlers.onLost(0, "killed");
  executors.get("two")?.handlers.onLost(1, "killed");
  expect(await ready()).toEqual([200, 503, 503]);
  expect(await infer("one")).toBe(200);
});

test("statistics and metrics tell of all models", async () => {
  const { server } = await serve(["one", "two"]);
  const told = await (await fetch(`${server.url}/v2/models/stats`)).json();
  const { model_stats: all } = told as { model_stats: { name: string }[] };
  expect(all.map(({ name }) => name)).toEqual(["one", "two"]);
  const metrics = await (await fetch(`${server.url}/metrics`)).text();
  for (const name of ["one", "two"]) expect(metrics).toContain(`model="${name}"`);
});

test("an application whose workers cannot be started takes all others along", async () => {
  await expect(serve(["one", "two", "three"], "three")).rejects.toThrow("no means");
});
