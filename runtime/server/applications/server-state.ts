/** State that all listeners of a server share: its applications and the open inference requests. */
import { labelled, type MetricLine } from "../../base/exposition.ts";
import type { Notice } from "../../base/notice.ts";
import type { Access } from "../access/access.ts";
import type { ByteBudget } from "../bodies/body-memory.ts";
import type { LoopDelay, LoopLag } from "../metrics/loop-delay.ts";
import { ReloadCounts } from "../metrics/reload-counts.ts";
import { Latencies } from "../requests/request-metrics.ts";
import type { Application } from "./application.ts";
import { type RequestFeature, RequestFeatures } from "./hooks.ts";
import { type HostedModel, hostedModels, namedApart } from "./hosted-model.ts";
import { revisionOf, Trials } from "./trial.ts";

export interface ServerStateOptions {
  readonly applications: readonly Application[];
  /** Access control of all listeners. */
  readonly access: Access;
  /** Memory budget of all requests. */
  readonly budget: ByteBudget;
  readonly lag: LoopLag;
  readonly loopDelay: LoopDelay;
  readonly serverName: string;
  /** Name of this front end in its cluster; undefined outside of a cluster. */
  readonly frontEnd?: string | undefined;
  /** Version of the program in the server metadata. */
  readonly version: string;
  /** Whether all parameters of answers are strings. */
  readonly hasTextParameters: boolean;
  /** Monotonic clock, ms. */
  readonly nowMs: () => number;
  /** Difference between milliseconds since 1970 and `nowMs`; for statistics only. */
  readonly epochOffsetMs: () => number;
  readonly features: readonly RequestFeature[];
  readonly onNotice?: Notice | undefined;
  /**
   * Reads the bundle of an application again and serves it if possible; never rejects. Returns null
   * for an unknown application. Default: bundles cannot be reloaded.
   */
  readonly reload?: Reload | undefined;
}

/** @param application its name, or that of a model of it. */
export type Reload = (
  application: string,
) => Promise<{ readonly isFollowed: boolean; readonly notice: string } | null>;

export class ServerState {
  readonly access: Access;
  readonly budget: ByteBudget;
  readonly lag: LoopLag;
  readonly loopDelay: LoopDelay;
  readonly serverName: string;
  readonly frontEnd: string | undefined;
  readonly version: string;
  readonly hasTextParameters: boolean;
  readonly nowMs: () => number;
  readonly epochOffsetMs: () => number;
  readonly reloads: ReloadCounts;
  readonly onNotice: Notice;
  readonly reload: Reload | undefined;
  readonly features: RequestFeatures;
  /** Applications that are tried beside those that are served. */
  readonly trials = new Trials();
  /** Whether the code that requests use is loaded; nothing is ready before. */
  isWarm = false;
  #applications: readonly Application[];
  #models: readonly HostedModel[];
  #isStopping = false;
  #isDraining = false;

  constructor(options: ServerStateOptions) {
    this.#applications = options.applications;
    this.#models = namedApart(options.applications.flatMap(hostedModels));
    this.features = new RequestFeatures(options.features, options.nowMs);
    for (const application of options.applications) this.features.onOpened(application);
    this.access = options.access;
    this.budget = options.budget;
    this.lag = options.lag;
    this.loopDelay = options.loopDelay;
    this.serverName = options.serverName;
    this.frontEnd = options.frontEnd;
    this.version = options.version;
    this.hasTextParameters = options.hasTextParameters;
    this.onNotice = options.onNotice ?? (() => {});
    this.reloads = new ReloadCounts(
      options.applications.map(({ name }) => name),
      () => (options.nowMs() + options.epochOffsetMs()) / 1000,
    );
    this.nowMs = options.nowMs;
    this.epochOffsetMs = options.epochOffsetMs;
    this.reload = options.reload;
  }

  /** Names of all models, including alternative names. */
  get modelNames(): string[] {
    return this.models.flatMap(({ names }) => names);
  }

