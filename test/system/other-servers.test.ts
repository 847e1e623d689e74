/** The campaign's part on sources and workers that misbehave, in its short form. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { OTHER_SERVERS } from "../../lab/campaign/other-servers.ts";

test("sources that stop and workers with damaged answers do no harm", async () => {
  const folder = mkdtempSync(join(tmpdir(), "campaign-other-servers-"));
  try {
    const attack = { size: OTHER_SERVERS.sizes.short, seed: 1, folder, say: () => {} };
    const { tried, lost } = await OTHER_SERVERS.run(attack);
    expect(lost).toEqual([]);
    expect(tried).toBeGreaterThan(OTHER_SERVERS.sizes.short);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
