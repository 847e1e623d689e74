/** What all doors of a server share: its applications, and which inference requests are in. */
import type { ByteBudget } from "../bodies/byte-budget.ts";
import { head, labelled, line, type MetricLine } from "../metrics/exposition.ts";
import { Latencies } from "../metrics/latencies.ts";
import type { LoopDelay } from "../metrics/loop-delay.ts";
import { ReloadCounts } from "../metrics/reload-counts.ts";
import type { LineSink } from "../telemetry/line-sink.ts";
import type { Notice } from "../telemetry/notice.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { Application } from "./application.ts";
import { type HostedModel, hostedModels } from "./hosted-model.ts";
import type { LoopLag } from "./loop-lag.ts";

export interface HouseOptions {
  readonly applications: readonly Application[];
  /** For the bytes of all requests. */
  readonly budget: ByteBudget;
  readonly lag: LoopLag;
  readonly loopDelay: LoopDelay;
  /** Of the program, as the server tells it. */
  readonly version: string;
  /** Milliseconds of a clock that does not go back. */
  readonly nowMs: () => number;
  /** Is added to `nowMs` to have milliseconds since 1970; for statistics only. */
  readonly epochOffsetMs: number;
  /** Left out where nothing is noted of requests. */
  readonly telemetry?: Telemetry | undefined;
  /** Logs by what they are, as far as lines of theirs may be dropped. */
  readonly logs?: Readonly<Record<string, Pick<LineSink, "droppedCount">>> | undefined;
  readonly onNotice?: Notice | undefined;
  /**
   * Reads the bundle of an application again and follows it if it can; never rejects. Left out
   * where bundles are not from files.
   */
  readonly reload?: Reload | undefined;
}

/** @param application its place among those of the server. */
export type Reload = (
  application: number,
) => Promise<{ readonly isFollowed: boolean; readonly notice: string }>;

export class House {
  readonly applications: readonly Application[];
  /** In the order of the applications. */
  readonly models: readonly HostedModel[];
  readonly budget: ByteBudget;
  readonly lag: LoopLag;
  readonly loopDelay: LoopDelay;
  readonly version: string;
  readonly nowMs: () => number;
  readonly epochOffsetMs: number;
  readonly reloads: ReloadCounts;
  readonly telemetry: Telemetry | undefined;
  readonly onNotice: Notice;
  readonly #logs: Readonly<Record<string, Pick<LineSink, "droppedCount">>>;
  readonly reload: Reload | undefined;
  #isDraining = false;
  #inferCount = 0;
  #onEmpty: () => void = () => {};

  constructor(options: HouseOptions) {
    this.applications = options.applications;
    this.models = hostedModels(options.applications);
    this.budget = options.budget;
    this.lag = options.lag;
    this.loopDelay = options.loopDelay;
    this.version = options.version;
    this.telemetry = options.telemetry;
    this.onNotice = options.onNotice ?? (() => {});
    this.#logs = options.logs ?? {};
    this.reloads = new ReloadCounts(
      options.applications.map(({ name }) => name),
      () => (options.nowMs() + options.epochOffsetMs) / 1000,
    );
    this.nowMs = options.nowMs;
    this.epochOffsetMs = options.epochOffsetMs;
    this.reload = options.reload;
  }

  /** Of all models, with those that are called several. */
  get modelNames(): string[] {
    return this.models.flatMap(({ model }) => model.signature.names);
  }

  /** Whether it takes no inference any more. */
  get isDraining(): boolean {
    return this.#isDraining;
  }

  get isReady(): boolean {
    return !this.#isDraining && this.applications.every(({ endpoint }) => endpoint.isReady);
  }

  /** Whether the models of an application answer, whatever the others do. */
  isApplicationReady({ endpoint }: Application): boolean {
    return !this.#isDraining && endpoint.isReady;
  }

  /** What all applications count, and what is counted of their requests whatever the method. */
  metricLines(): MetricLine[] {
    const latencies = this.models.map(({ model, latencies: own }) => {
      return [model.signature.names[0] ?? "", own] as const;
    });
    return [
      ...this.applications.flatMap(({ name, endpoint }) =>
        labelled(endpoint.metricLines(), { model: name }),
      ),
      ...Latencies.lines(latencies),
      ...this.reloads.lines(),
      ...this.#logLines(),
      ...(this.telemetry?.lines() ?? []),
    ];
  }

  #logLines(): MetricLine[] {
    const name = "stratagem_log_lines_dropped_total";
    const logs = Object.entries(this.#logs);
    if (logs.length === 0) return [];
    return [
      head(name, "counter", "Lines of a log that its reader was too slow for"),
      ...logs.map(([log, { droppedCount }]) => line(name, { log }, droppedCount)),
    ];
  }

  /** An inference request has come in. */
  enter(): void {
    this.#inferCount++;
  }

  leave(): void {
    this.#inferCount--;
    if (this.#inferCount === 0) this.#onEmpty();
  }

  /**
   * Refuses new inference and waits for the accepted.
   * @returns whether all of it was answered in time.
   */
  async drain(timeoutMs: number): Promise<boolean> {
    this.#isDraining = true;
    for (const application of this.applications) application.drain();
    if (this.#inferCount === 0) return true;
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(false), timeoutMs);
      this.#onEmpty = () => {
        clearTimeout(timer);
        resolve(true);
      };
    });
  }
}
