import { afterEach, describe, expect, test } from "vitest";
import type { TensorInfo } from "../../../../runtime/bundle/schema.ts";
import type {
  RecordedCommand,
  RecordedEvent,
} from "../../../../runtime/methods/ramsis/serve/recorded-dispatcher.ts";
import { variantWishOf } from "../../../../runtime/server/requests/variant-wish.ts";
import { waitingBundle } from "../../../support/pooled-bundle.ts";
import {
  call,
  closeAll,
  ECHOED,
  type Harness,
  INFER,
  inferJson,
  jsonOf,
  serve,
  servedBundle,
  X,
} from "../harness.ts";

afterEach(closeAll);

const SMALL = 0;
const LARGE = 1;

/** Five rows or more start three on the large variant; fewer start all on the small one. */
const decide = ({ queued }: { queued: number }) =>
  queued > 4 ? { variant: LARGE, batch: 3 } : { variant: SMALL, batch: queued };
const EIGHT = servedBundle({ maxQueue: 9, decide });
/** Of eight rows. */
const MIXED = ["large", "large", "large", "large", "large", "large", "small", "small"];

function rows(count: number): number[][] {
  return Array.from({ length: count }, (_, row) => [row, row + 0.5]);
}

function infer(harness: Harness, count: number, extra: object = {}) {
  return call(harness, INFER, { body: inferJson(rows(count), extra) });
}

/** Sizes and variants of the batches so far. */
function batches({ executor }: Harness): number[][] {
  return executor.batches.map((batch) => [batch.rows, batch.variant]);
}

describe("eight rows in one request", () => {
  test("are one batch of eight on an idle server, and one arrival in its record", async () => {
    const log: (RecordedEvent | RecordedCommand)[] = [];
    const all = servedBundle({
      maxQueue: 9,
      decide: ({ queued }) => ({ variant: SMALL, batch: queued }),
    });
    const harness = await serve({ bundle: all, recorder: (entry) => log.push(entry) });
    expect(jsonOf(await infer(harness, 8)).outputs[0].data).toEqual(rows(8).flat());
    expect(batches(harness)).toEqual([[8, SMALL]]);
    const kinds = log.map(({ kind }) => kind);
    const joint = [...Array(8).fill("joint-arrival"), "joint-end", "start-batch", "done"];
    expect(kinds).toEqual(["ready", ...joint]);
  });

  test("are told apart by the variant that answered each", async () => {
    const harness = await serve({ bundle: EIGHT });
    const reply = await infer(harness, 8);
    expect(batches(harness)).toEqual([
      [3, LARGE],
      [3, LARGE],
      [2, SMALL],
    ]);
    expect(reply.headers["stratagem-variant"]).toBe("large,small");
    const text = JSON.stringify(MIXED);
    expect(jsonOf(reply)).toEqual({
      model_name: "tiny",
      model_version: "1",
      parameters: { variant: "large,small", accuracy: expect.closeTo(0.75, 10), variants: text },
      outputs: [{ name: "y", datatype: "FP32", shape: [8, 2], data: rows(8).flat() }],
    });
  });

  test("have them as a tensor too, for those who ask for it by name", async () => {
    const harness = await serve({ bundle: EIGHT });
    const asJson = await infer(harness, 8, { outputs: [{ name: "stratagem_variant" }] });
    expect(jsonOf(asJson).outputs).toEqual([
      { name: "stratagem_variant", datatype: "BYTES", shape: [8], data: MIXED },
    ]);
    const asBytes = await infer(harness, 8, {
      parameters: { binary_data_output: true },
      outputs: [{ name: "stratagem_variant" }, { name: "y" }],
    });
    const headerLength = Number(asBytes.headers["inference-header-content-length"]);
    const { outputs } = JSON.parse(asBytes.body.subarray(0, headerLength).toString());
    const size = outputs[0].parameters.binary_data_size;
    expect(size).toBe(8 * (4 + 5));
    const bytes = asBytes.body.subarray(headerLength, headerLength + size);
    const names = Array.from({ length: 8 }, (_, row) => {
      expect(bytes.readUInt32LE(9 * row)).toBe(5);
      return bytes.toString("utf8", 9 * row + 4, 9 * row + 9);
    });
    expect(names).toEqual(MIXED);
    expect(asBytes.body.length - headerLength - size).toBe(8 * 2 * 4);
  });

  test("an output of the model with that name is the model's", async () => {
    const own: TensorInfo = { ...ECHOED, name: "stratagem_variant" };
    const harness = await serve({ bundle: servedBundle({ maxQueue: 9, decide }, [X], [own]) });
    const reply = await infer(harness, 2, { outputs: [{ name: "stratagem_variant" }] });
    expect(jsonOf(reply).outputs[0]).toMatchObject({ datatype: "FP32", data: rows(2).flat() });
  });

  test("are answered by one variant where the client asks for that", async () => {
    const harness = await serve({ bundle: EIGHT });
    const reply = await infer(harness, 8, { parameters: { same_variant: true } });
    expect(jsonOf(reply).parameters).toMatchObject({ variant: "large", accuracy: 0.8 });
    expect(batches(harness)).toEqual([
      [3, LARGE],
      // From here on without the table: in time are 4 of the large one.
      [4, LARGE],
      [1, LARGE],
    ]);
    const any = await infer(harness, 8, { parameters: { same_variant: false } });
    expect(JSON.parse(jsonOf(any).parameters.variants)).toEqual(MIXED);
  });

  test("are answered by the named variant, in the largest batches in time", async () => {
    const harness = await serve({ bundle: EIGHT });
    for (const [variant, sizes] of [
      ["small", [8]],
      ["large", [4, 4]],
    ] as const) {
      harness.executor.batches.length = 0;
      const parameters = { variant, same_variant: true };
      const reply = await infer(harness, 8, { parameters });
      expect(JSON.parse(jsonOf(reply).parameters.variants)).toEqual(Array(8).fill(variant));
      expect(harness.executor.batches.map((batch) => batch.rows)).toEqual(sizes);
    }
  });
});

