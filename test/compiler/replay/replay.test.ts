/** Decisions of a log made again from their states, and those that differ named. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, expect, test } from "vitest";
import { replayCommand } from "../../../compiler/replay/replay-log.ts";
import { ReplayPass } from "../../../compiler/replay/replay-pass.ts";
import type { RamsisBundle } from "../../../runtime/bundle/schema.ts";
import { encodeBundle } from "../../../runtime/bundles/checked-bundle.ts";
import type { LoadedBundle } from "../../../runtime/bundles/load-bundle.ts";
import {
  DECISIONS_FORMAT,
  type DecisionLine,
  type LoggedDecision,
  type LogLine,
  lineText,
} from "../../../runtime/features/decision-log/log-lines.ts";
import { ramsis } from "../../../runtime/methods/ramsis/ramsis.ts";
import { tinyBundle } from "../../support/tiny-bundle.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-replay-"));
afterAll(() => rmSync(folder, { recursive: true }));

const BUNDLE = tinyBundle({ loadsQps: [20, 100] });
const SHA256 = "ab".repeat(32);
const NEVER = new AbortController().signal;

function loaded(bundle: RamsisBundle): LoadedBundle {
  return { path: "bundle.msgpack", bundle, sha256: SHA256, byteCount: 1 };
}

function pass(lines: readonly LogLine[], bundle = BUNDLE) {
  const found = new ReplayPass([loaded(bundle)]);
  for (const line of lines) found.takeLine(lineText(line));
  found.end();
  return found;
}

function opened(hasEvents: boolean): LogLine {
  return {
    kind: "opened",
    format: DECISIONS_FORMAT,
    ...{ time: "2026-01-01T00:00:00Z", core: 0 },
    ...{ application: "tiny", revision: SHA256, method: "ramsis", maxPending: 8 },
    ...{ sample: hasEvents ? 1 : 0.5, hasEvents, mask: [] },
  };
}

/** What the bundle decides in a state. */
function decided(queued: number, slackMs: number, level = 0): LoggedDecision {
  const decision = ramsis.decide(BUNDLE, level, { queued, slackMs });
  if (!("batch" in decision)) throw new Error("these states have batches");
  const { variant, batch } = decision;
  const state = { queued, slackMs };
  return { level, state, variant, batch, worker: 0, atMs: 10, tookMs: 5 };
}

function request(
  id: string,
  decisions: readonly LoggedDecision[],
  more: Partial<DecisionLine> = {},
) {
  const line: DecisionLine = {
    kind: "decision",
    ...{ id, time: "2026-01-01T00:00:01Z", application: "tiny", model: "tiny" },
    ...{ revision: SHA256, rows: 1, decisions },
    protocol: "http",
    outcome: { kind: "answered", status: 200, latencyMs: 5, sloMs: 100 },
    ...more,
  };
  return line;
}

test("a decision that the table makes in its state is reproduced, another is named", () => {
  const right = [1, 2, 3].flatMap((queued) => [99.9, 50, 20].map((ms) => decided(queued, ms)));
  const all = pass([opened(false), ...right.map((one, at) => request(`r${at}`, [one]))]);
  expect(all.counts).toMatchObject({ requests: 9, same: 9, different: 0, open: 0, unreadable: 0 });
  const wrong = { ...decided(1, 99.9), variant: "small" };
  const found = pass([opened(false), request("good", [decided(2, 50)]), request("bad", [wrong])]);
  expect(found.counts).toMatchObject({ same: 1, different: 1 });
  expect(found.differences).toMatchObject([
    { id: "bad", application: "tiny", logged: expect.stringContaining("small on 1 query") },
  ]);
  expect(found.differences[0]?.replayed).toContain("large on 1 query");
});

