/** Labels as evidence for the promise of accuracy. */
import { expect, test } from "vitest";
import { Drift } from "../../../../runtime/features/drift/drift.ts";
import { VariantCounts } from "../../../../runtime/features/feedback/variant-counts.ts";
import { ramsisApplication } from "../../../../runtime/methods/ramsis/serve/ramsis-application.ts";
import { FakeExecutor, servedBundle } from "../../server/harness.ts";

/** Labels come in blocks, of which so many are right; between them somebody looks. */
function watched(rightOf25: number) {
  const clock = { nowMs: 0 };
  const notices: string[] = [];
  const nowMs = () => clock.nowMs;
  const { endpoint } = ramsisApplication({
    bundle: servedBundle(),
    bundleSha256: "ab".repeat(32),
    nowMs,
    executorFactory: (handlers) => new FakeExecutor(handlers),
  });
  const stated = endpoint.bundle.tasks.flatMap(({ variants }) =>
    variants.map(({ name, accuracy }) => ({ variant: name, accuracy })),
  );
  const counts = new VariantCounts(
    new Map(stated.map(({ variant, accuracy }) => [variant, accuracy])),
  );
  const drift = new Drift({
    ...{ watched: endpoint.watched, stated, labelled: () => counts.labelled(), nowMs },
    ...{ hoursPerFalseAlarm: 1000, epochOffsetMs: () => 0 },
    onNotice: (message) => void notices.push(message),
  });
  for (let block = 0; block < 40; block++) {
    for (let label = 0; label < 25; label++) counts.onLabel("large", label < rightOf25);
    clock.nowMs += 60_000;
    drift.look();
  }
  return { accuracy: drift.states().find(({ promise }) => promise === "accuracy"), notices };
}

test("labels that match the profile keep the promise", () => {
  const { accuracy, notices } = watched(20);
  expect(accuracy?.holds).toBe(true);
  expect(notices).toEqual([]);
});

test("labels far below the profile break the promise, and the notice names the variant", () => {
  const { accuracy, notices } = watched(10);
  expect(accuracy?.holds).toBe(false);
  expect(accuracy?.because).toContain("large is right in 40");
  expect(notices.join()).toContain("large is right in 40");
});
