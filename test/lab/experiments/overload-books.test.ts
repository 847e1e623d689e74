/** What overload, soak and faults say of what they measured. */
import { describe, expect, test } from "vitest";
import { Span, wellAfterMs } from "../../../lab/campaign/load/fault-span.ts";
import { grew, lineFit } from "../../../lab/campaign/load/line-fit.ts";
import { overloadMisses, recoveryMs } from "../../../lab/campaign/load/overload-verdict.ts";
import { PhaseTally } from "../../../lab/campaign/load/phase-tally.ts";
import { SoakBooks } from "../../../lab/campaign/load/soak-books.ts";

const SLO_MS = 100;

function tallied(answers: readonly (readonly [status: number, ms: number])[], seconds = 1) {
  const tally = new PhaseTally({ qps: 10, seconds }, 0, SLO_MS);
  for (const [at, [status, ms]] of answers.entries()) {
    tally.onDue();
    const sentMs = (1000 * seconds * at) / answers.length;
    tally.onAnswer(status, ms, tally.onSent(sentMs, sentMs));
  }
  return tally.report();
}

const good = (count: number) => Array.from({ length: count }, () => [200, 10] as const);

describe("an overload", () => {
  test("misses nothing where goodput stays and refusals are quick", () => {
    const over = tallied([...good(96), ...Array.from({ length: 900 }, () => [503, 2] as const)]);
    expect(overloadMisses(tallied(good(100)), over, SLO_MS)).toEqual([]);
  });

  test("misses goodput, late answers, slow refusals, and what has no answer", () => {
    const slow = [[200, 111] as const, [503, 21] as const, [500, 1] as const];
    expect(overloadMisses(tallied(good(100)), tallied(slow), SLO_MS)).toEqual([
      "goodput 0.0 % of that at capacity",
      "p99 of accepted 111 ms",
      "p99 of refusals 21.0 ms",
      "1 requests with the fate 500",
    ]);
  });

  test("is over after the last window with more than a stray", () => {
    const late = Array.from({ length: 30 }, () => [200, 500] as const);
    expect(recoveryMs(tallied([...late, ...good(90)], 2))).toBe(500);
    expect(recoveryMs(tallied(good(90), 2))).toBe(0);
  });
});

describe("the books", () => {
  const metrics = (entries: readonly (readonly [string, number])[]) =>
    new Map<string, number>([
      ['stratagem_requests_in_flight{protocol="http"}', 1],
      ...entries.map(([name, count]) => [name, count] as const),
    ]);
  const code = (status: string) => `stratagem_requests_total{protocol="http",code="${status}"}`;

  test("agree, and allow that a request that was left was answered before", () => {
    const books = new SoakBooks();
    books.onAnswer("200", 3);
    books.onAnswer("503", 2);
    books.left = 2;
    books.inferences = 6;
    const counted = [
      ...[[code("200"), 3] as const, [code("503"), 2] as const, [code("none"), 1] as const],
      ['nv_inference_request_success{model="m"}', 3] as const,
      ['nv_inference_request_failure{model="m",reason="REJECTED"}', 3] as const,
    ];
    expect(books.differences(metrics(counted))).toEqual([]);
  });

  test("tell each difference", () => {
    const books = new SoakBooks();
    books.onAnswer("200", 3);
    books.inferences = 2;
    const found = books.differences(metrics([[code("200"), 1]]));
    expect(found).toEqual([
      "clients sent 3, the server saw 2",
      "200: clients 3, server 2",
      "clients asked for 2 inferences, the server answered 0 and failed 0",
    ]);
  });
});

test("a tally counts answers that say no by their words, without their numbers", () => {
  const tally = new PhaseTally({ qps: 10, seconds: 1 }, 0, SLO_MS);
  tally.onReason(503, '{"error":"its deadline of 12.5 ms can no longer be met"}');
  tally.onReason(503, '{"error":"its deadline of 7 ms can no longer be met"}');
  tally.onReason(500, "");
  expect(tally.report().byReason).toEqual({
    "503 its deadline of N ms can no longer be met": 2,
    "500 no reason": 1,
  });
});

describe("a span of requests", () => {
  const asked = (sentMs: number, tookMs: number, status: number | undefined, reason = "") => {
    return { sentMs, endMs: sentMs + tookMs, status, reason };
  };
  const never = { ...asked(30, Number.POSITIVE_INFINITY, undefined), reason: "ECONNRESET" };
  const all = [
    ...[asked(0, 10, 200), asked(10, 101, 200), asked(20, 5, 503, "overloaded"), never],
    ...[asked(40, 5, 500), asked(50, 10, 200)],
  ];

  test("counts each fate of what was sent in it", () => {
    const { sent, good, late, unanswered, failed, unreasoned } = new Span(all, SLO_MS, 0, 50);
    expect({ sent, good, late, unanswered, failed, unreasoned }).toEqual({
      ...{ sent: 5, good: 1, late: 1, unanswered: 1, failed: 1, unreasoned: 1 },
    });
    expect(new Span(all, SLO_MS, 0, 50).badShare).toBeCloseTo(0.8);
    expect(new Span(all, SLO_MS, 50, 60).badShare).toBe(0);
  });

  test("is well once the rest is as good as it should be", () => {
    expect(wellAfterMs(all, SLO_MS, 0, 60, 0)).toBe(40);
    expect(wellAfterMs(all, SLO_MS, 0, 60, 0.7)).toBe(0);
    const bad = [asked(0, 1, 500), asked(1, 1, 500)];
    expect(wellAfterMs(bad, SLO_MS, 0, 60, 0)).toBe(1);
    expect(wellAfterMs([never, never], SLO_MS, 0, 60, 0)).toBe(30);
    expect(wellAfterMs([], SLO_MS, 0, 60, 0)).toBe(0);
  });
});

test("memory grows where a line says so for sure, and by more than a little", () => {
  const line = (slope: number) =>
    lineFit(Array.from({ length: 60 }, (_, at) => [at / 10, 100 + (slope * at) / 10 + (at % 2)]));
  expect(line(10).slope).toBeCloseTo(10, 0);
  expect(grew(line(10), 6)).toBe(true);
  expect(grew(line(1), 6)).toBe(false);
  expect(grew(line(-10), 6)).toBe(false);
});
