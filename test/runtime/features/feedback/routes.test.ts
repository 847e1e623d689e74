/** Feedback over HTTP: counts, rejections and reports. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, expect, test } from "vitest";
import { closeClients, rawRequest, serveGrpc } from "../../server/grpc/client.ts";
import {
  call,
  closeAll,
  type Harness,
  INFER,
  inferJson,
  jsonOf,
  serve,
} from "../../server/harness.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-feedback-"));
afterEach(closeAll);
afterAll(() => rmSync(folder, { recursive: true }));

const FEEDBACK = "/v2/models/tiny/feedback";
const KEEPING = { settings: { feedbackRows: 100 } };

/** The echo answers rows as they are, so the class is the place of the larger number. */
async function asked(harness: Harness, id: string, rows: readonly (readonly number[])[]) {
  const reply = await call(harness, INFER, { body: inferJson(rows, { id }) });
  expect(reply.status).toBe(200);
  return jsonOf(reply).parameters.variant as string;
}

async function fed(harness: Harness, body: unknown) {
  const reply = await call(harness, FEEDBACK, { body: JSON.stringify(body) });
  const json = jsonOf(reply);
  return [reply.status, json.error ?? json];
}

async function told(harness: Harness) {
  const reply = await call(harness, FEEDBACK);
  expect(reply.status).toBe(200);
  return jsonOf(reply);
}

test("counts a label as right or wrong for the variant that answered", async () => {
  const harness = await serve(KEEPING);
  const variant = await asked(harness, "a", [[0.2, 0.8]]);
  await asked(harness, "b", [[0.9, 0.1]]);
  expect(await fed(harness, { id: "a", label: 1 })).toEqual([
    200,
    { correct: 1, wrong: 0, variants: { [variant]: { correct: 1, wrong: 0 } } },
  ]);
  expect(await fed(harness, { id: "b", label: 1 })).toEqual([
    200,
    { correct: 0, wrong: 1, variants: { [variant]: { correct: 0, wrong: 1 } } },
  ]);
  const { model, since, variants } = await told(harness);
  expect({ model, since }).toEqual({
    model: "tiny",
    since: "1970-01-01T00:00:01.000Z",
  });
  expect(Object.keys(variants)).toEqual(["small", "large"]);
  const { profiled, labels, estimate, lower, upper } = variants[variant];
  expect({ labels, estimate }).toEqual({ labels: { correct: 1, wrong: 1 }, estimate: 0.5 });
  expect(profiled).toBe(variant === "small" ? 0.6 : 0.8);
  expect(lower).toBeGreaterThan(0);
  expect(upper).toBeLessThan(1);
  const other = variants[variant === "small" ? "large" : "small"];
  expect(other).toMatchObject({ estimate: null, lower: 0, upper: 1 });
});

test("takes a list of labels for a request of several rows, and lists of requests", async () => {
  const harness = await serve(KEEPING);
  const rows = [
    [1, 0],
    [0, 1],
  ];
  await asked(harness, "two", rows);
  await asked(harness, "one", [[1, 0]]);
  const feedback = [
    { id: "two", label: [0, 0] },
    { id: "one", correct: true },
    { id: "one", correct: false },
    { id: "nobody", label: 0 },
  ];
  const [status, counted] = await fed(harness, { feedback });
  expect(status).toBe(200);
  expect(counted).toMatchObject({
    correct: 2,
    wrong: 1,
    unknown: ["nobody"],
    repeated: ["one"],
  });
});

test("names an invalid field and counts nothing", async () => {
  const harness = await serve(KEEPING);
  await asked(harness, "a", [[1, 0]]);
  const errors: readonly (readonly [unknown, string])[] = [
    [{ id: "a" }, "label: expected exactly one of label and correct, got nothing"],
    [{ id: "a", label: 0, correct: true }, "correct: expected exactly one of label and correct"],
    [{ id: "", label: 0 }, "id: expected a request id"],
    [{ id: "a", label: 0.5 }, "label: expected the index or the name of a class, got 0.5"],
    [{ id: "a", label: "cat" }, 'label: expected the index of a class, got "cat"'],
    [{ id: "a", label: [0, 1] }, "label: expected one value, got 2"],
    [{ id: "a", label: 2 }, "label: expected the index of a class, 0 to 1, got 2"],
    [{ id: "a", correct: 1 }, "correct: expected true or false, got 1"],
    [{ id: "a", label: 0, lable: 1 }, "lable: expected only id, label and correct"],
    [{ feedback: {} }, "feedback: expected an array of 1 to 1024 objects"],
    [{ feedback: [3] }, "feedback[0]: expected an object, got 3"],
    [
      {
        feedback: [
          { id: "a", label: 0 },
          { id: "a", label: true },
        ],
      },
      "feedback[1].label: expected the index",
    ],
  ];
  for (const [body, message] of errors) {
    const [status, error] = await fed(harness, body);
    expect([status, error]).toEqual([400, expect.stringContaining(message)]);
  }
  const { variants } = await told(harness);
  expect(variants.small.labels).toEqual({ correct: 0, wrong: 0 });
});

