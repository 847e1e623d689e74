/** What the front end may do where it sets the number of workers itself, and nothing more. */
import type { KubernetesObject, ManifestOptions } from "./manifest-options.ts";
import { frontEndName, metaOf, workersName } from "./objects.ts";
import type { PlannedPool } from "./workers.ts";

const RBAC = "rbac.authorization.k8s.io";

/** @param pools whose workers come and go, or are given other cores. */
export function rbacObjects(
  options: ManifestOptions,
  pools: readonly PlannedPool[],
): KubernetesObject[] {
  const name = frontEndName(options);
  const metadata = metaOf(options, name, "front-end");
  const { namespace } = options;
  const sets = pools.map(({ pool }) => workersName(options, pool.name));
  return [
    { apiVersion: "v1", kind: "ServiceAccount", metadata, automountServiceAccountToken: false },
    { apiVersion: `${RBAC}/v1`, kind: "Role", metadata, rules: rulesOf(name, sets) },
    {
      apiVersion: `${RBAC}/v1`,
      kind: "RoleBinding",
      metadata,
      roleRef: { apiGroup: RBAC, kind: "Role", name },
      subjects: [{ kind: "ServiceAccount", name, ...(namespace === null ? {} : { namespace }) }],
    },
  ];
}

/** @param lease that the front ends hold in turn. @param sets of workers. */
function rulesOf(lease: string, sets: readonly string[]): object[] {
  const leases = { apiGroups: ["coordination.k8s.io"], resources: ["leases"] };
  return [
    {
      apiGroups: ["apps"],
      resources: ["statefulsets/scale"],
      resourceNames: sets,
      verbs: ["get", "patch"],
    },
    // Pods have names of their own, which a role cannot list.
    { apiGroups: [""], resources: ["pods"], verbs: ["get", "list", "watch"] },
    { apiGroups: [""], resources: ["pods/resize"], verbs: ["patch"] },
    { ...leases, resourceNames: [lease], verbs: ["get", "update"] },
    // Nor can the name of what is created be asked for.
    { ...leases, verbs: ["create"] },
  ];
}
