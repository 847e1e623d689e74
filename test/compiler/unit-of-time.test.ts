import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { compile } from "../../compiler/levels/compile.ts";
import { loadApplication } from "../../compiler/spec/load-application.ts";
import type { Bundle } from "../../runtime/bundle/schema.ts";
import { writeRandomSpec } from "../support/random-spec.ts";
import { SERVED_OPTIONS } from "../support/served-application.ts";
import { unitDifferences } from "../support/unit-free.ts";

const METHODS = ["ramsis", "loki", "inferline", "themis", "accordion"] as const;
/** More of them take minutes: `UNIT_PROBLEMS=100 npx vitest run test/compiler/unit-of-time`. */
const PROBLEMS = Number(process.env["UNIT_PROBLEMS"] ?? 1);
/** Powers of two, so that nothing is rounded: a tie stays a tie. */
const FACTORS = [2 ** 20, 1 / 1024, 8, 1 / 32];

async function compiledAt(
  folder: string,
  method: (typeof METHODS)[number],
  seed: number,
  factor: number,
): Promise<Bundle> {
  const path = writeRandomSpec(join(folder, `${factor}`), method, seed, factor);
  return (await compile(loadApplication(path), SERVED_OPTIONS)).bundle;
}

test.each(METHODS)(
  "%s decides and promises the same at any unit of time",
  async (method) => {
    const folder = mkdtempSync(join(tmpdir(), "stratagem-unit-"));
    try {
      for (let seed = 1; seed <= PROBLEMS; seed++) {
        const factor = FACTORS[seed % FACTORS.length] ?? 1;
        const own = await compiledAt(folder, method, seed, 1);
        const other = await compiledAt(folder, method, seed, factor);
        const found = unitDifferences(own, other, factor);
        expect(found.slice(0, 5), `seed ${seed}, times ${factor}`).toEqual([]);
      }
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
  60_000 * Math.max(1, PROBLEMS),
);
