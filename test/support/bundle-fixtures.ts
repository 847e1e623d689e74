/** Bundle files made by hand, so that tests do not have to believe the encoder. */
import { createHash } from "node:crypto";
import { Packr, Unpackr } from "msgpackr";
import type { BundleErrorCode } from "../../runtime/base/bundle-error.ts";
import type { Bundle, RamsisBundle } from "../../runtime/bundle/schema.ts";
import { encodeBundle } from "../../runtime/bundles/checked-bundle.ts";
import { accordionBundle } from "./accordion-bundle.ts";
import { classBundle } from "./class-bundle.ts";
import { inferlineSample } from "./inferline-samples.ts";
import { chainBundle } from "./loki-samples.ts";
import { changedAt } from "./refused-bundle.ts";
import { sampleBundle } from "./sample-bundle.ts";
import { themisBundle } from "./themis-bundle.ts";

/** Bytes before the payload. Source: docs/bundle-format.md. */
export const HEADER_BYTES = 55;

export type Payload = Record<string, unknown>;

const packr = new Packr({ useRecords: false, variableMapSize: true });
const unpackr = new Unpackr({ useRecords: false, mapsAsObjects: true, copyBuffers: true });

/** A payload under a header that is right about it. */
export function fileOf(payload: Uint8Array, version = 1): Uint8Array {
  const header = Buffer.alloc(HEADER_BYTES);
  header.write("94a9", 0, "hex");
  header.write("stratagem", 2, "ascii");
  header.writeUInt8(0xce, 11);
  header.writeUInt32BE(version, 12);
  header.write("c420", 16, "hex");
  createHash("sha256").update(payload).digest().copy(header, 18);
  header.writeUInt8(0xc6, 50);
  header.writeUInt32BE(payload.length, 51);
  return Uint8Array.from(Buffer.concat([header, payload]));
}

/**
 * The payload of a file as plain values of their own memory: tables are {data: bytes, dtype,
 * shape}.
 */
export function plainPayload(file: Uint8Array): Payload {
  return unpackr.unpack(file.subarray(HEADER_BYTES)) as Payload;
}

/** Any value as a bundle file whose keys are in order. */
export function fileOfValue(value: unknown): Uint8Array {
  return fileOf(packr.pack(sorted(value)));
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  if (Object.getPrototypeOf(value) !== Object.prototype) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, field]) => [key, sorted(field)]));
}

interface Fixture {
  readonly bytes: Uint8Array;
  /** What it says, or the code it is refused with. */
  readonly expected: Bundle | BundleErrorCode;
  readonly of: Bundle["method"];
}

/** Every file of test/fixtures/bundles. */
export function fixtures(): ReadonlyMap<string, Fixture> {
  return new Map([
    ...of("ramsis", [...tableFixtures(), ...classFixtures()]),
    ...of("loki", planFixtures()),
    ...of("inferline", stageFixtures()),
    ...of("themis", scaleFixtures()),
    ...of("accordion", placeFixtures()),
  ]);
}

type OwnFixture = Omit<Fixture, "of">;

function of(method: Bundle["method"], own: [string, OwnFixture][]): [string, Fixture][] {
  return own.map(([name, fixture]) => [name, { ...fixture, of: method }]);
}

function tableFixtures(): [string, OwnFixture][] {
  const valid = encodeBundle(sampleBundle());
  const payload = valid.subarray(HEADER_BYTES);
  const damaged = valid.slice();
  damaged[HEADER_BYTES + 20] = (damaged[HEADER_BYTES + 20] ?? 0) ^ 1;
  const unknownKey = { ...plainPayload(valid), colour: "red" };
  const beyond = sampleBundle();
  beyond.levels[1]?.actionByState.data.set([10], 17);
  return [
    ["v1.msgpack", { bytes: valid, expected: sampleBundle() }],
    ["bad-magic.msgpack", { bytes: payload, expected: "BUNDLE_MAGIC" }],
    ["bad-version.msgpack", { bytes: fileOf(payload, 2), expected: "BUNDLE_VERSION" }],
    ["bad-length.msgpack", { bytes: valid.subarray(0, -100), expected: "BUNDLE_LENGTH" }],
    ["bad-checksum.msgpack", { bytes: damaged, expected: "BUNDLE_CHECKSUM" }],
    ["bad-schema.msgpack", { bytes: fileOfValue(unknownKey), expected: "BUNDLE_SCHEMA" }],
    [
      "bad-semantics.msgpack",
      { bytes: fileOfValue(withBytes(beyond)), expected: "BUNDLE_SEMANTICS" },
    ],
  ];
}

/**
 * Readable: classes with workers of their own at one level and without at another. Refused: shares
 * that are no whole, a table that is no class's.
 */
