/** What becomes of connections and requests, in every state, when a server stops. */
import { afterEach, describe, expect, test } from "vitest";
import { familiesOf } from "../../../../runtime/base/exposition.ts";
import type { Recorder } from "../../../../runtime/methods/ramsis/serve/recorded-dispatcher.ts";
import { call, closeAll, type Harness, INFER, inferJson, jsonOf, serve } from "../harness.ts";
import { Wire } from "../wire.ts";

afterEach(closeAll);

const BODY = inferJson([[1, 2]]);
const HEAD = `POST ${INFER} HTTP/1.1\r\nhost: h\r\ncontent-length: ${BODY.length}\r\n\r\n`;
const ANSWER = '"data":[1,2]}]}';

/** A connection that has been answered once, and is kept. */
async function kept(harness: Harness): Promise<Wire> {
  const wire = await Wire.open(harness);
  wire.send(HEAD + BODY);
  await wire.until(ANSWER);
  return wire;
}

/** Status and Connection field of each answer, once the server has ended its side. */
async function answersOf(wire: Wire): Promise<(readonly [number, string | undefined])[]> {
  await wire.ended;
  const answers = wire.replies().map(({ status, headers }) => {
    return [status, headers.get("connection")] as const;
  });
  wire.socket.destroy();
  return answers;
}

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise(setImmediate);
}

/** Requests that have come and have no answer. */
function requestsIn({ server }: Harness): number {
  const samples = familiesOf(server.metricLines()).flatMap((family) => family.samples);
  return samples.find(({ name }) => name === "stratagem_requests_in_flight")?.value ?? 0;
}

describe("a server that stops", () => {
  test("accepts what the kernel has accepted, and answers it", async () => {
    const harness = await serve();
    // None of these is accepted before this function waits.
    const calls = Array.from({ length: 20 }, () => call(harness, INFER, { body: BODY }));
    const closed = harness.server.close();
    const replies = await Promise.all(calls);
    expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 200));
    for (const { headers } of replies) expect(headers.connection).toBe("close");
    await closed;
  });

  test("reads a body that is half here, and answers it", async () => {
    const harness = await serve();
    const wire = await kept(harness);
    wire.send(HEAD + BODY.slice(0, 9));
    await turns(20);
    const closed = harness.server.close();
    await turns(20);
    wire.send(BODY.slice(9));
    expect(await answersOf(wire)).toEqual([
      [200, "keep-alive"],
      [200, "close"],
    ]);
    await closed;
  });

  test.each([0, 1])("reads a header that is half here after %i requests", async (before) => {
    const harness = await serve();
    const wire = before === 0 ? await Wire.open(harness) : await kept(harness);
    wire.send(HEAD.slice(0, 30));
    await turns(20);
    const closed = harness.server.close();
    await turns(20);
    wire.send(HEAD.slice(30) + BODY);
    expect((await answersOf(wire)).at(-1)).toEqual([200, "close"]);
    await closed;
  });

  test("answers all that was pipelined", async () => {
    let arrived = 0;
    const recorder: Recorder = ({ kind }) => {
      if (kind === "arrival") arrived++;
    };
    const harness = await serve({ recorder });
    const wire = await kept(harness);
    harness.executor.isHolding = true;
    wire.send((HEAD + BODY).repeat(2));
    while (arrived < 3) await turns(1);
    const closed = harness.server.close();
    wire.send(HEAD + BODY);
    while (arrived < 4) await turns(1);
    harness.executor.isHolding = false;
    while (harness.executor.held.length > 0) harness.executor.finish();
    const answers = await answersOf(wire);
    expect(answers.map(([status]) => status)).toEqual([200, 200, 200, 200]);
    await closed;
  });

  test("says with the last of several answers that it is the last", async () => {
    const harness = await serve();
    const wire = await kept(harness);
    harness.executor.isHolding = true;
    wire.send(HEAD + BODY);
    await harness.executor.ran(2);
    const closed = harness.server.close();
    while ((await call(harness, "/v2/health/live").catch(() => null)) !== null);
    wire.send(HEAD + BODY);
    while (requestsIn(harness) < 2) await turns(1);
    harness.executor.isHolding = false;
    while (harness.executor.held.length > 0) harness.executor.finish();
    const answers = await answersOf(wire);
    expect(answers.map(([status]) => status)).toEqual([200, 200, 200]);
    const last = answers.map(([, connection]) => connection === "close");
    expect(last).toEqual([false, false, true]);
    await closed;
  });

  test("ends what is idle without a reset", async () => {
    const harness = await serve();
    const [silent, idle] = [await Wire.open(harness), await kept(harness)];
    const resets: Error[] = [];
    for (const { socket } of [silent, idle]) socket.on("error", (error) => resets.push(error));
    const closed = harness.server.close();
    expect(await answersOf(silent)).toEqual([]);
    expect(await answersOf(idle)).toEqual([[200, "keep-alive"]]);
    await closed;
    expect(resets).toEqual([]);
  });

  test("goes on for the delay, unready", async () => {
    const harness = await serve({ limits: { drainDelayMs: 400 } });
    const closed = harness.server.close();
    const ready = await call(harness, "/v2/health/ready");
    expect([ready.status, jsonOf(ready)]).toEqual([503, { ready: false }]);
    expect((await call(harness, INFER, { body: BODY })).status).toBe(200);
    const live = await call(harness, "/v2/health/live");
    expect([live.status, live.headers.connection]).toEqual([200, "close"]);
    await closed;
    await expect(call(harness, "/v2/health/live")).rejects.toThrow("ECONNREFUSED");
  });
});
