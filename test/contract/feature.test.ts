/** A feature of one file: a route, a setting, a metric, and a hook that HTTP and gRPC both call. */
import { afterEach, expect, test } from "vitest";
import { metric } from "../../runtime/base/exposition.ts";
import { openFeatures, serverFeature } from "../../runtime/features/server-feature.ts";
import { text } from "../../runtime/kinds/kinds.ts";
import { setting } from "../../runtime/kinds/setting.ts";
import { closeClients, rawRequest, serveGrpc } from "../runtime/server/grpc/client.ts";
import { call, closeAll, INFER, inferJson, jsonOf } from "../runtime/server/harness.ts";

/** Counts answers of each model and tells them with a greeting. */
const toy = serverFeature({
  name: "toy",
  title: "Greetings",
  settings: { greeting: setting(text("<word>", "a word"), "hello", "what the toy says") },
  limits: {},
  open: async ({ greeting }) => {
    if (greeting === "") return null;
    const opened: string[] = [];
    let count = 0;
    return {
      hooks: {
        answered: ({ rows }) => {
          count += rows;
        },
      },
      routes: [
        {
          paths: ["/v2/models/:model/greeting", "/v2/models/:model/versions/:version/greeting"],
          methods: "GET",
          need: "infer",
          answer: ({ hosted }) => {
            const name = hosted?.model.signature.names[0];
            return { status: 200, document: { greeting, name, count, opened } };
          },
        },
      ],
      opened: ({ name }) => {
        opened.push(name);
        return { lines: () => metric("toy_opened", "gauge", "Whether the toy has seen it", 1) };
      },
      metricLines: () => metric("toy_answers_total", "counter", "Rows that were answered", count),
      isFit: () => count < 3,
    };
  },
});

const SEAMS = {
  ...{ nowMs: () => 0, epochOffsetMs: () => 0, onNotice: () => {} },
  ...{ version: "0.0.0", environment: {} },
};

afterEach(async () => {
  closeClients();
  await closeAll();
});

test("adds a route, a metric and a setting, and sees answers of HTTP and gRPC alike", async () => {
  const features = await openFeatures([toy], { greeting: "good day" }, SEAMS);
  const harness = await serveGrpc({ features });
  const ready = async () => (await call(harness, "/v2/health/ready")).status;
  const body = inferJson([
    [1, 2],
    [3, 4],
  ]);
  expect((await call(harness, INFER, { body })).status).toBe(200);
  expect(await ready()).toBe(200);
  await harness.client.infer(rawRequest([[1, 2]]));
  expect(await ready()).toBe(503);
  for (const path of ["/v2/models/tiny/greeting", "/v2/models/tiny/versions/1/greeting"]) {
    const told = { greeting: "good day", name: "tiny", count: 3, opened: ["tiny"] };
    expect(jsonOf(await call(harness, path))).toEqual(told);
  }
  const metrics = (await call(harness, "/metrics")).body.toString();
  expect(metrics).toContain("\ntoy_answers_total 3\n");
  expect(metrics).toContain('\ntoy_opened{model="tiny"} 1\n');
});

test("its route has the errors of all routes", async () => {
  const harness = await serveGrpc({ features: await openFeatures([toy], {}, SEAMS) });
  const statusOf = async (path: string, method = "GET") =>
    (await call(harness, path, { method })).status;
  expect(await statusOf("/v2/models/other/greeting")).toBe(404);
  expect(await statusOf("/v2/models/tiny/greeting/more")).toBe(404);
  expect(await statusOf("/v2/models/tiny/greeting", "POST")).toBe(405);
});

test("one that is not asked for is not there", async () => {
  const features = await openFeatures([toy], { greeting: "" }, SEAMS);
  expect(features).toEqual([]);
  const harness = await serveGrpc({ features });
  expect((await call(harness, "/v2/models/tiny/greeting")).status).toBe(404);
});
