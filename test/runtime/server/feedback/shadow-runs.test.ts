/** The best variant answers some rows again, and only while nothing waits or runs. */
import fc from "fast-check";
import { afterEach, expect, test } from "vitest";
import type { Batch, BatchResult, Executor } from "../../../../runtime/exec/executor.ts";
import type { RamsisApplicationOptions } from "../../../../runtime/methods/ramsis/serve/ramsis-application.ts";
import { FeedbackBook } from "../../../../runtime/server/feedback/feedback-book.ts";
import { ShadowRuns } from "../../../../runtime/server/feedback/shadow-runs.ts";
import type { Answer, OutputTensor } from "../../../../runtime/server/requests/request.ts";
import type { OpenOptions } from "../../../../runtime/server/serve.ts";
import type { ClientSignature } from "../../../../runtime/server/tensors/signature.ts";
import {
  call,
  closeAll,
  type Harness,
  INFER,
  inferJson,
  jsonOf,
  serve,
  servedBundle,
} from "../harness.ts";

afterEach(closeAll);

/** Answers what the test makes of a row, once it says so. */
class FakeShadow implements Executor {
  readonly held: { readonly batch: Batch; readonly resolve: (result: BatchResult) => void }[] = [];
  readonly variants: number[] = [];
  isClosed = false;
  onRun: () => void = () => {};

  run(_worker: number, batch: Batch): Promise<BatchResult> {
    return new Promise((resolve) => {
      this.held.push({ batch, resolve });
      this.onRun();
    });
  }

  began(): Promise<void> {
    return new Promise((resolve) => {
      if (this.held.length > 0) resolve();
      else this.onRun = resolve;
    });
  }

  /** @param of the bytes of its only input. */
  answer(of: (bytes: Uint8Array) => Uint8Array): void {
    const held = this.held.shift();
    if (held === undefined) throw new Error("no run is held");
    const bytes = new Uint8Array(of(Buffer.concat(held.batch.inputs[0] ?? [])));
    held.resolve({ outputs: [{ shape: [1, 2], bytes }], wallMs: 1, cpuMs: 1, cores: 1 });
  }

  async close(): Promise<void> {
    this.isClosed = true;
  }
}

/** Small answers at this slack, so that there is somebody to compare the large one with. */
async function shadowed(options: Partial<RamsisApplicationOptions & OpenOptions> = {}) {
  const shadow = new FakeShadow();
  const bundle = servedBundle({
    workers: 2,
    decide: ({ queued }) => ({ variant: 0, batch: queued }),
  });
  const harness = await serve({
    bundle,
    shadowShare: 1,
    startShadow: async (variant) => {
      shadow.variants.push(variant);
      return shadow;
    },
    ...options,
  });
  return { harness, shadow };
}

const same = (bytes: Uint8Array) => bytes;
const swapped = (bytes: Uint8Array) => Buffer.concat([bytes.subarray(4), bytes.subarray(0, 4)]);

async function metric(harness: Harness, name: string) {
  const text = (await call(harness, "/metrics")).body.toString();
  return text.split("\n").filter((line) => line.startsWith(name));
}

test("the best variant answers again what another has answered, and is compared", async () => {
  const { harness, shadow } = await shadowed();
  expect(shadow.variants).toEqual([1]);
  for (const say of [same, swapped]) {
    const began = shadow.began();
    const reply = await call(harness, INFER, { body: inferJson([[1, 3]], { id: "a" }) });
    expect(jsonOf(reply).parameters.variant).toBe("small");
    await began;
    shadow.answer(say);
    await new Promise(setImmediate);
  }
  const { best, variants } = jsonOf(await call(harness, "/v2/models/tiny/feedback"));
  expect(best).toBe("large");
  expect(variants.small.agreement).toEqual({ same: 1, different: 1 });
  expect(variants.large).not.toHaveProperty("agreement");
  const lines = await metric(harness, "stratagem_shadow_runs_total");
  const labels = 'model="tiny",variant="small"';
  expect(lines).toEqual([
    `stratagem_shadow_runs_total{${labels},outcome="same"} 1`,
    `stratagem_shadow_runs_total{${labels},outcome="different"} 1`,
    `stratagem_shadow_runs_total{${labels},outcome="skipped"} 0`,
    `stratagem_shadow_runs_total{${labels},outcome="failed"} 0`,
  ]);
});

