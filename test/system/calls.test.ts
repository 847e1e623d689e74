/** The part of the campaign that holds calls of gRPC, in its short form: nothing is timed here. */
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { CALLS } from "../../lab/campaign/calls.ts";
import { HELD_KINDS } from "../../lab/campaign/wire/held-calls.ts";

test("a real server ends every call that does not, and holds no more than its limit", async () => {
  const folder = mkdtempSync(join(tmpdir(), "campaign-calls-"));
  const outcome = await CALLS.run({ size: CALLS.sizes.short, seed: 2, folder, say: () => {} });
  expect(outcome.lost).toEqual([]);
  expect(outcome.tried).toBe(HELD_KINDS.length * CALLS.sizes.short);
}, 300_000);
