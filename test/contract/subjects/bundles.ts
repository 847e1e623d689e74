/** Sound bundles of a method that the suite changes, and what makes one sound. */
import type { Bundle } from "../../../runtime/bundle/schema.ts";

export interface BundleSubject {
  readonly samples: readonly Sample[];
  /**
   * Checks all that a runtime relies on without the validator, and does with it what a runtime
   * does.
   */
  checkSound(bundle: Bundle): void;
}

export interface Sample {
  readonly what: string;
  /** Small, as it is read thousands of times. */
  readonly bundle: Bundle;
}

type BundleOf<M extends Bundle["method"]> = Extract<Bundle, { readonly method: M }>;

/** A check of bundles of one method; a bundle that has become another's is that one's. */
export function only<M extends Bundle["method"]>(
  method: M,
  check: (bundle: BundleOf<M>) => void,
): (bundle: Bundle) => void {
  const isOwn = (bundle: Bundle): bundle is BundleOf<M> => bundle.method === method;
  return (bundle) => {
    if (isOwn(bundle)) check(bundle);
  };
}
