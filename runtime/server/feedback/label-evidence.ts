/** What labels say of the variants that the bundle states accuracies of, for who watches those. */
import type { FeedbackBook } from "./feedback-book.ts";

export interface LabelEvidence {
  /** As the bundle names it. */
  readonly variant: string;
  /** Rows that it answered and whose truth is known. */
  readonly asked: number;
  /** Those of them that it had right. */
  readonly correct: number;
}

/**
 * Of models whose rows one variant answers each: what a pipeline ends with does not tell which of
 * its tasks was right. Agreement is left out, for it stands on the best variant's accuracy.
 * @param books of all models of an application.
 */
export function labelEvidence(books: readonly FeedbackBook[]): LabelEvidence[] {
  return books.flatMap((book) => {
    if (!book.isOfVariants) return [];
    return book.counts.accuracies().flatMap(({ name: variant, labels: { correct, wrong } }) => {
      const asked = correct + wrong;
      return asked === 0 ? [] : [{ variant, asked, correct }];
    });
  });
}
