import { expect, test } from "vitest";
import { WayTimes } from "../../../runtime/server/requests/batch-runs.ts";

/** Fills the first group with ways of one length. */
function warm(ways: WayTimes, variant: number, rows: number, wayMs: number): number {
  let usualMs = 0;
  for (let at = 0; at < 16; at++) usualMs = ways.add(variant, rows, wayMs);
  return usualMs;
}

test("nothing is known before a group is full: first batches take the long way", () => {
  const ways = new WayTimes();
  for (let at = 0; at < 15; at++) expect(ways.add(0, 1, 500)).toBe(0);
  expect(ways.add(0, 1, 0.2)).toBe(0.2);
});

test("ways that waited for a busy server do not count while others did not", () => {
  const ways = new WayTimes();
  warm(ways, 0, 1, 0.2);
  const usual = Array.from({ length: 160 }, (_, at) => ways.add(0, 1, at % 16 === 0 ? 0.2 : 5));
  expect(usual.every((ms) => Math.abs(ms - 0.2) < 1e-9)).toBe(true);
});

test("a server that is always late makes the way longer within a few groups", () => {
  const ways = new WayTimes();
  warm(ways, 0, 1, 0.2);
  let usual = 0.2;
  for (let at = 0; at < 96; at++) usual = ways.add(0, 1, 5);
  expect(usual).toBeGreaterThan(4);
});

test("variants and sizes have ways of their own; sizes up to a power of two share theirs", () => {
  const ways = new WayTimes();
  expect(warm(ways, 0, 4, 3)).toBe(3);
  expect(warm(ways, 1, 4, 2)).toBe(2);
  expect(ways.add(0, 5, 4)).toBe(0);
  expect(ways.add(0, 3, 5)).toBe(3);
});
