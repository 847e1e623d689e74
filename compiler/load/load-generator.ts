/**
 * Sends requests at their scheduled times, regardless of answers, or each when another is answered,
 * and counts the results.
 */
import { ArrivalFeed } from "../simulate/arrival-feed.ts";
import type { ArrivalSource } from "../simulate/arrivals.ts";
import { ReplyError } from "./infer-codec.ts";
import { failureCode, type InferenceClient } from "./inference-client.ts";
import { type LoadOutcome, LoadTally } from "./load-tally.ts";
import type { Judged, Outgoing, Workload, WorkloadClass } from "./workload.ts";

/** Result of a request. Times are ms since the load began. */
export interface Settled {
  readonly scheduledMs: number;
  readonly sentMs: number;
  /** End of its answer, or time of its failure. */
  readonly endMs: number;
  /** Judged answer; null without a successful one. */
  readonly answer: Judged | null;
  /** HTTP status, or a word for the failure; empty for a successful answer. */
  readonly error: string;
  /** Latency SLO; null for none. */
  readonly sloMs: number | null;
}

export interface GeneratorOptions {
  /** Null to count every answer as in time, or to use the server's SLO of each class. */
  readonly sloMs: number | null;
  /** Most requests in flight; further ones are not sent and count as errors. */
  readonly maxOutstanding: number;
  /** Monotonic clock. */
  readonly nowMs: () => number;
  /** Called as arrivals are sent, in seconds of the load. */
  readonly onProgress: (doneSeconds: number, totalSeconds: number) => void;
  /** Called with every counted request. */
  readonly onSettled?: (settled: Settled) => void;
  /** Aborting rejects with the signal's reason. */
  readonly signal: AbortSignal;
}

/** Arrivals from a start time on. */
interface Phase {
  readonly feed: ArrivalFeed;
  readonly startMs: number;
  readonly durationMs: number;
  readonly isCounted: boolean;
}

/** Most queries sent before replies are processed, if the generator is behind. */
const MAX_BURST = 64;
/** Warm-up queries in flight. */
const WARM_UP_WIDTH = 8;
/** Longest delay until an abort is noticed or progress is shown. */
const LONGEST_TIMER_MS = 500;

export class LoadGenerator {
  readonly tally: LoadTally;
  readonly #options: GeneratorOptions;
  readonly #client: InferenceClient;
  readonly #workload: Workload;
  readonly #byClass: readonly LoadTally[];
  #sent = 0;
  /** Counted requests in flight. */
  #outstanding = 0;
  #finish: () => void = () => {};
  #fail: (reason: unknown) => void = () => {};

  constructor(options: GeneratorOptions, client: InferenceClient, workload: Workload) {
    this.#options = options;
    this.#client = client;
    this.#workload = workload;
    this.tally = new LoadTally(options.sloMs);
    this.#byClass = workload.classes.map((one) => new LoadTally(this.#sloOf(one)));
  }

