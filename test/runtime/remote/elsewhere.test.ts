/** Selection of remote pools by `--workers` and bundles. */
import { expect, test } from "vitest";
import { isWorkerUrl } from "../../../runtime/bundle/schema.ts";
import {
  elsewhereOf,
  expectUrlsOfPools,
  parsePoolUrls,
} from "../../../runtime/remote/elsewhere.ts";
import { fixedWorkers, workersAt } from "../../../runtime/remote/remote-workers.ts";

const [A, B] = ["http://10.0.0.7:8000", "https://10.0.0.8:8001"];

test.each([
  [`${A}`, { pool: null, urls: [A] }],
  [`${A},${B}`, { pool: null, urls: [A, B] }],
  [`gpu=${A},${B}`, { pool: "gpu", urls: [A, B] }],
  // A path may have what separates a pool.
  [`${A}/a=b`, { pool: null, urls: [`${A}/a=b`] }],
  [`gpu=${A}/a=b`, { pool: "gpu", urls: [`${A}/a=b`] }],
])("%s is parsed", (text, expected) => {
  expect(parsePoolUrls(text)).toEqual(expected);
});

test.each(["", "gpu=", `=${A}`, `${A},`, `${A} ${B}`, "10.0.0.7:8000", `gpu=pool=${A}`])(
  "%j is refused",
  (text) => {
    expect(parsePoolUrls(text)).toBeUndefined();
  },
);

test.each([
  ["https://worker", true],
  ["http://[::1]:8001/", true],
  ["http://worker:8001/path", true],
  ["grpc://worker:8001", false],
  ["http://user@worker:8000", false],
  ["http://worker:8000?a=b", false],
  ["ftp://worker:8000", false],
  ["nats://worker:4222", false],
])("%s is the URL of a worker: %s", (text, isOne) => {
  expect(isWorkerUrl(text)).toBe(isOne);
});

const POOLS = [{ name: "cpu" }, { name: "gpu", urls: [A] }] as const;

test("a local pool and a remote pool can be combined", () => {
  const elsewhere = elsewhereOf(POOLS, {});
  expect(elsewhere?.isElsewhere).toEqual([false, true]);
  expect(elsewhere?.workers.members()).toEqual(workersAt("gpu", [A]));
  expect(elsewhereOf([{ name: "cpu" }], {})).toBeNull();
});

test("URLs given at the start override the bundle's, without duplicates", () => {
  const workerUrls = [
    { pool: "gpu", urls: [B, B] },
    { pool: "gpu", urls: [`${A}/`] },
  ];
  const elsewhere = elsewhereOf(POOLS, { workerUrls });
  expect(elsewhere?.workers.members().map(({ url }) => url)).toEqual([B, A]);
});

test("discovered workers belong to pools without URLs", () => {
  const found = ["cpu", "gpu"].map((pool) => ({ name: pool, url: B, pool, lease: "a/1" }));
  const elsewhere = elsewhereOf(POOLS, { remoteWorkers: fixedWorkers(found) });
  expect(elsewhere?.isElsewhere).toEqual([true, true]);
  expect(elsewhere?.workers.members().map(({ name }) => name)).toEqual([A, "cpu"]);
});

test("URLs of an unknown pool, or without a pool among several, are rejected", () => {
  const asked = (pool: string | null) => {
    return () => expectUrlsOfPools(POOLS, { workerUrls: [{ pool, urls: [A] }] });
  };
  expect(asked("cpu")).not.toThrow();
  expect(asked("tpu")).toThrow(/expected a pool \(cpu, gpu\), got "tpu"/);
  expect(asked(null)).toThrow(/expected a pool \(cpu, gpu\), got http:.* without a pool/);
});
