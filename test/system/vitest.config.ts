/** Tests that need more than npm and minutes: `npm run test:system`. */
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

export default defineConfig({
  root: fileURLToPath(new URL("../..", import.meta.url)),
  test: {
    include: ["test/system/**/*.test.ts"],
    globalSetup: "test/build.ts",
    testTimeout: 300_000,
    maxWorkers: 1,
  },
});
