/** Assigns feedback to the bundle that answered, while two bundles answer. */

import type { FeedbackBody } from "./feedback-body.ts";
import type { Counted, FeedbackBook } from "./feedback-book.ts";

/**
 * @param book also takes feedback on unknown requests. @param other of the second bundle, if any.
 * @throws as `FeedbackBook.take` does; the other book may have counted its part by then.
 */
export function takeFeedback(
  book: FeedbackBook,
  other: FeedbackBook | undefined,
  body: FeedbackBody,
  client: string,
  nowMs: number,
): Counted {
  const isOther = ({ id }: { readonly id: string }) => other?.knows({ id, client }, nowMs) === true;
  const items = body.items.filter(isOther);
  if (other === undefined || items.length === 0) return book.take(body, client, nowMs);
  const counted = other.take({ ...body, items }, client, nowMs);
  const rest = body.items.filter((item) => !isOther(item));
  if (!rest.some(({ id }) => book.knows({ id, client }, nowMs))) {
    return { ...counted, unknown: [...counted.unknown, ...rest.map(({ id }) => id)] };
  }
  return added(counted, book.take({ ...body, items: rest }, client, nowMs));
}

function added(one: Counted, other: Counted): Counted {
  const variants = { ...one.variants };
  for (const [name, { correct, wrong }] of Object.entries(other.variants)) {
    const known = Object.hasOwn(variants, name) ? variants[name] : undefined;
    variants[name] = {
      correct: correct + (known?.correct ?? 0),
      wrong: wrong + (known?.wrong ?? 0),
    };
  }
  return {
    correct: one.correct + other.correct,
    wrong: one.wrong + other.wrong,
    variants,
    unknown: [...one.unknown, ...other.unknown],
    repeated: [...one.repeated, ...other.repeated],
  };
}
