/** What an experiment is: a part of a page of docs/experiments that one command prints again. */
import type { Flags } from "./flags.ts";
import type { Page } from "./page.ts";

/** What an experiment is given. */
export interface Run {
  readonly page: Page;
  readonly flags: Flags;
  /** An empty folder that goes when the experiment is over. */
  readonly folder: string;
}

export interface Experiment {
  readonly name: string;
  /** What it prints, in a few words. */
  readonly about: string;
  /** About how long, on two cores. */
  readonly takes: string;
  /** By name, without dashes: what it changes. All take a value and may be repeated. */
  readonly options?: Readonly<Record<string, string>>;
  /** Run only where it is named: it measures this machine, or prints what no page shows. */
  readonly isExtra?: true;
  readonly run: (run: Run) => void | Promise<void>;
}
