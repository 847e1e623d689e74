/** What `serve` says once it is ready. */
import { expect, test } from "vitest";
import { themis } from "../../../../../runtime/methods/themis/themis.ts";
import { servedScales } from "../serve/served.ts";

test("says in words what runs on how many cores", () => {
  const { workers, more, json } = themis.describeServing(servedScales());
  expect(`${workers}${more}`).toBe(
    [
      "4 workers",
      "  gate: 1 instance of 1 core, batches up to 4",
      "  slow: 2 instances of 1 core, batches up to 2",
      "  last: 1 instance of 1 core, batches up to 4",
    ].join("\n"),
  );
  expect(json).toMatchObject({ stages: [{ task: "gate" }, { task: "slow" }, { task: "last" }] });
});
