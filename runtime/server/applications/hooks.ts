/** The named points of a request at which features are called, and what each application gets. */
import type { MetricLine } from "../../base/exposition.ts";
import type { Answer } from "../requests/request.ts";
import { Records, type RequestRecord } from "../requests/request-record.ts";
import type { Application, ApplicationPart } from "./application.ts";
import type { HostedModel } from "./hosted-model.ts";
import type { Trial } from "./trial.ts";

/** An answered request, as features that observe answers receive it. */
export interface AnsweredRequest {
  readonly hosted: HostedModel;
  readonly rows: number;
  readonly answer: Answer;
  /** Client's id of the request; undefined without one. */
  readonly id: string | undefined;
  /** Name of the client's token; empty without a token. */
  readonly client: string;
}

/** Each is called at its point of every request; they must not throw. */
export interface RequestHooks {
  /** There is an answer, which is about to be written. */
  answered?(request: AnsweredRequest): void;
  /**
   * Called when a request arrives; records exist only where a feature has this hook or the next.
   */
  arrived?(record: RequestRecord): void;
  /** Called when the request is over. */
  ended?(record: RequestRecord): void;
}

export interface RequestFeature {
  readonly hooks?: RequestHooks;
  /** Extensions of Triton's protocol that it adds, by their names. */
  readonly extensions?: readonly string[];
  /** Called for every application that is opened: initially, after a reload, or for a trial. */
  opened?(application: Application): ApplicationPart;
  /** Metrics of the feature that belong to no application. @param trials open trials. */
  metricLines?(trials: readonly Trial[]): readonly MetricLine[];
  /** Whether the server is ready for new requests. @param served the current applications. */
  isFit?(served: readonly Application[]): boolean;
}

/** The features of a server, with the functions of each point side by side. */
export class RequestFeatures {
  readonly answered: readonly ((request: AnsweredRequest) => void)[];
  /** Undefined where no feature uses request records. */
  readonly records: Records | undefined;
  readonly #all: readonly RequestFeature[];

  constructor(all: readonly RequestFeature[], nowMs: () => number) {
    this.#all = all;
    const hooks = all.flatMap((feature) => feature.hooks ?? []);
    this.answered = hooks.flatMap((one) => one.answered?.bind(one) ?? []);
    const arrived = hooks.flatMap((one) => one.arrived?.bind(one) ?? []);
    const ended = hooks.flatMap((one) => one.ended?.bind(one) ?? []);
    const isNoting = arrived.length + ended.length > 0;
    this.records = isNoting ? new Records(arrived, ended, nowMs) : undefined;
  }

  /** Names of the extensions of Triton's protocol. */
  get extensions(): string[] {
    return this.#all.flatMap(({ extensions = [] }) => extensions);
  }

  onOpened(application: Application): void {
    application.join(this.#all.flatMap((feature) => feature.opened?.(application) ?? []));
  }

  lines(trials: readonly Trial[]): MetricLine[] {
    return this.#all.flatMap((feature) => feature.metricLines?.(trials) ?? []);
  }

  isFit(served: readonly Application[]): boolean {
    return this.#all.every((feature) => feature.isFit?.(served) ?? true);
  }
}
