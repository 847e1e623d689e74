/** Bundles in a registry as a source. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { RegistrySource } from "../../../../runtime/features/sources/registry-source.ts";
import { POLICY, SIGNATURE } from "../../../../runtime/registry/media-types.ts";
import { policyLayers, sidecarLayers } from "../../../../runtime/registry/policy-layers.ts";
import { openRegistry } from "../../../../runtime/registry/registry.ts";
import {
  bytesOf,
  digestOf,
  type Published,
  published,
  signed,
  signer,
} from "../../../support/published-policy.ts";
import { SmallRegistry } from "../../../support/small-registry.ts";

let folder: string;
let registry: SmallRegistry;
const { signal } = new AbortController();

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "stratagem-registry-source-"));
  registry = await SmallRegistry.start({ hasReferrers: true });
});

afterEach(async () => {
  await registry.close();
  rmSync(folder, { recursive: true });
});

function place(): string {
  return `oci://${registry.host}/team/tiny:stable`;
}

function source(): RegistrySource {
  mkdirSync(join(folder, "parts"), { recursive: true });
  const partOf = (sha256: string) => join(folder, "parts", sha256);
  return new RegistrySource(place(), { environment: { HOME: folder }, partOf, signal });
}

/** As `push` does. */
async function push(what: Published, signature?: Uint8Array): Promise<void> {
  const { bundle, sha256, models } = what;
  const parts = Object.entries(models).map(([file, bytes]) => {
    const own = { path: join(folder, file), bytes: bytes.length };
    writeFileSync(own.path, bytes);
    return { file, sha256: digestOf(bytes), kind: "model", ...own } as const;
  });
  const sidecars = signature === undefined ? {} : { signature };
  const path = join(folder, "bundle.msgpack");
  writeFileSync(path, bundle);
  const file = { path, byteCount: bundle.length, sha256 };
  const layers = policyLayers({ bundle: file, parts, sidecars });
  const repository = openRegistry(place(), { auth: { environment: { HOME: folder } } });
  await repository.push(POLICY, layers);
}

test("a bundle comes with its signature and models, and once per tag", async () => {
  const first = published();
  const envelope = signed(first, signer());
  await push(first, envelope);
  const from = source();
  const found = await from.look(null, signal);
  expect(Buffer.from(found?.bundle ?? [])).toEqual(Buffer.from(first.bundle));
  expect(Buffer.from(found?.envelope ?? [])).toEqual(Buffer.from(envelope));
  expect(found?.provenance).toBe(null);
  const small = first.models["small.onnx"] ?? bytesOf("");
  const part = { file: "small.onnx", sha256: digestOf(small), kind: "model" } as const;
  const path = join(folder, "fetched");
  expect(await found?.fetch(part, path, signal)).toBe(small.length);
  expect(readFileSync(path)).toEqual(small);
  expect(readdirSync(join(folder, "parts"))).toEqual([]);
  registry.asked();
  expect(await from.look(found?.validator ?? null, signal)).toBe(null);
  const asked = registry.asked().filter((request) => request.includes("/manifests/stable"));
  expect(asked).toEqual(["GET /v2/team/tiny/manifests/stable"]);
  await push(published({ sloMs: 120 }));
  expect((await from.look(found?.validator ?? null, signal))?.envelope).toBe(null);
});

test("a signature pushed later is found although the tag is unchanged", async () => {
  const first = published();
  await push(first);
  const from = source();
  const found = await from.look(null, signal);
  expect(found?.envelope).toBe(null);
  expect(await from.look(found?.validator ?? null, signal)).toBe(null);
  const envelope = signed(first, signer());
  const layers = sidecarLayers("bundle.msgpack", { signature: envelope }).map(({ sent }) => sent);
  const repository = openRegistry(place(), { auth: { environment: { HOME: folder } } });
  const manifest = await repository.manifest();
  const { digest = "", bytes = bytesOf("") } = manifest ?? {};
  const size = bytes.length;
  const subject = { mediaType: "application/vnd.oci.image.manifest.v1+json", digest, size };
  await repository.pushReferrer(SIGNATURE, layers, subject);
  const later = await from.look(found?.validator ?? null, signal);
  expect(Buffer.from(later?.envelope ?? [])).toEqual(Buffer.from(envelope));
});

test("other artifacts are rejected, and a missing tag is polled again", async () => {
  const from = source();
  await expect(from.look(null, signal)).rejects.toMatchObject({
    code: "RUNTIME_SOURCE",
    retryAfterMs: null,
  });
  const repository = openRegistry(place(), { auth: { environment: { HOME: folder } } });
  await repository.push("application/vnd.other", []);
  const refusal = from.look(null, signal);
  await expect(refusal).rejects.toThrow("expected an artifact of application/vnd.stratagem.policy");
  await expect(refusal).rejects.not.toHaveProperty("retryAfterMs");
});

test("a model that the artifact lacks is named", async () => {
  const { bundle } = published();
  await push({ bundle, sha256: digestOf(bundle), models: {} });
  const found = await source().look(null, signal);
  const part = { file: "small.onnx", sha256: digestOf(bytesOf("small")), kind: "model" } as const;
  const fetched = found?.fetch(part, join(folder, "fetched"), signal);
  await expect(fetched).rejects.toThrow("expected a layer with small.onnx, SHA-256");
});
