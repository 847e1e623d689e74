/** Feedback of all models of a server. */

import { labelled } from "../../base/exposition.ts";
import type { Bundle } from "../../bundle/schema.ts";
import type { Application, ApplicationPart } from "../../server/applications/application.ts";
import type { AnsweredRequest } from "../../server/applications/hooks.ts";
import type { HostedModel } from "../../server/applications/hosted-model.ts";
import type { EndpointModel } from "../../server/requests/endpoint.ts";
import { FeedbackBook } from "./feedback-book.ts";
import { feedbackLines } from "./feedback-document.ts";

interface FeedbackBooksOptions {
  /** Limit of the answered rows kept for feedback, over all requests of a model. */
  readonly maxRows: number;
  /** How long an answer accepts feedback. */
  readonly retentionMs: number;
  readonly nowMs: () => number;
  readonly epochOffsetMs: () => number;
}

export class FeedbackBooks {
  readonly #options: FeedbackBooksOptions;
  readonly #byModel = new WeakMap<EndpointModel, FeedbackBook>();

  constructor(options: FeedbackBooksOptions) {
    this.#options = options;
  }

  of({ model }: HostedModel): FeedbackBook | undefined {
    return this.#byModel.get(model);
  }

  onAnswered({ hosted, rows, answer, id, client }: AnsweredRequest): void {
    if (id === undefined) return;
    this.of(hosted)?.onAnswered({ id, client }, rows, answer, this.#options.nowMs());
  }

  /** Starts to record the answers of an application. */
  partOf({ endpoint: { bundle, models } }: Application): ApplicationPart {
    const books = models.map((model) => {
      const book = this.#bookOf(bundle, model);
      this.#byModel.set(model, book);
      return book;
    });
    return {
      lines: () => books.flatMap((book) => labelled(feedbackLines(book), { model: book.model })),
      labelled: () => books.flatMap((book) => book.labelled()),
    };
  }

  #bookOf(bundle: Bundle, { signature }: EndpointModel): FeedbackBook {
    const { maxRows, retentionMs, nowMs, epochOffsetMs } = this.#options;
    const profiledByVariant = new Map<string, number>();
    // In a pipeline the accuracy belongs to a path, which answers report.
    for (const task of signature.answersByRow === true ? bundle.tasks : []) {
      for (const { name, accuracy } of task.variants) profiledByVariant.set(name, accuracy);
    }
    return new FeedbackBook({
      model: signature.names[0] ?? "",
      signature,
      profiledByVariant,
      maxRows,
      retentionMs,
      sinceEpochMs: nowMs() + epochOffsetMs(),
    });
  }
}
