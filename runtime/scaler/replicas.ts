/**
 * Replicas of a StatefulSet by the API of Kubernetes, asked with the token and the certificate that
 * every pod with a service account finds in its file system.
 */
import { readFile } from "node:fs/promises";
import { request } from "node:https";
import { text } from "node:stream/consumers";

const ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount";
const PATIENCE_MS = 10_000;

/** What the reader of a refusal can do. */
const HELP: ReadonlyMap<number, string> = new Map([
  [401, "; expected a token of a service account, which lasts for an hour unless it is read again"],
  [403, "; give the service account the role that stratagem manifests writes (rbac.yaml)"],
]);

/**
 * Reads the replicas in the spec of a StatefulSet of the pod's namespace. Needs `get` of
 * `statefulsets/scale`. Token and certificate are read again for each call: tokens change hourly.
 * @param environment of the pod. @param folder of its service account.
 * @throws Error if there is no service account, or the API refuses or does not answer.
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
    const signal = AbortSignal.timeout(PATIENCE_MS);
    const sent = request({ ...asked, signal, agent: false }, (response) => {
      const { statusCode: status = 0 } = response;
      text(response).then((body) => resolve({ status, body }), reject);
    });
    sent.once("error", reject);
    sent.end();
  });
}
