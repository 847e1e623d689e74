/** Servers of every method are stopped and reloaded under load; the campaign does it more often. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { RELOADS } from "../../lab/campaign/reloads.ts";
import { STOPS } from "../../lab/campaign/stops.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-stopping-"));
afterAll(() => rmSync(folder, { recursive: true }));

test.each([STOPS, RELOADS])("$about: nothing is lost", async ({ run, sizes }) => {
  const { tried, lost } = await run({ size: sizes.short, seed: 1, folder, say: () => {} });
  expect(tried).toBeGreaterThan(0);
  expect(lost).toEqual([]);
});
