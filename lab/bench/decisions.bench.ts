/** What the decision log takes of the event loop, for a request and for an event of the core. */
import { bench, describe } from "vitest";
import { DecisionLog } from "../../runtime/features/decision-log/decision-log.ts";
import { methodOf } from "../../runtime/methods/every-method.ts";
import { RequestRecord } from "../../runtime/server/requests/request-record.ts";
import { tinyBundle } from "../../test/support/tiny-bundle.ts";

const BUNDLE = tinyBundle({ loadsQps: [20, 100, 1000] });
const SHA256 = "ab".repeat(32);

function log(sample: number): DecisionLog {
  return new DecisionLog({
    destination: { name: "nowhere", send: async () => ({ kind: "taken" }) },
    ...{ sample, mask: [], nowMs: () => 1000, epochOffsetMs: () => 1.79e12, onNotice: () => {} },
    review: (bundle, made) => methodOf(bundle).reviewed?.(bundle, made),
  });
}

function opened(sample: number) {
  const own = log(sample);
  const core = own.follow(BUNDLE);
  const endpoint = { bundle: BUNDLE, bundleSha256: SHA256 };
  core.onOpened({ name: "tiny", endpoint, limits: { maxPending: 64 } });
  return { log: own, core };
}

function answered(): RequestRecord {
  const seen = { protocol: "http", method: "POST", path: "/v2/models/tiny/infer" } as const;
  const origin = { traceId: "4bf92f3577b34da6a3ce929d0e0e4736", spanId: "00f067aa0ba902b7" };
  const record = new RequestRecord(
    { ...seen, client: "127.0.0.1:40122", userAgent: "bench" },
    { ...origin, isSampled: false, arrivalMs: 81_223.4 },
  );
  Object.assign(record, {
    ...{ model: "tiny", application: "tiny", rows: 1, status: 200, sloMs: 100, lagMs: 0.1 },
    ...{ endMs: 81_240.2, bundleSha256: SHA256, variant: "small", accuracy: 0.6, queueMs: 1.2 },
  });
  record.runs = [
    {
      ...{ variantName: "small", level: 1, rows: 2, queued: 2, slackMs: 37.214, worker: 0 },
      ...{ startMs: 81_225.1, handedMs: 81_225.2, endMs: 81_239.9, wallMs: 14.1 },
    },
  ];
  return record;
}

describe("a request that is over", () => {
  const record = answered();
  const all = opened(1).log;
  const few = opened(0.000_001).log;
  bench("is logged, with its runner-up", () => all.take(record));
  bench("is no part of a sample, and only its arrival is noted", () => few.take(record));
});

describe("what a core was told", () => {
  const { core } = opened(1);
  const arrival = { kind: "arrival", query: 17, deadlineMs: 81_323.4, nowMs: 81_223.4 };
  bench("is noted", () => core.onEntry(arrival));
});
