/**
 * What a scaler sees of an API server of Kubernetes, by its wire contract: the scale of
 * StatefulSets, their pods, resizes in place, and leases. It refuses what a real one refuses:
 * other tokens, stale versions, resources changed without the subresource, limits that go; and all
 * that the roles in docs/many-machines.md do not allow. A kubelet's part is played by `settle`.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

const TOKEN = "a-token";

interface Pod {
  ready: boolean;
  cpu: string;
  actual: string;
  pending: { reason: string; message: string } | null;
}

interface Lease {
  metadata: { name: string; resourceVersion: string };
  spec: object;
}

export class SmallApiServer {
  replicas: number;
  readonly pods = new Map<number, Pod>();
  readonly requests: string[] = [];
  lease: Lease | null = null;
  /** Cores of the node: more are infeasible. */
  nodeCores = 8;
  isDown = false;
  /** Answers 409 to so many changes, as if somebody else had been quicker. */
  conflicts = 0;
  /** What the service account may not ask for: a part of the path. */
  forbidden: string | null = null;
  /** Ordinals of pods whose resize is refused. */
  readonly fixed = new Set<number>();
  readonly #set: string;
  readonly #server: Server;
  #version = 1;

  constructor(set: string, replicas: number) {
    this.#set = set;
    this.replicas = replicas;
    this.#server = createServer((request, response) => void this.#serve(request, response));
    this.settle();
  }

  static readonly token = TOKEN;

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** The controller makes and ends pods, and kubelets put resizes into force. */
  settle(): void {
    for (let ordinal = 0; ordinal < this.replicas; ordinal++) {
      const pod = this.pods.get(ordinal);
      if (pod === undefined) {
        this.pods.set(ordinal, { ready: true, cpu: "1", actual: "1", pending: null });
      } else if (pod.pending === null) pod.actual = pod.cpu;
    }
    for (const ordinal of [...this.pods.keys()]) {
      if (ordinal >= this.replicas) this.pods.delete(ordinal);
    }
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = "";
    for await (const chunk of request) text += String(chunk);
    const { method = "", url = "" } = request;
    this.requests.push(`${method} ${url}`);
    const [status, body] = this.#answer(request, text === "" ? {} : JSON.parse(text));
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify(body));
  }

  #answer({ method = "", url = "", headers }: IncomingMessage, body: object): [number, object] {
    if (this.isDown) return refusal(503, "ServiceUnavailable", "etcd has no leader");
    if (headers.authorization !== `Bearer ${TOKEN}`) {
      return refusal(401, "Unauthorized", "Unauthorized");
    }
    const type = headers["content-type"] ?? "";
    if (this.forbidden !== null && url.includes(this.forbidden)) {
      return refusal(403, "Forbidden", `cannot ${method} ${url}`);
    }
    if (method !== "GET" && this.conflicts > 0) {
      this.conflicts--;
      return refusal(409, "Conflict", "the object has been modified");
    }
    if (url === `/apis/apps/v1/namespaces/vision/statefulsets/${this.#set}/scale`) {
      return this.#scale(method, type, body);
    }
    if (url.startsWith("/api/v1/namespaces/vision/pods/")) {
      return this.#pod(method, type, url.slice("/api/v1/namespaces/vision/pods/".length), body);
    }
    if (url.startsWith("/apis/coordination.k8s.io/v1/namespaces/vision/leases")) {
      return this.#leases(method, body as Lease);
    }
    return refusal(403, "Forbidden", `${method} ${url} is not allowed`);
  }

  #scale(method: string, type: string, body: object): [number, object] {
    if (method === "PATCH") {
      if (type !== "application/merge-patch+json") return unsupported(type);
      const { spec } = body as { spec: { replicas: number } };
      this.replicas = spec.replicas;
    } else if (method !== "GET") return refusal(403, "Forbidden", method);
    const { replicas } = this;
    return [
      200,
      {
        kind: "Scale",
        apiVersion: "autoscaling/v1",
        spec: replicas === 0 ? {} : { replicas },
        status: { replicas: this.pods.size },
      },
    ];
  }

  #pod(method: string, type: string, path: string, body: object): [number, object] {
    const [name = "", subresource] = path.split("/");
    const ordinal = Number(name.slice(this.#set.length + 1));
    const pod = this.pods.get(ordinal);
    if (pod === undefined) return refusal(404, "NotFound", `pods "${name}" not found`);
    if (method === "PATCH") {
      if (subresource !== "resize") {
        return refusal(422, "Invalid", "pod updates may not change fields other than image");
      }
      if (type !== "application/strategic-merge-patch+json") return unsupported(type);
      if (this.fixed.has(ordinal)) {
        return refusal(422, "Invalid", "resize of static-cpu pods is not supported");
      }
      const invalid = this.#resize(pod, body as Parameters<SmallApiServer["resizeOf"]>[0]);
      if (invalid !== null) return invalid;
    } else if (method !== "GET") return refusal(403, "Forbidden", method);
    return [200, podObject(name, pod)];
  }

  resizeOf(body: {
    spec: {
      containers: readonly {
        name: string;
        resources: { limits: { cpu: string }; requests: { cpu: string } };
      }[];
    };
  }) {
    return body.spec.containers.find(({ name }) => name === "worker")?.resources;
  }

  #resize(pod: Pod, body: Parameters<SmallApiServer["resizeOf"]>[0]): [number, object] | null {
    const resources = this.resizeOf(body);
    if (resources?.limits.cpu === undefined) {
      return refusal(422, "Invalid", "resource limits cannot be removed");
    }
    if (resources.limits.cpu !== resources.requests.cpu) {
      return refusal(422, "Invalid", "Pod QOS Class may not change as a result of resizing");
    }
    pod.cpu = resources.limits.cpu;
    const isFeasible = Number(pod.cpu) <= this.nodeCores;
    const message = `Node didn't have enough capacity: cpu, requested: ${pod.cpu}`;
    pod.pending = isFeasible ? null : { reason: "Infeasible", message };
    return null;
  }

  #leases(method: string, body: Lease): [number, object] {
    const { lease } = this;
    if (method === "POST") {
      if (lease !== null) return refusal(409, "AlreadyExists", "leases already exists");
    } else if (lease === null) return refusal(404, "NotFound", "leases not found");
    else if (method === "GET") return [200, lease];
    else if (body.metadata.resourceVersion !== lease.metadata.resourceVersion) {
      return refusal(409, "Conflict", "the object has been modified");
    }
    const resourceVersion = String(++this.#version);
    this.lease = { ...body, metadata: { ...body.metadata, resourceVersion } };
    return [method === "POST" ? 201 : 200, this.lease];
  }
}

function podObject(name: string, { ready, cpu, actual, pending }: Pod): object {
  const resources = (cores: string) => ({ limits: { cpu: cores }, requests: { cpu: cores } });
  const conditions = [
    { type: "Ready", status: ready ? "True" : "False" },
    ...(pending === null ? [] : [{ type: "PodResizePending", status: "True", ...pending }]),
  ];
  return {
    kind: "Pod",
    metadata: { name },
    spec: { containers: [{ name: "worker", resources: resources(cpu) }] },
    status: { conditions, containerStatuses: [{ name: "worker", resources: resources(actual) }] },
  };
}

function refusal(code: number, reason: string, message: string): [number, object] {
  return [code, { kind: "Status", apiVersion: "v1", status: "Failure", code, reason, message }];
}

function unsupported(type: string): [number, object] {
  return refusal(415, "UnsupportedMediaType", `the body of the request was in ${type}`);
}
