/** What the scheduler of a method, which drives its core in a server, is put through. */
import type fc from "fast-check";
import type { RecordedEntry, Replayer } from "../../../runtime/server/requests/recorded-entry.ts";
import type { Answer, Outcome } from "../../../runtime/server/requests/request.ts";

export interface ScheduledSubject {
  readonly stories: fc.Arbitrary<ScheduledStory>;
  /** How many of them say enough. */
  readonly runs: number;
  /** Why requests have to fail in some of them, or they would say little. */
  readonly failures: readonly string[];
}

export interface ScheduledStory {
  /**
   * From the beginning to the end of all that is under way, on models that are not real. Workers
   * that were lost come back, but those that are gone for good.
   */
  play(gone: readonly number[]): Promise<PlayedRequests>;
}

export interface PlayedRequests {
  readonly requests: readonly PlayedRequest[];
  /** Rows that are still open. */
  pendingCount(): number;
  /** What the core was told and what it said. */
  readonly log: readonly RecordedEntry[];
  /** A fresh core to be told the same. */
  replayer(): Replayer;
  /** Sends one more request, and gives up all that is open. */
  abort(): Promise<Outcome>;
}

export interface PlayedRequest {
  readonly outcome: Promise<Outcome>;
  /** @throws Error unless the answer has the rows of the request, in order. */
  checkOwn(answer: Answer): void;
}
