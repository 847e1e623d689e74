/** How slow processors are told from usual ones. */
import { expect, test } from "vitest";
import { PaceLooks } from "../../../../compiler/profile/serving/pace-looks.ts";

function looksOf(tookMs: readonly number[]): PaceLooks {
  const looks = new PaceLooks();
  for (const [index, ms] of tookMs.entries()) looks.add(20 * index, ms);
  return looks;
}

const steady = (count: number, ms = 0.05) => Array.from({ length: count }, () => ms);

test("reports slow periods by share, factor and mean length", () => {
  // Three spells of 0.4, 0.2 and 0.6 s in 8 s; one look of five in a window says nothing.
  const looks = looksOf([
    ...steady(50),
    ...steady(20, 0.08),
    ...steady(100),
    ...steady(10, 0.08),
    ...steady(2),
    ...steady(1, 0.065),
    ...steady(87),
    ...steady(30, 0.08),
    ...steady(100),
  ]);
  expect(looks.slow(0, 20 * 399)).toMatchObject({ share: 0.15, factor: 1.599, spellMs: 400 });
  expect(looks.slow(0, 20 * 49)).toBeNull();
});

test("a look that was interrupted makes its window no slower than it can be", () => {
  const looks = looksOf([...steady(100), ...steady(5, 5), ...steady(95)]);
  expect(looks.slow(0, 20 * 199)).toMatchObject({ share: 0.025, factor: 4 });
});

test("compares an interval that is slow throughout with the typical time", () => {
  const looks = looksOf([...steady(100), ...steady(100, 0.075)]);
  expect(looks.slow(20 * 100, 20 * 199)).toEqual({
    ...{ share: 0.95, factor: 1.5, spellMs: 2000 },
    fastMs: 0.05,
  });
});

test("separates the slow periods of workers", () => {
  const looks = new PaceLooks();
  for (let look = 0; look < 200; look++) {
    looks.add(20 * look, look < 100 ? 1.5 : 1, 0);
    looks.add(20 * look, look < 100 ? 1 : 1.5, 1);
  }
  expect(looks.slow(0, 4000)).toEqual({ share: 0.5, factor: 1.5, spellMs: 2000, fastMs: 1 });
});
