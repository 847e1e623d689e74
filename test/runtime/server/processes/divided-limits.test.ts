/** Limits of a server are not as many times larger as it has processes. */
import { expect, test } from "vitest";
import { DEFAULT_LIMITS } from "../../../../runtime/server/applications/limits.ts";
import { dividedLimits } from "../../../../runtime/server/processes/divided-limits.ts";

test("each process has its part of what is of the server", () => {
  const part = dividedLimits({ ...DEFAULT_LIMITS, drainDelayMs: 500 }, 3);
  expect(3 * part.maxBytesInFlight).toBeLessThanOrEqual(DEFAULT_LIMITS.maxBytesInFlight);
  expect(3 * part.maxUnsentBytes).toBeLessThanOrEqual(DEFAULT_LIMITS.maxUnsentBytes);
  expect(part.maxConnections).toBe(1366);
  expect(part.maxBodyBytes).toBe(DEFAULT_LIMITS.maxBodyBytes);
  expect(part.drainDelayMs).toBe(0);
});

test("a part that holds no body is refused", () => {
  expect(() => dividedLimits(DEFAULT_LIMITS, 9)).toThrow(
    "--processes 9: expected --max-in-flight of at least 9 times --max-body, " +
      "got 536870912 and 67108864 bytes",
  );
});
