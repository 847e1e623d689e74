/** Every number of a bundle has a range, and at both of its ends everything works. */
import { describe, expect, test } from "vitest";
import { drive } from "../../lab/campaign/bundles/drive.ts";
import {
  type Container,
  packed,
  payloadOf,
  signed,
} from "../../lab/campaign/bundles/signed-file.ts";
import {
  type Path,
  placeAt,
  type Site,
  sitesOf,
  type TablePayload,
} from "../../lab/campaign/bundles/sites.ts";
import { axesByFile, type Original, originals } from "../../lab/campaign/bundles/trial.ts";
import { BundleError } from "../../runtime/base/bundle-error.ts";
import type { Bundle } from "../../runtime/bundle/schema.ts";
import { decodeBundle } from "../../runtime/bundles/checked-bundle.ts";
import { casesOf, someOf } from "../support/cases.ts";

const FILES = originals(".");
const AXES = axesByFile(".");
const BY_NAME = FILES.map((file) => [file.name, file] as const);
/** No table may hold them, wherever; Infinity is said where there is no pipeline. */
const NO_NUMBERS = [Number.NaN, Number.NEGATIVE_INFINITY, -1, 1e300];

/** Fields that were driven at their ends in a bundle before. */
const DRIVEN = new Set<string>();

/** Of places that differ in their indices alone, the first. */
function firstOfEach(sites: readonly Site[]): Site[] {
  const seen = new Map(
    [...sites].reverse().map((site) => [site.path.map(starred).join("."), site]),
  );
  return [...seen.values()];
}

function starred(key: string | number): string | number {
  return typeof key === "number" ? "*" : key;
}

function changed(
  { file }: Original,
  path: Path,
  change: (parent: Container, key: string | number) => void,
): Uint8Array {
  const payload = payloadOf(file);
  change(...placeAt(payload, path));
  return signed(file, packed(payload));
}

/** The bundle, or the one line that says why not. */
function read(file: Uint8Array): Bundle | string {
  try {
    return decodeBundle(file);
  } catch (error) {
    if (!(error instanceof BundleError)) throw error;
    return `${error.code} ${error.message}`;
  }
}

describe.each(BY_NAME)("%s", (_, original) => {
  const sites = sitesOf(payloadOf(original.file));
  const numbers = firstOfEach(sites.filter(({ kind }) => kind === "number"));

  test("has no number without a range that ends", () => {
    expect(numbers.length).toBeGreaterThan(20);
    for (const { path, range } of numbers) {
      expect(range?.every(Number.isFinite), path.join(".")).toBe(true);
      for (const beyond of [Number.NaN, 1e300, -1e300, Number.POSITIVE_INFINITY]) {
        const found = read(changed(original, path, (parent, key) => (parent[key] = beyond)));
        expect(found, path.join(".")).toMatch(/^BUNDLE_SCHEMA [^\n]*expected [^\n]*, got /);
      }
    }
  });

  test("has no table of numbers that are not, or have no end", () => {
    for (const { path } of firstOfEach(sites.filter(({ kind }) => kind === "table"))) {
      for (const value of NO_NUMBERS) {
        const found = changed(original, path, (parent, key) => {
          const { data, dtype } = parent[key] as TablePayload;
          if (dtype !== "float64" || data.length === 0) return;
          new DataView(data.buffer, data.byteOffset).setFloat64(data.length - 8, value, true);
        });
        const [parent, key] = placeAt(payloadOf(original.file), path);
        const { data, dtype } = parent[key] as TablePayload;
        const isChanged = dtype === "float64" && data.length > 0;
        if (isChanged) expect(read(found), path.join(".")).toMatch(/^BUNDLE_/);
      }
    }
  });

  test("works at both ends of the range of each number, or is refused by one line", async () => {
    for (const { path, range = [0, 0] } of someOf(numbers)) {
      const field = `${original.bundle.method} ${path.map(starred).join(".")}`;
      if (DRIVEN.has(field)) continue;
      DRIVEN.add(field);
      for (const end of range) {
        const found = read(changed(original, path, (parent, key) => (parent[key] = end)));
        if (typeof found === "string") expect(found).toMatch(/^BUNDLE_S[^\n]+$/);
        else {
          const surroundings = { base: original.bundle, axesByFile: AXES };
          await drive(found, surroundings).catch((error: unknown) => {
            throw new Error(`${path.join(".")} = ${end}`, { cause: error });
          });
        }
      }
    }
    expect(DRIVEN.size).toBeGreaterThan(casesOf(20));
  });
});
