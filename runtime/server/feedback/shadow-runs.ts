/** Rows that the best variant answers again, while nothing waits or runs. */
import { head, line, type MetricLine } from "../metrics/exposition.ts";
import type { Answer, RequestRows } from "../requests/request.ts";
import { elementCountOf } from "../tensors/datatypes.ts";
import type { ClientSignature } from "../tensors/signature.ts";
import { rowBounds } from "../tensors/tensors.ts";
import type { FeedbackBook } from "./feedback-book.ts";
import type { Prediction } from "./predictions.ts";
import type { Shadow } from "./shadow.ts";

/** Of rows that wait for a quiet moment. */
const MAX_WAITING = 64;
const MAX_WAITING_BYTES = 16 * 2 ** 20;

const OUTCOMES = ["same", "different", "skipped", "failed"] as const;
type RunOutcome = (typeof OUTCOMES)[number];

export interface ShadowRunsOptions {
  readonly shadow: Shadow;
  readonly book: FeedbackBook;
  readonly signature: ClientSignature;
  /** Whether no query waits or runs. */
  readonly isIdle: () => boolean;
  /** Uniform on [0, 1). */
  readonly random: () => number;
  /** Calls later, when what is to be written now was written. */
  readonly later: (act: () => void) => void;
}

/** A row with the answer that it got. */
interface Sampled {
  readonly inputs: readonly Uint8Array[];
  readonly variant: string;
  readonly prediction: Prediction;
  readonly bytes: number;
}

/**
 * Whether a row is sampled is tossed when it is answered, whatever the load; it waits for a moment
 * in which nothing else does. One runs at a time.
 */
export class ShadowRuns {
  readonly #options: ShadowRunsOptions;
  readonly #waiting: Sampled[] = [];
  readonly #counts = new Map<string, Record<RunOutcome, number>>();
  #waitingBytes = 0;
  #isRunning = false;
  #isAsked = false;

  constructor(options: ShadowRunsOptions) {
    this.#options = options;
  }

  /** Rows that wait to be answered again. */
  get waitingCount(): number {
    return this.#waiting.length;
  }

  /** A request was answered: some of its rows may be answered again. */
  onAnswered(request: RequestRows, answer: Answer): void {
    const { shadow, book, random } = this.#options;
    if (!shadow.isOpen) return;
    const chosen: number[] = [];
    for (let row = 0; row < request.rows; row++) if (random() < shadow.share) chosen.push(row);
    if (chosen.length === 0) return;
    const variants = book.variantsOf(answer, request.rows);
    const predictions = book.reader.read(answer, request.rows);
    for (const row of chosen) {
      const [variant, prediction] = [variants[row], predictions?.[row]];
      // The best would say again what it has said.
      if (variant === undefined || prediction === undefined) continue;
      if (variant !== book.counts.best) this.#take(variant, this.#copied(request, row), prediction);
    }
  }

  /** A request is over, however it went: there may be a quiet moment. */
  onSettled(): void {
    if (this.#waiting.length === 0 || this.#isAsked || this.#isRunning) return;
    this.#isAsked = true;
    this.#options.later(() => {
      this.#isAsked = false;
      this.#next();
    });
  }

  /** Without the name of its application. */
  lines(): MetricLine[] {
    const name = "stratagem_shadow_runs_total";
    const up = "stratagem_shadow_worker_up";
    return [
      head(up, "gauge", "1 while the worker is up on which the best variant answers again"),
      line(up, {}, this.#options.shadow.isOpen ? 1 : 0),
      head(
        name,
        "counter",
        "Rows that the best variant was to answer again, by who answered first",
      ),
      ...Array.from(this.#counts).flatMap(([variant, counts]) =>
        OUTCOMES.map((outcome) => line(name, { variant, outcome }, counts[outcome])),
      ),
    ];
  }

  #take(variant: string, inputs: readonly Uint8Array[], prediction: Prediction): void {
    const bytes = inputs.reduce((sum, { length }) => sum + length, 0);
    const isFull = this.#waiting.length >= MAX_WAITING;
    if (isFull || this.#waitingBytes + bytes > MAX_WAITING_BYTES) {
      this.#count(variant, "skipped");
      return;
    }
    this.#waiting.push({ inputs, variant, prediction, bytes });
    this.#waitingBytes += bytes;
  }

  /** The memory of a request is another's once it is answered. */
  #copied({ rows, inputs }: RequestRows, row: number): Uint8Array[] {
    return this.#options.signature.inputs.map(({ datatype, rowShape }, index) => {
      const bytes = inputs[index] ?? new Uint8Array();
      const bounds = rowBounds(datatype, bytes, rows, elementCountOf(rowShape)) ?? [];
      return bytes.slice(bounds[row], bounds[row + 1]);
    });
  }

  #next(): void {
    if (this.#isRunning || !this.#options.isIdle()) return;
    const sampled = this.#waiting.shift();
    if (sampled === undefined) return;
    this.#waitingBytes -= sampled.bytes;
    this.#isRunning = true;
    void this.#run(sampled).then((outcome) => {
      this.#count(sampled.variant, outcome);
      this.#isRunning = false;
      this.onSettled();
    });
  }

  /** Never rejects. */
  async #run({ inputs, variant, prediction }: Sampled): Promise<RunOutcome> {
    const { shadow, book } = this.#options;
    try {
      const outputs = await shadow.run(inputs);
      const [own] = book.reader.read({ outputs }, 1) ?? [];
      if (own === undefined) return "failed";
      const isSame = own.index === prediction.index && own.name === prediction.name;
      book.counts.onCompared(variant, isSame);
      return isSame ? "same" : "different";
    } catch {
      // Its worker was lost, or the server closes; the former is told by the worker.
      return "failed";
    }
  }

  #count(variant: string, outcome: RunOutcome): void {
    const known = this.#counts.get(variant);
    const counts = known ?? { same: 0, different: 0, skipped: 0, failed: 0 };
    counts[outcome]++;
    if (known === undefined) this.#counts.set(variant, counts);
  }
}
