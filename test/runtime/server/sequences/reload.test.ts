/** What becomes of open sequences when their bundle is read again, and when the server stops. */
import { afterEach, expect, test } from "vitest";
import type { RamsisBundle } from "../../../../runtime/bundle/schema.ts";
import type { ExecutorHandlers } from "../../../../runtime/exec/models/executor.ts";
import { ramsisApplication } from "../../../../runtime/methods/ramsis/serve/ramsis-application.ts";
import { call, closeAll, type Harness } from "../harness.ts";
import { Accumulator, add, OUTPUTS, seen, serveSums, summingBundle, told } from "./accumulator.ts";

afterEach(closeAll);

const START = { sequence_id: 7, sequence_start: true };
const NEXT = { sequence_id: 7 };

/** Workers of its own take over. */
async function follow({ server, clock }: Harness, bundle: RamsisBundle): Promise<Accumulator> {
  let executor: Accumulator | undefined;
  const application = ramsisApplication({
    bundle,
    bundleSha256: "cd".repeat(32),
    nowMs: () => clock.nowMs,
    executorFactory: (handlers: ExecutorHandlers) => {
      executor = new Accumulator(handlers, OUTPUTS);
      setImmediate(() => handlers.onReady(0));
      return executor;
    },
  });
  await server.replaceApplication(application);
  if (executor === undefined) throw new Error("the application made no executor");
  return executor;
}

function withModel(bundle: RamsisBundle, sha256: string): RamsisBundle {
  return {
    ...bundle,
    tasks: bundle.tasks.map((task) => ({
      ...task,
      variants: task.variants.map((variant) => {
        return variant.model === null
          ? variant
          : { ...variant, model: { ...variant.model, sha256 } };
      }),
    })),
  };
}

test("sequences go on where the next bundle has the same model, with those that run", async () => {
  const harness = await serveSums();
  await add(harness, 1, START);
  harness.executor.isHolding = true;
  const running = add(harness, 2, NEXT);
  await harness.executor.ran(2);
  const next = await follow(harness, summingBundle({ sloMs: 200 }));
  const behind = add(harness, 4, { ...NEXT, sequence_end: true });
  await seen(harness, 'stratagem_sequence_requests_waiting{model="tiny"} 1');
  harness.executor.finish();
  expect([told(await running), told(await behind)]).toEqual([3, 7]);
  expect(next.batches).toHaveLength(1);
  expect(told(await add(harness, 1, START))).toBe(1);
});

test("sequences end where the model is another: the next request is told so", async () => {
  const harness = await serveSums();
  await add(harness, 1, START);
  await follow(harness, withModel(summingBundle(), "1".repeat(64)));
  expect(told(await add(harness, 2, NEXT))).toMatch(/^400 .* START flag/);
  expect(told(await add(harness, 2, START))).toBe(2);
});

test("a server that stops answers what its sequences ask, and begins none", async () => {
  const harness = await serveSums({ limits: { drainTimeoutMs: 5000, lingerMs: 0 } });
  await add(harness, 1, START);
  harness.executor.isHolding = true;
  const running = add(harness, 2, NEXT);
  await harness.executor.ran(2);
  const behind = add(harness, 4, NEXT);
  await seen(harness, 'stratagem_sequence_requests_waiting{model="tiny"} 1');
  const closed = harness.server.close();
  harness.executor.isHolding = false;
  harness.executor.finish();
  expect([told(await running), told(await behind)]).toEqual([3, 7]);
  await closed;
  await expect(call(harness, "/v2")).rejects.toThrow();
});
