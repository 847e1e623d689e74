/** Models from an object store that stops at each stage. */
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import type { ClusterConnection } from "../../../../runtime/features/cluster/connection.ts";
import { fetchModel } from "../../../../runtime/features/cluster/model-objects.ts";
import type { ObjectBucket } from "../../../../runtime/features/cluster/nats-packages.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-objects-"));
afterAll(() => rmSync(folder, { recursive: true }));

const MODEL = Buffer.from("a model");
const SHA256 = createHash("sha256").update(MODEL).digest("hex");
const OBJECT = {
  name: "m.onnx",
  size: MODEL.length,
  digest: `SHA-256=${Buffer.from(SHA256, "hex").toString("base64url")}`,
  deleted: false,
};
const TIMEOUT_MS = 50;
const never = new Promise<never>(() => {});

async function* whole() {
  yield MODEL;
}

async function* half() {
  yield MODEL.subarray(0, 3);
  await never;
}

async function* trickle() {
  for (;;) {
    yield new Uint8Array(0);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

interface Stage {
  readonly stores?: () => AsyncIterable<{ readonly bucket: string }>;
  readonly open?: Promise<never>;
  readonly list?: Promise<never>;
  readonly get?: Promise<never>;
  readonly data?: () => AsyncIterable<Uint8Array>;
  readonly error?: Promise<null>;
}

/** A connection whose packages have one store, which stops as the stage says. */
function connectionAt(stage: Stage): ClusterConnection {
  const { data = whole, error = Promise.resolve(null) } = stage;
  const bucket: ObjectBucket = {
    list: () => stage.list ?? Promise.resolve([OBJECT]),
    get: () => stage.get ?? Promise.resolve({ data: data(), error }),
  };
  const one = async function* () {
    yield { bucket: "models" };
  };
  class Objm {
    list = stage.stores ?? one;
    open = () => stage.open ?? Promise.resolve(bucket);
  }
  const found: object = { link: {}, url: { text: "nats://n" }, packages: { Objm } };
  return found as ClusterConnection;
}

const { signal } = new AbortController();
const silent = async function* () {
  yield await never;
};

test.each<[string, Stage]>([
  ["its list of stores", { stores: silent }],
  ["opening a store", { open: never }],
  ["the list of a store", { list: never }],
  ["finding an object", { get: never }],
  ["half of an object", { data: half }],
  ["an object that trickles", { data: trickle }],
  ["the outcome", { error: never }],
])("a store that stops at %s is given up", async (_, stage) => {
  const path = join(folder, "given-up.onnx");
  const fetched = fetchModel(connectionAt(stage), SHA256, path, signal, TIMEOUT_MS);
  await expect(fetched).rejects.toThrow(
    /^nats:\/\/n: expected a model, got: no (complete answer within|data for) 5\d ms$/,
  );
  expect(readdirSync(folder).filter((file) => file.includes("given-up"))).toEqual([]);
});

test("a stop ends a fetch that waits", async () => {
  const stop = new AbortController();
  const path = join(folder, "stopped.onnx");
  const fetched = fetchModel(connectionAt({ data: half }), SHA256, path, stop.signal);
  stop.abort();
  await expect(fetched).rejects.toMatchObject({ name: "AbortError" });
  expect(existsSync(path)).toBe(false);
});

test("a store that answers gives the model", async () => {
  const path = join(folder, "m.onnx");
  await fetchModel(connectionAt({}), SHA256, path, signal, 60_000);
  expect(readFileSync(path)).toEqual(MODEL);
});