  /** Triton's extensions that this server has and others need not have. */
  get extensions(): string[] {
    const repository = this.reload === undefined ? [] : ["model_repository"];
    const hasSequences = this.models.some(({ model }) => model.signature.hasSequences === true);
    const sequence = hasSequences ? ["sequence"] : [];
    return [...repository, ...sequence, ...this.features.extensions].sort();
  }

  /** Applications that answer new requests; a replaced one may still have open requests. */
  get applications(): readonly Application[] {
    return this.#applications;
  }

  /** The served applications and those that run beside them. */
  get running(): readonly Application[] {
    return [...this.#applications, ...this.trials.beside];
  }

  /** Models in the order of the applications. */
  get models(): readonly HostedModel[] {
    return this.#models;
  }

  /** Whether the server reports that it is not ready because it stops. */
  get isStopping(): boolean {
    return this.#isStopping;
  }

  /** Whether it rejects new inference requests. */
  get isDraining(): boolean {
    return this.#isDraining;
  }

  get isReady(): boolean {
    return this.#isServing && this.#applications.every(({ endpoint }) => endpoint.isReady);
  }

  /** Whether the server is ready for new requests, as readiness probes see it. */
  get isFit(): boolean {
    return this.isReady && this.features.isFit(this.#applications);
  }

  /** Whether the models of an application are ready, whatever the state of the others. */
  isApplicationReady({ endpoint }: Application): boolean {
    return this.#isServing && endpoint.isReady;
  }

  get #isServing(): boolean {
    return this.isWarm && !this.#isStopping;
  }

  /**
   * Replaces an application from the next request on.
   * @param known its models, if it has served before. Default: new ones.
   */
  replace(before: Application, after: Application, known?: readonly HostedModel[]): void {
    for (const { signature, sequences } of after.endpoint.models) {
      const [name] = signature.names;
      const other = before.endpoint.models.find((model) => model.signature.names[0] === name);
      if (other?.sequences !== undefined) sequences?.takeOver(other.sequences);
    }
    const at = this.#applications.indexOf(before);
    this.#applications = this.#applications.with(at, after);
    const models = this.#applications.flatMap((application) => {
      if (application === after) return known ?? hostedModels(after);
      return this.#models.filter((hosted) => hosted.application === application);
    });
    this.#models = namedApart(models);
  }

  metricLines(): MetricLine[] {
    return [
      ...countedLines(this.applications, this.models),
      ...this.#trialLines(),
      ...this.reloads.lines(),
      ...this.access.metricLines(),
      ...this.features.lines(this.trials.open),
    ];
  }

  /** The same of bundles that are tried, apart by their revisions. */
  #trialLines(): MetricLine[] {
    return this.trials.open.flatMap(({ candidate, models }) => {
      return labelled(countedLines([candidate], models), { revision: revisionOf(candidate) });
    });
  }

  /**
   * Reports the server as not ready, so that load balancers stop sending requests; requests that
   * still arrive are answered.
   */
  stop(): void {
    this.#isStopping = true;
  }

  /**
   * Waits for open inference requests and for the listeners to close.
   * @param closed resolves when all requests of the listeners are answered.
   * @returns whether both ended in time.
   */
  async drain(closed: Promise<void>, timeoutMs: number): Promise<boolean> {
    this.stop();
    for (const application of this.running) application.drain();
    const emptied = closed.then(() => Promise.all(this.running.map((one) => one.emptied())));
    const isEmptied = await within(timeoutMs, emptied);
    this.#isDraining = true;
    return isEmptied;
  }
}

function countedLines(
  applications: readonly Application[],
  models: readonly HostedModel[],
): MetricLine[] {
  const latencies = models.map(({ model, latencies: own }) => {
    return [model.signature.names[0] ?? "", own] as const;
  });
  return [
    ...applications.flatMap((application) => {
      const { name, endpoint, workerLines } = application;
      const own = [...endpoint.metricLines(), ...workerLines(), ...application.partLines()];
      return labelled(own, { model: name });
    }),
    ...Latencies.lines(latencies),
  ];
}

/** @returns whether it was kept in time. */
export async function within(timeoutMs: number, kept: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), timeoutMs);
  });
  const isKept = await Promise.race([kept.then(() => true), late]);
  clearTimeout(timer);
  return isKept;
}
