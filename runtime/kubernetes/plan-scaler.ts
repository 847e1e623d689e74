/**
 * Keeps the StatefulSets of pools as the plan of the load wants them, without an autoscaler in
 * between: replicas by their scale, and cores of running pods by resizes in place.
 */
import type { Wanted } from "../scaling/plan-follower.ts";
import { ApiError } from "./api.ts";
import type { PodView } from "./pod.ts";
import type { WorkerSet } from "./worker-set.ts";

const CONFLICT = 409;

export interface ScaledPool {
  readonly set: Pick<WorkerSet, "name" | "replicas" | "setReplicas" | "pod" | "resize">;
  /** What the plan wants of the pool now; null where the load is not known. */
  readonly wanted: () => Wanted | null;
  /** Replicas that there are at least, and at most. */
  readonly least: number;
  readonly most: number;
}

export interface PlanScalerOptions {
  readonly pools: readonly ScaledPool[];
  readonly isLeader: () => boolean;
  /** Tells an operator what was done or did not work. */
  readonly onNotice: (message: string) => void;
}

export class PlanScaler {
  readonly #options: PlanScalerOptions;
  /** What was complained of last, by set, so that it is told once. */
  readonly #complaints = new Map<string, string>();
  #isBusy = false;

  constructor(options: PlanScalerOptions) {
    this.#options = options;
  }

  /** Never throws: what does not work is told, and tried again with the next call. */
  async reconcile(): Promise<void> {
    if (this.#isBusy) return;
    this.#isBusy = true;
    try {
      for (const pool of this.#options.pools) await this.#attempt(pool);
    } finally {
      this.#isBusy = false;
    }
  }

  async #attempt(pool: ScaledPool): Promise<void> {
    try {
      const complaint = await this.#follow(pool);
      this.#complain(pool.set.name, complaint);
    } catch (error) {
      // Somebody else has changed it: the next look sees what it is now.
      if (error instanceof ApiError && error.status === CONFLICT) return;
      this.#complain(pool.set.name, error instanceof Error ? error.message : String(error));
    }
  }

  async #follow({ set, wanted, least, most }: ScaledPool): Promise<string> {
    const target = wanted();
    if (target === null || !this.#options.isLeader()) return "";
    const replicas = Math.min(most, Math.max(least, target.workers));
    const found = await set.replicas();
    if (found !== replicas && this.#options.isLeader()) {
      await set.setReplicas(replicas);
      this.#options.onNotice(`${set.name}: ${found} replicas become ${replicas}`);
    }
    return target.cores === null ? "" : await this.#resizeAll(set, replicas, target.cores);
  }

  /** @returns why some cannot have the cores; empty where all have, or will have. */
  async #resizeAll(set: ScaledPool["set"], replicas: number, cores: number): Promise<string> {
    let complaint = "";
    for (let ordinal = 0; ordinal < replicas; ordinal++) {
      const pod = await set.pod(ordinal);
      // A pod without a limit has no cores of its own that could be changed.
      if (pod === null || Number.isNaN(pod.wantedCores)) continue;
      if (pod.wantedCores !== cores && this.#options.isLeader()) {
        // One that cannot be resized keeps no other from it.
        complaint = (await this.#resize(set, ordinal, pod, cores)) || complaint;
      } else if (pod.resize === "infeasible" || pod.resize === "deferred") {
        complaint = `${pod.name}: ${cores} cores are ${pod.resize}: ${pod.why}`;
      }
    }
    return complaint;
  }

  /** @returns why it was refused; empty if it was not, or if the pod has changed meanwhile. */
  async #resize(
    set: ScaledPool["set"],
    ordinal: number,
    { name, wantedCores }: PodView,
    cores: number,
  ): Promise<string> {
    try {
      await set.resize(ordinal, cores);
      this.#options.onNotice(`${name}: ${wantedCores} cores become ${cores}`);
      return "";
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      return error.status === CONFLICT ? "" : `${name}: ${cores} cores: ${error.message}`;
    }
  }

  #complain(name: string, complaint: string): void {
    const before = this.#complaints.get(name) ?? "";
    if (complaint !== "" && complaint !== before) this.#options.onNotice(complaint);
    this.#complaints.set(name, complaint);
  }
}
