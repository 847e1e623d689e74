/** Bundles that the suite shows to people: on a page, in words and beside each other. */
import type { Bundle } from "../../../runtime/bundle/schema.ts";

export interface ShownSubject {
  /** Of several levels. */
  readonly bundle: Bundle;
  /** A small one, of whose names one is `MARKUP`. */
  readonly markedUp: Bundle;
  /** Whether a page can be asked for what there is of tables alone. */
  readonly hasTables: boolean;
  /** Whether it shows days that were simulated; left out for no. */
  readonly hasDays?: true;
}

/** A name that would be markup, were it not escaped. */
export const MARKUP = `<i>"one"&`;
