/** Labels are what the promise of accuracy is watched by. */
import { expect, test } from "vitest";
import { ramsisApplication } from "../../../../runtime/methods/ramsis/serve/ramsis-application.ts";
import { hostedModels } from "../../../../runtime/server/applications/hosted-model.ts";
import { FakeExecutor, servedBundle } from "../harness.ts";

/** Labels come in blocks, of which so many are right; between them somebody looks. */
function watched(rightOf25: number) {
  const clock = { nowMs: 0 };
  const notices: string[] = [];
  const application = ramsisApplication({
    bundle: servedBundle(),
    bundleSha256: "ab".repeat(32),
    nowMs: () => clock.nowMs,
    epochOffsetMs: 0,
    executorFactory: (handlers) => new FakeExecutor(handlers),
    onNotice: (message) => void notices.push(message),
  });
  const [hosted] = hostedModels(application, 0);
  for (let block = 0; block < 40; block++) {
    for (let label = 0; label < 25; label++) {
      hosted?.feedback?.counts.onLabel("large", label < rightOf25);
    }
    clock.nowMs += 60_000;
    application.drift.look();
  }
  const accuracy = application.drift.states().find(({ promise }) => promise === "accuracy");
  return { accuracy, notices };
}

test("labels that say what was profiled leave the promise as it is", () => {
  const { accuracy, notices } = watched(20);
  expect(accuracy?.holds).toBe(true);
  expect(notices).toEqual([]);
});

test("labels that say much less break it, and the log says which variant", () => {
  const { accuracy, notices } = watched(10);
  expect(accuracy?.holds).toBe(false);
  expect(accuracy?.because).toContain("large is right in 40");
  expect(notices.join()).toContain("large is right in 40");
});
