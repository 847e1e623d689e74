/** Promotion and rollback of a canary. */
import { expect, test } from "vitest";
import { Judgement, type Seen } from "../../../../runtime/features/canary/judgement.ts";
import type { PromiseState } from "../../../../runtime/server/measures/facts.ts";

const NONE = { stable: { kept: 0, violated: 0 }, canary: { kept: 0, violated: 0 } };

function promise(holds: boolean, evidence: number): PromiseState {
  const because = holds ? "" : "one takes 2.0x its profile at batch 1";
  return { promise: "service_time", holds, evidence, because };
}

/** Of a trial that has gone well for so long, at 50 requests a second for each arm. */
function seen(seconds: number, changes: Partial<Seen> = {}): Seen {
  const arms = {
    stable: { kept: 50 * seconds, violated: 0 },
    canary: { kept: 50 * seconds, violated: 0 },
  };
  return { arms, stablePromises: [], canaryPromises: [], isReady: true, ...changes };
}

/** What is told in so many seconds, and when. */
function judged(seconds: number, changes: (second: number) => Partial<Seen> = () => ({})) {
  const judgement = new Judgement({ timeMs: 60_000, tolerance: 0.005 }, NONE, 0);
  for (let second = 1; second <= seconds; second++) {
    const verdict = judgement.look(seen(second, changes(second)), 1000 * second);
    if (verdict !== undefined) return { ...verdict, second };
  }
  return undefined;
}

test("a canary is promoted after its time and with enough evidence", () => {
  expect(judged(59)).toBeUndefined();
  expect(judged(60)).toEqual({
    kind: "as good",
    second: 60,
    because:
      "0.0 % of its 3000 requests are late or failed, against 0.0 % of the stable bundle's 3000",
  });
});

test("a canary without requests is never promoted", () => {
  expect(judged(3600, () => ({ arms: NONE }))).toBeUndefined();
});

test("a canary waits while its workers are not ready or both bundles break a promise", () => {
  expect(judged(600, () => ({ isReady: false }))).toBeUndefined();
  const both = () => ({
    canaryPromises: [promise(false, 1)],
    stablePromises: [promise(false, 1)],
  });
  expect(judged(600, both)).toBeUndefined();
});

test("a canary waits while one of its promises is in doubt", () => {
  const doubted = (second: number) => ({
    canaryPromises: [promise(true, second < 90 ? 0.6 : 0.4)],
  });
  expect(judged(600, doubted)?.second).toBe(90);
});

test("breaking a promise alone rolls a canary back, and one in doubt for both does not", () => {
  const alone = { canaryPromises: [promise(false, 1)], stablePromises: [promise(true, 0.2)] };
  expect(judged(10, (second) => (second < 5 ? {} : alone))).toEqual({
    kind: "worse",
    second: 5,
    because: "it breaks a promise: service times: one takes 2.0x its profile at batch 1",
  });
  const shared = { canaryPromises: [promise(false, 1)], stablePromises: [promise(true, 0.6)] };
  expect(judged(600, () => shared)).toBeUndefined();
});

test("late and failed requests roll a canary back before its time", () => {
  const bad = (second: number) => ({
    arms: {
      stable: { kept: 950 * second, violated: 0 },
      canary: { kept: 25 * second, violated: 25 * second },
    },
  });
  const told = judged(60, bad);
  expect(told?.kind).toBe("worse");
  expect(told?.second).toBeLessThanOrEqual(20);
  expect(told?.because).toMatch(/^50\.0 % of its \d+ requests are late or failed, against /);
});

test("reports the progress", () => {
  const judgement = new Judgement({ timeMs: 60_000, tolerance: 0.005 }, NONE, 0);
  expect(judgement.progress(0)).toMatchObject({
    evidenceFor: 0,
    evidenceAgainst: 0,
    leftMs: 60_000,
  });
  judgement.look(seen(20), 20_000);
  const { evidenceFor, leftMs } = judgement.progress(20_000);
  expect(evidenceFor).toBeGreaterThan(0.5);
  expect(leftMs).toBe(40_000);
});
