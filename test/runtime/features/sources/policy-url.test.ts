import { expect, test } from "vitest";
import {
  besideOf,
  keyOf,
  policyUrlOf,
  redacted,
} from "../../../../runtime/features/sources/policy-url.ts";
import { storeFolder } from "../../../../runtime/features/sources/store-folder.ts";

test.each([
  ["policies/letters/bundle.msgpack", undefined],
  ["/srv/a:b@c/bundle.msgpack", undefined],
  ["https://host/bundle.msgpack", "web"],
  ["HTTP://127.0.0.1:8080/b", "web"],
  ["oci://host:5000/team/letters:stable", "registry"],
  ["oci+http://host/team/letters@sha256:00", "registry"],
])("%s is a source of kind %s", (text, kind) => {
  expect(policyUrlOf(text)?.kind).toBe(kind);
});

test.each([
  ["s3://bucket/bundle", "expected the path of a bundle, or a URL of https, http or oci"],
  ["nats://host:4222/bucket/b", "got nats://host:4222/bucket/b; nats:// was removed"],
  ["https:///bundle", "with a host, got https:///bundle"],
  ["https://me:secret@host/b", "expected a URL without credentials"],
])("%s is refused", (text, words) => {
  expect(() => policyUrlOf(text)).toThrow(words);
  expect(() => policyUrlOf(text)).not.toThrow("secret");
});

test("the URL of a sidecar keeps the query, which messages hide", () => {
  const url = "https://host/team/bundle.msgpack?sig=secret";
  expect(besideOf(url, "größe 1.onnx")).toBe(
    "https://host/team/gr%C3%B6%C3%9Fe%201.onnx?sig=secret",
  );
  expect(redacted(url)).toBe("https://host/team/bundle.msgpack?…");
});

test("different URLs have different folder names", () => {
  const keys = ["https://a/b", "https://a-b", "https://A/b"].map(keyOf);
  expect(new Set(keys).size).toBe(3);
  expect(keys.every((key) => /^[a-z0-9.-]+$/.test(key))).toBe(true);
});

test("the store is in the configured, the service's or the user's state folder", () => {
  expect(storeFolder("/given", { STATE_DIRECTORY: "/var/lib/a" })).toBe("/given");
  expect(storeFolder(null, { STATE_DIRECTORY: "/var/lib/a:/b" })).toBe("/var/lib/a");
  expect(storeFolder(null, { XDG_STATE_HOME: "/state" })).toBe("/state/stratagem");
  expect(storeFolder(null, {})).toMatch(/\.local\/state\/stratagem$/);
});
