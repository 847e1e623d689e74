/** Which applications of a server are tried beside those that it serves, and who answers what. */

import { head, line, type MetricLine } from "../../base/exposition.ts";
import type { ArmCounts } from "../canary/comparison.ts";
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
    this.#byApplication.set(trial.canary, trial);
  }

  /** All new requests go to the stable application. */
  end(trial: Trial): void {
    this.#open.delete(trial);
    this.#byApplication.delete(trial.stable);
    this.#byApplication.delete(trial.canary);
  }

  /**
   * The model that answers a request: the one that is served, or that of the bundle that is tried.
   * @param request the same one is always answered alike. @param idOf by which its client knows it.
   */
  routed(hosted: HostedModel, request: object, idOf: () => string | undefined): HostedModel {
    if (this.#open.size === 0) return hosted;
    const trial = this.#byApplication.get(hosted.application);
    if (trial === undefined || trial.canary === hosted.application) return hosted;
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

  lines(): MetricLine[] {
    const all = this.open;
    if (all.length === 0) return [];
    const share = "stratagem_canary_share";
    const requests = "stratagem_canary_requests_total";
    const lines = (trial: Trial, arm: "stable" | "canary") => {
      const { kept, violated }: ArmCounts = trial.arms[arm];
      const own = { model: trial.stable.name, arm, revision: revisionOf(trial[arm]) };
      return [
        line(requests, { ...own, outcome: "kept" }, kept),
        line(requests, { ...own, outcome: "violated" }, violated),
      ];
    };
    return [
      head(share, "gauge", "Part of the requests that a bundle answers that is tried"),
      ...all.map((trial) => line(share, { model: trial.stable.name }, trial.share)),
      head(requests, "counter", "Requests while a bundle is tried, by who answered and how"),
      ...all.flatMap((trial) => [...lines(trial, "stable"), ...lines(trial, "canary")]),
    ];
  }
}

/** By which people tell the bundle of an application from others. */
export function revisionOf({ endpoint }: Application): string {
  return endpoint.bundleSha256.slice(0, REVISION_DIGITS);
}
