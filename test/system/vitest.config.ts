/** Tests that need more than npm and minutes: `npm run test:system`. */
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import shared from "../../vitest.config.ts";

export default defineConfig({
  ...shared,
  root: fileURLToPath(new URL("../..", import.meta.url)),
  test: {
    ...shared.test,
    include: ["test/system/**/*.test.ts"],
    exclude: [],
    testTimeout: 300_000,
  },
});
