/**
 * A Scaler whose workers are the pods of a StatefulSet: an assignment brings the pod, cores are
 * changed in place, and pods that are not needed end. What models a pod holds is for the scaler of
 * the workers in them to say.
 *
 * Everything is compared with what the API says and brought closer to it, again and again: a
 * request that fails is made again with the next look, and what others change is changed back.
 */
import type { Scaler, ScalerHandlers } from "../exec/scaler.ts";
import type { WorkerSet } from "./worker-set.ts";

export interface KubernetesScalerOptions {
  readonly set: Pick<WorkerSet, "name" | "replicas" | "setReplicas" | "pod" | "resize">;
  /** Workers that there may be: pods 0 … workerCount − 1. */
  readonly workerCount: number;
  /** Replicas that stay, whatever is assigned. */
  readonly least: number;
  /** Loads models in the workers of pods that are up, and sets their threads. */
  readonly workers: (handlers: ScalerHandlers) => Scaler;
  readonly onNotice: (message: string) => void;
}

/** What a worker is to be. */
interface Place {
  variants: readonly number[];
  cores: number | undefined;
  /** As its threads were set last; undefined before it was told its variants. */
  heldCores: number | undefined;
  isTold: boolean;
}

export class KubernetesScaler implements Scaler {
  readonly #options: KubernetesScalerOptions;
  readonly #handlers: ScalerHandlers;
  readonly #workers: Scaler;
  readonly #places = new Map<number, Place>();
  readonly #up = new Set<number>();
  readonly #complaints = new Map<number, string>();
  #looking: Promise<void> | null = null;

  constructor(options: KubernetesScalerOptions, handlers: ScalerHandlers) {
    this.#options = options;
    this.#handlers = handlers;
    this.#workers = options.workers({
      onReady: (worker) => void this.#up.add(worker),
      onModelReady: (worker, loads) => this.#onModelReady(worker, loads),
      onResized: (worker, cores) => this.#onResized(worker, cores),
      onLost: (worker, reason, isHung) => this.#onLost(worker, reason, isHung),
    });
  }

  /** All can be assigned: their pods come once they are. */
  start(): void {
    for (let worker = 0; worker < this.#options.workerCount; worker++) {
      this.#handlers.onReady(worker);
    }
  }

  assign(worker: number, variants: readonly number[], cores?: number): void {
    this.#places.set(worker, { variants, cores, heldCores: undefined, isTold: false });
  }

  /** Fewer cores are first given up by the worker and then by the pod, more the other way round. */
  resize(worker: number, cores: number): void {
    const place = this.#places.get(worker);
    if (place === undefined) return;
    place.cores = cores;
    if (place.heldCores !== undefined && cores < place.heldCores) this.#setThreads(worker, place);
  }

  release(worker: number): void {
    const place = this.#places.get(worker);
    this.#places.delete(worker);
    if (place?.isTold === true) this.#workers.release(worker);
  }

  /**
   * Brings the pods closer to what they are to be. To be called every second or so. Never throws.
   */
  look(): Promise<void> {
    this.#looking ??= this.#lookOnce().finally(() => {
      this.#looking = null;
    });
    return this.#looking;
  }

  async #lookOnce(): Promise<void> {
    await this.#guard(-1, () => this.#lookAtReplicas());
    for (const [worker, place] of [...this.#places]) {
      if (this.#up.has(worker)) await this.#guard(worker, () => this.#lookAt(worker, place));
    }
  }

  /** Fewer replicas end the pods with the highest ordinals, so the highest that is used counts. */
  async #lookAtReplicas(): Promise<string> {
    const { set, least } = this.#options;
    const wanted = Math.max(least, ...[...this.#places.keys()].map((worker) => worker + 1));
    if ((await set.replicas()) !== wanted) await set.setReplicas(wanted);
    return "";
  }

  /** @returns what is wrong with it; empty if nothing is. */
  async #lookAt(worker: number, place: Place): Promise<string> {
    const { cores } = place;
    const complaint = cores === undefined ? "" : await this.#coresOf(worker, cores);
    if (complaint === null) return "";
    // Meanwhile it may have been released, lost, or given others.
    if (this.#places.get(worker) !== place || !this.#up.has(worker)) return "";
    if (!place.isTold) {
      place.isTold = true;
      place.heldCores = place.cores;
      this.#workers.assign(worker, place.variants, place.cores);
    } else if (complaint === "" && place.cores === cores && place.heldCores !== cores) {
      this.#setThreads(worker, place);
    }
    return complaint;
  }

  /** @returns null while they are on their way; why it cannot have them; empty once it has. */
  async #coresOf(worker: number, cores: number): Promise<string | null> {
    const { set } = this.#options;
    const found = await set.pod(worker);
    if (found === null || Number.isNaN(found.wantedCores)) return "";
    const pod = found.wantedCores === cores ? found : await set.resize(worker, cores);
    if (pod.resize === "done") return "";
    if (pod.resize === "under way") return null;
    return `${pod.name}: ${cores} cores are ${pod.resize}: ${pod.why}`;
  }

  #setThreads(worker: number, place: Place): void {
    if (place.cores === undefined) return;
    place.heldCores = place.cores;
    this.#workers.resize(worker, place.cores);
  }

  #onModelReady(worker: number, loads: number): void {
    if (this.#places.get(worker)?.isTold === true) this.#handlers.onModelReady(worker, loads);
  }

  #onResized(worker: number, cores: number): void {
    if (this.#places.get(worker)?.cores === cores) this.#handlers.onResized?.(worker, cores);
  }

  /** Kubernetes starts the pod again, so it can be assigned again at once. */
  #onLost(worker: number, reason: string, isHung?: boolean): void {
    this.#up.delete(worker);
    this.#places.delete(worker);
    this.#handlers.onLost(worker, reason, isHung);
    this.#handlers.onReady(worker);
  }

  /** Tells what is wrong once. */
  async #guard(worker: number, work: () => Promise<string>): Promise<void> {
    const complaint = await work().catch((error: unknown) => {
      return error instanceof Error ? error.message : String(error);
    });
    if (complaint !== "" && this.#complaints.get(worker) !== complaint) {
      this.#options.onNotice(`${this.#options.set.name}: ${complaint}`);
    }
    this.#complaints.set(worker, complaint);
  }
}
