/** Queue times that bundles of every method promise; test/system has them with a serving path. */
import { expect, test } from "vitest";
import { compile } from "../../../compiler/levels/compile.ts";
import { expectQueueTimes } from "../../support/promised-times.ts";
import {
  SERVED_OPTIONS,
  servedApplication,
  servedBundle,
} from "../../support/served-application.ts";

test.each([
  ["ramsis", 150],
  ["loki", 80],
  ["inferline", 120],
  ["themis", 100],
  ["accordion", 60],
] as const)("%s states queue times, which verification reproduces", async (method, loadQps) => {
  await expectQueueTimes(await servedBundle(method, { loads: [loadQps], serving: null }));
});

test("ramsis states them for queues of single workers, too", async () => {
  const loaded = servedApplication("ramsis", { loads: [150], serving: null });
  const { application } = loaded;
  if (application.policy.method !== "ramsis") return expect.fail("the method is ramsis");
  const policy = { ...application.policy, balancer: "round-robin" } as const;
  const changed = { ...loaded, application: { ...application, policy } };
  const { bundle } = await compile(changed as typeof loaded, SERVED_OPTIONS);
  await expectQueueTimes(bundle);
});
