/** Who answers a request while a bundle is tried. */
import { expect, test } from "vitest";
import { Sampler } from "../../../../runtime/server/applications/trial.ts";

const COUNT = 20_000;
const IDS = Array.from({ length: COUNT }, (_, index) => `request-${index}`);

/** Of a share of independent draws, five standard deviations. */
const around = (share: number) => 5 * Math.sqrt((share * (1 - share)) / COUNT);

test.each([0.01, 0.05, 0.25, 0.5])(
  "a share of %d of all ids and of all draws is drawn",
  (share) => {
    const lot = new Sampler(share, "3f2a");
    const ids = IDS.filter((id) => lot.isDrawn(id)).length;
    const draws = IDS.filter(() => lot.isDrawn(undefined)).length;
    expect(Math.abs(ids / COUNT - share)).toBeLessThan(around(share));
    expect(Math.abs(draws / COUNT - share)).toBeLessThan(around(share));
  },
);

test("an id is drawn alike each time, and stays drawn as the share grows", () => {
  const [few, more] = [new Sampler(0.05, "3f2a"), new Sampler(0.25, "3f2a")];
  const drawn = IDS.filter((id) => few.isDrawn(id));
  expect(IDS.filter((id) => few.isDrawn(id))).toEqual(drawn);
  expect(drawn.filter((id) => !more.isDrawn(id))).toEqual([]);
});

test("another bundle draws other ids: nobody is always the one who tries", () => {
  const [one, other] = [new Sampler(0.05, "3f2a"), new Sampler(0.05, "77c0")];
  const both = IDS.filter((id) => one.isDrawn(id) && other.isDrawn(id)).length;
  expect(Math.abs(both / COUNT - 0.0025)).toBeLessThan(around(0.0025));
});

test("draws of the same bundle come again", () => {
  const draws = () => {
    const lot = new Sampler(0.3, "3f2a");
    return IDS.slice(0, 100).map(() => lot.isDrawn(undefined));
  };
  expect(draws()).toEqual(draws());
});