test("rejects feedback on unknown requests and repeated feedback", async () => {
  const harness = await serve(KEEPING);
  expect(await fed(harness, { id: "a", label: 0 })).toEqual([
    404,
    expect.stringContaining('no request "a" is known'),
  ]);
  await asked(harness, "a", [[1, 0]]);
  expect((await fed(harness, { id: "a", label: 0 }))[0]).toBe(200);
  expect(await fed(harness, { id: "a", correct: false })).toEqual([
    409,
    'request "a" already has feedback',
  ]);
  // The id is another request's from now on.
  await asked(harness, "a", [[1, 0]]);
  expect((await fed(harness, { id: "a", label: 1 }))[0]).toBe(200);
  const lines = (await call(harness, "/metrics")).body.toString();
  expect(lines).toMatch(/stratagem_refused_total\{[^}]*reason="unknown"\} 1/);
  expect(lines).toMatch(/stratagem_refused_total\{[^}]*reason="repeated"\} 1/);
});

test("forgets requests after the feedback time, and the oldest beyond the limit", async () => {
  const harness = await serve({ settings: { feedbackRows: 2, feedbackTime: 1000 } });
  for (const id of ["a", "b", "c"]) await asked(harness, id, [[1, 0]]);
  expect((await fed(harness, { id: "a", label: 0 }))[0]).toBe(404);
  harness.clock.nowMs += 1000;
  expect((await fed(harness, { id: "b", label: 0 }))[0]).toBe(200);
  harness.clock.nowMs += 1;
  expect((await fed(harness, { id: "c", label: 0 }))[0]).toBe(404);
});

test("prefers the id of the header to that of the body, as answers do", async () => {
  const harness = await serve(KEEPING);
  const headers = { "x-request-id": "header" };
  await call(harness, INFER, { body: inferJson([[1, 0]], { id: "body" }), headers });
  expect((await fed(harness, { id: "body", label: 0 }))[0]).toBe(404);
  expect((await fed(harness, { id: "header", label: 0 }))[0]).toBe(200);
});

test("exposes counts and intervals at /metrics", async () => {
  const harness = await serve(KEEPING);
  const variant = await asked(harness, "a", [[1, 0]]);
  await fed(harness, { id: "a", label: 0 });
  const text = (await call(harness, "/metrics")).body.toString();
  const labels = `model="tiny",variant="${variant}"`;
  expect(text).toContain(`stratagem_feedback_total{${labels},correct="true"} 1`);
  expect(text).toContain(`stratagem_feedback_total{${labels},correct="false"} 0`);
  expect(text).toContain(`stratagem_observed_accuracy_ratio{${labels},bound="estimate"} 1`);
  expect(text).toContain(`stratagem_observed_accuracy_ratio{${labels},bound="upper"} 1`);
  expect(text).toContain('stratagem_buffered_bytes{model="tiny",what="feedback"} 1696\n');
});

test("keeps nothing and responds with 501 unless feedback is configured", async () => {
  const harness = await serve({ settings: { accessLog: join(folder, "access.log") } });
  await asked(harness, "a", [[1, 0]]);
  expect(await fed(harness, { id: "a", label: 0 })).toEqual([
    501,
    "feedback is disabled on this server: expected --limit feedbackRows=N, such as 65536",
  ]);
  expect((await call(harness, "/metrics")).body.toString()).not.toContain('what="feedback"');
});

test("rejects other methods, unknown models, and oversized bodies", async () => {
  const harness = await serve(KEEPING);
  expect((await call(harness, FEEDBACK, { method: "DELETE" })).status).toBe(405);
  const unknown = await call(harness, "/v2/models/none/feedback", { body: "{}" });
  expect(unknown.status).toBe(404);
  const long = await call(harness, FEEDBACK, { body: `{"id":"${"a".repeat(300_000)}"}` });
  expect(long.status).toBe(413);
});

test("gRPC requests accept feedback over HTTP", async () => {
  const { client, ...harness } = await serveGrpc(KEEPING);
  await client.infer(rawRequest([[1, 0]], { id: "g" }));
  expect((await fed(harness, { id: "g", label: 0 }))[1]).toMatchObject({ correct: 1, wrong: 0 });
  closeClients();
});
