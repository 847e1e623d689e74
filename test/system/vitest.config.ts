/** Tests that need more than npm and minutes: `npm run test:system`. */
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

export default defineConfig({
  root: fileURLToPath(new URL("../..", import.meta.url)),
  test: {
    include: [
      "test/system/**/*.test.ts",
      // Those that try generated cases try all of them here, and a part of them in `npm test`.
      "test/contract/hostile-*.test.ts",
      "test/contract/ranges.test.ts",
      "test/runtime/server/bodies/hostile-bodies.test.ts",
      "test/regular-expressions.test.ts",
    ],
    env: { STRATAGEM_CASES: "all" },
    globalSetup: "test/build.ts",
    setupFiles: "test/setup.ts",
    testTimeout: 300_000,
    hookTimeout: 60_000,
    maxWorkers: 1,
  },
});
