/**
 * The workers of a pool as a StatefulSet: pod NAME-0, NAME-1, … is worker 0, 1, …, and fewer
 * replicas end the highest ones.
 */
import { type KubernetesApi, MERGE, STRATEGIC } from "./api.ts";
import { type PodObject, type PodView, podView } from "./pod.ts";

export interface WorkerSetOptions {
  readonly api: KubernetesApi;
  /** Of the StatefulSet. */
  readonly name: string;
  /** Of its pods, the one whose cores count. */
  readonly container: string;
}

export class WorkerSet {
  readonly #api: KubernetesApi;
  readonly #name: string;
  readonly #container: string;

  constructor({ api, name, container }: WorkerSetOptions) {
    this.#api = api;
    this.#name = name;
    this.#container = container;
  }

  get name(): string {
    return this.#name;
  }

  /** Replicas that it is to have. @throws ApiError */
  async replicas(): Promise<number> {
    const { spec } = (await this.#api.get(this.#scalePath())) as {
      readonly spec?: { readonly replicas?: number };
    };
    return spec?.replicas ?? 0;
  }

  /** Needs `patch` of `statefulsets/scale`. @throws ApiError */
  async setReplicas(replicas: number): Promise<void> {
    await this.#api.patch(this.#scalePath(), { spec: { replicas } }, MERGE);
  }

  /** Its pod of an ordinal; null where there is none. Needs `get` of `pods`. @throws ApiError */
  async pod(ordinal: number): Promise<PodView | null> {
    try {
      const pod = (await this.#api.get(this.#podPath(ordinal))) as PodObject;
      return podView(pod, this.#container);
    } catch (error) {
      if (isNotFound(error)) return null;
      throw error;
    }
  }

  /**
   * Gives a pod other cores while it runs. Limits and requests are the same, so that the pod keeps
   * its class of service, which a resize must not change. Needs `patch` of `pods/resize`.
   * @throws ApiError
   */
  async resize(ordinal: number, cores: number): Promise<PodView> {
    const cpu = String(cores);
    const resources = { requests: { cpu }, limits: { cpu } };
    const body = { spec: { containers: [{ name: this.#container, resources }] } };
    const path = `${this.#podPath(ordinal)}/resize`;
    const pod = (await this.#api.patch(path, body, STRATEGIC)) as PodObject;
    return podView(pod, this.#container);
  }

  #scalePath(): string {
    const namespace = encodeURIComponent(this.#api.namespace);
    const name = encodeURIComponent(this.#name);
    return `/apis/apps/v1/namespaces/${namespace}/statefulsets/${name}/scale`;
  }

  #podPath(ordinal: number): string {
    const namespace = encodeURIComponent(this.#api.namespace);
    return `/api/v1/namespaces/${namespace}/pods/${encodeURIComponent(this.#name)}-${ordinal}`;
  }
}

function isNotFound(error: unknown): boolean {
  return error instanceof Error && "status" in error && error.status === 404;
}
