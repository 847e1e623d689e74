/** What the table of faults says is counted by: rows with numbers, and the time to normal. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { markRow, recordedRuns } from "../../../lab/experiments/cluster/marked-rows.ts";
import { isGood, timeToNormalMs } from "../../../lab/experiments/cluster/normality.ts";
import type { AskedRequest } from "../../../lab/experiments/cluster/retrying-client.ts";

const SLO_MS = 500;

/** Ten requests a second for so many seconds, those within `badMs` without an answer. */
function tenASecond(seconds: number, badMs: readonly [number, number]): AskedRequest[] {
  return Array.from({ length: seconds * 10 }, (_, at) => {
    const sentMs = at * 100;
    const isBad = sentMs >= badMs[0] && sentMs < badMs[1];
    return { sentMs, latencyMs: 20, fate: isBad ? "lost" : "answered", attempts: [at + 1] };
  });
}

describe("time to normal", () => {
  test("is nothing where all is answered in time", () => {
    expect(timeToNormalMs(tenASecond(10, [0, 0]), 1000, 10_000, SLO_MS)).toBe(0);
  });

  test("is the last failure after the fault, whatever was before it", () => {
    const asked = tenASecond(10, [0, 4000]);
    expect(timeToNormalMs(asked, 2000, 10_000, SLO_MS)).toBe(1900);
  });

  test("does not count a tenth of a second's requests", () => {
    expect(timeToNormalMs(tenASecond(10, [5000, 5100]), 1000, 10_000, SLO_MS)).toBe(0);
    expect(timeToNormalMs(tenASecond(10, [5000, 5200]), 1000, 10_000, SLO_MS)).toBe(4100);
  });

  test("is unknown where looking ends in a bad second", () => {
    expect(timeToNormalMs(tenASecond(10, [9000, 10_000]), 1000, 10_000, SLO_MS)).toBeNull();
  });

  test("takes an answer after the SLO for a failure", () => {
    const one = { sentMs: 0, fate: "answered", attempts: [1] } as const;
    expect(isGood({ ...one, latencyMs: SLO_MS }, SLO_MS)).toBe(true);
    expect(isGood({ ...one, latencyMs: SLO_MS + 1 }, SLO_MS)).toBe(false);
  });
});

describe("marked rows", () => {
  let folder = "";
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "marked-"));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  test("carry their number behind the mark, the rest stays", () => {
    const row = new Uint8Array(8).fill(9);
    markRow(row, 0x01020304);
    expect([...row]).toEqual([0xa7, 0x5c, 4, 3, 2, 1, 9, 9]);
  });

  test("are counted over the processes that ran them", () => {
    writeFileSync(join(folder, "1.runs"), "began 7 100\nended 7 110\nbegan 8 120\n");
    writeFileSync(join(folder, "2.runs"), "began 7 200\nended 7 210\nbegan 9 220\nended 9 2");
    writeFileSync(join(folder, "other"), "ended 5 1\n");
    const { began, ended } = recordedRuns(folder);
    expect([...began]).toEqual([
      [7, 2],
      [8, 1],
      [9, 1],
    ]);
    expect([...ended]).toEqual([
      [7, 2],
      [9, 1],
    ]);
  });

  test("are none where nobody wrote", () => {
    expect(recordedRuns(join(folder, "none")).ended.size).toBe(0);
  });
});
