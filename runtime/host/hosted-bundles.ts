/** The bundles that a server hosts: opened together, their traffic, and their signatures. */
import type { MetricLine } from "../base/exposition.ts";
import { instantMs } from "../base/instant.ts";
import { expiryLines } from "../base/metric-families.ts";
import type { Notice } from "../base/notice.ts";
import type { Claims } from "../bundles/trust/trust.ts";
import { loadTrusted } from "../bundles/trusted-bundle.ts";
import type { MetricValue } from "../describe/metrics-lines.ts";
import { trafficCounts } from "../describe/traffic-counts.ts";
import { OpenedModels } from "../exec/process/opened-models.ts";
import type { TrafficByApplication } from "../features/cluster/shares/share-texts.ts";
import { expectUrlsOfPools } from "../remote/elsewhere.ts";
import {
  expectFolders,
  expectOwnNames,
  type HostedBundle,
  type HostingOptions,
  hostBundle,
} from "./hosted-bundle.ts";
import { expectOptions, expectPools } from "./serving-devices.ts";
import type { SharedMeans } from "./shared-means.ts";

/** Hosts all bundles; closes all if one fails. @throws what hosting one throws. */
export async function hostedBundles(
  policies: readonly string[],
  opened: OpenedModels[],
  shared: SharedMeans,
  options: HostingOptions,
): Promise<HostedBundle[]> {
  expectFolders(options.models, policies.length);
  const hosted: HostedBundle[] = [];
  try {
    for (const [place, policy] of policies.entries()) {
      const files = new OpenedModels();
      opened.push(files);
      const loaded = await loadTrusted(policy, options.trust);
      warnOfExpiry(policy, loaded.claims, options.onNotice);
      hosted.push(await hostBundle(loaded, place, shared, files, options));
    }
    expectOwnNames(hosted);
    const pools = hosted.flatMap(({ bundle }) => bundle.cluster.pools);
    expectPools(pools, options);
    expectOptions(pools, options);
    expectUrlsOfPools(pools, options);
  } catch (error) {
    await Promise.all(hosted.map(({ application }) => application.close()));
    throw error;
  }
  const count = hosted.reduce((sum, { workers }) => sum + workers.countHere, 0);
  const notice = shared.sharedCores(count, options.threads ?? 1);
  if (notice !== null) options.onNotice(notice);
  return hosted;
}

/**
 * Warns that a signature has expired: a bundle that this site has followed before is still served.
 */
function warnOfExpiry(policy: string, claims: Claims | null, onNotice: Notice): void {
  const untilMs = instantMs(claims?.expiresAt);
  if (untilMs === undefined || untilMs > Date.now()) return;
  onNotice(`${policy}: its signature has expired; still in use, as it was followed before`, "warn");
}

/** Remembers the bundles that were served at the start, so that later ones must not be older. */
export async function rememberOnceStarted(
  started: Promise<void>,
  hosted: readonly HostedBundle[],
  { trust, onNotice }: Pick<HostingOptions, "trust" | "onNotice">,
): Promise<void> {
  const isStarted = await started.then(
    () => true,
    () => false,
  );
  if (!isStarted) return;
  try {
    for (const { claims } of hosted) if (claims !== null) await trust?.accept(claims);
  } catch (error) {
    onNotice(error instanceof Error ? error.message : String(error), "error");
  }
}

interface Hosted {
  readonly bundle: { readonly application: string };
  readonly application: { readonly endpoint: { metricLines(): MetricLine[] } };
}

/** Returns the same figures as `/metrics`, for any method. */
export function hostedTraffic(hosted: readonly Hosted[]): TrafficByApplication {
  const countsByApplication = hosted.flatMap(({ bundle, application: { endpoint } }) => {
    const counts = trafficCounts(endpoint.metricLines().flatMap(metricValue), bundle.application);
    return counts === null ? [] : [[bundle.application, counts] as const];
  });
  return Object.fromEntries(countsByApplication);
}

function metricValue(line: MetricLine): MetricValue[] {
  if (line.kind !== "sample") return [];
  const { name, labels, value } = line;
  return [{ name, labels: new Map(Object.entries(labels)), value }];
}

/** Fields of an application that are used here. */
export interface SignedApplication {
  readonly application: { readonly name: string };
  readonly claims: Pick<Claims, "expiresAt"> | null;
}

/** Metrics of signatures; empty if signatures are not required. */
export function signatureLines(served: readonly SignedApplication[]): MetricLine[] {
  return served.flatMap(({ application, claims }) => {
    if (claims === null) return [];
    const untilMs = instantMs(claims.expiresAt) ?? Number.POSITIVE_INFINITY;
    return expiryLines("signature", untilMs / 1000, { model: application.name });
  });
}
