import { expect, test } from "vitest";
import { ANY_VARIANT } from "../../../../runtime/core/wanted-variant.ts";
import {
  onlookerRefusal,
  variantIn,
} from "../../../../runtime/server/shadow-policy/compared-bundles.ts";
import { BY_METHOD } from "../../../contract/subjects.ts";
import { bucketBundle } from "../../../support/bucket-bundle.ts";
import { classBundle } from "../../../support/class-bundle.ts";
import { tinyBundle } from "../../../support/tiny-bundle.ts";

test.each(BY_METHOD)(
  "a bundle of %s looks on at itself, and not at one of another method",
  (method, { served }) => {
    expect(onlookerRefusal(served.bundle, served.bundle)).toBeNull();
    for (const [other, { served: theirs }] of BY_METHOD) {
      if (other === method) continue;
      const refusal = onlookerRefusal(served.bundle, theirs.bundle);
      expect(refusal).toBe(
        `expected a bundle of method ${method}, as the one that serves; ` +
          `got one of ${other}, whose arrivals are others`,
      );
    }
  },
);

test("classes and buckets have to be the same, for requests name them", () => {
  expect(onlookerRefusal(classBundle(), tinyBundle())).toMatch(/^expected the .* of the bundle/);
  expect(onlookerRefusal(tinyBundle(), bucketBundle())).toMatch(/^expected the .* of the bundle/);
});

test("a variant is found by its name, wherever it is", () => {
  const bundle = tinyBundle();
  const [task] = bundle.tasks;
  const turned = { ...bundle, tasks: [{ ...task, variants: task?.variants.toReversed() ?? [] }] };
  const find = variantIn(bundle, turned as typeof bundle);
  expect([find(0), find(1), find(2)]).toEqual([1, 0, ANY_VARIANT]);
});
