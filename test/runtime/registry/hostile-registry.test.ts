/** Responses of a hostile registry only cause errors. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { challengesOf } from "../../../runtime/registry/challenge.ts";
import { readIndex, readManifest } from "../../../runtime/registry/manifest.ts";
import { MANIFEST, POLICY, TITLE } from "../../../runtime/registry/media-types.ts";
import { policyArtifact } from "../../../runtime/registry/policy-artifact.ts";
import { formatReference, parseReference } from "../../../runtime/registry/reference.ts";
import { wordsOf } from "../../../runtime/registry/registry-errors.ts";

/** Runs something that may refuse what it is given. @returns null where it has. */
function unlessRefused<T>(run: () => T): T | null {
  try {
    return run();
  } catch (error) {
    expect(error).toMatchObject({ name: "RuntimeError" });
    expect(String(error)).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}]/u);
    return null;
  }
}

const bytesOf = (value: unknown) => Buffer.from(JSON.stringify(value) ?? "");
const digest = fc.oneof(fc.constant(`sha256:${"0a".repeat(32)}`), fc.string());
const descriptor = fc.record(
  {
    mediaType: fc.oneof(fc.constantFrom(POLICY, MANIFEST), fc.anything()),
    digest,
    size: fc.oneof(fc.nat(), fc.anything()),
    annotations: fc.oneof(fc.record({ [TITLE]: fc.string({ unit: "binary" }) }), fc.anything()),
  },
  { requiredKeys: [] },
);
const document = fc.record(
  {
    schemaVersion: fc.constantFrom(2, 1, "2"),
    mediaType: fc.anything(),
    artifactType: fc.oneof(fc.constant(POLICY), fc.anything()),
    config: fc.anything(),
    layers: fc.oneof(fc.array(descriptor), fc.anything()),
    manifests: fc.oneof(fc.array(descriptor), fc.anything()),
  },
  { requiredKeys: ["schemaVersion"] },
);

test("any manifest is read or rejected, and the bundle's name has no directories", () => {
  fc.assert(
    fc.property(fc.oneof(document, fc.anything()), (value) => {
      const manifest = unlessRefused(() => readManifest(bytesOf(value), "registry"));
      unlessRefused(() => readIndex(bytesOf(value), "registry"));
      if (manifest === null) return;
      const artifact = unlessRefused(() => policyArtifact(manifest, "registry"));
      expect(artifact?.title ?? "bundle").not.toMatch(/[\\/\0]|^\.{0,2}$/);
    }),
  );
});

test("a name with directories is rejected", () => {
  const layer = { mediaType: POLICY, digest: `sha256:${"0a".repeat(32)}`, size: 1 };
  const names = fc.tuple(fc.string(), fc.constantFrom("/", "\\", "\0", "\n"), fc.string());
  fc.assert(
    fc.property(names, ([before, between, after]) => {
      const annotations = { [TITLE]: `${before}${between}${after}` };
      const manifest = { artifactType: POLICY, layers: [{ ...layer, annotations }] };
      expect(unlessRefused(() => policyArtifact(manifest, "registry"))).toBe(null);
    }),
  );
});

test("bytes that are no text are rejected as a manifest", () => {
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) => {
      unlessRefused(() => readManifest(bytes, "registry"));
      expect(wordsOf(500, bytes)).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}]/u);
    }),
  );
});

test("a header is read to its end", () => {
  const texts = fc.string({ unit: fc.constantFrom(...'a =,"\\ Bearer\t') });
  fc.assert(
    fc.property(fc.oneof(texts, fc.string()), (header) => {
      for (const { scheme } of challengesOf(header)) expect(scheme).not.toBe("");
    }),
  );
});

test("any reference is rejected or read unchanged", () => {
  const parts = ["oci://", "oci+http://", "a", "b.c", ":", "5000", "/", "@", "sha256:", "0", "_"];
  const texts = fc.array(fc.constantFrom(...parts), { maxLength: 12 }).map((all) => all.join(""));
  fc.assert(
    fc.property(fc.oneof(texts, fc.string({ unit: "binary" })), (text) => {
      const reference = unlessRefused(() => parseReference(text));
      if (reference === null) return;
      expect(parseReference(formatReference(reference))).toEqual(reference);
      const { protocol, host, repository } = reference;
      const url = new URL(`${protocol}//${host}/v2/${repository}/`);
      expect([url.username, url.password, url.search, url.hash].join("")).toBe("");
      expect(url.pathname).toBe(`/v2/${repository}/`);
    }),
  );
});
