/** What `serve` says once it is ready. */
import { expect, test } from "vitest";
import { inferline } from "../../../../../runtime/methods/inferline/inferline.ts";
import { servedStages } from "../../../server/graph/served-tasks.ts";

test("says in words what runs where", () => {
  const { workers, more, json } = inferline.describeServing(servedStages());
  expect(`${workers}${more}`).toBe(
    [
      "6 workers",
      "  gate: 1 replica planned for hardware0, batches up to 4",
      "  slow: 2 replicas planned for hardware0, batches up to 2",
      "  last: 1 replica planned for hardware0, batches up to 4",
    ].join("\n"),
  );
  expect(json).toMatchObject({ stages: [{ task: "gate" }, { task: "slow" }, { task: "last" }] });
});
