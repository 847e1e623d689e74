/** Which applications of a server are tried beside those that it serves, and who answers what. */
import type { Application } from "./application.ts";
import type { HostedModel } from "./hosted-model.ts";
import type { Trial } from "./trial.ts";

/** Digits of a bundle's SHA-256 that tell it from others. */
const REVISION_DIGITS = 12;

export class Trials {
  readonly #open = new Set<Trial>();
  /** By both of its applications. */
  readonly #byApplication = new Map<Application, Trial>();
  /** Those whose workers run beside the ones that are served, tried or not. */
  readonly beside = new Set<Application>();

  get open(): readonly Trial[] {
    return [...this.#open];
  }

  begin(trial: Trial): void {
    this.#open.add(trial);
    this.#byApplication.set(trial.stable, trial);
    this.#byApplication.set(trial.candidate, trial);
  }

  /** All new requests go to the stable application. */
  end(trial: Trial): void {
    this.#open.delete(trial);
    this.#byApplication.delete(trial.stable);
    this.#byApplication.delete(trial.candidate);
  }

  /**
   * The model that answers a request: the one that is served, or that of the bundle that is tried.
   * @param request the same one is always answered alike. @param idOf by which its client knows it.
   */
  routed(hosted: HostedModel, request: object, idOf: () => string | undefined): HostedModel {
    if (this.#open.size === 0) return hosted;
    const trial = this.#byApplication.get(hosted.application);
    if (trial === undefined || trial.candidate === hosted.application) return hosted;
    return trial.routed(hosted, request, idOf);
  }

  /** The model of the bundle that is tried beside one; undefined where none is. */
  besideOf(hosted: HostedModel): HostedModel | undefined {
    if (this.#open.size === 0) return undefined;
    return this.#byApplication.get(hosted.application)?.besideOf(hosted);
  }

  /** What clients are told of who answers, where that may be one of two; else undefined. */
  revisionOf({ application }: HostedModel): string | undefined {
    if (this.#open.size === 0 || !this.#byApplication.has(application)) return undefined;
    return revisionOf(application);
  }

  /** A request is over. @param isKept whether it was answered in time. */
  onSettled(application: Application, isKept: boolean): void {
    if (this.#open.size === 0) return;
    this.#byApplication.get(application)?.onSettled(application, isKept);
  }
}

/** By which people tell the bundle of an application from others. */
export function revisionOf({ endpoint }: Application): string {
  return endpoint.bundleSha256.slice(0, REVISION_DIGITS);
}
