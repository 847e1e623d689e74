/** Open-loop load: query i is sent at its scheduled arrival, whatever became of the others. */
import { assert } from "stratagem-runtime/internal/core/assert";
import { Rng } from "stratagem-runtime/internal/core/rng";
import { ArrivalFeed } from "../simulate/arrival-feed.ts";
import { type ArrivalProcess, arrivalSource } from "../simulate/arrivals.ts";
import { CLASS_STREAM, QueryClasses } from "../simulate/query-classes.ts";
import { decodeReply, encodeRequestHeader, type LoadModel, ReplyError } from "./infer-codec.ts";
import { failureCode, type HttpReply, InferenceClient } from "./inference-client.ts";
import { type LoadClass, readLoadClasses } from "./load-classes.ts";
import { SequenceIds, wantsSequences } from "./load-sequences.ts";
import { type LoadOutcome, LoadTally } from "./load-tally.ts";
import { readLoadModel } from "./model-metadata.ts";

/** One query: one row of every input tensor. */
export interface LoadInput {
  /**
   * Row-major little-endian bytes of the inputs, one after the other in the order of the model's
   * metadata.
   */
  readonly bytes: Uint8Array;
  /** The right class, null if it is not known. */
  readonly label: number | null;
}

export interface LoadOptions {
  /** Of the server, such as http://127.0.0.1:8000. */
  readonly url: string;
  /** Null for the first model that the server lists. */
  readonly model: string | null;
  readonly arrivals: ArrivalProcess;
  /** No query arrives at this time or later. */
  readonly durationMs: number;
  readonly seed: number;
  /** Null counts every answer as in time, or where queries are of classes as the server states. */
  readonly sloMs: number | null;
  /**
   * Which class queries name: one, or all those that the server states, drawn by their shares; left
   * out for none.
   */
  readonly classes?: { readonly kind: "one"; readonly name: string } | { readonly kind: "all" };
  /** Query by its number from 0; null sends rows of zeros. */
  readonly inputs: ((index: number, model: LoadModel) => LoadInput) | null;
  /** Most queries under way; one more is not sent but counted as an error. */
  readonly maxOutstanding: number;
  /**
   * Queries sent and answered before the load begins, counted nowhere: they open connections and
   * let both sides compile.
   */
  readonly warmUpQueries: number;
  /** A query is given up when nothing comes for this long. */
  readonly timeoutMs: number;
  /** A monotonic clock. */
  readonly nowMs: () => number;
  /** Called as arrivals are sent, in seconds of the load. */
  readonly onProgress: (doneSeconds: number, totalSeconds: number) => void;
  /** Aborting rejects with the signal's reason. */
  readonly signal: AbortSignal;
}

export interface LoadResult extends LoadOutcome {
  /** By the names of the classes, where queries name any. */
  readonly byClass?: Readonly<Record<string, LoadOutcome>>;
  readonly seed: number;
  readonly durationMs: number;
  readonly sloMs: number | null;
  readonly model: string;
  /** From the first scheduled moment to the last reply. */
  readonly wallMs: number;
}

/** The arrivals of the simulator's stream: one seed gives both the same ones. */
const ARRIVAL_STREAM = 1;
/** Queries sent before replies get their turn, when the generator is behind. */
const MAX_BURST = 64;
/** Warm-up queries under way at a time. */
const WARM_UP_WIDTH = 8;
export const DEFAULT_MAX_OUTSTANDING = 4096;
export const DEFAULT_TIMEOUT_MS = 10_000;

/**
 * Sends the load and waits for the last reply.
 * @throws RuntimeError when there is no such server or model.
 */
export async function runLoad(options: LoadOptions): Promise<LoadResult> {
  const { url, timeoutMs, signal, durationMs, seed, sloMs } = options;
  signal.throwIfAborted();
  const client = new InferenceClient({ url, timeoutMs });
  try {
    const model = await readLoadModel(client, options.model);
    const { classes } = options;
    const asked = classes?.kind === "one" ? classes.name : null;
    const named = classes === undefined ? [] : await readLoadClasses(client, model.name, asked);
    const ids = (await wantsSequences(client, model.name)) ? new SequenceIds() : null;
    const generator = new LoadGenerator(options, model, named, client, ids);
    await generator.warmUp();
    const startMs = options.nowMs();
    await generator.run(startMs);
    const wallMs = options.nowMs() - startMs;
    const outcome = { ...generator.tally.outcome(), ...generator.byClass() };
    return { seed, durationMs, sloMs, model: model.name, wallMs, ...outcome };
  } finally {
    await client.close();
  }
}

