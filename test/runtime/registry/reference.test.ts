/** References to artifacts in registries. */
import { expect, test } from "vitest";
import { formatReference, parseReference, wantedOf } from "../../../runtime/registry/reference.ts";

const DIGEST = `sha256:${"0a".repeat(32)}`;

test.each([
  ["oci://registry.example/policy", "https:", "registry.example", "policy", "latest", null],
  ["r.example:5000/team/a-b_c.d:1.2", "https:", "r.example:5000", "team/a-b_c.d", "1.2"],
  [`oci://r.example/p@${DIGEST}`, "https:", "r.example", "p", null, DIGEST],
  [`oci://r.example/p:edge@${DIGEST}`, "https:", "r.example", "p", "edge", DIGEST],
  ["oci://localhost:5000/p", "http:", "localhost:5000", "p", "latest"],
  ["127.0.0.1:5000/p:1", "http:", "127.0.0.1:5000", "p", "1"],
  ["oci://[::1]:5000/p:1", "http:", "[::1]:5000", "p", "1"],
  ["oci+http://r.example/p:1", "http:", "r.example", "p", "1"],
  ["oci+https://localhost/p:1", "https:", "localhost", "p", "1"],
])("%s", (text, protocol, host, repository, tag, digest: string | null = null) => {
  const reference = { protocol, host, repository, tag, digest };
  expect(parseReference(text)).toEqual(reference);
  expect(parseReference(formatReference(parseReference(text)))).toEqual(reference);
  expect(wantedOf(parseReference(text))).toBe(digest ?? tag);
});

test.each([
  "",
  "policy",
  "team/policy:1",
  "oci://",
  "oci:///policy",
  "oci://registry.example",
  "oci://registry.example/",
  "oci://registry.example/Policy",
  "oci://registry.example/../policy",
  "oci://registry.example/a//b",
  "oci://registry.example/p:",
  "oci://registry.example/p:a b",
  "oci://registry.example/p@sha256:123",
  `oci://registry.example/p@${DIGEST}@${DIGEST}`,
  "oci://user:secret@registry.example/p",
  "oci://registry.example:port/p",
  "oci://registry.example:99999/p",
  "oci://300.300.300.300/p",
  "oci://registry.example?x=/p",
  "https://registry.example/p",
  `oci://registry.example/${"p".repeat(2000)}`,
])("%j is rejected", (text) => {
  expect(() => parseReference(text)).toThrow(
    expect.objectContaining({
      code: "RUNTIME_USAGE",
      message: expect.stringContaining("expected a reference such as oci://"),
    }),
  );
});

test("does not show a password in a reference", () => {
  expect(() => parseReference("oci://user:secret@registry.example/p")).not.toThrow(/secret/);
});
