/**
 * Who leads: a Lease of coordination.k8s.io that one holds and renews, as other controllers do. The
 * age of another's lease is judged by our own clock, from when we saw it change: clocks may differ.
 */
import { ApiError, type KubernetesApi } from "./api.ts";

/** A lease that was not renewed for so long may be taken. */
export const LEASE_MS = 15_000;
/** A leader that could not renew for so long leads no more, before another may take over. */
const RENEW_MS = 10_000;

export interface LeaseOptions {
  readonly api: KubernetesApi;
  /** Of the Lease. */
  readonly name: string;
  /** Who we are, another in each process. */
  readonly identity: string;
  /** Milliseconds of a clock that does not go back, for ages. */
  readonly nowMs: () => number;
  /** Milliseconds since 1970, for what people read in the Lease. */
  readonly epochMs: () => number;
}

interface LeaseObject {
  readonly metadata?: { readonly resourceVersion?: string };
  readonly spec?: {
    readonly holderIdentity?: string;
    readonly leaseTransitions?: number;
    readonly acquireTime?: string;
  };
}

export class Leadership {
  readonly #options: LeaseOptions;
  #seenVersion = "";
  #seenMs = Number.NaN;
  #renewedMs = Number.NEGATIVE_INFINITY;

  constructor(options: LeaseOptions) {
    this.#options = options;
  }

  /** Whether we lead at this moment, for sure: nobody else can hold the lease yet. */
  get isLeader(): boolean {
    return this.#options.nowMs() - this.#renewedMs < RENEW_MS;
  }

  /**
   * Renews the lease, or takes it where nobody holds it any more. To be called every 2 s or so.
   * @returns whether we lead. @throws Error if the API does not answer; we lead as long as before.
   */
  async attempt(): Promise<boolean> {
    const { api, identity, nowMs } = this.#options;
    // The lease is ours from before the answer: what it takes does not count.
    const askedMs = nowMs();
    try {
      const found = await this.#read();
      if (found === null) await api.create(this.#path(""), this.#lease(null));
      else if (!this.#mayTake(found, askedMs)) return this.#lose(found);
      else await api.replace(this.#path(`/${this.#options.name}`), this.#lease(found));
      this.#renewedMs = askedMs;
      return true;
    } catch (error) {
      // Another was quicker, by the version of what we read; that is not ours to overwrite.
      if (error instanceof ApiError && error.status === 409) return this.isLeader;
      throw new Error(`lease ${this.#options.name} of ${identity}: ${String(error)}`);
    }
  }

  /** Gives it back, so that the next need not wait. */
  async release(): Promise<void> {
    if (!this.isLeader) return;
    this.#renewedMs = Number.NEGATIVE_INFINITY;
    const found = await this.#read();
    if (found?.spec?.holderIdentity !== this.#options.identity) return;
    const lease = { ...this.#lease(found), spec: { ...found.spec, holderIdentity: "" } };
    await this.#options.api.replace(this.#path(`/${this.#options.name}`), lease);
  }

  #mayTake({ metadata, spec }: LeaseObject, nowMs: number): boolean {
    const holder = spec?.holderIdentity ?? "";
    const version = metadata?.resourceVersion ?? "";
    if (version !== this.#seenVersion) {
      this.#seenVersion = version;
      this.#seenMs = nowMs;
    }
    if (holder === "" || holder === this.#options.identity) return true;
    return nowMs - this.#seenMs > LEASE_MS;
  }

  #lose({ spec }: LeaseObject): boolean {
    if (spec?.holderIdentity !== this.#options.identity) {
      this.#renewedMs = Number.NEGATIVE_INFINITY;
    }
    return false;
  }

  async #read(): Promise<LeaseObject | null> {
    try {
      return (await this.#options.api.get(this.#path(`/${this.#options.name}`))) as LeaseObject;
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) return null;
      throw error;
    }
  }

  #lease(found: LeaseObject | null): object {
    const { name, identity, api, epochMs } = this.#options;
    const now = `${new Date(epochMs()).toISOString().slice(0, -1)}000Z`;
    const isOurs = found?.spec?.holderIdentity === identity;
    const transitions = found?.spec?.leaseTransitions ?? 0;
    return {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: {
        name,
        namespace: api.namespace,
        ...(found === null ? {} : { resourceVersion: found.metadata?.resourceVersion }),
      },
      spec: {
        holderIdentity: identity,
        leaseDurationSeconds: LEASE_MS / 1000,
        acquireTime: isOurs ? (found?.spec?.acquireTime ?? now) : now,
        renewTime: now,
        leaseTransitions: isOurs || found === null ? transitions : transitions + 1,
      },
    };
  }

  #path(rest: string): string {
    const namespace = encodeURIComponent(this.#options.api.namespace);
    return `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases${rest}`;
  }
}
