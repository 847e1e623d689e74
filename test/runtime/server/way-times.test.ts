import { expect, test } from "vitest";
import { WayTimes } from "../../../runtime/server/requests/way-times.ts";

test("ways that waited for a busy server do not count while others did not", () => {
  const ways = new WayTimes();
  const usual = Array.from({ length: 40 }, (_, at) => ways.add(0, 1, at % 4 === 0 ? 0.2 : 5));
  expect(usual.every((ms) => ms === 0.2)).toBe(true);
});

test("a server that is always late makes the way longer within a few groups", () => {
  const ways = new WayTimes();
  for (let at = 0; at < 8; at++) ways.add(0, 1, 0.2);
  let usual = 0.2;
  for (let at = 0; at < 24; at++) usual = ways.add(0, 1, 5);
  expect(usual).toBeGreaterThan(4);
});

test("variants and sizes have ways of their own; sizes up to a power of two share theirs", () => {
  const ways = new WayTimes();
  expect(ways.add(0, 4, 3)).toBe(3);
  expect(ways.add(1, 4, 2)).toBe(2);
  expect(ways.add(0, 5, 4)).toBe(4);
  expect(ways.add(0, 3, 5)).toBe(3);
});