test("rows of different wishes share no batch that one did not ask for", async () => {
  const harness = await serve({ bundle: EIGHT });
  harness.executor.isHolding = true;
  const wishes = [{}, { variant: "large" }, {}, { variant: "small" }, { variant: "large" }];
  const replies = [];
  for (const [index, parameters] of wishes.entries()) {
    replies.push(infer(harness, 2, { parameters, id: `r${index}` }));
    while ((await pending(harness)) < 2 * (index + 1)) await new Promise(setImmediate);
  }
  harness.executor.isHolding = false;
  harness.executor.finish();
  const answers = (await Promise.all(replies)).map(jsonOf);
  for (const [index, { parameters, outputs }] of answers.entries()) {
    const wish = wishes[index]?.variant;
    if (wish !== undefined) expect(JSON.parse(parameters.variants)).toEqual([wish, wish]);
    expect(outputs[0].data).toEqual(rows(2).flat());
  }
});

async function pending(harness: Harness): Promise<number> {
  const text = (await call(harness, "/metrics")).body.toString();
  return Number(/stratagem_pending_queries (\d+)/.exec(text)?.[1]);
}

test("one row that names a variant does not wait for others of the policy's", async () => {
  const bundle = waitingBundle(servedBundle({ workers: 2, maxQueue: 3 }));
  const harness = await serve({ bundle });
  const reply = await infer(harness, 1, { parameters: { variant: "large" } });
  expect(jsonOf(reply).parameters).toEqual({ variant: "large", accuracy: 0.8 });
});

test("a timeout below the time of the variant that is named answers 504", async () => {
  const harness = await serve({ bundle: EIGHT });
  // The large one takes 40 ms, the small one 15.
  const reply = await infer(harness, 1, { parameters: { variant: "large", timeout: 39_000 } });
  expect([reply.status, jsonOf(reply).error]).toEqual([
    504,
    "parameters.timeout: expected at least 40000 µs, the time of that variant, got 39000",
  ]);
  expect((await infer(harness, 1, { parameters: { timeout: 39_000 } })).status).toBe(200);
});

describe("a wish", () => {
  const tensors = { names: ["m"], inputs: [], outputs: [] };
  const pipeline = { ...tensors, variants: [{ name: "a" }, { name: "b" }] };

  test("is refused where several variants answer a row", () => {
    expect(() => variantWishOf({ variant: "a" }, pipeline)).toThrow(
      'parameters.variant: expected nothing: several variants answer a row of a pipeline, got "a"',
    );
    expect(() => variantWishOf({ same_variant: true }, pipeline)).toThrow(
      "parameters.same_variant: expected nothing",
    );
    expect(variantWishOf({ same_variant: false }, pipeline)).toBe(undefined);
  });

  test("is granted by the only variant of a model", () => {
    const single = { ...tensors, variants: [{ name: "a" }] };
    expect(variantWishOf({ variant: "a" }, single)).toBe(0);
    expect(variantWishOf({ same_variant: true }, single)).toBe("same");
    expect(() => variantWishOf({ variant: "b" }, single)).toThrow('expected "a", got "b"');
  });
});
