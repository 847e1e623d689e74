/** What a server has counted of each application, as it tells the cluster it is a front end of. */

import type { MetricLine } from "../base/exposition.ts";
import type { MetricValue } from "../describe/metrics-lines.ts";
import { trafficCounts } from "../describe/traffic-counts.ts";
import type { TrafficByApplication } from "../features/cluster/shares/share-texts.ts";

interface Hosted {
  readonly bundle: { readonly application: string };
  readonly application: { readonly endpoint: { metricLines(): MetricLine[] } };
}

/** The same figures as `/metrics` has, whatever the method counts them by. */
export function hostedTraffic(hosted: readonly Hosted[]): TrafficByApplication {
  const told = hosted.flatMap(({ bundle, application: { endpoint } }) => {
    const counts = trafficCounts(endpoint.metricLines().flatMap(metricValue), bundle.application);
    return counts === null ? [] : [[bundle.application, counts] as const];
  });
  return Object.fromEntries(told);
}

function metricValue(line: MetricLine): MetricValue[] {
  if (line.kind !== "sample") return [];
  const { name, labels, value } = line;
  return [{ name, labels: new Map(Object.entries(labels)), value }];
}
