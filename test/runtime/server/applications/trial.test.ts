/** Two bundles of an application side by side: who answers, what is told of it, how it ends. */
import { afterEach, expect, test } from "vitest";
import type { RamsisBundle } from "../../../../runtime/bundle/schema.ts";
import { ramsisApplication } from "../../../../runtime/methods/ramsis/serve/ramsis-application.ts";
import { clientDifference } from "../../../../runtime/server/applications/client-difference.ts";
import { closeClients, rawRequest, serveGrpc } from "../grpc/client.ts";
import {
  call,
  closeAll,
  FakeExecutor,
  type Harness,
  INFER,
  inferJson,
  jsonOf,
  serve,
  servedBundle,
  X,
} from "../harness.ts";

afterEach(async () => {
  closeClients();
  await closeAll();
});

const STABLE = "abababababab";
const CANARY = "cdcdcdcdcdcd";
const NEVER = new Promise<never>(() => {});
const BODY = inferJson([[1, 2]]);

/** An application of another bundle, and the workers that it starts. */
function another({ clock }: Pick<Harness, "clock">, bundle: RamsisBundle = servedBundle()) {
  const executors: FakeExecutor[] = [];
  const application = ramsisApplication({
    bundle,
    bundleSha256: "cd".repeat(32),
    nowMs: () => clock.nowMs,
    executorFactory: (handlers) => {
      const executor = new FakeExecutor(handlers);
      executors.push(executor);
      setImmediate(() => handlers.onReady(0));
      return executor;
    },
  });
  return { application, executors };
}

/** Half of the requests go to another bundle. */
async function tried(harness: Harness, share = 0.5) {
  const { application, executors } = another(harness);
  const { trials } = harness.server;
  await trials.open(application, NEVER);
  const stable = trials.stableAt(0);
  const [executor] = executors;
  if (stable === undefined || executor === undefined) throw new Error("nothing is served");
  return { trial: trials.begin(stable, application, share), canary: application, executor };
}

function ask(harness: Harness, id?: string) {
  const headers = id === undefined ? {} : { "x-request-id": id };
  return call(harness, INFER, { body: BODY, headers });
}

async function metricsOf(harness: Harness): Promise<string> {
  return (await call(harness, "/metrics")).body.toString();
}

test("each answers its share, says so, and is counted apart", async () => {
  const harness = await serve();
  const before = await ask(harness);
  expect(before.headers["stratagem-revision"]).toBeUndefined();
  expect(jsonOf(before).parameters).not.toHaveProperty("revision");
  const { trial, executor } = await tried(harness);
  const told: Record<string, number> = { [STABLE]: 0, [CANARY]: 0 };
  for (let one = 0; one < 100; one++) {
    const reply = await ask(harness);
    const revision = String(reply.headers["stratagem-revision"]);
    expect([reply.status, jsonOf(reply).parameters.revision]).toEqual([200, revision]);
    told[revision] = (told[revision] ?? 0) + 1;
  }
  expect(told[STABLE]).toBe(trial.arms.stable.kept);
  expect(told[CANARY]).toBe(trial.arms.candidate.kept);
  expect(executor.batches).toHaveLength(trial.arms.candidate.kept);
  expect(harness.executor.batches).toHaveLength(101 - trial.arms.candidate.kept);
  expect(Math.abs(trial.arms.candidate.kept - 50)).toBeLessThan(25);
  const metrics = await metricsOf(harness);
  const success = (more: string) => {
    const pattern = new RegExp(`^nv_inference_request_success\\{${more}\\} (\\d+)$`, "m");
    return Number(pattern.exec(metrics)?.[1]);
  };
  const labels = 'model="tiny",version="1"';
  expect(success(labels)).toBe(101 - trial.arms.candidate.kept);
  expect(success(`revision="${CANARY}",${labels}`)).toBe(trial.arms.candidate.kept);
  const counted = `{model="tiny",arm="canary",revision="${CANARY}",outcome="kept"}`;
  expect(metrics).toContain(`stratagem_canary_requests_total${counted} ${told[CANARY]}\n`);
});

