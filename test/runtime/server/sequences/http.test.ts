/** Sequences over HTTP: state between requests, their order, and what is refused. */
import { afterEach, expect, test } from "vitest";
import { call, closeAll, INFER, jsonOf } from "../harness.ts";
import { add, seen, serveSums, told, waiting } from "./accumulator.ts";

afterEach(closeAll);

const START = { sequence_id: 7, sequence_start: true };

test("what a request leaves is found by the next of its sequence, and by no other", async () => {
  const harness = await serveSums();
  expect(told(await add(harness, 1, START))).toBe(1);
  expect(told(await add(harness, 2, { sequence_id: 7 }))).toBe(3);
  expect(told(await add(harness, 10, { sequence_id: 8, sequence_start: true }))).toBe(10);
  expect(told(await add(harness, 4, { sequence_id: 7, sequence_end: true }))).toBe(7);
  expect(told(await add(harness, 10, { sequence_id: 8 }))).toBe(20);
});

test("clients neither send nor get the state", async () => {
  const harness = await serveSums();
  const reply = jsonOf(await add(harness, 1, START));
  expect(reply.outputs.map(({ name }: { name: string }) => name)).toEqual(["y"]);
  const metadata = jsonOf(await call(harness, "/v2/models/tiny"));
  expect(metadata.inputs).toEqual([{ name: "x", datatype: "FP32", shape: [-1, 2] }]);
  expect(metadata.outputs).toEqual([{ name: "y", datatype: "FP32", shape: [-1, 2] }]);
  const config = jsonOf(await call(harness, "/v2/models/tiny/config"));
  expect(config).toMatchObject({
    max_batch_size: 1,
    input: [{ name: "x" }],
    output: [{ name: "y" }],
    sequence_batching: {
      max_sequence_idle_microseconds: 60_000_000,
      oldest: { max_candidate_sequences: 4096 },
      state: [{ input_name: "sum", output_name: "next", data_type: "TYPE_FP32", dims: [2] }],
    },
  });
  expect(config).not.toHaveProperty("dynamic_batching");
  expect(jsonOf(await call(harness, "/v2")).extensions).toContain("sequence");
  const asked = { inputs: [], outputs: [{ name: "next" }], parameters: START };
  const input = { name: "x", datatype: "FP32", shape: [1, 2], data: [1, 0] };
  const body = JSON.stringify({ ...asked, inputs: [input] });
  expect(told(await call(harness, INFER, { body }))).toBe(
    '400 outputs[0].name: expected "y" or "stratagem_variant", got "next"',
  );
});

test("an id is a number but 0 or a text that is not empty, and they do not collide", async () => {
  const harness = await serveSums();
  const start = (sequence_id: unknown, value: number) => {
    return add(harness, value, { sequence_id, sequence_start: true });
  };
  expect(told(await start(7, 1))).toBe(1);
  expect(told(await start("7", 2))).toBe(2);
  expect(told(await add(harness, 1, { sequence_id: 7 }))).toBe(2);
  const expected =
    "400 parameters.sequence_id: expected a whole number of 1 or more or a text that is not " +
    "empty, as the model keeps state, got";
  for (const id of [0, "", -1, 1.5, true, null]) {
    expect(told(await start(id, 1))).toBe(`${expected} ${JSON.stringify(id)}`);
  }
  expect(told(await add(harness, 1, {}))).toBe(`${expected} nothing`);
  expect(told(await start("é".repeat(65), 1))).toBe(
    '400 parameters.sequence_id: expected a text of at most 128 bytes, got "130 bytes"',
  );
  expect(told(await add(harness, 1, { sequence_id: 7, sequence_end: 1 }))).toBe(
    "400 parameters.sequence_end: expected true or false, got 1",
  );
});

test("ids that differ beyond the precision of a number are two", async () => {
  const harness = await serveSums();
  const body = (id: string, value: number, start: boolean) =>
    `{"inputs":[{"name":"x","datatype":"FP32","shape":[1,2],"data":[${value},0]}],` +
    `"parameters":{"sequence_id":${id},"sequence_start":${start}}}`;
  const infer = (...of: Parameters<typeof body>) => call(harness, INFER, { body: body(...of) });
  expect(told(await infer("18446744073709551614", 1, true))).toBe(1);
  expect(told(await infer("18446744073709551615", 5, true))).toBe(5);
  expect(told(await infer("18446744073709551614", 1, false))).toBe(2);
  expect(told(await infer("18446744073709551616", 1, true))).toMatch(/^400 .*sequence_id/);
});

