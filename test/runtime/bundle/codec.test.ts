import fc from "fast-check";
import { Packr, unpack } from "msgpackr";
import { expect, test } from "vitest";
import { BundleError } from "../../../runtime/base/bundle-error.ts";
import type { RamsisBundle } from "../../../runtime/bundle/schema.ts";
import { decodeBundle, encodeBundle } from "../../../runtime/bundles/checked-bundle.ts";
import { fileOf, fileOfValue, HEADER_BYTES, plainPayload } from "../../support/bundle-fixtures.ts";
import { ramsisBundle } from "../../support/ramsis-bundle.ts";
import { sampleBundle } from "../../support/sample-bundle.ts";

const valid = encodeBundle(sampleBundle());

/** What decoding says, or "accepted". */
function refusal(bytes: Uint8Array): string {
  try {
    decodeBundle(bytes);
    return "accepted";
  } catch (error) {
    if (!(error instanceof BundleError)) throw error;
    return `${error.code} ${error.message}`;
  }
}

function withKeysReversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withKeysReversed);
  if (value === null || typeof value !== "object" || ArrayBuffer.isView(value)) return value;
  const entries = Object.entries(value).reverse();
  return Object.fromEntries(entries.map(([key, field]) => [key, withKeysReversed(field)]));
}

test("decoding what was encoded gives the same bundle, and encoding that the same bytes", () => {
  const decoded = decodeBundle(valid);
  expect(decoded).toEqual(sampleBundle());
  expect(Buffer.compare(encodeBundle(decoded), valid)).toBe(0);
});

test("the same holds for any loads, rates and times", () => {
  const ratio = fc.double({ min: 0, max: 1, noNaN: true }).map((value) => value + 0);
  const load = fc.double({ min: 1, max: 400, noNaN: true });
  fc.assert(
    fc.property(ratio, load, fc.array(ratio, { minLength: 3, maxLength: 3 }), (rate, qps, some) => {
      const sample = sampleBundle();
      const [accuracyPerSatisfied = 0, accuracyPerQuery = 0, residual = 0] = some;
      const byBatch = {
        accuracy: { median: accuracyPerQuery, p99: rate },
        violationRate: { median: rate, p99: accuracyPerSatisfied },
      };
      const expected = {
        accuracyPerSatisfied,
        accuracyPerQuery,
        violationRate: rate,
        upperBoundAccuracy: rate,
        byBatch,
      };
      const levels = sample.levels.slice(0, 1).map((level) => ({
        ...level,
        loadQps: qps,
        feasible: false,
        expected,
        solve: { ...level.solve, residual },
      }));
      const bundle: RamsisBundle = { ...sample, levels };
      const bytes = encodeBundle(bundle);
      expect(decodeBundle(bytes)).toEqual(bundle);
      expect(Buffer.compare(encodeBundle(decodeBundle(bytes)), bytes)).toBe(0);
    }),
  );
});

test("the same holds for any text", () => {
  const units = fc.array(fc.constantFrom("a", "é", "Ω", "語", "🙂", "\ufeff", " "), {
    minLength: 1,
  });
  fc.assert(
    fc.property(units, fc.integer({ min: 1, max: 90 }), (some, repeat) => {
      const bundle = { ...sampleBundle(), application: some.join("").repeat(repeat).slice(0, 500) };
      const isCut = /\p{Surrogate}/u.test(bundle.application);
      if (!isCut) expect(decodeBundle(encodeBundle(bundle))).toEqual(bundle);
    }),
  );
});

test("the order in which keys were inserted does not reach the file", () => {
  const bytes = encodeBundle(withKeysReversed(sampleBundle()) as RamsisBundle);
  expect(Buffer.compare(bytes, valid)).toBe(0);
});

test("the file is one msgpack value that any reader opens", () => {
  const [magic, version, digest, payload] = unpack(valid) as [string, number, Buffer, Buffer];
  expect([magic, version, digest.length]).toEqual(["stratagem", 1, 32]);
  expect(unpack(payload)).toMatchObject({ application: "sample", method: "ramsis" });
});

test("the header is as documented", () => {
  expect(Buffer.compare(fileOf(valid.subarray(HEADER_BYTES)), valid)).toBe(0);
});

test("decoded tables own their memory, aligned, and everything else is frozen", () => {
  const shifted = new Uint8Array(valid.length + 1);
  shifted.set(valid, 1);
  const bundle = ramsisBundle(decodeBundle(shifted.subarray(1)));
  const { slackMs } = bundle.decisionSpace;
  expect([slackMs.data.byteOffset, slackMs.data.buffer.byteLength]).toEqual([0, 7 * 8]);
  shifted.fill(0);
  expect(bundle).toEqual(sampleBundle());
  for (const part of [bundle, bundle.levels, bundle.levels[0], bundle.tasks[0]?.variants[0]?.model])
    expect(Object.isFrozen(part)).toBe(true);
});

test("refuses to encode what it would refuse to read", () => {
  const sample = sampleBundle();
  expect(() => encodeBundle({ ...sample, application: "" })).toThrow(
    expect.objectContaining({ code: "BUNDLE_SCHEMA" }),
  );
  expect(() => encodeBundle({ ...sample, slo: { ...sample.slo, latencyMs: 119 } })).toThrow(
    expect.objectContaining({ code: "BUNDLE_SEMANTICS" }),
  );
});