test("a request of the same id is answered by the same bundle, over both doors", async () => {
  const harness = await serveGrpc();
  await tried(harness);
  const revisions = new Set<string>();
  for (let one = 0; one < 12; one++) {
    const id = `client-${one}`;
    const first = (await ask(harness, id)).headers["stratagem-revision"];
    const again = (await ask(harness, id)).headers["stratagem-revision"];
    const path = "/v1/models/tiny:predict";
    const body = JSON.stringify({ instances: [[1, 2]] });
    const v1 = await call(harness, path, { body, headers: { "x-request-id": id } });
    expect([again, v1.headers["stratagem-revision"]]).toEqual([first, first]);
    revisions.add(String(first));
  }
  expect([...revisions].sort()).toEqual([STABLE, CANARY]);
  const answer = await harness.client.infer(rawRequest([[1, 2]]));
  const { value } = answer.parameters["revision"]?.parameterChoice ?? {};
  expect([STABLE, CANARY]).toContain(value);
});

test("heads of answers that come again are those of who has answered", async () => {
  const harness = await serve();
  await tried(harness);
  const json = JSON.stringify({
    inputs: [{ name: "x", datatype: "FP32", shape: [1, 2], parameters: { binary_data_size: 8 } }],
    outputs: [{ name: "y", parameters: { binary_data: true } }],
  });
  const body = Buffer.concat([Buffer.from(json), Buffer.alloc(8)]);
  const headers = { "inference-header-content-length": json.length };
  const revisions = new Set<string>();
  for (let one = 0; one < 40; one++) {
    const reply = await call(harness, INFER, { body, headers });
    const length = Number(reply.headers["inference-header-content-length"]);
    const { parameters } = JSON.parse(reply.body.subarray(0, length).toString());
    expect(parameters.revision).toBe(reply.headers["stratagem-revision"]);
    revisions.add(parameters.revision);
  }
  expect([...revisions].sort()).toEqual([STABLE, CANARY]);
});

test("what is late or fails counts against who had it, clients count for nobody", async () => {
  const harness = await serve();
  const { trial, executor } = await tried(harness);
  executor.isHolding = true;
  harness.executor.isHolding = true;
  let failed = 0;
  for (let one = 0; one < 10; one++) {
    const reply = ask(harness, `c${one}`);
    while (executor.held.length + harness.executor.held.length === 0) {
      await new Promise(setImmediate);
    }
    if (executor.held.length > 0) executor.refuse();
    else harness.executor.finish();
    if ((await reply).status === 500) failed++;
  }
  expect(trial.arms.candidate).toEqual({ kept: 0, violated: failed });
  expect(trial.arms.stable).toEqual({ kept: 10 - failed, violated: 0 });
  expect(failed).toBeGreaterThan(0);
  const { arms } = trial;
  expect((await call(harness, INFER, { body: "{" })).status).toBe(400);
  expect(trial.arms).toEqual(arms);
});

test("one that is promoted answers all, and what the other had is answered", async () => {
  const harness = await serve();
  const { trial, executor } = await tried(harness);
  harness.executor.isHolding = true;
  let held: Promise<{ status: number }> | undefined;
  for (let one = 0; harness.executor.held.length === 0; one++) {
    held = ask(harness, `c${one}`);
    await Promise.race([held, harness.executor.ran(1)]);
  }
  const { retired } = harness.server.trials.promote(trial);
  const ran = executor.batches.length;
  const replies = await Promise.all(Array.from({ length: 8 }, () => ask(harness)));
  expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 200));
  expect(replies.map(({ headers }) => headers["stratagem-revision"])).not.toContain(STABLE);
  expect(executor.batches.length - ran).toBeGreaterThan(0);
  harness.executor.finish();
  expect((await held)?.status).toBe(200);
  await retired;
  expect(harness.executor.isClosed).toBe(true);
  const metrics = await metricsOf(harness);
  expect(metrics).not.toContain("stratagem_canary_");
  expect(metrics).toContain(`sha256="${"cd".repeat(32)}"`);
  expect(() => harness.server.trials.promote(trial)).toThrow("is no longer served");
});