/** What the queries of a class have in common; all queries are alike where none names a class. */
interface Kind {
  /** Null for queries that name no class. */
  readonly name: string | null;
  /** Null where the SLO of the load holds. */
  readonly sloMs: number | null;
  readonly tally: LoadTally;
  readonly jsonHeader: Buffer;
  readonly httpHeaders: Readonly<Record<string, string>>;
  /** The body of a row of zeros, put together once. */
  readonly zerosBody: Buffer;
}

class LoadGenerator {
  readonly tally: LoadTally;
  readonly #options: LoadOptions;
  readonly #model: LoadModel;
  readonly #client: InferenceClient;
  readonly #ids: SequenceIds | null;
  readonly #feed: ArrivalFeed;
  readonly #path: string;
  readonly #kinds: readonly [Kind, ...Kind[]];
  readonly #drawn: QueryClasses;
  readonly #zeros: LoadInput;
  #startMs = 0;
  #sent = 0;
  #outstanding = 0;
  #finish: () => void = () => {};
  #fail: (reason: unknown) => void = () => {};

  /** @param classes none where queries name none. @param ids null where they name no sequence. */
  constructor(
    options: LoadOptions,
    model: LoadModel,
    classes: readonly LoadClass[],
    client: InferenceClient,
    ids: SequenceIds | null,
  ) {
    const source = arrivalSource(options.arrivals, new Rng(options.seed, ARRIVAL_STREAM));
    this.tally = new LoadTally(options.sloMs);
    this.#options = options;
    this.#model = model;
    this.#client = client;
    this.#ids = ids;
    this.#feed = new ArrivalFeed(source, options.durationMs);
    this.#path = `/v2/models/${encodeURIComponent(model.name)}/infer`;
    this.#zeros = { bytes: new Uint8Array(model.rowBytes), label: null };
    const [first, ...others] = classes.map((one) => this.#kindOf(one));
    this.#kinds = [first ?? this.#kindOf(null), ...others];
    const drawn = classes.length > 1 ? { latencyMs: 0, classes } : { latencyMs: 0 };
    this.#drawn = new QueryClasses(drawn, new Rng(options.seed, CLASS_STREAM));
  }

  /** What came of the queries of each class. */
  byClass(): Pick<LoadResult, "byClass"> {
    const named = this.#kinds.flatMap(({ name, tally }) =>
      name === null ? [] : [[name, tally.outcome()] as const],
    );
    return named.length === 0 ? {} : { byClass: Object.fromEntries(named) };
  }