test("is no query: neither counted as one, nor begun while one waits or runs", async () => {
  const { harness, shadow } = await shadowed();
  const { executor } = harness;
  executor.isHolding = true;
  const both = [1, 2].map(() => call(harness, INFER, { body: inferJson([[1, 3]]) }));
  await executor.ran(2);
  executor.finish();
  await Promise.race(both);
  // The row of one is sampled, and the other is still there.
  await new Promise(setImmediate);
  expect(shadow.held).toEqual([]);
  const began = shadow.began();
  executor.finish();
  await Promise.all(both);
  await began;
  expect(shadow.held).toHaveLength(1);
  // A query that comes meanwhile goes to the workers as ever.
  executor.isHolding = false;
  await call(harness, INFER, { body: inferJson([[1, 3]]) });
  expect(shadow.held).toHaveLength(1);
  const queries = await metric(harness, "stratagem_queries_total");
  const counted = queries.map((line) => Number(line.split(" ").at(-1)));
  expect(counted.reduce((sum, count) => sum + count, 0)).toBe(3);
});

test("samples nothing unasked, and its worker is closed with the server", async () => {
  const none = await shadowed({ shadowShare: 0 });
  expect(none.shadow.variants).toEqual([]);
  expect(await metric(none.harness, "stratagem_shadow_runs_total")).toEqual([]);
  const { harness, shadow } = await shadowed();
  await harness.server.close();
  expect(shadow.isClosed).toBe(true);
});

test("a worker that does not start is told, and requests are answered", async () => {
  const notices: string[] = [];
  const harness = await serve({
    shadowShare: 0.5,
    startShadow: () => Promise.reject(new Error("no memory")),
    onNotice: (message) => void notices.push(message),
  });
  expect((await call(harness, INFER, { body: inferJson([[1, 3]]) })).status).toBe(200);
  expect(notices).toContain("no shadow runs: their worker does not start: no memory");
});

const SIGNATURE: ClientSignature = {
  names: ["m"],
  inputs: [{ name: "x", datatype: "FP32", rowShape: [2] }],
  outputs: [{ name: "y", datatype: "FP32", rowShape: [2] }],
  variants: [{ name: "small" }, { name: "large" }],
  answersByRow: true,
};

function answerOf(bytes: Uint8Array, rows: number, variant: number): Answer {
  const outputs = [{ shape: [rows, 2], parts: [bytes] }];
  const times = { queueMs: 0, inputMs: 0, inferMs: 0, doneMs: 0, runs: [] };
  const answerer = { variant: variant === 0 ? "small" : "large", accuracy: 0.5 };
  const variantByRow = new Array<number>(rows).fill(variant);
  return { kind: "answered", outputs, answerer, variantByRow, ...times };
}

test("whatever comes, one runs at a time, at a quiet moment, and few wait", async () => {
  const event = fc.oneof(
    fc.record({ what: fc.constant("come" as const), rows: fc.integer({ min: 1, max: 40 }) }),
    fc.constant({ what: "leave" as const, rows: 0 }),
    fc.constant({ what: "later" as const, rows: 0 }),
    fc.constant({ what: "done" as const, rows: 0 }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(event, { maxLength: 80 }), async (events) => {
      let [inside, running, began, answered] = [0, 0, 0, 0];
      const open: number[] = [];
      const held: ((outputs: readonly OutputTensor[]) => void)[] = [];
      const tasks: (() => void)[] = [];
      const book = new FeedbackBook({
        model: "m",
        signature: SIGNATURE,
        profiledByVariant: new Map([
          ["small", 0.6],
          ["large", 0.8],
        ]),
        maxRows: 10,
        keptMs: 10,
        isShadowed: true,
        sinceEpochMs: 0,
      });
      const run = () => {
        expect([inside, running]).toEqual([0, 0]);
        running++;
        began++;
        return new Promise<readonly OutputTensor[]>((resolve) => held.push(resolve));
      };
      const shadow = { share: 1, isOpen: true, open() {}, run, close: async () => {} };
      const runs = new ShadowRuns({
        ...{ shadow, book, signature: SIGNATURE, random: () => 0.5 },
        isIdle: () => inside === 0,
        later: (act) => void tasks.push(act),
      });
      for (const { what, rows } of events) {
        if (what === "come") {
          inside++;
          open.push(rows);
        } else if (what === "leave") {
          const own = open.shift();
          if (own === undefined) continue;
          inside--;
          answered += own;
          const bytes = new Uint8Array(8 * own);
          runs.onAnswered({ rows: own, inputs: [bytes] }, answerOf(bytes, own, 0));
          runs.onSettled();
        } else if (what === "later") tasks.shift()?.();
        else if (held.length > 0) {
          running--;
          held.shift()?.([{ shape: [1, 2], parts: [new Uint8Array(8)] }]);
          await Promise.resolve();
          await Promise.resolve();
          await Promise.resolve();
        }
        expect(runs.waitingCount).toBeLessThanOrEqual(64);
      }
      const skipped = runs.lines().flatMap((one) => {
        const isOwn = one.kind === "sample" && one.labels["outcome"] === "skipped";
        return isOwn ? [one.value] : [];
      });
      expect(began + runs.waitingCount + (skipped[0] ?? 0)).toBe(answered);
    }),
    { numRuns: 100 },
  );
});
