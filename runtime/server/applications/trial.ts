/** Applications that are tried beside those that are served: routing and outcomes. */
import { Rng } from "../../core/rng.ts";
import type { Application } from "./application.ts";
import type { HostedModel } from "./hosted-model.ts";

/** Names this consumer of random numbers. */
const STREAM = 0x63_61_6e_61;

/** Offset basis of 32-bit FNV-1a. */
const BASIS = 0x811c9dc5;
const PRIME = 0x01000193;

export class Sampler {
  readonly #share: number;
  /** Hash of the salt, to which ids are added. */
  readonly #salted: number;
  readonly #rng: Rng;

  /**
   * @param share of the requests that are drawn, 0..1.
   * @param salt other bundles draw other ids; of the same, a larger share has those of a smaller.
   */
  constructor(share: number, salt: string) {
    this.#share = share;
    this.#salted = added(BASIS, `${salt}/`);
    this.#rng = new Rng(mixed(this.#salted), STREAM);
  }

  /** @param id the same is always drawn alike; undefined draws by itself. */
  isDrawn(id: string | undefined): boolean {
    if (id === undefined) return this.#rng.nextShortFloat() < this.#share;
    return mixed(added(this.#salted, id)) * 2 ** -32 < this.#share;
  }
}

/** FNV-1a over UTF-16 units. */
function added(hash: number, text: string): number {
  let sum = hash;
  for (let at = 0; at < text.length; at++) sum = Math.imul(sum ^ text.charCodeAt(at), PRIME);
  return sum;
}

/**
 * The finalizer of MurmurHash3, since the high bits of the sum hardly know the last characters.
 * @returns 32 bits, unsigned.
 */
function mixed(sum: number): number {
  let hash = Math.imul(sum ^ (sum >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

export interface ArmCounts {
  /** Requests that were answered in time. */
  readonly kept: number;
  /** Requests that were answered late, or not. */
  readonly violated: number;
}

/** The served application and the candidate. */
export interface Arms {
  readonly stable: ArmCounts;
  readonly candidate: ArmCounts;
}

export interface TrialOptions {
  readonly stable: Application;
  /** Its workers must be ready. */
  readonly candidate: Application;
  /** Models of the candidate, one for each model of the served application. */
  readonly models: readonly HostedModel[];
  /** Share of requests that the candidate answers, 0..1. */
  readonly share: number;
}

export class Trial {
  readonly stable: Application;
  readonly candidate: Application;
  readonly models: readonly HostedModel[];
  readonly share: number;
  readonly #counts = { stable: { kept: 0, violated: 0 }, candidate: { kept: 0, violated: 0 } };
  readonly #modelByName: ReadonlyMap<string, HostedModel>;
  readonly #sampler: Sampler;
  /** Results for requests that were drawn before. */
  readonly #drawn = new WeakMap<object, boolean>();

  constructor({ stable, candidate, models, share }: TrialOptions) {
    this.stable = stable;
    this.candidate = candidate;
    this.models = models;
    this.share = share;
    this.#modelByName = new Map(models.map((hosted) => [nameOf(hosted), hosted]));
    this.#sampler = new Sampler(share, candidate.endpoint.bundleSha256);
  }

  /** Results since the trial began. */
  get arms(): Arms {
    const { stable, candidate } = this.#counts;
    return { stable: { ...stable }, candidate: { ...candidate } };
  }

  /**
   * Draws the model for a request; the same request always gets the same one.
   * @param hosted model of the stable application.
   * @param idOf returns the client's id of the request; undefined without one.
   */
  routed(hosted: HostedModel, request: object, idOf: () => string | undefined): HostedModel {
    let isDrawn = this.#drawn.get(request);
    if (isDrawn === undefined) {
      isDrawn = this.#sampler.isDrawn(idOf());
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

/** Digits of a bundle's SHA-256 that tell it from others. */
const REVISION_DIGITS = 12;

export class Trials {
  readonly #open = new Set<Trial>();
  /** Both applications of each trial have an entry. */
  readonly #byApplication = new Map<Application, Trial>();
  /** Applications whose workers run beside the served ones, in a trial or not. */
  readonly beside = new Set<Application>();
  /** Number of open trials; requests need no other check while it is 0. */
  openCount = 0;

  get open(): readonly Trial[] {
    return [...this.#open];
  }

  begin(trial: Trial): void {
    this.#open.add(trial);
    this.openCount = this.#open.size;
    this.#byApplication.set(trial.stable, trial);
    this.#byApplication.set(trial.candidate, trial);
  }

  /** Routes all new requests to the stable application. */
  end(trial: Trial): void {
    this.#open.delete(trial);
    this.openCount = this.#open.size;
    this.#byApplication.delete(trial.stable);
    this.#byApplication.delete(trial.candidate);
  }

  /**
   * The model that answers a request: the one that is served, or that of the bundle that is tried.
   * @param request the same one is always answered alike. @param idOf by which its client knows it.
   */
  routed(hosted: HostedModel, request: object, idOf: () => string | undefined): HostedModel {
    const trial = this.#byApplication.get(hosted.application);
    if (trial === undefined || trial.candidate === hosted.application) return hosted;
    return trial.routed(hosted, request, idOf);
  }

  /** Model of the candidate that is on trial beside a model; undefined without a trial. */
  besideOf(hosted: HostedModel): HostedModel | undefined {
    return this.#byApplication.get(hosted.application)?.besideOf(hosted);
  }

  /** Revision that clients see where one of two bundles may answer; else undefined. */
  revisionOf({ application }: HostedModel): string | undefined {
    if (!this.#byApplication.has(application)) return undefined;
    return revisionOf(application);
  }

  /** Called when a request is over. @param isKept whether it was answered in time. */
  onSettled(application: Application, isKept: boolean): void {
    this.#byApplication.get(application)?.onSettled(application, isKept);
  }
}

/** Short identifier of an application's bundle for people. */
export function revisionOf({ endpoint }: Application): string {
  return endpoint.bundleSha256.slice(0, REVISION_DIGITS);
}
