/** Tests that need more than npm and minutes: `npm run test:system`. */
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { builtOfSources, LEFT_TO_NODE } from "../sources.ts";

export default defineConfig({
  root: fileURLToPath(new URL("../..", import.meta.url)),
  plugins: [builtOfSources],
  test: {
    include: [
      "test/system/**/*.test.ts",
      // Those that try generated cases try all of them here, and a part of them in `npm test`.
      "test/cli/host-tasks.test.ts",
      "test/contract/toy.test.ts",
      "test/contract/hostile-*.test.ts",
      "test/contract/ranges.test.ts",
      "test/contract/{core,scheduled,replayed}.test.ts",
      "test/compiler/methods/inferline/solve/provision.test.ts",
      "test/compiler/methods/loki/simulate/simulate.test.ts",
      "test/compiler/methods/loki/solve/plan/{brute-force,plan-pipeline}.test.ts",
      "test/compiler/methods/ramsis/simulate/peers/{any-events,proteus}.test.ts",
      "test/compiler/methods/ramsis/solve/{pooled-search,solver}.test.ts",
      "test/compiler/methods/themis/{simulate/invariants,solve/variant-choices}.test.ts",
      "test/runtime/server/bodies/hostile-bodies.test.ts",
      "test/runtime/features/canary/comparison.test.ts",
      "test/runtime/features/sources/cut-power.test.ts",
      "test/runtime/bundles/trust/trust.test.ts",
      "test/regular-expressions.test.ts",
    ],
    env: { STRATAGEM_CASES: "all" },
    server: { deps: { external: LEFT_TO_NODE } },
    globalSetup: "test/build.ts",
    setupFiles: "test/setup.ts",
    testTimeout: 300_000,
    hookTimeout: 60_000,
    maxWorkers: 2,
  },
});
