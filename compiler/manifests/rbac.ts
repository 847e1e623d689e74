/** What the scaler may do to the workers, and nothing more. */
import type { KubernetesObject, ManifestOptions } from "./manifest-options.ts";
import { metaOf, scalerName, workersName } from "./objects.ts";
import type { PlannedPool } from "./workers.ts";

const RBAC = "rbac.authorization.k8s.io";

/** @param pools whose workers come and go, or are given other cores. */
export function rbacObjects(
  options: ManifestOptions,
  pools: readonly PlannedPool[],
): KubernetesObject[] {
  const name = scalerName(options);
  const metadata = metaOf(options, name, "scaler");
  const { namespace, scaler } = options;
  const sets = pools.map(({ pool }) => workersName(options, pool.name));
  const rules = scaler === "keda" ? [scalesOf(sets, ["get"])] : patchingRules(name, sets);
  return [
    { apiVersion: "v1", kind: "ServiceAccount", metadata, automountServiceAccountToken: false },
    { apiVersion: `${RBAC}/v1`, kind: "Role", metadata, rules },
    {
      apiVersion: `${RBAC}/v1`,
      kind: "RoleBinding",
      metadata,
      roleRef: { apiGroup: RBAC, kind: "Role", name },
      subjects: [{ kind: "ServiceAccount", name, ...(namespace === null ? {} : { namespace }) }],
    },
  ];
}

/** @param lease that the scalers hold in turn. @param sets of workers. */
function patchingRules(lease: string, sets: readonly string[]): object[] {
  const leases = { apiGroups: ["coordination.k8s.io"], resources: ["leases"] };
  return [
    scalesOf(sets, ["get", "patch"]),
    // Pods have names of their own, which a role cannot list.
    { apiGroups: [""], resources: ["pods"], verbs: ["get"] },
    { apiGroups: [""], resources: ["pods/resize"], verbs: ["patch"] },
    { ...leases, resourceNames: [lease], verbs: ["get", "update"] },
    // Nor can the name of what is created be asked for.
    { ...leases, verbs: ["create"] },
  ];
}

/** Replicas of the sets; KEDA's scaler reads them alone, to make up for the tolerance. */
function scalesOf(sets: readonly string[], verbs: readonly string[]): object {
  return { apiGroups: ["apps"], resources: ["statefulsets/scale"], resourceNames: sets, verbs };
}
