/** Bundles that are planned with the way through the server, on a machine that has one. */
import { expect, test } from "vitest";
import { InputError } from "../../../compiler/spec/document/input-error.ts";
import { BundleError } from "../../../runtime/base/bundle-error.ts";
import type { Bundle } from "../../../runtime/bundle/schema.ts";
import { encodeBundle } from "../../../runtime/bundles/checked-bundle.ts";
import { methodOf as runtimeMethodOf } from "../../../runtime/methods/registry.ts";
import { type Machine, SERVING, servedBundle } from "../../support/served-application.ts";

test("three workers on two processors are planned to carry less than on three", async () => {
  const on = async (processors: number) => {
    const contention = processors === 2 ? [1, 1.05, 1.6] : [1, 1.05, 1.1];
    const machine: Machine = { serving: { ...SERVING, processors, contention }, loads: [60] };
    return (await servedBundle("ramsis", machine)).levels[0]?.capacityQps ?? 0;
  };
  expect(await on(2)).toBeLessThan(0.75 * (await on(3)));
});

test("an SLO shorter than the path is refused in one line that says what takes it", async () => {
  const slow = { ...SERVING, wireMs: { p50: 50, p95: 60, p99: 70, mean: 51 } };
  const refused = await servedBundle("themis", { serving: slow, slo: "30 ms" }).catch(
    (error: unknown) => error,
  );
  expect(refused).toBeInstanceOf(InputError);
  expect(String(refused)).toMatch(
    /slo\.latency: expected more than the \d+\.?\d* ms of the serving path/,
  );
});

test("a margin has to be less than the SLO, and slacks end with what it leaves", async () => {
  const bundle = await servedBundle("themis", { loads: [40], slo: "40 ms" });
  const { serving } = bundle.cluster;
  if (serving === undefined) throw new TypeError("the path was measured");
  const withMargin = (marginMs: number) =>
    encodeBundle({ ...bundle, cluster: { ...bundle.cluster, serving: { ...serving, marginMs } } });
  expect(withMargin(39.9).length).toBeGreaterThan(0);
  expect(() => withMargin(40)).toThrow(BundleError);
  expect(() => withMargin(40)).toThrow("cluster.serving.marginMs: expected less than 40");
});

test("bundles say what is kept for the path, or that latencies are without it", async () => {
  const file = { path: "", byteCount: 1, bytes: 1, sha256: "0".repeat(64), formatVersion: 1 };
  const told = (bundle: Bundle) => runtimeMethodOf(bundle).summary(bundle, file);
  const machine = { loads: [40], slo: "40 ms" };
  const planned = told(await servedBundle("themis", machine));
  expect(planned).toMatch(/serving path: \S+ ms p50, \S+ ms p99; \S+ ms of the SLO kept for/);
  expect(planned).toMatch(/3 workers on 2 processors take 1\.\d+x/);
  const without = told(await servedBundle("themis", { ...machine, hops: "0 ms" }));
  expect(without).toMatch(/serving path: .*; planned without it/);
  const unknown = told(await servedBundle("themis", { ...machine, serving: null }));
  expect(unknown).toContain("latencies without serving path");
});
