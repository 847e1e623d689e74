/** An application that is tried beside the one that is served: who answers what, and how well. */
import type { Application } from "./application.ts";
import type { HostedModel } from "./hosted-model.ts";
import { Lot } from "./lot.ts";

export interface ArmCounts {
  /** Requests that were answered in time. */
  readonly kept: number;
  /** Requests that were answered late, or not. */
  readonly violated: number;
}

/** Of the application that is served, and the one that is tried. */
export interface Arms {
  readonly stable: ArmCounts;
  readonly candidate: ArmCounts;
}

export interface TrialOptions {
  /** The one that is served. */
  readonly stable: Application;
  /** Its workers are ready. */
  readonly candidate: Application;
  /** Of the candidate, one for each model of the other. */
  readonly models: readonly HostedModel[];
  /** Of the requests that the candidate answers, 0..1. */
  readonly share: number;
}

export class Trial {
  readonly stable: Application;
  readonly candidate: Application;
  readonly models: readonly HostedModel[];
  readonly share: number;
  readonly #counts = { stable: { kept: 0, violated: 0 }, candidate: { kept: 0, violated: 0 } };
  readonly #modelByName: ReadonlyMap<string, HostedModel>;
  readonly #lot: Lot;
  /** Of requests that were asked for before. */
  readonly #drawn = new WeakMap<object, boolean>();

  constructor({ stable, candidate, models, share }: TrialOptions) {
    this.stable = stable;
    this.candidate = candidate;
    this.models = models;
    this.share = share;
    this.#modelByName = new Map(models.map((hosted) => [nameOf(hosted), hosted]));
    this.#lot = new Lot(share, candidate.endpoint.bundleSha256);
  }

  /** Since it began. */
  get arms(): Arms {
    const { stable, candidate } = this.#counts;
    return { stable: { ...stable }, candidate: { ...candidate } };
  }

  /**
   * @param hosted of the stable application. @param request the same one is always drawn alike.
   * @param idOf by which its client knows it, undefined for by none.
   */
  routed(hosted: HostedModel, request: object, idOf: () => string | undefined): HostedModel {
    let isDrawn = this.#drawn.get(request);
    if (isDrawn === undefined) {
      isDrawn = this.#lot.isDrawn(idOf());
      this.#drawn.set(request, isDrawn);
    }
    return isDrawn ? (this.besideOf(hosted) ?? hosted) : hosted;
  }

  /** The model of the candidate that answers in the place of one. */
  besideOf(hosted: HostedModel): HostedModel | undefined {
    return this.#modelByName.get(nameOf(hosted));
  }

  /** A request of one of both is over. @param isKept whether it was answered in time. */
  onSettled(application: Application, isKept: boolean): void {
    const { stable, candidate } = this.#counts;
    const counts = application === this.candidate ? candidate : stable;
    if (isKept) counts.kept++;
    else counts.violated++;
  }
}

function nameOf({ model }: HostedModel): string {
  return model.signature.names[0] ?? "";
}
