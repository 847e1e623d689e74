/** A server of a pipeline over HTTP whose models are not real and whose clock stands still. */
import type { Application } from "../../../../runtime/server/applications/application.ts";
import type { PipelineApplicationOptions } from "../../../../runtime/server/graph/pipeline-application.ts";
import type { RunningServer } from "../../../../runtime/server/serve.ts";
import { ofOneModel } from "../../../support/metrics-text.ts";
import { serveOne } from "../../../support/serve-one.ts";
import { FakeAssignedExecutor } from "./fake-executor.ts";
import type { CascadeRow } from "./served-tasks.ts";

const open: RunningServer[] = [];
/** Closes what a test has opened: for its `afterEach`. */
export async function closeServed(): Promise<void> {
  await Promise.all(open.splice(0).map((server) => server.close()));
}

type Options<B extends PipelineApplicationOptions["bundle"]> = PipelineApplicationOptions & {
  readonly bundle: B;
};

/** Batches and loads wait for the test. @param workers that are ready at once. */
export async function served<B extends PipelineApplicationOptions["bundle"], More extends object>(
  host: (options: Options<B> & More) => Application,
  bundle: B,
  workers: number,
  more: More,
  ...answer: ConstructorParameters<typeof FakeAssignedExecutor> extends [unknown, ...infer A]
    ? A
    : []
) {
  const clock = { nowMs: 1000 };
  const lost: string[] = [];
  let executor: FakeAssignedExecutor | undefined;
  const server = await serveOne(host, {
    bundle,
    bundleSha256: "ab".repeat(32),
    host: "127.0.0.1",
    port: 0,
    nowMs: () => clock.nowMs,
    version: "0.0.0",
    onWorkerLost: (worker, reason) => lost.push(`${worker} ${reason}`),
    executorFactory: (handlers) => {
      executor = new FakeAssignedExecutor(handlers, ...answer);
      return executor;
    },
    ...more,
  });
  open.push(server);
  if (executor === undefined) throw new Error("the server made no executor");
  for (let worker = 0; worker < workers; worker++) executor.handlers.onReady(worker);
  return { server, executor, clock, lost };
}

type House = Awaited<ReturnType<typeof served>>;

/** Sends rows of three values to the tasks of `servedStages`. */
export function inferStages(house: House, rows: readonly CascadeRow[], extra: object = {}) {
  const data = rows.map(({ escalate, keep, value }) => [escalate, keep, value]);
  return inferRows(house, "stages", data, extra);
}

export function inferRows(
  { server }: House,
  model: string,
  data: readonly (readonly number[])[],
  extra: object,
) {
  const shape = [data.length, data[0]?.length ?? 0];
  const input = { name: "x", datatype: "FP32", shape, data };
  const body = JSON.stringify({ inputs: [input], ...extra });
  return fetch(`${server.url}/v2/models/${model}/infer`, { method: "POST", body });
}

export async function get({ server }: House, path: string) {
  const reply = await fetch(`${server.url}${path}`);
  return { status: reply.status, text: await reply.text() };
}

export async function metricsOf(house: House): Promise<string[]> {
  return ofOneModel((await get(house, "/metrics")).text).split("\n");
}

/** Ends batches until the reply is there. */
export async function driven(house: House, reply: Promise<Response>): Promise<Response> {
  const wait: { reply?: Response } = {};
  const arrived = reply.then((response) => {
    wait.reply = response;
  });
  while (wait.reply === undefined) {
    if (house.executor.held.length > 0) house.executor.finish();
    await new Promise(setImmediate);
  }
  await arrived;
  return wait.reply;
}

export function loadAll({ executor }: House): void {
  while (executor.loading.length > 0) executor.load();
}
