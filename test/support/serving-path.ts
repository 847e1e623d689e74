/** Ways through a server, as profiles say them. */
import type { ServingPath, Spread } from "../../runtime/bundle/schema.ts";

/** A time that is always as long. */
export function always(ms: number): Spread {
  return { p50: ms, p95: ms, p99: ms, mean: ms };
}

/** A path on which nothing takes time and nobody contends, but for what is given. */
export function servingPath(given: Partial<ServingPath> = {}): ServingPath {
  return {
    processors: 1000,
    requestBytes: 0,
    requestMs: always(0),
    batchMs: always(0),
    answerMs: always(0),
    perMiBMs: 0,
    wakeMs: always(0),
    wireMs: always(0),
    contention: [1],
    marginMs: 0,
    ...given,
  };
}

/** Each of another length, so that what is left out or counted twice is found. */
export const PATH: ServingPath = servingPath({
  requestMs: always(2),
  batchMs: always(1),
  answerMs: always(0.5),
  wakeMs: always(0.25),
  wireMs: always(4),
});

/** Times that vary, on a machine that is too small for what it does. */
export const CROWDED: ServingPath = servingPath({
  processors: 2,
  requestMs: { p50: 0.4, p95: 1, p99: 3, mean: 0.5 },
  batchMs: { p50: 0.3, p95: 0.6, p99: 2, mean: 0.4 },
  answerMs: { p50: 0.2, p95: 0.4, p99: 1, mean: 0.2 },
  wakeMs: { p50: 0.1, p95: 0.5, p99: 2, mean: 0.2 },
  wireMs: { p50: 1, p95: 2, p99: 5, mean: 1.2 },
  contention: [1, 1.4],
  marginMs: 2,
});

/** The same bundle on such a machine. */
export function onMachine<B extends { readonly cluster: object }>(bundle: B, path: ServingPath): B {
  return { ...bundle, cluster: { ...bundle.cluster, serving: path } };
}

/** The same bundle, of a machine that was measured. */
export function servedOn<B extends { readonly cluster: object }>(
  bundle: B,
  rows: Partial<ServingPath>,
): B {
  return onMachine(bundle, servingPath(rows));
}
