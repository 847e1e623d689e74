/** More requests than the instances carry, for long: who is given up, and who is served late. */
import { simulateThemis } from "stratagem/internal/methods/themis/simulate/simulate";
import type { ThemisBundle } from "stratagem-runtime/internal/bundle/schema";
import type { Experiment } from "../harness/experiment.ts";
import { percent, present } from "../harness/numbers.ts";
import { overSeeds } from "../harness/seeds.ts";
import { compiledPipeline, PIPELINES, SEEDS, SETUPS } from "./reference-apps.ts";
import { byAge, meanViolations } from "./scale-rows.ts";

const DURATION_MS = 300_000;
/** Of the load of the level whose instances there are, and no others. */
const FACTORS = [0.9, 1.05, 1.2, 1.5, 2];

export const overload: Experiment = {
  name: "overload",
  about: "violations of a pool that is exhausted, by its rules of giving up",
  takes: "twenty seconds",
  run: async ({ page, folder }) => {
    const rows: string[][] = [];
    for (const pipeline of PIPELINES) {
      const bundle = await compiledPipeline(folder, pipeline);
      const level = bundle.levels.length >> 1;
      const rules = { "age alone": byAge(bundle), "with the rest": bundle };
      for (const [rule, one] of Object.entries(rules)) {
        const cells = await Promise.all(FACTORS.map((factor) => violations(one, level, factor)));
        rows.push([SETUPS[pipeline].title, rule, ...cells]);
      }
    }
    page.say(`the instances of one level for ${DURATION_MS / 1000} s, at parts of its load\n`);
    page.table(["", "given up by", ...FACTORS.map((factor) => `${factor} ×`)], rows);
  },
};

async function violations(bundle: ThemisBundle, level: number, factor: number): Promise<string> {
  const qps = factor * present(bundle.levels[level]).loadQps;
  const results = await overSeeds(SEEDS, async (seed) =>
    simulateThemis(bundle, {
      arrivals: { kind: "poisson", qps },
      durationMs: DURATION_MS,
      seed,
      level,
    }),
  );
  return percent(meanViolations(results));
}
