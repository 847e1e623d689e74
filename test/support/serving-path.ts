/** Ways through a server, as profiles say them. */
import type { ServingPath, Spread } from "../../runtime/bundle/schema.ts";

/** A time that is always the same. */
export function always(ms: number): Spread {
  return { p50: ms, p95: ms, p99: ms, mean: ms };
}

/** A way that takes nothing but what is named, on a machine with room for all. */
export function servingPath(rows: Partial<ServingPath> = {}): ServingPath {
  const none = always(0);
  return {
    processors: 1000,
    requestBytes: 0,
    requestMs: none,
    batchMs: none,
    answerMs: none,
    perMiBMs: 0,
    wakeMs: none,
    wireMs: none,
    contention: [1],
    marginMs: 0,
    ...rows,
  };
}

/** The same bundle, of a machine that was measured. */
export function servedOn<B extends { readonly cluster: object }>(
  bundle: B,
  rows: Partial<ServingPath>,
): B {
  return { ...bundle, cluster: { ...bundle.cluster, serving: servingPath(rows) } };
}