test("a sequence that nobody began, or that has ended, is told so in Triton's words", async () => {
  const harness = await serveSums();
  const refused =
    "400 inference request for sequence 7 to model 'tiny' must specify the START flag on the " +
    "first request of the sequence; it is not open: it never began, has ended, or had no request " +
    "for 60 s";
  expect(told(await add(harness, 1, { sequence_id: 7 }))).toBe(refused);
  expect(told(await add(harness, 1, { ...START, sequence_end: true }))).toBe(1);
  expect(told(await add(harness, 1, { sequence_id: 7 }))).toBe(refused);
  expect(told(await add(harness, 3, START))).toBe(3);
});

test("a request that begins an open sequence begins it anew", async () => {
  const harness = await serveSums();
  await add(harness, 5, START);
  expect(told(await add(harness, 1, START))).toBe(1);
  expect(told(await add(harness, 1, { sequence_id: 7 }))).toBe(2);
});

test("a request of a sequence is one row", async () => {
  const harness = await serveSums();
  const input = { name: "x", datatype: "FP32", shape: [2, 2], data: [1, 2, 3, 4] };
  const body = JSON.stringify({ inputs: [input], parameters: START });
  expect(told(await call(harness, INFER, { body }))).toBe(
    "400 inputs[0].shape[0]: expected 1 row, got 2",
  );
});

test("requests of one sequence run one after another, those of several together", async () => {
  const harness = await serveSums();
  const { executor } = harness;
  executor.isHolding = true;
  const first = add(harness, 1, START);
  await executor.ran(1);
  const second = add(harness, 10, { sequence_id: 7, sequence_end: true });
  const others = [8, 9].map((id) => add(harness, id, { sequence_id: id, sequence_start: true }));
  await waiting(harness, 1);
  await seen(harness, 'stratagem_pending_queries{model="tiny"} 3');
  executor.isHolding = false;
  executor.finish();
  expect((await Promise.all([first, second, ...others])).map(told)).toEqual([1, 11, 8, 9]);
  expect(executor.batches.map(({ rows }) => rows)).toEqual([1, 2, 1]);
});

test("the protocol without parameters is refused where there is state", async () => {
  const harness = await serveSums();
  const body = JSON.stringify({ instances: [[1, 2]] });
  expect(told(await call(harness, "/v1/models/tiny:predict", { body }))).toBe(
    "400 instances: expected a model without state, whose requests name no sequence; use /v2, " +
      "got an array of 1",
  );
});

test("an idle sequence ends, and metrics count it", async () => {
  const harness = await serveSums({ limits: { sequenceIdleMs: 5000, maxSequences: 2 } });
  await add(harness, 1, START);
  await add(harness, 1, { sequence_id: 8, sequence_start: true });
  const full = await add(harness, 1, { sequence_id: 9, sequence_start: true });
  expect(told(full)).toBe("429 at most 2 sequences may be open");
  expect(full.headers["retry-after"]).toBe("1");
  harness.clock.nowMs += 4999;
  expect(told(await add(harness, 1, { sequence_id: 8 }))).toBe(2);
  harness.clock.nowMs += 1;
  expect(told(await add(harness, 1, { sequence_id: 7 }))).toMatch(
    /^400 .* START flag .* had no request for 5 s$/,
  );
  expect(told(await add(harness, 1, { sequence_id: 9, sequence_start: true }))).toBe(1);
  const metrics = (await call(harness, "/metrics")).body.toString();
  expect(metrics).toContain('stratagem_sequences{model="tiny"} 2');
  expect(metrics).toContain('stratagem_buffered_bytes{model="tiny",what="sequence_states"} 16');
  expect(metrics).toContain('stratagem_sequences_ended_total{model="tiny",by="idle"} 1');
  expect(metrics).toContain(
    'stratagem_refused_total{model="tiny",what="sequence",reason="full"} 1',
  );
});
