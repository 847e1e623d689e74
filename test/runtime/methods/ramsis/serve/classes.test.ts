/** Requests of several classes, over HTTP. */
import { afterEach, describe, expect, test } from "vitest";
import { classBundle } from "../../../../support/class-bundle.ts";
import { ofOneModel } from "../../../../support/metrics-text.ts";
import { call, closeAll, INFER, inferJson, jsonOf, serve } from "../../../server/harness.ts";

afterEach(closeAll);

const asking = (sloClass: unknown, extra: object = {}) => ({
  body: inferJson([[1, 2]], { parameters: { slo_class: sloClass, ...extra } }),
});

/** Large where at least 200 ms are left, in whichever table: more than the short class ever has. */
const bySlack = (split: readonly number[] | null) =>
  classBundle({
    split,
    decide: ({ slackMs, queued }) => ({ variant: slackMs >= 200 ? 1 : 0, batch: queued }),
  });

describe.each([["one queue", null] as const, ["workers of their own", [1, 1]] as const])(
  "with %s",
  (_, split) => {
    test("a request has the deadline of its class, named by parameter or model", async () => {
      const harness = await serve({ bundle: bySlack(split) });
      const variantOf = async (path: string, options: object) => {
        const reply = await call(harness, path, options);
        expect(reply.status).toBe(200);
        return jsonOf(reply).parameters;
      };
      const plain = { body: inferJson([[1, 2]]) };
      const short = { variant: "small", accuracy: 0.6, slo_class: "interactive" };
      const long = { variant: "large", accuracy: 0.8, slo_class: "relaxed" };
      expect(await variantOf(INFER, asking("interactive"))).toEqual(short);
      expect(await variantOf(INFER, asking("relaxed"))).toEqual(long);
      expect(await variantOf("/v2/models/tiny.relaxed/infer", plain)).toEqual(long);
      expect(await variantOf("/v2/models/classify.interactive/infer", plain)).toEqual(short);
      expect(await variantOf("/v2/models/tiny.relaxed/infer", asking("relaxed"))).toEqual(long);
      // Without either, the first class; and the earlier of its deadline and the request's own.
      expect(await variantOf(INFER, plain)).toEqual(short);
      const timeout = { timeout: 150_000 };
      const tighter = { ...long, variant: "small", accuracy: 0.6 };
      expect(await variantOf(INFER, asking("relaxed", timeout))).toEqual(tighter);
    });

    test("a priority is refused with what there is instead", async () => {
      const harness = await serve({ bundle: bySlack(split) });
      const reply = await call(harness, INFER, asking("relaxed", { priority: 1 }));
      expect([reply.status, jsonOf(reply).error]).toEqual([
        400,
        "parameters.priority: expected 0: requests to this model have SLO classes instead of " +
          "priorities, by slo_class, got 1",
      ]);
      expect((await call(harness, INFER, asking("relaxed", { priority: 0 }))).status).toBe(200);
    });

    test("a late answer is one after the deadline of its class", async () => {
      const harness = await serve({ bundle: bySlack(split) });
      const { executor, clock } = harness;
      executor.isHolding = true;
      const short = call(harness, INFER, asking("interactive"));
      await executor.ran(1);
      const long = call(harness, INFER, asking("relaxed"));
      await executor.ran(2);
      clock.nowMs += 250;
      executor.finish();
      executor.finish();
      expect([(await short).status, (await long).status]).toEqual([200, 200]);
      const text = ofOneModel((await call(harness, "/metrics")).body.toString());
      for (const line of [
        'stratagem_queries_total{slo_class="interactive",outcome="late"} 1',
        'stratagem_queries_total{slo_class="relaxed",outcome="satisfied"} 1',
        'stratagem_queries_total{slo_class="relaxed",outcome="late"} 0',
        'stratagem_satisfied_accuracy_total{slo_class="interactive"} 0',
        'stratagem_satisfied_accuracy_total{slo_class="relaxed"} 0.8',
        'stratagem_slo_seconds{slo_class="relaxed"} 0.4',
        'stratagem_expected_ratio{slo_class="relaxed",figure="accuracy"} 0.7',
        'stratagem_expected_ratio{slo_class="interactive",figure="violations"} 0.001',
      ]) {
        expect(text).toContain(`${line}\n`);
      }
    });
  },
);

test("unknown classes are refused by name, in the parameter and in the URL", async () => {
  const harness = await serve({ bundle: bySlack(null) });
  const refusal = async (path: string, options: object) => {
    const reply = await call(harness, path, options);
    return `${reply.status} ${jsonOf(reply).error}`;
  };
  expect(await refusal(INFER, asking("fast"))).toBe(
    '400 parameters.slo_class: expected "interactive" or "relaxed", got "fast"',
  );
  expect(await refusal(INFER, asking(3))).toBe(
    "400 parameters.slo_class: expected a string, got 3",
  );
  expect(await refusal("/v2/models/tiny.relaxed/infer", asking("interactive"))).toBe(
    '400 parameters.slo_class: expected "relaxed", the class of model "tiny.relaxed", ' +
      'got "interactive"',
  );
  expect(await refusal("/v2/models/tiny.fast", {})).toBe(
    "404 Request for unknown model: 'tiny.fast' is not found; there are tiny, " +
      "classify, tiny.interactive, tiny.relaxed, classify.interactive, classify.relaxed",
  );
});

test("every class is a model for metadata, readiness, index and configuration", async () => {
  const harness = await serve({ bundle: bySlack(null) });
  const get = async (path: string, body?: string) =>
    jsonOf(await call(harness, path, body === undefined ? {} : { body }));
  expect(await get("/v2/models/tiny.relaxed")).toMatchObject({ name: "tiny.relaxed" });
  expect(await get("/v2/models/classify.relaxed/ready")).toEqual({
    name: "classify.relaxed",
    ready: true,
  });
  const index: { name: string }[] = await get("/v2/repository/index", "{}");
  expect(index.map(({ name }) => name)).toEqual([
    "tiny",
    "classify",
    "tiny.interactive",
    "tiny.relaxed",
    "classify.interactive",
    "classify.relaxed",
  ]);
  const { parameters } = await get("/v2/models/tiny/config");
  expect(JSON.parse(parameters.slo_classes.string_value)).toEqual(bySlack(null).slo.classes);
});

test("a bundle of other shares takes over, one of other deadlines does not", async () => {
  const { server } = await serve({ bundle: classBundle() });
  const shares = [
    { name: "interactive", latencyMs: 100, share: 0.5 },
    { name: "relaxed", latencyMs: 400, share: 0.5 },
  ];
  expect(server.replaceBundle(classBundle({ classes: shares, split: [1, 1] }), "cd")).toBeNull();
  const deadlines = [{ name: "interactive", latencyMs: 90, share: 0.5 }, ...shares.slice(1)];
  expect(server.replaceBundle(classBundle({ classes: deadlines }), "ef")).toBe(
    "it has another list of classes",
  );
});

test("where all requests have the same SLO, no class can be asked for", async () => {
  const harness = await serve();
  const reply = await call(harness, INFER, asking("interactive"));
  expect([reply.status, jsonOf(reply).error]).toEqual([
    400,
    'parameters.slo_class: expected nothing: all requests have the same SLO, got "interactive"',
  ]);
});
