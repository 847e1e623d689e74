/** What the scaler may do to the workers, and nothing more. */
import type { KubernetesObject, ManifestOptions } from "./manifest-options.ts";
import { metaOf, scalerName, workersName } from "./objects.ts";
import type { PlannedPool } from "./workers.ts";

const RBAC = "rbac.authorization.k8s.io";

/** @param pools whose workers come and go. */
export function rbacObjects(
  options: ManifestOptions,
  pools: readonly PlannedPool[],
): KubernetesObject[] {
  const name = scalerName(options);
  const metadata = metaOf(options, name, "scaler");
  const { namespace } = options;
  const sets = pools.map(({ pool }) => workersName(options, pool.name));
  // The tolerance of the autoscaler counts from the replicas that there are.
  const scales = { apiGroups: ["apps"], resources: ["statefulsets/scale"], resourceNames: sets };
  return [
    { apiVersion: "v1", kind: "ServiceAccount", metadata, automountServiceAccountToken: false },
    { apiVersion: `${RBAC}/v1`, kind: "Role", metadata, rules: [{ ...scales, verbs: ["get"] }] },
    {
      apiVersion: `${RBAC}/v1`,
      kind: "RoleBinding",
      metadata,
      roleRef: { apiGroup: RBAC, kind: "Role", name },
      subjects: [{ kind: "ServiceAccount", name, ...(namespace === null ? {} : { namespace }) }],
    },
  ];
}
