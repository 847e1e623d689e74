/** The campaign's part on files, in its short form. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { FILES } from "../../lab/campaign/files.ts";

test("the campaign against output files loses nothing", async () => {
  const folder = mkdtempSync(join(tmpdir(), "campaign-files-"));
  try {
    const attack = { size: FILES.sizes.short, seed: 1, folder, say: () => {} };
    const { tried, lost } = await FILES.run(attack);
    expect(lost).toEqual([]);
    expect(tried).toBeGreaterThan(FILES.sizes.short + 15);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
