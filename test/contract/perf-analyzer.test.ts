/**
 * What perf_analyzer asks of a server over HTTP, in its order, and what it ends over: statistics
 * that do not add up. Every method has to pass.
 */
import { afterEach, describe, expect, test } from "vitest";
import type { HostOptions } from "../../runtime/methods/method.ts";
import { methodOf } from "../../runtime/methods/registry.ts";
import type { RunningServer } from "../../runtime/server/serve.ts";
import { serveOne } from "../support/serve-one.ts";
import type { FakeWorkers, ServedSubject } from "./subjects/served.ts";
import { BY_METHOD } from "./subjects.ts";

const open: RunningServer[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((server) => server.close()));
});

interface Count {
  readonly count: number;
  readonly ns: number;
}

interface Statistics {
  readonly name: string;
  readonly version: string;
  readonly inference_count: number;
  readonly execution_count: number;
  readonly inference_stats: Readonly<Record<string, Count>>;
  readonly batch_stats: readonly (Readonly<Record<string, Count>> & {
    readonly batch_size: number;
  })[];
}

interface Tensor {
  readonly name: string;
  readonly shape: readonly number[];
}

class House {
  readonly subject: ServedSubject;
  readonly server: RunningServer;
  readonly workers: FakeWorkers;

  constructor(subject: ServedSubject, server: RunningServer, workers: FakeWorkers) {
    this.subject = subject;
    this.server = server;
    this.workers = workers;
  }

  async get<T>(path: string): Promise<T> {
    const reply = await fetch(`${this.server.url}/v2${path}`);
    expect([path, reply.status]).toEqual([path, 200]);
    return (await reply.json()) as T;
  }

  async statistics(): Promise<Statistics> {
    const { model } = this.subject;
    const path = `/models/${model}/versions/1/stats`;
    const { model_stats: all } = await this.get<{ readonly model_stats: Statistics[] }>(path);
    const own = all.find(({ name, version }) => name === model && version === "1");
    if (own === undefined) throw new Error("missing statistics for requested model");
    return own;
  }

  async infer(): Promise<number> {
    const { model, input } = this.subject;
    const { name, data } = input;
    const inputs = [{ name, datatype: "FP32", shape: [data.length, data[0]?.length], data }];
    const body = JSON.stringify({ inputs });
    const wait: { status?: number } = {};
    const path = `${this.server.url}/v2/models/${model}/versions/1/infer`;
    const asked = fetch(path, { method: "POST", body }).then(async (reply) => {
      await reply.arrayBuffer();
      wait.status = reply.status;
    });
    while (wait.status === undefined) {
      if (this.workers.runningCount() > 0) await this.workers.finish();
      await new Promise(setImmediate);
    }
    await asked;
    return wait.status;
  }
}

/** A clock that goes on with every look at it, so that whatever takes time has taken some. */
async function serving(subject: ServedSubject): Promise<House> {
  const workers = subject.openWorkers();
  let looks = 0;
  const server = await serveOne(
    (options: HostOptions) => methodOf(subject.bundle).host(subject.bundle, options),
    {
      bundleSha256: "ab".repeat(32),
      host: "127.0.0.1",
      port: 0,
      nowMs: () => 1000 + ++looks / 1024,
      version: "0.0.0",
      axisNames: subject.axisNames ?? [],
      workers: workers.starter,
    },
  );
  open.push(server);
  workers.ready();
  return new House(subject, server, workers);
}

describe.each(BY_METHOD)("perf_analyzer and %s", (_, { served }) => {
  test("describe the model alike: metadata, configuration, and what is sent", async () => {
    const house = await serving(served);
    const { extensions } = await house.get<{ readonly extensions: string[] }>("");
    expect(extensions).toContain("statistics");
    const path = `/models/${served.model}/versions/1`;
    const metadata = await house.get<{ readonly inputs: Tensor[]; readonly outputs: Tensor[] }>(
      path,
    );
    const config = await house.get<{
      readonly max_batch_size: number;
      readonly input: readonly { readonly name: string; readonly dims: readonly number[] }[];
      readonly output: readonly { readonly name: string; readonly dims: readonly number[] }[];
    }>(`${path}/config`);
    for (const [tensors, configured] of [
      [metadata.inputs, config.input],
      [metadata.outputs, config.output],
    ] as const) {
      expect(configured.map(({ name }) => name)).toEqual(tensors.map(({ name }) => name));
      for (const [index, { dims }] of configured.entries()) {
        const { shape = [] } = tensors[index] ?? {};
        const own = config.max_batch_size > 0 ? shape.slice(1) : shape;
        expect(dims).toEqual(own.length === 0 ? [1] : own);
      }
    }
  });

  test("count alike: of what was answered, each part of the time once", async () => {
    const house = await serving(served);
    const [before, asked] = [await house.statistics(), 3];
    for (let request = 0; request < asked; request++) expect(await house.infer()).toBe(200);
    const after = await house.statistics();
    const delta = (name: string): Count => {
      const [start, end] = [before.inference_stats[name], after.inference_stats[name]];
      if (start === undefined || end === undefined) throw new Error(`no ${name}`);
      return { count: end.count - start.count, ns: end.ns - start.ns };
    };
    expect(delta("success").count).toBe(asked);
    let partsNs = 0;
    for (const part of ["queue", "compute_input", "compute_infer", "compute_output"]) {
      expect([part, delta(part).count]).toEqual([part, asked]);
      partsNs += delta(part).ns;
    }
    // "Server side statistics compute counts must be the same."
    for (const part of ["compute_input", "compute_infer", "compute_output"]) {
      expect([part, delta(part).ns > 0]).toEqual([part, true]);
    }
    expect(partsNs).toBeLessThanOrEqual(delta("success").ns);
    expect(delta("fail").count).toBe(0);
    for (const none of ["cache_hit", "cache_miss"])
      expect(delta(none)).toEqual({ count: 0, ns: 0 });

    const { batch_stats: batches, execution_count: executions, inference_count: rows } = after;
    const sum = (of: (batch: (typeof batches)[number]) => number) =>
      batches.reduce((total, batch) => total + of(batch), 0);
    for (const part of ["compute_input", "compute_infer", "compute_output"] as const) {
      expect(sum((batch) => batch[part]?.count ?? 0)).toBe(executions);
    }
    expect(sum((batch) => batch.batch_size * (batch["compute_infer"]?.count ?? 0))).toBe(rows);
    expect(rows).toBeGreaterThanOrEqual(asked * served.input.data.length);
    expect(executions).toBeGreaterThan(0);
  });
});