function classFixtures(): [string, OwnFixture][] {
  const apart = classBundle({ split: [1, 1], loadsQps: [100, 1000] });
  const bundle = changedAt(apart, "levels[1].classTables", undefined) as RamsisBundle;
  const changed = (path: string, value: unknown, expected: BundleErrorCode): OwnFixture => {
    return { bytes: fileOfValue(withBytes(changedAt(bundle, path, value))), expected };
  };
  return [
    ["classes-v1.msgpack", { bytes: encodeBundle(bundle), expected: bundle }],
    ["classes-bad-schema.msgpack", changed("slo.classes[1].name", "so so", "BUNDLE_SCHEMA")],
    ["classes-bad-shares.msgpack", changed("slo.classes[1].share", 0.5, "BUNDLE_SEMANTICS")],
    [
      "classes-bad-workers.msgpack",
      changed("levels[0].classTables[0].workers", 2, "BUNDLE_SEMANTICS"),
    ],
  ];
}

/** A chain; and one whose loads do not ascend. */
function planFixtures(): [string, OwnFixture][] {
  const bundle = chainBundle();
  const changed = (path: string, value: unknown, expected: BundleErrorCode): OwnFixture => {
    return { bytes: fileOfValue(withBytes(changedAt(bundle, path, value))), expected };
  };
  return [
    ["loki-v1.msgpack", { bytes: encodeBundle(bundle), expected: bundle }],
    ["loki-bad-schema.msgpack", changed("policy.drop", "always", "BUNDLE_SCHEMA")],
    ["loki-bad-loads.msgpack", changed("levels[1].loadQps", 75, "BUNDLE_SEMANTICS")],
  ];
}

/** Branches and a join; and a plan that is larger than its pool. */
function stageFixtures(): [string, OwnFixture][] {
  const bundle = inferlineSample();
  const changed = (path: string, value: unknown, expected: BundleErrorCode): OwnFixture => {
    return { bytes: fileOfValue(withBytes(changedAt(bundle, path, value))), expected };
  };
  return [
    ["inferline-v1.msgpack", { bytes: encodeBundle(bundle), expected: bundle }],
    ["inferline-bad-schema.msgpack", changed("policy.tuner", "loose", "BUNDLE_SCHEMA")],
    ["inferline-bad-pool.msgpack", changed("cluster.pools[0].workers", 1, "BUNDLE_SEMANTICS")],
  ];
}

/**
 * One of each kind of contradiction: a plan too slow for its load, a plan larger than its pool, a
 * transition out of range, latencies that fall.
 */
function scaleFixtures(): [string, OwnFixture][] {
  const bundle = themisBundle();
  const changed = (path: string, value: unknown, expected: BundleErrorCode): OwnFixture => {
    return { bytes: fileOfValue(withBytes(changedAt(bundle, path, value))), expected };
  };
  const semantics = "BUNDLE_SEMANTICS";
  return [
    ["themis-v1.msgpack", { bytes: encodeBundle(bundle), expected: bundle }],
    ["themis-bad-schema.msgpack", changed("policy.scaling", "diagonal", "BUNDLE_SCHEMA")],
    ["themis-bad-plan.msgpack", changed("levels[2].joint.stages[0].batch", 1, semantics)],
    ["themis-bad-pool.msgpack", changed("cluster.pools[0].workers", 1, semantics)],
    ["themis-bad-transition.msgpack", changed("transitions.data[7]", 5, semantics)],
    [
      "themis-bad-latency.msgpack",
      changed("tasks[0].variants[0].latency.ms.data[9]", 1, semantics),
    ],
  ];
}

/**
 * Readable: a model that is served, on places of two pools. Refused: a field, a cut, a time, a
 * shape and a stage that are not what they should be.
 */
function placeFixtures(): [string, OwnFixture][] {
  const bundle = accordionBundle({
    pools: [{ workers: 3 }, { workers: 2, speed: 0.5 }],
    maxDepth: 3,
    models: [
      { name: "deep", accuracy: 0.9, layerMs: [4, 6, 3, 7, 5, 5], hasModel: true },
      { name: "small", accuracy: 0.8, layerMs: [3, 2] },
    ],
  });
  const changed = (path: string, value: unknown, expected: BundleErrorCode): OwnFixture => {
    return { bytes: fileOfValue(withBytes(changedAt(bundle, path, value))), expected };
  };
  const semantics = "BUNDLE_SEMANTICS";
  const variant = "tasks[0].variants[0]";
  return [
    ["accordion-v1.msgpack", { bytes: encodeBundle(bundle), expected: bundle }],
    ["accordion-bad-schema.msgpack", changed("policy.scheduler", "fifo", "BUNDLE_SCHEMA")],
    ["accordion-bad-cut.msgpack", changed(`${variant}.pipelines[2].cut`, [3, 4], semantics)],
    ["accordion-bad-latency.msgpack", changed(`${variant}.latencyMs.data[9]`, 1, semantics)],
    ["accordion-bad-shapes.msgpack", changed("shapes.data[0]", 2, semantics)],
    [
      "accordion-bad-stage.msgpack",
      changed(`${variant}.stages[0].model.inputs[0].name`, "z", semantics),
    ],
  ];
}

/** A value in memory as the payload holds it. */
export function withBytes(value: unknown): unknown {
  if (ArrayBuffer.isView(value)) {
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  }
  if (Array.isArray(value)) return value.map(withBytes);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, withBytes(field)]));
}
