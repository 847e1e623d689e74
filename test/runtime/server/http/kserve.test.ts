/** KServe's first protocol, and what its servers and clients ask for beside inference. */
import { afterEach, expect, test } from "vitest";
import { call, closeAll, type Harness, jsonOf, serve, servedBundle } from "../harness.ts";

afterEach(closeAll);

const PREDICT = "/v1/models/tiny:predict";

function predict(harness: Harness, request: unknown) {
  return call(harness, PREDICT, { body: JSON.stringify(request) });
}

test("instances of the only input are answered row by row", async () => {
  const harness = await serve();
  const reply = await predict(harness, { instances: [[1, 2], { x: [3, 4] }] });
  expect([reply.status, reply.headers["content-type"]]).toEqual([200, "application/json"]);
  expect(jsonOf(reply)).toEqual({
    predictions: [
      [1, 2],
      [3, 4],
    ],
  });
  expect(reply.headers["stratagem-variant"]).toBe("large");
  const [stats] = jsonOf(await call(harness, "/v2/models/tiny/stats")).model_stats;
  expect(stats).toMatchObject({ inference_count: 2, inference_stats: { success: { count: 1 } } });
});

test("instances of several inputs are objects, and so are their predictions", async () => {
  const infos = ["a", "b"].map((name, index) => {
    return {
      name,
      dtype: ["string", "int64"][index] ?? "",
      shape: [-1, 1, 2].slice(0, 3 - 2 * index),
    };
  });
  const harness = await serve({ bundle: servedBundle({}, infos, infos) });
  const instances = [
    { a: [["x", "ä"]], b: 7 },
    { a: [[{ b64: "eA==" }, ""]], b: "9007199254740993" },
  ];
  const body = JSON.stringify({ instances }).replace('"9007199254740993"', "9007199254740993");
  const reply = await call(harness, PREDICT, { body });
  expect(reply.body.toString()).toBe(
    '{"predictions":[{"a":[["x","ä"]],"b":7},{"a":[["x",""]],"b":9007199254740993}]}',
  );
  const bare = await predict(harness, { instances: [[1]] });
  expect([bare.status, jsonOf(bare).error]).toEqual([
    400,
    'instances[0]: expected an object of "a", "b", got an array of 1',
  ]);
  const other = await predict(harness, { instances: [{ a: [["", ""]], b: 1, c: 2 }] });
  expect(jsonOf(other).error).toBe('instances[0]: expected "a" or "b", got "c"');
});

test("long instances are read, and long predictions written, beside the event loop", async () => {
  const infos = [{ name: "x", dtype: "float32", shape: [-1, 3000] }];
  const harness = await serve({ bundle: servedBundle({}, infos, infos) });
  const instances = [0, 1, 2].map((row) => Array.from({ length: 3000 }, (_, i) => i + row + 0.25));
  const reply = await predict(harness, { instances });
  expect([reply.status, jsonOf(reply)]).toEqual([200, { predictions: instances }]);
});

test.each<[string, unknown, string]>([
  ["no instances", { inputs: [] }, 'request: expected only instances, got "inputs"'],
  [
    "parameters",
    { instances: [[1, 2]], parameters: { timeout: 5 } },
    'request: expected only instances, got "parameters"',
  ],
  [
    "another field",
    { instances: [[1, 2]], min_accuracy: 0.9 },
    'request: expected only instances, got "min_accuracy"',
  ],
  ["none of them", { instances: [] }, "instances: expected 1 to 64 of them, got an array of 0"],
  ["short rows", { instances: [[1]] }, "instances[0]: expected 2 elements, got 1"],
  [
    "another element",
    {
      instances: [
        [1, 2],
        [1, "a"],
      ],
    },
    "instances[1][1]: expected a number",
  ],
  ["no object", [1], "request: expected an object, got an array of 1"],
])("instances are refused by their path: %s", async (_, request, message) => {
  const reply = await predict(await serve(), request);
  expect([reply.status, jsonOf(reply).error]).toEqual([400, expect.stringContaining(message)]);
});

test("models are listed, told of, and not there by other names", async () => {
  const harness = await serve();
  const models = { models: ["tiny", "classify"] };
  for (const path of ["/v1/models", "/v1/models/", "/v2/models", "/v2/models/"]) {
    expect([path, jsonOf(await call(harness, path))]).toEqual([path, models]);
  }
  expect(jsonOf(await call(harness, "/v1/models/tiny"))).toEqual({ name: "tiny", ready: true });
  for (const path of ["/v1/models/other", "/v1/models/tiny:explain", "/v1/other", "/v1"]) {
    expect([path, (await call(harness, path)).status]).toEqual([path, 404]);
  }
  expect((await call(harness, "/v1/models/other:predict", { body: "{}" })).status).toBe(404);
  expect((await call(harness, PREDICT)).status).toBe(405);
});

test("health is told wherever clients look for it, with a slash or without", async () => {
  const harness = await serve({}, { ready: false });
  const told = async (path: string) => {
    const reply = await call(harness, path);
    return [reply.status, jsonOf(reply)];
  };
  expect(await told("/")).toEqual([200, { status: "alive" }]);
  expect(await told("/v2/health/live/")).toEqual([200, { live: true }]);
  expect(await told("/v2/health/ready/")).toEqual([503, { ready: false }]);
  expect(await told("/v1/models/tiny")).toEqual([503, { name: "tiny", ready: false }]);
  expect(await told("/v2/models/tiny/ready/")).toEqual([503, { name: "tiny", ready: false }]);
  harness.executor.handlers.onReady(0);
  expect(await told("/v2/health/ready")).toEqual([200, { ready: true }]);
  expect(await told("/v2/models/tiny/versions/1/ready")).toEqual([
    200,
    { name: "tiny", ready: true },
  ]);
  expect(await told("/v2/")).toEqual(await told("/v2"));
  for (const path of ["/v2//", "/v2/health/", "/v2/models/tiny//", "//", "/v2/trace"]) {
    expect([path, (await call(harness, path)).status]).toEqual([path, 404]);
  }
});
