/** What the core of a method is put through: anything that can happen, in any order. */
import type fc from "fast-check";
import type { Bundle } from "../../../runtime/bundle/schema.ts";

export interface CoreSubject {
  readonly stories: fc.Arbitrary<Story>;
  /** How many of them say enough. */
  readonly runs: number;
  /** What has to happen in some of them, or they would say little. */
  readonly mustHappen: readonly string[];
}

export interface Story {
  /** From the beginning; what every driver relies on is checked with every event. */
  play(): Played;
}

export interface Played {
  /** What it followed, where lines of its log tell batches: `start WORKER MODEL QUERY,…`. */
  readonly bundle?: Bundle;
  /** Everything that the core said. */
  readonly log: readonly string[];
  /** How often what happened. */
  readonly happened: ReadonlyMap<string, number>;
  /** Workers come back, but those that are gone for good, and all that is under way ends. */
  end(gone: readonly number[]): Ending;
}

/** Of queries, or of requests. */
export interface Ending {
  readonly came: number;
  /** Served, dropped, cancelled or lost with a worker. */
  readonly ended: number;
  readonly waiting: number;
}
