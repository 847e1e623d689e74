/** Timeouts that clients state: 504 where the client's own is not met, 503 where the SLO is not. */
import { afterEach, expect, test } from "vitest";
import { ofOneModel } from "../../../support/metrics-text.ts";
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

const SLO_MS = 100;

async function metric({ server }: Harness, series: string): Promise<number> {
  const text = ofOneModel(await (await fetch(`${server.url}/metrics`)).text());
  const line = text.split("\n").find((one) => one.startsWith(`${series} `));
  return Number(line?.slice(series.length + 1) ?? Number.NaN);
}

function busy(): Promise<Harness> {
  const bundle = servedBundle({ workers: 1, sloMs: SLO_MS });
  return serve({ bundle: { ...bundle, policy: { ...bundle.policy, drop: true } } });
}

test("a timeout below what the fastest variant takes is 504, dropped, and load", async () => {
  const harness = await busy();
  const asked = inferJson(
    [
      [1, 2],
      [3, 4],
    ],
    { parameters: { timeout: 1 } },
  );
  const reply = await call(harness, INFER, { body: asked });
  expect([reply.status, reply.headers["retry-after"]]).toEqual([504, undefined]);
  expect(jsonOf(reply).error).toMatch(/^parameters.timeout: expected at least \d+ µs/);
  expect(await metric(harness, 'stratagem_queries_total{outcome="dropped"}')).toBe(2);
  expect(harness.executor.batches).toHaveLength(0);
  harness.clock.nowMs += 60;
  await call(harness, INFER, { body: asked });
  harness.clock.nowMs += 60;
  expect(await metric(harness, "stratagem_load_qps")).toBeGreaterThan(0);
});

test("a query that waits beyond its client's own timeout is 504, beyond the SLO 503", async () => {
  const harness = await busy();
  harness.executor.isHolding = true;
  const first = call(harness, INFER, { body: inferJson([[1, 2]]) });
  await harness.executor.ran(1);
  const hasty = call(harness, INFER, {
    body: inferJson([[3, 4]], { parameters: { timeout: 50_000 } }),
  });
  const patient = call(harness, INFER, { body: inferJson([[5, 6]]) });
  const patientToo = call(harness, INFER, {
    body: inferJson([[7, 8]], { parameters: { timeout: 10 * SLO_MS * 1000 } }),
  });
  while ((await metric(harness, "stratagem_pending_queries")) < 4) await new Promise(setImmediate);
  harness.clock.nowMs += SLO_MS;
  harness.executor.isHolding = false;
  harness.executor.finish();
  await first;
  const replies = await Promise.all([hasty, patient, patientToo]);
  expect(replies.map(({ status }) => status)).toEqual([504, 503, 503]);
  expect(replies.map(({ headers }) => headers["retry-after"])).toEqual([undefined, "1", "1"]);
});