  /** Results by class. @param perBatch mean requests that share a batch, of all classes. */
  byClass(perBatch: number): { readonly byClass?: Readonly<Record<string, LoadOutcome>> } {
    if (this.#byClass.length === 0) return {};
    const named = this.#workload.classes.map(({ name }, index) => [
      name,
      this.#byClass[index]?.outcome(perBatch),
    ]);
    return { byClass: Object.fromEntries(named) };
  }

  /**
   * Sends a few queries at a time until there were enough or the time is over. Failures are
   * ignored: they will recur in the load and be reported.
   */
  async warmUp(queries: number, limitMs: number): Promise<void> {
    const endMs = this.#options.nowMs() + limitMs;
    let left = queries;
    const sendSome = async (): Promise<void> => {
      while (left > 0 && this.#options.nowMs() < endMs) {
        this.#options.signal.throwIfAborted();
        const outgoing = this.#workload.request(queries - left--, false);
        await this.#send(outgoing).catch(() => {});
      }
    };
    await Promise.all(Array.from({ length: Math.min(WARM_UP_WIDTH, queries) }, sendSome));
  }

  /** Sends uncounted arrivals, and returns the start of the next phase. */
  async leadIn(source: ArrivalSource, startMs: number, durationMs: number): Promise<number> {
    await this.#run({
      feed: new ArrivalFeed(source, durationMs),
      startMs,
      durationMs,
      isCounted: false,
    });
    return startMs + durationMs;
  }

  /** Sends the load and waits for its last reply. */
  async run(source: ArrivalSource, startMs: number, durationMs: number): Promise<void> {
    const feed = new ArrivalFeed(source, durationMs);
    await this.#run({ feed, startMs, durationMs, isCounted: true });
  }

  /** Keeps so many requests in flight, and waits for the last reply. */
  async runClosed(width: number, startMs: number, durationMs: number): Promise<void> {
    const { signal, onProgress } = this.#options;
    const sendOn = async (): Promise<void> => {
      for (;;) {
        const elapsedMs = this.#options.nowMs() - startMs;
        signal.throwIfAborted();
        if (elapsedMs >= durationMs) return;
        onProgress(Math.floor(elapsedMs / 1000), Math.ceil(durationMs / 1000));
        await this.#dispatch(startMs, elapsedMs);
      }
    };
    await Promise.all(Array.from({ length: width }, sendOn));
  }

  async #run(phase: Phase): Promise<void> {
    const { signal } = this.#options;
    const done = new Promise<void>((resolve, reject) => {
      this.#finish = resolve;
      this.#fail = reject;
    });
    const abort = (): void => this.#fail(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    try {
      this.#pump(phase);
      await done;
    } finally {
      signal.removeEventListener("abort", abort);
    }
  }

  /** Sends due requests and schedules the next arrival. */
  #pump(phase: Phase): void {
    if (this.#options.signal.aborted) return;
    try {
      this.#sendDue(phase);
    } catch (error) {
      this.#fail(error);
      return;
    }
    const nextMs = this.#nextMs(phase);
    const aheadMs = nextMs - this.#elapsedMs(phase);
    if (nextMs === Number.POSITIVE_INFINITY) this.#finishIfIdle(phase);
    else if (aheadMs <= 0) setImmediate(() => this.#pump(phase));
    else setTimeout(() => this.#pump(phase), Math.min(aheadMs, LONGEST_TIMER_MS));
  }

  /** An uncounted phase lasts its full duration, so that the next begins on time. */
  #nextMs({ feed, isCounted, durationMs, startMs }: Phase): number {
    if (isCounted || feed.nextMs < Number.POSITIVE_INFINITY) return feed.nextMs;
    const isOver = this.#options.nowMs() - startMs >= durationMs;
    return isOver ? Number.POSITIVE_INFINITY : durationMs;
  }

  #sendDue(phase: Phase): void {
    const { feed, durationMs, isCounted } = phase;
    const nowMs = this.#elapsedMs(phase);
    for (let burst = 0; burst < MAX_BURST && feed.nextMs <= nowMs; burst++) {
      const scheduledMs = feed.nextMs;
      feed.advance();
      if (isCounted) {
        this.#dispatch(phase.startMs, scheduledMs)
          .then(() => this.#finishIfIdle(phase))
          .catch((error: unknown) => this.#fail(error));
      } else this.#send(this.#workload.request(this.#sent++, false)).catch(() => {});
    }
    if (!isCounted) return;
    const doneSeconds = Math.floor(Math.min(nowMs, durationMs) / 1000);
    this.#options.onProgress(doneSeconds, Math.ceil(durationMs / 1000));
  }

  /** Kept once the request is counted. */
  async #dispatch(startMs: number, scheduledMs: number): Promise<void> {
    const outgoing = this.#workload.request(this.#sent++, true);
    const elapsedMs = () => this.#options.nowMs() - startMs;
    const sentMs = elapsedMs();
    for (const tally of this.#talliesOf(outgoing)) tally.countSent(sentMs - scheduledMs);
    const when = { scheduledMs, sentMs };
    if (this.#outstanding >= this.#options.maxOutstanding) {
      this.#settle(outgoing, { ...when, endMs: sentMs, answer: null, error: TOO_MANY });
      return;
    }
    this.#outstanding++;
    const result = await this.#exchange(outgoing);
    this.#settle(outgoing, { ...when, endMs: elapsedMs(), ...result });
    this.#outstanding--;
  }

  async #exchange(outgoing: Outgoing): Promise<Pick<Settled, "answer" | "error">> {
    try {
      const reply = await this.#send(outgoing);
      if (reply.status !== 200) return { answer: null, error: String(reply.status) };
      return { answer: outgoing.judge(reply), error: "" };
    } catch (error) {
      const reason = error instanceof ReplyError ? "malformed-reply" : failureCode(error);
      return { answer: null, error: reason };
    }
  }

  #settle(outgoing: Outgoing, fate: Omit<Settled, "sloMs">): void {
    const { scheduledMs, sentMs, endMs, answer, error } = fate;
    const sloMs = this.#sloOf(this.#workload.classes[outgoing.classIndex]);
    for (const tally of this.#talliesOf(outgoing)) {
      if (answer === null) tally.countDrop(error);
      else {
        const { variant, accuracy, score } = answer;
        const isCorrect = score === null ? null : score === 1;
        const times = { latencyMs: endMs - scheduledMs, fromSendMs: endMs - sentMs };
        const own = sloMs === null ? {} : { sloMs };
        tally.countAnswer({ variant, accuracy, isCorrect, ...times, ...own });
      }
    }
    this.#options.onSettled?.({ ...fate, sloMs });
  }

  #send({ path, body, headers }: Outgoing) {
    return this.#client.send(path, body, headers);
  }

  #talliesOf({ classIndex }: Outgoing): readonly LoadTally[] {
    const own = this.#byClass[classIndex];
    return own === undefined ? [this.tally] : [this.tally, own];
  }

  #sloOf(sloClass: WorkloadClass | undefined): number | null {
    return this.#options.sloMs ?? sloClass?.sloMs ?? null;
  }

  #finishIfIdle({ feed, isCounted }: Phase): void {
    const isSent = feed.nextMs === Number.POSITIVE_INFINITY;
    if (isSent && (!isCounted || this.#outstanding === 0)) this.#finish();
  }

  #elapsedMs({ startMs }: Phase): number {
    return this.#options.nowMs() - startMs;
  }
}

const TOO_MANY = "too-many-outstanding";
