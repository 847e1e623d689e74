/** Sends requests at their scheduled moments, whatever became of the others, and counts answers. */
import { ArrivalFeed } from "../simulate/arrival-feed.ts";
import type { ArrivalSource } from "../simulate/arrivals.ts";
import { ReplyError } from "./infer-codec.ts";
import { failureCode, type InferenceClient } from "./inference-client.ts";
import { type LoadOutcome, LoadTally } from "./load-tally.ts";
import type { Judged, Outgoing, Workload, WorkloadClass } from "./workload.ts";

/** What became of a request. Times are ms since the load began. */
export interface Settled {
  readonly scheduledMs: number;
  readonly sentMs: number;
  /** When its answer had come whole, or it failed. */
  readonly endMs: number;
  /** What the answer says; null for none that is good. */
  readonly answer: Judged | null;
  /** HTTP status, or a word for what went wrong; empty for a good answer. */
  readonly error: string;
  /** What it may take; null for as long as it likes. */
  readonly sloMs: number | null;
}

export interface GeneratorOptions {
  /** Null counts every answer as in time, or where queries are of classes as the server states. */
  readonly sloMs: number | null;
  /** Most queries under way; one more is not sent but counted as an error. */
  readonly maxOutstanding: number;
  /** A monotonic clock. */
  readonly nowMs: () => number;
  /** Called as arrivals are sent, in seconds of the load. */
  readonly onProgress: (doneSeconds: number, totalSeconds: number) => void;
  /** Told of every request that is counted. */
  readonly onSettled?: (settled: Settled) => void;
  /** Aborting rejects with the signal's reason. */
  readonly signal: AbortSignal;
}

/** Arrivals one after the other, from a moment on. */
interface Phase {
  readonly feed: ArrivalFeed;
  readonly startMs: number;
  readonly durationMs: number;
  readonly isCounted: boolean;
}

/** Queries sent before replies get their turn, when the generator is behind. */
const MAX_BURST = 64;
/** Warm-up queries under way at a time. */
const WARM_UP_WIDTH = 8;
/** An abort is noticed, and the progress shown, at least this often. */
const LONGEST_TIMER_MS = 500;

export class LoadGenerator {
  readonly tally: LoadTally;
  readonly #options: GeneratorOptions;
  readonly #client: InferenceClient;
  readonly #workload: Workload;
  readonly #byClass: readonly LoadTally[];
  #sent = 0;
  /** Of those that are counted. */
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

  /** What came of the queries of each class. */
  byClass(): { readonly byClass?: Readonly<Record<string, LoadOutcome>> } {
    if (this.#byClass.length === 0) return {};
    const named = this.#workload.classes.map(({ name }, index) => [
      name,
      this.#byClass[index]?.outcome(),
    ]);
    return { byClass: Object.fromEntries(named) };
  }

  /**
   * A few at a time, until there were enough or the time is over. That they fail is not told here:
   * the load fails then, too, and says how.
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

  /** Sends arrivals that are counted nowhere, and returns when the next may begin. */
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

  /** Sends what is due and comes back for the next arrival. */
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

  /** A phase that is not counted lasts until its end, for the next one to begin on time. */
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
      if (isCounted) this.#dispatch(phase, scheduledMs);
      else this.#send(this.#workload.request(this.#sent++, false)).catch(() => {});
    }
    if (!isCounted) return;
    const doneSeconds = Math.floor(Math.min(nowMs, durationMs) / 1000);
    this.#options.onProgress(doneSeconds, Math.ceil(durationMs / 1000));
  }

  #dispatch(phase: Phase, scheduledMs: number): void {
    const outgoing = this.#workload.request(this.#sent++, true);
    const sentMs = this.#elapsedMs(phase);
    for (const tally of this.#talliesOf(outgoing)) tally.countSent(sentMs - scheduledMs);
    const when = { scheduledMs, sentMs };
    if (this.#outstanding >= this.#options.maxOutstanding) {
      this.#settle(outgoing, { ...when, endMs: sentMs, answer: null, error: TOO_MANY });
      return;
    }
    this.#outstanding++;
    this.#exchange(outgoing)
      .then((result) => {
        this.#settle(outgoing, { ...when, endMs: this.#elapsedMs(phase), ...result });
        this.#outstanding--;
        this.#finishIfIdle(phase);
      })
      .catch((error: unknown) => this.#fail(error));
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
