/** What a part of the hostile campaign is: things that are tried, and which of them did harm. */

/** What a part is given. */
export interface Attack {
  /** Cases to try, or seconds to run for, as the part says. */
  readonly size: number;
  /** The same seed tries the same cases. */
  readonly seed: number;
  /** An empty folder that goes when the part is over. */
  readonly folder: string;
  /** Tells how far it is, now and then. */
  readonly say: (line: string) => void;
}

export interface Outcome {
  readonly tried: number;
  /** What was lost, each with how it can be tried again; `tried` less these survived. */
  readonly lost: readonly string[];
  /** What was measured, by name with its unit: figures for the table. */
  readonly figures: Readonly<Record<string, string>>;
}

export interface Part {
  readonly name: string;
  /** What it tries, in a few words. */
  readonly about: string;
  /** What `size` counts: such as "bodies" or "s for each method". */
  readonly unit: string;
  /** Size of the campaign, and of the short form that the tests run. */
  readonly sizes: { readonly full: number; readonly short: number };
  /** Minutes of the full size on two cores. */
  readonly minutes: number;
  readonly run: (attack: Attack) => Promise<Outcome>;
}
