/**
 * Reads the replicas of a StatefulSet from the Kubernetes API, with the token and certificate that
 * every pod with a service account has in its file system.
 */
import { readFile } from "node:fs/promises";
import { askHttp } from "../base/http-client.ts";

const ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount";
const TIMEOUT_MS = 10_000;
const MAX_BYTES = 2 ** 20;

/** Advice for statuses of the API. */
const HELP: ReadonlyMap<number, string> = new Map([
  [401, "; the service account token may have expired"],
  [403, "; grant the service account the role in rbac.yaml, written by stratagem manifests"],
]);

/**
 * Reads `spec.replicas` of a StatefulSet in the pod's namespace. Needs `get` on
 * `statefulsets/scale`. Token and certificate are read for each call, because tokens rotate hourly.
 * @param environment of the pod. @param folder of its service account. @param timeoutMs limit of
 * the answer.
 * @throws Error without a service account, or if the API rejects the request or does not answer.
 */
export async function replicasOf(
  set: string,
  environment: NodeJS.ProcessEnv,
  folder = ACCOUNT,
  timeoutMs = TIMEOUT_MS,
): Promise<number> {
  const { server, namespace, ...credentials } = await placeOf(environment, folder);
  const scope = `namespaces/${encodeURIComponent(namespace)}`;
  const path = `/apis/apps/v1/${scope}/statefulsets/${encodeURIComponent(set)}/scale`;
  const limits = { timeoutMs, maxBytes: MAX_BYTES };
  const { status, bytes } = await askHttp(`${server}${path}`, { ...limits, ...credentials });
  const body = bytes.toString();
  const help = HELP.get(status) ?? "";
  if (status !== 200) throw new Error(`GET ${path}: ${status} ${body.slice(0, 300)}${help}`);
  const { spec }: { spec?: { replicas?: number } } = JSON.parse(body);
  return spec?.replicas ?? 0;
}

async function placeOf(environment: NodeJS.ProcessEnv, folder: string) {
  const host = environment["KUBERNETES_SERVICE_HOST"];
  const port = environment["KUBERNETES_SERVICE_PORT"] ?? "443";
  try {
    if (host === undefined) throw new Error("no KUBERNETES_SERVICE_HOST");
    const read = (name: string) => readFile(`${folder}/${name}`, "utf8");
    const [ca, namespace, token] = await Promise.all(["ca.crt", "namespace", "token"].map(read));
    const headers = { accept: "application/json", authorization: `Bearer ${token?.trim()}` };
    const server = `https://${host.includes(":") ? `[${host}]` : host}:${port}`;
    return { server, ca, namespace: namespace?.trim() ?? "", headers };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`${folder}: expected to run in a pod with a service account, got: ${reason}`);
  }
}
