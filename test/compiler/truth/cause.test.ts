import { expect, test } from "vitest";
import { causeOf, type Evidence, secondsText } from "../../../compiler/truth/cause.ts";
import type { Check, TimelineSecond } from "../../../compiler/truth/truth-document.ts";
import { MEASURED, POINT, SECOND } from "./truth-sample.ts";

const P99: Check = {
  name: "p99",
  promised: 50,
  measured: 90,
  tolerance: 10,
  holds: false,
  isKept: false,
};

function seconds(changes: readonly Partial<TimelineSecond>[]): TimelineSecond[] {
  return changes.map((change, second) => ({ ...SECOND, second, ...change }));
}

function cause(evidence: Partial<Evidence>): string | null {
  return causeOf({
    checks: [P99],
    timeline: seconds([{}, {}, {}, {}, {}, {}]),
    machine: POINT.machine,
    measured: MEASURED,
    profileStealShare: 0.01,
    ...evidence,
  });
}

test("what holds has no cause", () => {
  expect(cause({ checks: [{ ...P99, holds: true }] })).toBeNull();
});

test("reports stolen time with its seconds and the profile's share", () => {
  const lost = { stealShare: 0.12 };
  const timeline = seconds([{}, {}, {}, lost, lost, lost]);
  expect(cause({ timeline })).toBe(
    "the machine lost 12 % of its processor time to other guests in seconds 3–5 (profile: 1.0 %)",
  );
  expect(cause({ machine: { ...POINT.machine, stealShare: 0.04 } })).toContain("lost 4.0 %");
});

test("reports other processes, which steal counters do not show", () => {
  const machine = { ...POINT.machine, neighbourShare: 0.08 };
  expect(cause({ machine })).toBe("other processes on this machine used 8.0 % of the processors");
  const unknown = { ...POINT.machine, neighbourShare: null };
  expect(cause({ machine: unknown })).not.toContain("processors");
});

test("reports a quota that stopped the control group", () => {
  const at = (throttledShare: number | null) => {
    return cause({ machine: { ...POINT.machine, throttledShare } });
  };
  expect(at(0.38)).toBe("the CPU quota stopped the control group in 38 % of its periods");
  expect(at(0.005)).not.toContain("quota");
  expect(at(null)).not.toContain("quota");
});

test("reports a slow pace, since its slow periods exceed the mean", () => {
  const at = (pace: number | null) => cause({ machine: { ...POINT.machine, pace } });
  expect(at(1.6)).toBe("batches took 1.60 times their profiled time on average");
  expect(at(1.1)).not.toContain("profile");
  expect(at(null)).not.toContain("profile");
});

test("processes without time left are named", () => {
  const machine = { ...POINT.machine, serverShare: 0.95, busyShare: 0.97 };
  expect(cause({ machine })).toBe(
    "the server's process was busy 95 %; " +
      "the processors were busy 97 % of the time, the load generator 10 % of them",
  );
  expect(cause({ timeline: seconds([{ serverShare: 0.92 }, {}]) })).toBe(
    "the server's process was busy 92 % in second 0",
  );
});

test("reports a late generator and lost requests", () => {
  const measured = { ...MEASURED, sendLagMs: { p50: 1, p99: 7.25 }, errors: { "503": 3 } };
  expect(cause({ measured })).toBe(
    "the load generator sent 1 % of the requests 7.3 ms late or more; " +
      "requests had no answer: 3 with 503",
  );
});

test("reports other variants than simulated by their accuracy", () => {
  const check: Check = { ...P99, name: "accuracy", promised: 0.97, measured: 0.95 };
  expect(cause({ checks: [check] })).toBe(
    "less accurate variants answered than the simulation chose",
  );
  expect(cause({ checks: [{ ...check, name: "labels" }] })).toContain("on these inputs");
});

test("where nothing stands out, the seconds say where the time went", () => {
  const far = { p50Ms: 30, p99Ms: 90, queueMs: 12, computeMs: 6 };
  expect(cause({ timeline: seconds([{}, far, far, {}]) })).toBe(
    "in seconds 1–2 requests queued 12.0 ms and computed 6.0 ms on average, " +
      "and 12.0 ms were spent elsewhere",
  );
  expect(cause({})).toContain("no second stands out");
  expect(cause({ timeline: seconds([{ p50Ms: 4 }]) })).toContain("faster than predicted");
});

test("formats seconds as ranges", () => {
  expect(secondsText([3])).toBe("second 3");
  expect(secondsText([1, 2, 3, 5, 8, 9])).toBe("seconds 1–3, 5 and 8–9");
});
