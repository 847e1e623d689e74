/** The part of the campaign that sends bodies, in its short form: nothing is timed here. */
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { BODIES } from "../../lab/campaign/bodies.ts";

test("a real server answers every body of a short campaign", async () => {
  const folder = mkdtempSync(join(tmpdir(), "campaign-bodies-"));
  const outcome = await BODIES.run({ size: BODIES.sizes.short, seed: 2, folder, say: () => {} });
  expect(outcome.lost).toEqual([]);
  expect(outcome.tried).toBe(BODIES.sizes.short);
}, 120_000);
