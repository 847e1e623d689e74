import { describe, expect, test } from "vitest";
import {
  ClientLimits,
  clientOfAddress,
  isLoopback,
} from "../../../../runtime/server/access/client-limits.ts";

function limits(options: ConstructorParameters<typeof ClientLimits>[0]) {
  const clock = { nowMs: 0 };
  const reasons: string[] = [];
  const made = new ClientLimits(options, () => clock.nowMs);
  const enter = (client: string) => made.enter(client, (reason) => reasons.push(reason));
  return { clock, reasons, made, enter };
}

describe("a rate", () => {
  test("lets a burst through, then as many as it says; others are not touched", () => {
    const { clock, reasons, enter } = limits({ rateQps: 10, burst: 3 });
    const statuses = () => Array.from({ length: 5 }, () => enter("a")?.status ?? 200);
    expect(statuses()).toEqual([200, 200, 200, 429, 429]);
    expect(enter("b")).toBeUndefined();
    clock.nowMs += 100;
    expect(statuses()).toEqual([200, 429, 429, 429, 429]);
    clock.nowMs += 60_000;
    expect(statuses()).toEqual([200, 200, 200, 429, 429]);
    expect(new Set(reasons)).toEqual(new Set(["client_rate"]));
  });

  test("tells in whole seconds when to come again", () => {
    const { enter } = limits({ rateQps: 1, burst: 1 });
    enter("a");
    expect(enter("a")).toMatchObject({ status: 429, headers: { "retry-after": "1" } });
  });

  test("remembers no more clients than there is room for, the latest of them", () => {
    const { made, enter } = limits({ rateQps: 1, burst: 1 });
    for (let client = 0; client < 20_000; client++) enter(String(client));
    expect(made.clientCount).toBe(16_384);
    expect(enter("19999")?.status).toBe(429);
    expect(enter("0")).toBeUndefined();
  });
});

test("requests at a time are counted until they leave", () => {
  const { made, reasons, enter } = limits({ concurrency: 2 });
  expect([enter("a"), enter("a"), enter("a")?.status]).toEqual([undefined, undefined, 429]);
  expect(enter("b")).toBeUndefined();
  made.leave("a");
  expect(enter("a")).toBeUndefined();
  expect(reasons).toEqual(["client_concurrency"]);
});

test("who is refused for what waits has not used up its rate", () => {
  const { made, enter } = limits({ rateQps: 1, burst: 2, concurrency: 1 });
  enter("a");
  for (let count = 0; count < 5; count++) expect(enter("a")?.message).toContain("unanswered ones");
  made.leave("a");
  expect(enter("a")).toBeUndefined();
});

test.each([
  ["10.1.2.3", "10.1.2.3"],
  ["::ffff:10.1.2.3", "10.1.2.3"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
  ["2001:db8::9", "2001:db8:0:0::/64"],
  ["fe80::1%eth0", "fe80:0:0:0::/64"],
  [undefined, "unknown"],
])("the client of %s is %s", (address, client) => {
  expect(clientOfAddress(address)).toBe(client);
});

test.each([
  ["127.0.0.1", true],
  ["127.8.9.1", true],
  ["::1", true],
  ["::ffff:127.0.0.1", true],
  ["localhost", true],
  ["0.0.0.0", false],
  ["::", false],
  ["10.0.0.1", false],
  ["127.0.0.1.evil.example", false],
  [undefined, false],
])("whether %s is of this machine: %s", (host, is) => {
  expect(isLoopback(host)).toBe(is);
});