test("one that is given up gets nothing more, and answers what it has", async () => {
  const harness = await serve();
  const { canary, executor } = await tried(harness);
  executor.isHolding = true;
  let held: Promise<{ status: number }> | undefined;
  for (let one = 0; executor.held.length === 0; one++) {
    held = ask(harness, `c${one}`);
    await Promise.race([held, executor.ran(1)]);
  }
  const ended = harness.server.trials.end(canary);
  const replies = await Promise.all(Array.from({ length: 8 }, () => ask(harness)));
  expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 200));
  expect(executor.batches).toHaveLength(1);
  executor.finish();
  expect((await held)?.status).toBe(200);
  await ended;
  expect(executor.isClosed).toBe(true);
});

test("a server that closes closes what it tries", async () => {
  const harness = await serve();
  const { executor } = await tried(harness);
  await harness.server.close();
  expect([harness.executor.isClosed, executor.isClosed]).toEqual([true, true]);
});

test("workers that fail at their start leave nothing open", async () => {
  const harness = await serve();
  const { application, executors } = another(harness);
  const failed = Promise.reject(new Error("no such device"));
  await expect(harness.server.trials.open(application, failed)).rejects.toThrow("no such device");
  expect(executors.every(({ isClosed }) => isClosed)).toBe(true);
  expect((await ask(harness)).status).toBe(200);
});

test("feedback is counted by the bundle that gave the answer", async () => {
  const harness = await serve({ settings: { feedbackRows: 100 } });
  await tried(harness);
  const ids = Array.from({ length: 12 }, (_, one) => `c${one}`);
  const told = await Promise.all(
    ids.map(async (id) => (await ask(harness, id)).headers["stratagem-revision"]),
  );
  expect([...new Set(told)].sort()).toEqual([STABLE, CANARY]);
  const feedback = [...ids, "nobody"].map((id) => ({ id, correct: true }));
  const path = "/v2/models/tiny/feedback";
  const reply = await call(harness, path, { body: JSON.stringify({ feedback }) });
  expect(jsonOf(reply)).toMatchObject({ correct: 12, wrong: 0, unknown: ["nobody"] });
  const again = await call(harness, path, { body: JSON.stringify({ id: "c0", correct: true }) });
  expect(again.status).toBe(409);
  const metrics = await metricsOf(harness);
  const of = (label: string) => {
    const start = `stratagem_feedback_total{${label}`;
    const lines = metrics.split("\n").filter((line) => line.startsWith(start));
    const right = lines.filter((line) => line.includes('correct="true"'));
    return right.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
  };
  const byCanary = told.filter((revision) => revision === CANARY).length;
  expect(of(`revision="${CANARY}"`)).toBe(byCanary);
  expect(of('model="tiny",variant')).toBe(12 - byCanary);
});

test("what clients would see of another bundle is told", async () => {
  const harness = await serve();
  const stable = harness.server.trials.stableAt(0);
  if (stable === undefined) throw new Error("nothing is served");
  const difference = (bundle: RamsisBundle) => {
    return clientDifference(stable, another(harness, bundle).application);
  };
  expect(difference(servedBundle({ workers: 2, sloMs: 500 }))).toBeNull();
  expect(difference({ ...servedBundle(), application: "other" })).toMatch(/^the application other/);
  const wide = servedBundle({}, [{ ...X, shape: [-1, 3] }]);
  expect(difference(wide)).toBe("other inputs of the model tiny");
});
