/** What `inspect --state` says of states in which no batch starts, or in which tables are mixed. */
import { expect, test } from "vitest";
import { inspectCommand } from "../../../../../runtime/commands/inspect.ts";

const path = "policies/image-classification/bundle.msgpack";

const told = async (loadQps: number, state: string) => {
  const { text, json } = await inspectCommand({ path, loadQps, state });
  return { lines: text.split("\n"), state: (json as { state: Record<string, unknown> }).state };
};

test("a state that waits says until when, what comes then, and what else could run", async () => {
  const { lines, state } = await told(1200, "queued=1,slack=132.6ms");
  expect(lines.slice(0, 2)).toEqual([
    "queued 1, slack 132.6 ms: start nothing yet: wait for another query, until the slack is " +
      "below 129 ms, 3.6 ms from now",
    "if none comes until then: efficientnet_b2 on 1 query",
  ]);
  expect(lines).toContainEqual(expect.stringMatching(/^g {2}efficientnet_v2_s +1 +117\.2 /));
  expect(lines).toContainEqual(
    expect.stringMatching(/^h {2}efficientnet_v2_m +- .* 60\.93 ms too late even alone$/),
  );
  expect(state["afterWaiting"]).toMatchObject({ variant: "efficientnet_b2", batch: 1 });
});

test("a query that is given up is told with what would save it, and whom that leaves", async () => {
  const { lines, state } = await told(3200, "queued=30,slack=60ms");
  expect(lines[0]).toMatch(
    /^queued 30, slack 60 ms: give the earliest query up: it will not be in/,
  );
  expect(lines).toContainEqual(
    expect.stringMatching(/^a {2}shufflenet.* +3 +56\.6 .* leaves 27 queries waiting$/),
  );
  expect(state["otherTable"]).toMatchObject({ decision: { givesUp: true } });
  expect(lines).toContainEqual(
    expect.stringMatching(/^42\.065% of the decisions, drawn at random, follow a second table/),
  );
});
