/** Prometheus operator objects that scrape the pods of front ends and workers. */
import type { KubernetesObject, ManifestOptions } from "./manifest-options.ts";
import { frontEndName, frontEndSelector, KSERVE_PORT, metaOf, selectorOf } from "./objects.ts";

/** Scrape interval, short enough for the scaler; alerts average over minutes. */
const INTERVAL = "15s";

export function monitoringObjects(options: ManifestOptions): KubernetesObject[] {
  const { isKserve, name } = options;
  return [
    podMonitor(options, frontEndName(options), "front-end", {
      matchLabels: frontEndSelector(options),
      // KServe names the port of its containers.
      endpoint: isKserve ? { portNumber: KSERVE_PORT } : { port: "metrics" },
    }),
    podMonitor(options, `${name}-workers`, "worker", {
      matchLabels: selectorOf(options, "worker"),
      endpoint: { port: "http" },
    }),
  ];
}

function podMonitor(
  options: ManifestOptions,
  name: string,
  component: "front-end" | "worker",
  { matchLabels, endpoint }: { readonly matchLabels: object; readonly endpoint: object },
): KubernetesObject {
  return {
    apiVersion: "monitoring.coreos.com/v1",
    kind: "PodMonitor",
    metadata: metaOf(options, name, component),
    spec: {
      selector: { matchLabels },
      podMetricsEndpoints: [{ ...endpoint, path: "/metrics", interval: INTERVAL }],
    },
  };
}
