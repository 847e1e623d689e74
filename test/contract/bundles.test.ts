/** What is read of a changed bundle, of any method: nothing, for a reason, or a sound bundle. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  BUNDLE_ERRORS,
  BundleError,
  type BundleErrorCode,
} from "../../runtime/base/bundle-error.ts";
import {
  decodeBundle,
  encodeBundle,
  validateBundle,
} from "../../runtime/bundles/checked-bundle.ts";
import { fileOf, HEADER_BYTES } from "../support/bundle-fixtures.ts";
import { changedAt } from "../support/refused-bundle.ts";
import { Dice, mutateBytes } from "./mutations.ts";
import type { BundleSubject } from "./subjects/bundles.ts";
import { BY_METHOD, SUBJECTS } from "./subjects.ts";

const BYTE_CHANGES = 12_000;
const FIELD_CHANGES = 600;
const ANYTHING = fc.oneof(
  fc.constantFrom(null, -1, 0, 1, 2, 1e9, 65_534, 65_535, Number.NaN, "", "x", [], {}, true, 0.5),
  fc.double(),
  fc.integer(),
);

type Outcome = BundleErrorCode | "accepted";
type Tally = Partial<Record<Outcome, number>>;

/** Anything but acceptance of a sound bundle or a documented refusal throws. */
function outcomeOf(bytes: Uint8Array, { checkSound }: BundleSubject): Outcome {
  try {
    const bundle = decodeBundle(bytes);
    checkSound(bundle);
    const again = encodeBundle(bundle);
    if (Buffer.compare(encodeBundle(decodeBundle(again)), again) !== 0) {
      throw new Error("encoding what was decoded gives other bytes");
    }
    return "accepted";
  } catch (error) {
    return codeOf(error);
  }
}

/** @throws what is no refusal of a bundle, or one that takes several lines. */
function codeOf(error: unknown): BundleErrorCode {
  if (!(error instanceof BundleError)) throw error;
  if (error.message.includes("\n")) throw new Error(`more than one line: ${error.message}`);
  return error.code;
}

function count(tally: Tally, outcome: Outcome): void {
  tally[outcome] = (tally[outcome] ?? 0) + 1;
}

test("changed bytes are refused with a documented code, or are a sound bundle", async ({
  annotate,
}) => {
  const dice = new Dice(1);
  const tally: Tally = {};
  const files = SUBJECTS.flatMap(({ bundles }) =>
    bundles.samples.map(({ bundle }) => ({ bundles, file: encodeBundle(bundle) })),
  );
  for (let change = 0; change < BYTE_CHANGES; change++) {
    const { bundles, file } = files[(change >> 1) % files.length] ?? files[0] ?? fail();
    const payload = file.subarray(HEADER_BYTES);
    // Half of the files have a header that is right about the damaged payload, so that the layers
    // behind it are reached.
    const bytes = change % 2 === 0 ? fileOf(mutateBytes(payload, dice)) : mutateBytes(file, dice);
    count(tally, outcomeOf(bytes, bundles));
  }
  await annotate(JSON.stringify(tally), "fuzz");
  // The size cap belongs to the loader, which sees files.
  const { BUNDLE_TOO_LARGE: _, ...reached } = BUNDLE_ERRORS;
  expect(Object.keys(tally).sort()).toEqual([...Object.keys(reached), "accepted"].sort());
});

describe.each(BY_METHOD)("a bundle of %s", (_, { bundles }) => {
  test.each(bundles.samples)("of $what is what is read of it, to the byte", ({ bundle }) => {
    bundles.checkSound(bundle);
    expect(validateBundle(bundle)).toEqual(bundle);
    const bytes = encodeBundle(bundle);
    expect(decodeBundle(bytes)).toEqual(bundle);
    expect(Buffer.compare(encodeBundle(decodeBundle(bytes)), bytes)).toBe(0);
  });

  test.each(bundles.samples)(
    "of $what in memory, any field made anything, is refused likewise, or is a sound bundle",
    ({ bundle }) => {
      const paths = pathsOf(bundle, "");
      fc.assert(
        fc.property(fc.constantFrom(...paths), ANYTHING, (path, value) => {
          const changed = changedAt(bundle, path, value);
          try {
            bundles.checkSound(validateBundle(changed));
          } catch (error) {
            expect(codeOf(error)).toMatch(/^BUNDLE_(SCHEMA|SEMANTICS)$/);
          }
        }),
        { seed: 1, numRuns: FIELD_CHANGES },
      );
    },
  );
});

/** Of everything there is; of a table two cells. */
function pathsOf(value: unknown, path: string): string[] {
  if (ArrayBuffer.isView(value)) return [`${path}[0]`, `${path}[7]`];
  if (typeof value !== "object" || value === null) return [path];
  return Object.entries(value).flatMap(([key, child]) => {
    const at = Array.isArray(value) ? `${path}[${key}]` : path === "" ? key : `${path}.${key}`;
    return [at, ...pathsOf(child, at)];
  });
}

function fail(): never {
  throw new Error("there are bundles to change");
}
