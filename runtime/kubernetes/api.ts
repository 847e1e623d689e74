/**
 * The API of Kubernetes over HTTPS: what a scaler needs of it, by plain requests with the token and
 * the certificate that every pod with a service account finds in its file system.
 */
import { readFile } from "node:fs/promises";
import { type IncomingMessage, request as plainRequest } from "node:http";
import { Agent, request as tlsRequest } from "node:https";
import { RuntimeError } from "../errors.ts";

/** Where the API is, and who asks. */
export interface ApiPlace {
  /** Such as https://10.96.0.1:443. */
  readonly url: string;
  readonly namespace: string;
  /** Path of the token, which is read again for each request: tokens turn hourly. */
  readonly tokenFile?: string | undefined;
  /** Certificates in PEM that the API's has to be signed by; left out, those of the system. */
  readonly ca?: Buffer | undefined;
}

/** What whoever reads of a refusal can do. */
const HELP: ReadonlyMap<number, string> = new Map([
  [401, "; expected a token of a service account, which lasts for an hour unless it is read again"],
  [403, "; give the service account the role that stratagem manifests writes (rbac.yaml)"],
]);

/** The API has refused. */
export class ApiError extends Error {
  readonly status: number;
  /** Such as NotFound, Conflict or Invalid. */
  readonly reason: string;

  constructor(where: string, status: number, reason: string, message: string) {
    super(`${where}: ${status} ${reason}: ${message}${HELP.get(status) ?? ""}`);
    this.name = "ApiError";
    this.status = status;
    this.reason = reason;
  }
}

/** Content types of patches. */
export const MERGE = "application/merge-patch+json";
/** Lists of containers are merged by their names. */
export const STRATEGIC = "application/strategic-merge-patch+json";

const ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount";
const PATIENCE_MS = 10_000;
/** A list of a thousand pods is about 10 MiB. */
const MOST_BYTES = 64 * 2 ** 20;

type Method = "GET" | "PATCH" | "POST" | "PUT";

interface Asked {
  readonly body?: object;
  readonly contentType?: string;
}

export class KubernetesApi {
  readonly namespace: string;
  readonly #place: ApiPlace;
  readonly #agent: Agent | undefined;

  constructor(place: ApiPlace) {
    this.namespace = place.namespace;
    this.#place = place;
    const isTls = place.url.startsWith("https:");
    const own = place.ca === undefined ? {} : { ca: place.ca };
    this.#agent = isTls ? new Agent({ keepAlive: true, maxSockets: 8, ...own }) : undefined;
  }

  /** @throws ApiError if it is refused, Error if there is no answer. */
  get(path: string): Promise<unknown> {
    return this.#ask("GET", path, {});
  }

  patch(path: string, body: object, contentType: string): Promise<unknown> {
    return this.#ask("PATCH", path, { body, contentType });
  }

  create(path: string, body: object): Promise<unknown> {
    return this.#ask("POST", path, { body });
  }

  /** Replaces what it was read as: `metadata.resourceVersion` says which one that is. */
  replace(path: string, body: object): Promise<unknown> {
    return this.#ask("PUT", path, { body });
  }

  close(): void {
    this.#agent?.destroy();
  }

  async #ask(method: Method, path: string, asked: Asked): Promise<unknown> {
    const url = new URL(path, this.#place.url);
    const where = `${method} ${url.pathname}`;
    const { status, text } = await this.#send(method, url, asked);
    const answer = jsonOf(text);
    if (status >= 200 && status < 300 && answer !== undefined) return answer;
    const { reason = "Unknown", message = text.slice(0, 200) } = (answer ?? {}) as {
      reason?: string;
      message?: string;
    };
    throw new ApiError(where, status, reason, message);
  }

  async #send(
    method: Method,
    url: URL,
    { body, contentType = "application/json" }: Asked,
  ): Promise<{ readonly status: number; readonly text: string }> {
    const token = await this.#token();
    const bytes = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
    const headers = {
      accept: "application/json",
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...(bytes === undefined
        ? {}
        : { "content-type": contentType, "content-length": bytes.length }),
    };
    const send = url.protocol === "https:" ? tlsRequest : plainRequest;
    return new Promise((resolve, reject) => {
      const signal = AbortSignal.timeout(PATIENCE_MS);
      const agent = this.#agent === undefined ? {} : { agent: this.#agent };
      const request = send(url, { method, headers, signal, ...agent }, (response) => {
        textOf(response).then(
          (text) => resolve({ status: response.statusCode ?? 0, text }),
          reject,
        );
      });
      request.once("error", reject);
      request.end(bytes);
    });
  }

  async #token(): Promise<string | null> {
    const { tokenFile } = this.#place;
    return tokenFile === undefined ? null : (await readFile(tokenFile, "utf8")).trim();
  }
}

/** What the pod that this runs in was given. @throws RuntimeError RUNTIME_UNREADABLE */
export async function apiOfPod(
  environment: NodeJS.ProcessEnv,
  folder = ACCOUNT,
): Promise<ApiPlace> {
  const host = environment["KUBERNETES_SERVICE_HOST"];
  const port = environment["KUBERNETES_SERVICE_PORT"] ?? "443";
  try {
    if (host === undefined) throw new Error("no KUBERNETES_SERVICE_HOST");
    const [ca, namespace] = await Promise.all([
      readFile(`${folder}/ca.crt`),
      readFile(`${folder}/namespace`, "utf8"),
    ]);
    const told = host.includes(":") ? `[${host}]` : host;
    const url = `https://${told}:${port}`;
    return { url, namespace: namespace.trim(), tokenFile: `${folder}/token`, ca };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const expected = "expected to run in a pod with a service account";
    throw new RuntimeError("RUNTIME_UNREADABLE", `${folder}: ${expected}, got: ${reason}`);
  }
}

async function textOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let byteCount = 0;
  for await (const chunk of response) {
    byteCount += chunk.length;
    if (byteCount > MOST_BYTES) throw new Error(`expected at most ${MOST_BYTES} bytes, got more`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
