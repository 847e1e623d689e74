/** How slow processors are told from usual ones. */
import { expect, test } from "vitest";
import { PaceLooks, probePace } from "../../../compiler/truth/pace-probe.ts";

function looksOf(tookMs: readonly number[]): PaceLooks {
  const looks = new PaceLooks();
  for (const [index, ms] of tookMs.entries()) looks.add(20 * index, ms);
  return looks;
}

const steady = (count: number, ms = 0.05) => Array.from({ length: count }, () => ms);

test("looks that take longer than usual are slow, in the time that is asked for", () => {
  const looks = looksOf([...steady(200), ...steady(50, 0.08), ...steady(50)]);
  expect(looks.slowShare(0, 20 * 199)).toBe(0);
  expect(looks.slowShare(20 * 200, 20 * 249)).toBe(1);
  expect(looks.slowShare(20 * 200, 20 * 299)).toBe(0.5);
});

test("what is usual is the quicker part, even where most of the time is slow", () => {
  const looks = looksOf([...steady(70), ...steady(130, 0.07)]);
  expect(looks.slowShare(0, 20 * 199)).toBe(0.65);
  // A little longer is the same.
  expect(looksOf([...steady(70), ...steady(130, 0.058)]).slowShare(0, 20 * 199)).toBe(0);
});

test("of too few looks nothing is said", () => {
  expect(looksOf(steady(49)).slowShare(0, 1e9)).toBeNull();
  expect(looksOf(steady(200)).slowShare(0, 20 * 8)).toBeNull();
});

test("a probe looks whenever it is called, until it is ended", () => {
  let [look, isOver] = [() => {}, false];
  let nowMs = 0;
  const probe = probePace(
    () => nowMs,
    (_, callback) => {
      look = callback;
      return () => {
        isOver = true;
      };
    },
  );
  for (; nowMs < 100; nowMs++) look();
  const share = probe.slowShare(0, 99);
  expect(share).toBeGreaterThanOrEqual(0);
  expect(share).toBeLessThanOrEqual(1);
  probe.end();
  expect(isOver).toBe(true);
});
