/** What `scaler` does by the API of Kubernetes itself, where it is told to. */
import type { Bundle } from "../bundle/schema.ts";
import { RuntimeError } from "../errors.ts";
import type { Trigger } from "../keda/trigger.ts";
import type { ApiPlace, KubernetesApi } from "../kubernetes/api.ts";
import type { ScaledPool } from "../kubernetes/plan-scaler.ts";
import type { LoadWatch } from "../scaling/load-watch.ts";
import type { ScalerFlags, ScalerSurroundings } from "./scaler-options.ts";

/** The lease is renewed every so many looks. */
const LOOKS_PER_RENEWAL = 2;
/** Of the pods of workers, as `stratagem manifests` names it. */
const CONTAINER = "worker";

export interface Direct {
  /** Replicas that the StatefulSet of a trigger has; null where nobody asks for them. */
  readonly replicasOf: (trigger: Trigger) => Promise<number | null>;
  /** To be called after each look at the load. Never throws. */
  readonly follow: () => Promise<void>;
  readonly close: () => Promise<void>;
}

/** Nothing of it is loaded before it is asked for. @throws RuntimeError */
export async function openDirect(
  flags: ScalerFlags,
  watch: LoadWatch,
  bundle: Bundle,
  surroundings: ScalerSurroundings,
): Promise<Direct> {
  const pools = flags.scale.map((text) => poolOf(text, bundle));
  let opened: Promise<KubernetesApi> | null = null;
  const api = () => (opened ??= openApi(flags, surroundings.environment));
  const replicasOf = async ({ statefulSet: name }: Trigger) => {
    if (name === undefined) return null;
    const { WorkerSet } = await import("../kubernetes/worker-set.ts");
    return new WorkerSet({ api: await api(), name, container: CONTAINER }).replicas();
  };
  if (pools.length === 0) return { replicasOf, follow: async () => {}, close: async () => {} };
  const scaling = await startScaling(flags, watch, pools, await api(), surroundings);
  return { replicasOf, ...scaling };
}

interface NamedPool {
  readonly pool: string;
  readonly set: string;
  readonly most: number;
}

async function startScaling(
  { lease: name, resize }: ScalerFlags,
  watch: LoadWatch,
  pools: readonly NamedPool[],
  api: KubernetesApi,
  { nowMs, epochMs, identity, onNotice }: ScalerSurroundings,
): Promise<Pick<Direct, "follow" | "close">> {
  const { Leadership } = await import("../kubernetes/lease.ts");
  const { PlanScaler } = await import("../kubernetes/plan-scaler.ts");
  const { WorkerSet } = await import("../kubernetes/worker-set.ts");
  const leadership = new Leadership({ api, name, identity, nowMs, epochMs });
  const scaled = pools.map(({ pool, set, most }): ScaledPool => {
    const wanted = () => {
      if (watch.outlook.whyUnknown !== null) return null;
      const { workers, cores } = watch.wanted({ pool });
      return { workers, cores: resize ? cores : null };
    };
    return { set: new WorkerSet({ api, name: set, container: CONTAINER }), wanted, least: 1, most };
  });
  const isLeader = () => leadership.isLeader;
  const scaler = new PlanScaler({ pools: scaled, isLeader, onNotice });
  let complaint = "";
  let looks = 0;
  const renew = async () => {
    const found = await leadership.attempt().then(
      () => "",
      (error: unknown) => (error instanceof Error ? error.message : String(error)),
    );
    if (found !== "" && found !== complaint) onNotice(found);
    complaint = found;
  };
  return {
    follow: async () => {
      if (looks++ % LOOKS_PER_RENEWAL === 0) await renew();
      await scaler.reconcile();
    },
    close: async () => {
      await leadership.release().catch((error: unknown) => onNotice(String(error)));
      api.close();
    },
  };
}

/** @throws RuntimeError RUNTIME_USAGE */
function poolOf(text: string, { cluster }: Bundle): NamedPool {
  const [pool = "", set = "", ...rest] = text.split("=");
  const found = cluster.pools.find(({ name }) => name === pool);
  if (found !== undefined && set !== "" && rest.length === 0) {
    return { pool, set, most: found.workers };
  }
  const pools = cluster.pools.map(({ name }) => name).join(", ");
  const expected = `expected POOL=STATEFULSET with a pool of the bundle: ${pools}`;
  throw new RuntimeError("RUNTIME_USAGE", `--scale ${text}: ${expected}`);
}

/** @throws RuntimeError RUNTIME_UNREADABLE */
async function openApi(
  { kubeApi: url, kubeNamespace: namespace, kubeTokenFile: tokenFile }: ScalerFlags,
  environment: NodeJS.ProcessEnv,
): Promise<KubernetesApi> {
  const { apiOfPod, KubernetesApi } = await import("../kubernetes/api.ts");
  const place: ApiPlace =
    url === undefined ? await apiOfPod(environment) : { url, namespace, tokenFile };
  return new KubernetesApi(place);
}
