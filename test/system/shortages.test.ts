/** The short form of the campaign against servers that are short of descriptors. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { SHORTAGES } from "../../lab/campaign/shortages.ts";

test("a server survives a lack of descriptors, and says what it lacks at its start", async () => {
  const folder = mkdtempSync(join(tmpdir(), "stratagem-shortages-"));
  try {
    const attack = { size: SHORTAGES.sizes.short, seed: 1, folder, say: () => {} };
    const { lost, figures } = await SHORTAGES.run(attack);
    expect(lost).toEqual([]);
    expect(Number(figures["503"])).toBeGreaterThan(0);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
