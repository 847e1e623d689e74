/**
 * Reads the replicas of a StatefulSet from the Kubernetes API, with the token and certificate that
 * every pod with a service account has in its file system.
 */
import { readFile } from "node:fs/promises";
import { request } from "node:https";
import { text } from "node:stream/consumers";

const ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount";
const TIMEOUT_MS = 10_000;

/** Advice for statuses of the API. */
const HELP: ReadonlyMap<number, string> = new Map([
  [401, "; the service account token may have expired"],
  [403, "; grant the service account the role in rbac.yaml, written by stratagem manifests"],
]);

/**
 * Reads `spec.replicas` of a StatefulSet in the pod's namespace. Needs `get` on
 * `statefulsets/scale`. Token and certificate are read for each call, because tokens rotate hourly.
 * @param environment of the pod. @param folder of its service account.
 * @throws Error without a service account, or if the API rejects the request or does not answer.
 */
export async function replicasOf(
  set: string,
  environment: NodeJS.ProcessEnv,
  folder = ACCOUNT,
): Promise<number> {
  const { host, port, namespace, ...credentials } = await placeOf(environment, folder);
  const scope = `namespaces/${encodeURIComponent(namespace)}`;
  const path = `/apis/apps/v1/${scope}/statefulsets/${encodeURIComponent(set)}/scale`;
  const { status, body } = await answerOf({ host, port, path, ...credentials });
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
    return { host, port, ca, namespace: namespace?.trim() ?? "", headers };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`${folder}: expected to run in a pod with a service account, got: ${reason}`);
  }
}

function answerOf(asked: object): Promise<{ readonly status: number; readonly body: string }> {
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const sent = request({ ...asked, signal, agent: false }, (response) => {
      const { statusCode: status = 0 } = response;
      text(response).then((body) => resolve({ status, body }), reject);
    });
    sent.once("error", reject);
    sent.end();
  });
}
