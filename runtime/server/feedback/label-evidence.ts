/** What labels say of the variants that the bundle states accuracies of, for who watches those. */
import type { AccuracyEvidence } from "../drift/accuracy-evidence.ts";
import type { FeedbackBook } from "./feedback-book.ts";

/**
 * Of models whose rows one variant answers each: what a pipeline ends with does not tell which of
 * its tasks was right.
 * @param books of all models of an application.
 */
export function labelEvidence(books: readonly FeedbackBook[]): AccuracyEvidence {
  const ofVariants = books.filter(({ isOfVariants }) => isOfVariants);
  return { counts: () => ofVariants.flatMap(({ counts }) => counts.labelled()) };
}
