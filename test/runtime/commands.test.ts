import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { EXIT_CODE_BY_ERROR, RUNTIME_ERRORS } from "../../runtime/base/errors.ts";
import { inspectCommand } from "../../runtime/commands/inspect.ts";
import { verifyCommand } from "../../runtime/commands/verify.ts";
import { percent } from "../../runtime/describe/text.ts";

const fixture = (name: string): string =>
  fileURLToPath(new URL(`../fixtures/bundles/${name}.msgpack`, import.meta.url));
const path = fixture("v1");

test("inspect sums a bundle up", async () => {
  const { text, exitCode } = await inspectCommand({ path, loadQps: null, state: null });
  expect(exitCode).toBe(0);
  expect(text.replace(/sha256 .*/, "sha256 …")).toBe(`sample: ramsis, format version 1, 2865 bytes
sha256 …
compiled by sample/1 from 2 inputs
slo: 120 ms, violations at most 5.000%
latencies without serving path
pool default: 4 workers
policy: per-query, 6 slack steps, maximal batching, 4 queued at most, round-robin

task classify
   variant  accuracy  batch 1 ms  dominated
a  small     60.000%          13  no
b  lärge     75.000%          36  no
dominated: another variant is at least as accurate and as fast

load qps  accuracy/satisfied  accuracy/query  upper bound  all served  violations  \
p50 ms  p99 ms  headroom  feasible
      40             70.000%         69.000%      75.000%           -      1.000%       -       -  \
       -  yes
    80.5             70.000%         69.000%      75.000%           -      1.000%       -       -  \
       -  yes
accuracy/satisfied: of answers in time; accuracy/query: 0 if late or lost; upper bound: of any
policy; all served: same, none lost; violations: late or dropped; headroom: tolerated slowdown`);
});

test("inspect --level draws the policy of the level that answers", async () => {
  const { text, json } = await inspectCommand({ path, loadQps: 30, state: null });
  expect(json).toMatchObject({ formatVersion: 1, level: { index: 0, loadQps: 40 } });
  expect(text).toBe(`level 40 qps promises: accuracy per query 69.000%, violations 1.000%

level 40 qps: variant by queries queued (rows) and slack, 0 to 120 ms (columns)
a small
b lärge

queued  slack →
     1  a a b b b b b
     2  a a a b b b b
     3  a a a a b b b
     4  a a a a a b b
     5  a a a a a b b`);
});

test("inspect --state explains the decision", async () => {
  const options = { path, loadQps: null, state: "queued=3,slack=85ms" };
  const { text, json } = await inspectCommand(options);
  expect(json).toMatchObject({ state: { decision: { variant: "small", batch: 3 } } });
  expect(text).toBe(`queued 3, slack 85 ms: run small on 3 queries: takes 29 ms, \
ends 56 ms before the deadline
answered by level 80.5 qps (no --level given: the top one), in its state queued 3, slack 80 ms

what could run now, and why it does not:
   variant  batch  takes ms  accuracy
a  small        3        29   60.000%  chosen
b  lärge        3        68   75.000%  +15 points, 39 ms longer: 0.78 queries per worker come

one query more: small on 4 queries
one slack step less (60 ms): small on 3 queries`);
});

test("inspect --state states how late a batch is", async () => {
  const { text } = await inspectCommand({ path, loadQps: null, state: "queued=5,slack=70ms" });
  expect(text).toMatch(/\nb {2}lärge .* 30 ms too late for the earliest query\n/);
});

test.each([
  [
    { unit: "queries", actions: values([0, 3, 0], [1, 3, -0.25]) },
    [
      /\nb {2}lärge +3 +68 +75.000% +\+0.45 +-0.7 +-0.25 {2}\+15 points/,
      /right answers \(a query counts with the accuracy of the variant that answers it\)/,
    ],
  ],
  [
    { unit: "decisions", actions: values([0, 3, 0], [0, 2, 0]) },
    [/\na {2}small +2 +21 +60.000% +0 +0 +0 {2}8 ms sooner\n/],
  ],
  [
    { unit: "queries", actions: values([1, 3, 0], [1, 2, -0.5], [0, 3, -1]) },
    [/\nby that measure lärge on 3 queries would be better by 1; the table was chosen as a whole/],
  ],
  [{ unit: "queries", actions: values([0, 3, 0]) }, [/\nb {2}lärge .* - +- +- {2}\+15 points/]],
  [
    { reason: "two tables answer" },
    [/\nwhat each would cost later is not known: two tables answer\n/],
  ],
] as const)("inspect --state says what others would cost: %j", async (found, patterns) => {
  const options = { path, loadQps: null, state: "queued=3,slack=85ms" };
  const { text, json } = await inspectCommand(options, async (_, level, queued, slackMs) => {
    expect([level, queued, slackMs]).toEqual([1, 3, 85]);
    return found;
  });
  for (const pattern of patterns) expect(text).toMatch(pattern);
  const byName = (index: number) => ["small", "lärge"][index];
  const expected =
    "reason" in found
      ? null
      : { ...found, actions: found.actions.map((a) => ({ ...a, variant: byName(a.variant) })) };
  expect(json).toMatchObject({ state: { values: expected } });
});

function values(...actions: [variant: number, batch: number, advantage: number][]) {
  return actions.map(([variant, batch, advantage]) => ({ variant, batch, advantage }));
}

test("verify accepts a good bundle and says what it did not check", async () => {
  const { text, json, exitCode } = await verifyCommand(path);
  expect(exitCode).toBe(0);
  expect(json).toMatchObject({ ok: true, levelCount: 2, stateCount: 70, guarantees: null });
  expect(text.split("\n")).toEqual([
    expect.stringMatching(/^integrity ok: .*2865 bytes, sha256 [0-9a-f]{64}$/),
    'schema ok: format version 1, ramsis for "sample"',
    "semantics ok: 2 levels, 70 states, each with a decision in range",
    "guarantees not recomputed: use stratagem verify, which has a solver",
  ]);
});

test("verify finds a bad bundle with exit code 3; other commands refuse it", async () => {
  const bad = fixture("bad-checksum");
  const { json, text, exitCode } = await verifyCommand(bad);
  expect(exitCode).toBe(3);
  expect(json).toMatchObject({ ok: false, error: { code: "BUNDLE_CHECKSUM" } });
  expect(text).toMatch(/^refused: BUNDLE_CHECKSUM .*bad-checksum.msgpack: expected a payload/);
  const refusal = { code: "BUNDLE_CHECKSUM" };
  const options = { path: bad, loadQps: null, state: null };
  await expect(inspectCommand(options)).rejects.toMatchObject(refusal);
});

test("a file that is not there is bad input to verify, too", async () => {
  await expect(verifyCommand(fixture("none"))).rejects.toMatchObject({
    code: "RUNTIME_UNREADABLE",
  });
});

test("every error code has an exit code", () => {
  expect(Object.keys(EXIT_CODE_BY_ERROR).sort()).toEqual(Object.keys(RUNTIME_ERRORS).sort());
});

test("percentages keep small ratios visible", () => {
  expect([0, 0.57972, 1, 1.23e-6, null].map(percent)).toEqual([
    "0.000%",
    "57.972%",
    "100.000%",
    "1.2e-4%",
    "-",
  ]);
});
