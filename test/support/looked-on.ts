/** A bundle that looks on at what is recorded of a core, without a server. */
import type { Bundle } from "../../runtime/bundle/schema.ts";
import { Rng } from "../../runtime/core/rng.ts";
import { methodOf } from "../../runtime/methods/registry.ts";
import type { RecordedEntry } from "../../runtime/server/decisions/recorded-entry.ts";
import { ArrivalBook } from "../../runtime/server/shadow-policy/arrival-book.ts";
import { ShadowPolicy } from "../../runtime/server/shadow-policy/shadow-policy.ts";

/** Room for all that tests have under way at a time. */
const MAX_PENDING = 4096;
/** When all that was begun is over. */
const AFTER_ALL_MS = 1e7;

export interface LookedOn {
  readonly policy: ShadowPolicy;
  readonly notices: string[];
  /** Lets so much time pass, ms. */
  passTo(nowMs: number): void;
}

export function lookOn(served: Bundle, shadow: Bundle): LookedOn {
  let clockMs = 0;
  const notices: string[] = [];
  const method = methodOf(shadow);
  const times = method.onlookerTimes?.(shadow, new Rng(1, 1));
  if (times === undefined) throw new Error(`bundles of ${shadow.method} do not look on`);
  const file = (bundle: Bundle, path: string) => ({ path, sha256: path, bundle });
  const policy = new ShadowPolicy({
    served: () => file(served, "served.msgpack"),
    shadow: file(shadow, "shadow.msgpack"),
    parts: {
      replayer: method.replayer(shadow, { maxPending: MAX_PENDING }),
      times,
      workerCount: shadow.cluster.pools.reduce((sum, { workers }) => sum + workers, 0),
      queryCapacity: MAX_PENDING,
    },
    arrivals: new ArrivalBook(0),
    nowMs: () => clockMs,
    epochOffsetMs: 0,
    onNotice: (notice) => void notices.push(notice),
  });
  const passTo = (nowMs: number) => {
    clockMs = nowMs;
    policy.look();
  };
  return { policy, notices, passTo };
}

/** What comes of it once all entries were told and all is over. */
export function reportOf(served: Bundle, shadow: Bundle, log: readonly RecordedEntry[]) {
  const { policy, passTo } = lookOn(served, shadow);
  for (const entry of log) policy.record(entry);
  passTo(AFTER_ALL_MS);
  const report = policy.report();
  policy.close();
  return report;
}