test("what a client named is not the table's, and a level that is not there is not settled", () => {
  const named = { ...decided(1, 99.9), variant: "small" };
  const lines = [
    request("named", [named], { isNamed: true }),
    request("made", [{ ...decided(1, 99.9), level: 2 }]),
  ];
  const { counts, reasons } = pass(lines);
  expect(counts).toMatchObject({ same: 0, different: 0, open: 2 });
  expect([...reasons.keys()]).toEqual([
    "a client named the variant",
    "the bundle has no such level, class or bucket",
  ]);
});

test("compares requests with the batches of a core that repeats the events", () => {
  const nowMs = 10;
  const { variant, batch } = decided(1, 100);
  const index = BUNDLE.tasks[0]?.variants.findIndex(({ name }) => name === variant) ?? -1;
  const start = { kind: "start-batch", worker: 0, variant: index, level: 0, queries: [3] };
  const events = (command: object): LogLine => ({
    kind: "events",
    ...{ application: "tiny", core: 0 },
    entries: [
      { kind: "ready", worker: 0, nowMs: 1 },
      { kind: "arrival", query: 3, deadlineMs: 110, nowMs },
      { ...start, ...command },
    ],
  });
  const run = { ...decided(1, 100), atMs: nowMs };
  const good = pass([opened(true), events({}), request("q", [run])]);
  expect(good.counts).toMatchObject({ events: 2, commands: 1, same: 1, differentEvents: 0 });
  const bad = pass([
    opened(true),
    events({ variant: 1 - index }),
    request("q", [{ ...run, variant: "other" }]),
  ]);
  expect(bad.counts).toMatchObject({ differentEvents: 1, different: 1 });
  expect(bad.differences[1]?.replayed).toContain(`${variant} on ${batch} query`);
  // After a gap nothing is told; requests say of themselves what they can.
  const gap = pass([opened(true), { kind: "lost", lines: 4 }, events({}), request("q", [run])]);
  expect(gap.counts).toMatchObject({ lostLines: 4, events: 0, skippedEvents: 2, same: 1 });
});

test("reports impossible events and invalid lines", () => {
  const broken: LogLine = {
    kind: "events",
    ...{ application: "tiny", core: 0 },
    entries: [
      { kind: "done", worker: 0, nowMs: 1 },
      { kind: "wake", nowMs: 2 },
    ],
  };
  const { counts, reasons } = pass([opened(true), broken]);
  expect(counts).toMatchObject({ events: 0, skippedEvents: 2, differentEvents: 1 });
  const why = "assertion failed: a worker that is done was busy";
  expect([...reasons.keys()]).toEqual([`the core cannot repeat the logged event: ${why}`]);
  const other = new ReplayPass([loaded(BUNDLE)]);
  for (const text of ["{", "[]", '{"kind":"decision"}', '{"kind":"events","entries":[1]}', null]) {
    other.takeLine(text);
  }
  expect(other.counts.unreadable).toBe(5);
});

test("the command ends with 3 where a decision differs, and names it", async () => {
  const policy = join(folder, "tiny.msgpack");
  writeFileSync(policy, encodeBundle(BUNDLE));
  const log = join(folder, "decisions.gz");
  const replay = (lines: readonly LogLine[]) => {
    writeFileSync(log, gzipSync(`${lines.map(lineText).join("\n")}\n`));
    return replayCommand({ logs: [log], policy: [policy] }, NEVER);
  };
  const good = await replay([opened(false), request("good", [decided(1, 50)])]);
  expect(good.exitCode).toBe(0);
  expect(good.text).toContain("1 request, 1 decision that started batches");
  expect(good.text).toContain("were decided by a bundle with digest abababababab…");
  const wrong = { ...decided(1, 99.9), variant: "small" };
  const bad = await replay([opened(false), request("bad", [wrong])]);
  expect(bad.exitCode).toBe(3);
  expect(bad.text).toContain("tiny: request bad at 2026-01-01T00:00:01Z");
  expect(bad.json).toMatchObject({ decisions: { reproduced: 0, different: 1, notSettled: 0 } });
  await expect(replay([])).rejects.toThrow("expected a log of serve --decision-log");
});
