/** Lines of the decision log: decisions with their states and outcomes. */
import { afterEach, expect, test } from "vitest";
import { isOfSameMethod } from "../../../../runtime/bundle/same-method.ts";
import type { ReviewDecision } from "../../../../runtime/features/decision-log/decision-line.ts";
import { DecisionLog } from "../../../../runtime/features/decision-log/decision-log.ts";
import { followedBy } from "../../../../runtime/features/decision-log/followed-cores.ts";
import { ramsis } from "../../../../runtime/methods/ramsis/ramsis.ts";
import { call, closeAll, INFER, inferJson, serve, servedBundle } from "../../server/harness.ts";

afterEach(closeAll);

const EPOCH_MS = Date.UTC(2026, 0, 1);
const BODY = inferJson([[1, 2]]);
const BUNDLE = servedBundle({ loadsQps: [20, 100] });

interface Options {
  readonly sample?: number;
  readonly mask?: readonly string[];
}

type Line = Readonly<Record<string, unknown>> & { readonly kind: string };

const review: ReviewDecision = (bundle, made) =>
  isOfSameMethod(BUNDLE, bundle) ? ramsis.reviewed(bundle, made) : undefined;

/** A server whose decisions are logged to a list, once they are flushed. */
async function logged({ sample = 1, mask = [] }: Options = {}) {
  const lines: Line[] = [];
  const clock = { nowMs: 1000, offsetMs: EPOCH_MS };
  const nowMs = () => clock.nowMs;
  const destination = {
    name: "list",
    send: async (text: string) => {
      for (const line of text.trim().split("\n")) lines.push(JSON.parse(line));
      return { kind: "taken" } as const;
    },
  };
  const surroundings = { nowMs, epochOffsetMs: () => clock.offsetMs, onNotice: () => {} };
  const log = new DecisionLog({ destination, sample, mask, review, ...surroundings });
  const features = [followedBy(log)];
  const follower = log.follow(BUNDLE);
  const harness = await serve({
    bundle: BUNDLE,
    features,
    nowMs,
    recorder: (entry) => follower.onEntry(entry),
  });
  const sha256 = "ab".repeat(32);
  const endpoint = { bundle: BUNDLE, bundleSha256: sha256 };
  follower.onOpened({ name: "tiny", endpoint, limits: { maxPending: 64 } });
  const ofKind = async (kind: string, count: number) => {
    for (;;) {
      await log.flush();
      const found = lines.filter((line) => line.kind === kind);
      if (found.length >= count) return found;
      await new Promise(setImmediate);
    }
  };
  return { harness, clock, log, lines, ofKind };
}

test("times follow a step of the wall clock, and times between arrivals do not", async () => {
  const { harness, clock, ofKind } = await logged();
  await call(harness, INFER, { body: BODY });
  clock.nowMs += 5;
  clock.offsetMs += 3_600_000;
  await call(harness, INFER, { body: BODY });
  const decisions = await ofKind("decision", 2);
  expect(decisions.map(({ time }) => time)).toEqual([
    "2026-01-01T00:00:01.000000Z",
    "2026-01-01T01:00:01.005000Z",
  ]);
  expect(await ofKind("arrivals", 1)).toMatchObject([
    { startUs: 1000 * (EPOCH_MS + 3_601_000), gapsUs: [5000] },
  ]);
});

test("a line has the request's id, state, decision, runner-up and outcome", async () => {
  const { harness, clock, log, ofKind } = await logged();
  const { executor } = harness;
  executor.isHolding = true;
  const asked = call(harness, INFER, { body: BODY });
  await executor.ran(1);
  clock.nowMs += 12.5;
  executor.finish();
  const { headers } = await asked;
  const [line] = await ofKind("decision", 1);
  expect(line).toMatchObject({
    id: headers["x-request-id"],
    time: "2026-01-01T00:00:01.000000Z",
    model: "tiny",
    revision: "ab".repeat(32),
    protocol: "http",
    rows: 1,
    decisions: [
      {
        level: 0,
        loadQps: 20,
        state: { queued: 1, slackMs: 100 },
        variant: "large",
        batch: 1,
        worker: 0,
        atMs: 1000,
        tookMs: 12.5,
        runnerUp: { variant: "small", batch: 1, meetsSlack: true },
      },
    ],
    outcome: { kind: "answered", status: 200, latencyMs: 12.5, sloMs: 100, variant: "large" },
  });
  expect(await ofKind("opened", 1)).toMatchObject([
    { application: "tiny", sample: 1, hasEvents: true, maxPending: 64, method: "ramsis" },
  ]);
  // Lost arrivals; lines: opened, events, arrivals and a decision; lost lines.
  const values = log.lines().flatMap((one) => (one.kind === "sample" ? [one.value] : []));
  expect(values).toEqual([0, 4, 0]);
});

test("dropped, rejected and late requests have the outcome in their lines", async () => {
  const { harness, clock, ofKind } = await logged();
  const { executor } = harness;
  executor.isHolding = true;
  const late = call(harness, INFER, { body: BODY });
  await executor.ran(1);
  clock.nowMs += 130;
  executor.finish();
  await late;
  executor.isHolding = false;
  const tooSoon = inferJson([[1, 2]], { parameters: { timeout: 1 } });
  await call(harness, INFER, { body: tooSoon });
  await call(harness, INFER, { body: "{" });
  const lines = await ofKind("decision", 3);
  expect(lines.map(({ outcome }) => outcome)).toMatchObject([
    { kind: "late", status: 200, latencyMs: 130 },
    { kind: "dropped", status: 504, reason: "timeout" },
    { kind: "refused", status: 400 },
  ]);
});

test("a sample has lines of some requests, all arrivals and no events", async () => {
  const { harness, clock, lines, ofKind } = await logged({ sample: 0.25 });
  for (let request = 0; request < 80; request++) {
    clock.nowMs += 10;
    await call(harness, INFER, { body: BODY });
  }
  const arrivals = await ofKind("arrivals", 1);
  const decisions = lines.filter(({ kind }) => kind === "decision");
  // The odds that none or all of 80 are taken are below 2e-10.
  expect(decisions.length).toBeGreaterThan(0);
  expect(decisions.length).toBeLessThan(80);
  expect(lines.filter(({ kind }) => kind === "events")).toEqual([]);
  const gaps = arrivals.flatMap(({ gapsUs }) => gapsUs as number[]);
  expect(gaps.length + arrivals.length).toBe(80);
  expect(arrivals[0]).toMatchObject({ model: "tiny", startUs: 1000 * (EPOCH_MS + 1010) });
  expect(gaps.every((us) => us === 10_000)).toBe(true);
});

test("masked fields are omitted or replaced by a consistent digest", async () => {
  const { harness, ofKind } = await logged({ mask: ["client", "id=digest", "userAgent"] });
  for (const id of ["mine", "mine", "other"]) {
    await call(harness, INFER, { body: BODY, headers: { "x-request-id": id } });
  }
  const lines = await ofKind("decision", 3);
  for (const line of lines) expect(line).not.toHaveProperty("client");
  const [one, two, three] = lines.map(({ id }) => id);
  expect(one).toMatch(/^[\da-f]{16}$/);
  expect(two).toBe(one);
  expect(three).not.toBe(one);
});