  #kindOf(sloClass: LoadClass | null): Kind {
    const sequence = this.#ids?.first ?? null;
    const jsonHeader = encodeRequestHeader(this.#model, sloClass?.name ?? null, sequence);
    const sloMs = this.#options.sloMs ?? sloClass?.latencyMs ?? null;
    return {
      name: sloClass?.name ?? null,
      sloMs,
      tally: new LoadTally(sloMs),
      jsonHeader,
      httpHeaders: {
        "content-type": "application/octet-stream",
        "inference-header-content-length": String(jsonHeader.length),
      },
      zerosBody: Buffer.concat([jsonHeader, this.#zeros.bytes]),
    };
  }

  /** A few at a time. That they fail is not told here: the load fails then, too, and says how. */
  async warmUp(): Promise<void> {
    const { warmUpQueries, signal } = this.#options;
    for (let sent = 0; sent < warmUpQueries; sent += WARM_UP_WIDTH) {
      const width = Math.min(WARM_UP_WIDTH, warmUpQueries - sent);
      signal.throwIfAborted();
      await Promise.allSettled(
        Array.from({ length: width }, (_, index) =>
          this.#send(this.#kinds[0], this.#input(sent + index)),
        ),
      );
    }
  }

  async run(startMs: number): Promise<void> {
    const { signal } = this.#options;
    this.#startMs = startMs;
    const done = new Promise<void>((resolve, reject) => {
      this.#finish = resolve;
      this.#fail = reject;
    });
    const abort = (): void => this.#fail(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    try {
      this.#pump();
      await done;
    } finally {
      signal.removeEventListener("abort", abort);
    }
  }

  /** Sends what is due and comes back for the next arrival. */
  #pump(): void {
    if (this.#options.signal.aborted) return;
    try {
      this.#sendDue();
    } catch (error) {
      this.#fail(error);
      return;
    }
    const aheadMs = this.#feed.nextMs - this.#elapsedMs();
    if (aheadMs === Number.POSITIVE_INFINITY) this.#finishIfIdle();
    else if (aheadMs <= 0) setImmediate(() => this.#pump());
    else setTimeout(() => this.#pump(), Math.min(aheadMs, LONGEST_TIMER_MS));
  }

  #sendDue(): void {
    const { durationMs, onProgress } = this.#options;
    const nowMs = this.#elapsedMs();
    for (let burst = 0; burst < MAX_BURST && this.#feed.nextMs <= nowMs; burst++) {
      const scheduledMs = this.#feed.nextMs;
      this.#feed.advance();
      this.#dispatch(scheduledMs);
    }
    onProgress(Math.floor(Math.min(nowMs, durationMs) / 1000), Math.ceil(durationMs / 1000));
  }

  #dispatch(scheduledMs: number): void {
    const index = this.#sent++;
    const kind = this.#kinds[this.#drawn.next()] ?? this.#kinds[0];
    const lagMs = this.#elapsedMs() - scheduledMs;
    for (const tally of this.#talliesOf(kind)) tally.countSent(lagMs);
    if (this.#outstanding >= this.#options.maxOutstanding) {
      this.#countDrop(kind, "too-many-outstanding");
      return;
    }
    const input = this.#input(index);
    this.#outstanding++;
    this.#exchange(scheduledMs, kind, input)
      .catch((error: unknown) => this.#countDrop(kind, failureCode(error)))
      .finally(() => {
        this.#outstanding--;
        this.#finishIfIdle();
      })
      .catch((error: unknown) => this.#fail(error));
  }

  async #exchange(scheduledMs: number, kind: Kind, input: LoadInput): Promise<void> {
    const reply = await this.#send(kind, input);
    const latencyMs = this.#elapsedMs() - scheduledMs;
    if (reply.status !== 200) this.#countDrop(kind, String(reply.status));
    else this.#countReply(kind, reply, latencyMs, input.label);
  }

  #send({ jsonHeader, httpHeaders, zerosBody }: Kind, input: LoadInput): Promise<HttpReply> {
    const isZeros = this.#ids === null && input === this.#zeros;
    const header = this.#ids?.next(jsonHeader) ?? jsonHeader;
    const body = isZeros ? zerosBody : Buffer.concat([header, input.bytes]);
    return this.#client.send(this.#path, body, httpHeaders);
  }

  #talliesOf({ name, tally }: Kind): readonly LoadTally[] {
    return name === null ? [this.tally] : [this.tally, tally];
  }

  #countDrop(kind: Kind, reason: string): void {
    for (const tally of this.#talliesOf(kind)) tally.countDrop(reason);
  }

  #input(index: number): LoadInput {
    const { inputs } = this.#options;
    const input = inputs === null ? this.#zeros : inputs(index, this.#model);
    assert(input.bytes.length === this.#model.rowBytes, "an input has the bytes of one row");
    return input;
  }

  #countReply(
    kind: Kind,
    { headers, body }: HttpReply,
    latencyMs: number,
    label: number | null,
  ): void {
    const headerLength = headers["inference-header-content-length"];
    try {
      const reply = decodeReply(body, headerLength?.toString(), label !== null);
      const { variant, accuracy, predicted } = reply;
      const isCorrect = label === null ? null : predicted === label;
      const answer = { variant, accuracy, isCorrect, latencyMs };
      const judged = kind.sloMs === null ? answer : { ...answer, sloMs: kind.sloMs };
      for (const tally of this.#talliesOf(kind)) tally.countAnswer(judged);
    } catch (error) {
      if (!(error instanceof ReplyError)) throw error;
      this.#countDrop(kind, "malformed-reply");
    }
  }

  #finishIfIdle(): void {
    if (this.#outstanding === 0 && this.#feed.nextMs === Number.POSITIVE_INFINITY) this.#finish();
  }

  #elapsedMs(): number {
    return this.#options.nowMs() - this.#startMs;
  }
}

/** An abort is noticed, and the progress shown, at least this often. */
const LONGEST_TIMER_MS = 500;
