/** Feedback received on the answers of a model. */
import { HttpError } from "../../server/connections/http-error.ts";
import type { LabelledAnswers } from "../../server/measures/facts.ts";
import type { Answer } from "../../server/requests/request.ts";
import { BadRequest } from "../../server/tensors/bad-request.ts";
import { agrees, PredictionReader } from "../../server/tensors/predictions.ts";
import type { ClientSignature } from "../../server/tensors/signature.ts";
import { AnsweredRequests, type AnsweredRows, type Asker } from "./answered-requests.ts";
import type { FeedbackBody, FeedbackItem } from "./feedback-body.ts";
import { VariantCounts } from "./variant-counts.ts";

interface FeedbackBookOptions {
  readonly model: string;
  readonly signature: ClientSignature;
  /**
   * Profiled accuracy of variants that answer rows by themselves; others report it with their
   * answers.
   */
  readonly profiledByVariant: ReadonlyMap<string, number>;
  /** Limit of the answered rows kept for feedback, over all requests. */
  readonly maxRows: number;
  /** How long an answer accepts feedback. */
  readonly retentionMs: number;
  /** When counting began, ms since 1970. */
  readonly sinceEpochMs: number;
}

/** Counts from one body. */
export interface Counted {
  readonly correct: number;
  readonly wrong: number;
  readonly variants: Readonly<Record<string, { correct: number; wrong: number }>>;
  /** Ids in a list that are unknown or expired, and ids that already had feedback. */
  readonly unknown: readonly string[];
  readonly repeated: readonly string[];
}

interface Judged {
  readonly asker: Asker;
  readonly variants: readonly string[];
  readonly isRight: readonly boolean[];
}

export class FeedbackBook {
  readonly counts: VariantCounts;
  readonly #options: FeedbackBookOptions;
  readonly #reader: PredictionReader;
  readonly #requests: AnsweredRequests;
  #unknown = 0;
  #repeated = 0;

  constructor(options: FeedbackBookOptions) {
    this.#options = options;
    this.#reader = new PredictionReader(options.signature);
    this.#requests = new AnsweredRequests(options.maxRows, options.retentionMs);
    this.counts = new VariantCounts(options.profiledByVariant);
  }

  get model(): string {
    return this.#options.model;
  }

  /** Rejected feedback: unknown requests, and repeated feedback. */
  get refused(): { readonly unknown: number; readonly repeated: number } {
    return { unknown: this.#unknown, repeated: this.#repeated };
  }

  /**
   * Rows whose truth is known, by variant. Empty for pipelines, where the result does not show
   * which task was right.
   */
  labelled(): readonly LabelledAnswers[] {
    const { answersByRow, variants } = this.#options.signature;
    return answersByRow === true || variants.length === 1 ? this.counts.labelled() : [];
  }

  /** Memory of the answers that await feedback. */
  get bytes(): number {
    return this.#requests.bytes;
  }

  get sinceEpochMs(): number {
    return this.#options.sinceEpochMs;
  }

  /** Whether the request was answered by this model; it may already have feedback. */
  knows(asker: Asker, nowMs: number): boolean {
    return this.#requests.find(asker, nowMs) !== undefined;
  }

  /** Records the answer of a request whose id the client knows. */
  onAnswered(asker: Asker, rows: number, answer: Answer, nowMs: number): void {
    const answered = { variants: this.#variantsOf(answer, rows), predictions: undefined };
    const predictions = this.#reader.read(answer, rows);
    this.#requests.keep(asker, { ...answered, predictions }, nowMs);
  }

  /** Names per row the variant that answered, or the path of variants in a pipeline. */
  #variantsOf({ variantByRow, answerer }: Answer, rows: number): readonly string[] {
    const { variants } = this.#options.signature;
    if (variantByRow !== undefined) {
      return variantByRow.map((variant) => variants[variant]?.name ?? "");
    }
    const name = this.counts.known(answerer);
    return new Array<string>(rows).fill(name);
  }

  /**
   * Counts a body's feedback, all or nothing; unknown requests in a list are skipped.
   * @throws BadRequest if it does not match the answer; HttpError 404 if no request is known, 409
   * if all already have feedback.
   */
  take({ items, isList }: FeedbackBody, client: string, nowMs: number): Counted {
    const judged: Judged[] = [];
    const unknown: string[] = [];
    const repeated: string[] = [];
    const seen = new Set<string>();
    for (const item of items) {
      const asker = { id: item.id, client };
      const answered = this.#requests.find(asker, nowMs);
      if (answered === undefined) unknown.push(item.id);
      else if (answered === null || seen.has(item.id)) repeated.push(item.id);
      else {
        judged.push({ asker, variants: answered.variants, isRight: this.#judge(item, answered) });
        seen.add(item.id);
      }
    }
    this.#unknown += unknown.length;
    this.#repeated += repeated.length;
    if (judged.length === 0) throw refusal(unknown, repeated, isList);
    return { ...this.#count(judged), unknown, repeated };
  }

  /** Returns per row whether the answer was right. @throws BadRequest */
  #judge({ path, truth }: FeedbackItem, answered: AnsweredRows): readonly boolean[] {
    const { variants, predictions } = answered;
    const rows = variants.length;
    const at = `${path}${truth.kind}`;
    if (truth.rows.length !== rows) {
      const expected = rows === 1 ? "expected one value" : `expected ${rows} values, one per row`;
      throw new BadRequest(at, expected, truth.rows.length);
    }
    if (truth.kind === "correct") return truth.rows;
    if (predictions === undefined) {
      const expected =
        "expected correct instead of label: the answer does not have one class per row";
      throw new BadRequest(at, expected, truth.rows[0]);
    }
    const { classes } = this.#reader;
    return truth.rows.map((label, row) => {
      const rowPath = rows === 1 ? at : `${at}[${row}]`;
      return agrees(label, predictions[row] ?? {}, classes, rowPath);
    });
  }

  #count(judged: readonly Judged[]): Omit<Counted, "unknown" | "repeated"> {
    const variants: Record<string, { correct: number; wrong: number }> = {};
    let [correct, wrong] = [0, 0];
    for (const { asker, variants: names, isRight: rights } of judged) {
      this.#requests.settle(asker);
      for (const [row, right] of rights.entries()) {
        const name = names[row] ?? "";
        this.counts.onLabel(name, right);
        const counted = Object.hasOwn(variants, name) ? variants[name] : undefined;
        const counts = counted ?? { correct: 0, wrong: 0 };
        variants[name] = counts;
        if (right) [counts.correct, correct] = [counts.correct + 1, correct + 1];
        else [counts.wrong, wrong] = [counts.wrong + 1, wrong + 1];
      }
    }
    return { correct, wrong, variants };
  }
}

function refusal(
  unknown: readonly string[],
  repeated: readonly string[],
  isList: boolean,
): HttpError {
  const [first] = unknown;
  const where = isList ? "feedback: " : "";
  if (first !== undefined) {
    const why = "it was not answered by this server under that id, or its feedback time has passed";
    return new HttpError(404, `${where}no request "${first}" is known: ${why}`);
  }
  return new HttpError(409, `${where}request "${repeated[0]}" already has feedback`);
}