test("a file cut anywhere is refused for its length", () => {
  expect(refusal(new Uint8Array(0))).toMatch(/^BUNDLE_MAGIC .*an empty file/);
  for (let length = 1; length < valid.length; length++) {
    expect(refusal(valid.subarray(0, length))).toMatch(/^BUNDLE_LENGTH /);
  }
  expect(refusal(Buffer.concat([valid, Buffer.of(0)]))).toMatch(/^BUNDLE_LENGTH /);
});

test("a change of any header byte is refused with the code of its field", () => {
  const codeByByte = (at: number): RegExp => {
    if (at < 12) return /^BUNDLE_MAGIC /;
    if (at < 16) return /^BUNDLE_VERSION /;
    if (at < 18 || at >= 50) return /^BUNDLE_LENGTH /;
    return /^BUNDLE_CHECKSUM /;
  };
  for (let at = 0; at < HEADER_BYTES; at++) {
    const bytes = valid.slice();
    bytes[at] = (bytes[at] ?? 0) ^ 0x81;
    expect(refusal(bytes)).toMatch(codeByByte(at));
  }
});

test("a newer version is refused with what to do", () => {
  expect(refusal(fileOf(valid.subarray(HEADER_BYTES), 2))).toBe(
    "BUNDLE_VERSION expected format version 1, the only one that this build reads, " +
      "got 2; upgrade Stratagem or compile the bundle again with this build",
  );
  expect(refusal(fileOf(valid.subarray(HEADER_BYTES), 0))).toMatch(/got 0; compile the bundle/);
});

const nested = Uint8Array.from([...Array(40).fill(0x91), 0xc0]);
const text = (value: string) => [0xa0 + value.length, ...Buffer.from(value)];

test.each<[string, Uint8Array, RegExp]>([
  ["nothing", Uint8Array.of(), /byte 0: expected at least 1 more bytes/],
  ["no map", Uint8Array.of(0xc0), /^BUNDLE_SCHEMA payload: expected a map, got null/],
  ["bytes after the value", Uint8Array.of(0x80, 0x80), /1 bytes after the value/],
  ["an extension", Uint8Array.of(0x81, ...text("a"), 0xd6, 0xff, 0, 0, 0, 0), /type 0xd6/],
  ["a record definition", Uint8Array.of(0xd4, 0x72, 0x40), /type 0xd4/],
  ["the unused type", Uint8Array.of(0xc1), /type 0xc1/],
  ["a 64-bit integer", Uint8Array.of(0xcf, 0, 0, 0, 0, 0, 0, 0, 1), /type 0xcf/],
  ["a float32", Uint8Array.of(0xca, 0, 0, 0, 0), /type 0xca/],
  ["nesting without end", nested, /nesting of 17/],
  ["a huge array", Uint8Array.of(0xdd, 0xff, 0xff, 0xff, 0xff, 0xc0), /at least 1 more/],
  ["a huge map", Uint8Array.of(0xdf, 0xff, 0xff, 0xff, 0xff), /at least 1 more/],
  ["a huge string", Uint8Array.of(0xdb, 0xff, 0xff, 0xff, 0xff), /at least 4294967295 more/],
  ["a huge bin", Uint8Array.of(0xc6, 0xff, 0xff, 0xff, 0xff), /at least 4294967295 more/],
  ["a key twice", Uint8Array.of(0x82, ...text("a"), 1, ...text("a"), 2), /out of order or repeated/],
  ["keys in disorder", Uint8Array.of(0x82, ...text("b"), 1, ...text("a"), 2), /out of order/],
  ["a key that is no string", Uint8Array.of(0x81, 1, 1), /a string as a map key/],
  ["text that is not UTF-8", Uint8Array.of(0xa2, 0xc3, 0x28), /not UTF-8/],
  ["the key __proto__", Uint8Array.of(0x81, ...text("__proto__"), 0x80), /got the key "__proto_"/],
])("hostile msgpack is refused: %s", (_, payload, message) => {
  const found = refusal(fileOf(payload));
  expect(found).toMatch(/^BUNDLE_SCHEMA [^\n]*$/);
  expect(found).toMatch(message);
});

test("more than a million values are refused before they are built", () => {
  const payload = new Uint8Array(1_100_005).fill(0xc0);
  payload.set([0xdd, 0x00, 0x10, 0xc8, 0xe0]);
  expect(refusal(fileOf(payload))).toMatch(/more than 1000000 values/);
});

test("what msgpackr writes by default for a Date, a Map, a Set or a bigint is refused", () => {
  for (const value of [new Date(0), new Map([[1, 2]]), new Set([1]), 2n ** 60n]) {
    const payload = { ...plainPayload(valid), application: value };
    expect(refusal(fileOfValue(payload))).toMatch(/^BUNDLE_SCHEMA /);
  }
  expect(refusal(fileOf(new Packr().pack(plainPayload(valid))))).toMatch(/^BUNDLE_SCHEMA /);
});
