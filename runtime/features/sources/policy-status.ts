/** How a policy stands with its source. */
import type { Fault } from "./source-error.ts";
import type { Staged } from "./staging.ts";

/**
 * `followed`: what the source has decides. `refused`: it has something that does not, and what did
 * before goes on. `away`: nobody knows what it has.
 */
export const POLICY_STATES = ["starting", "followed", "refused", "away"] as const;
type PolicyState = (typeof POLICY_STATES)[number];

/** What a look at a source came to. */
export const LOOK_RESULTS = ["unchanged", "followed", "refused", "failed"] as const;
type LookResult = (typeof LOOK_RESULTS)[number];

/** A bundle that a source has. */
export interface FoundBundle {
  /** Of the revision that it is, or would be. */
  readonly id: string;
  readonly sha256: string;
}

/** What the source has and the server does not follow. */
interface Refused extends Fault {
  /** Of the revision; null where it could not be told. */
  readonly id: string | null;
  readonly sha256: string | null;
  /** Milliseconds since 1970, of the last try. */
  readonly epochMs: number;
  readonly tries: number;
}

interface Away extends Fault {
  /** Since when, milliseconds since 1970. */
  readonly epochMs: number;
  /** In a row. */
  readonly failures: number;
}

export class PolicyStatus {
  readonly source: string;
  application: string | null = null;
  /** What decides. */
  inForce: Staged | null = null;
  /** Since when, milliseconds since 1970. */
  inForceEpochMs: number | null = null;
  refused: Refused | null = null;
  away: Away | null = null;
  /** Milliseconds since 1970 of the last look, and of the last one that was answered. */
  lookEpochMs: number | null = null;
  answerEpochMs: number | null = null;
  /** When what the source has was last found to be what decides, milliseconds since 1970. */
  successEpochMs: number | null = null;
  /** Bytes that came from it. */
  byteCount = 0;
  readonly #countByResult = new Map<LookResult, number>(LOOK_RESULTS.map((one) => [one, 0]));

  constructor(source: string) {
    this.source = source;
  }

  get state(): PolicyState {
    if (this.away !== null) return "away";
    if (this.refused !== null) return "refused";
    return this.successEpochMs === null ? "starting" : "followed";
  }

  count(result: LookResult): void {
    this.#countByResult.set(result, this.countOf(result) + 1);
  }

  countOf(result: LookResult): number {
    return this.#countByResult.get(result) ?? 0;
  }

  decides(staged: Staged, nowEpochMs: number): void {
    this.application = staged.revision.application;
    this.inForce = staged;
    this.inForceEpochMs = nowEpochMs;
    this.refused = null;
  }

  /** What the source has is known. @returns whether that is news. */
  answered(nowEpochMs: number): boolean {
    const before = this.state;
    this.away = null;
    this.answerEpochMs = nowEpochMs;
    if (this.refused === null) this.successEpochMs = nowEpochMs;
    return this.state !== before;
  }

  /**
   * What the source has is not followed.
   * @param found null where it could not be told what it is. @returns whether that is news.
   */
  refuse(found: FoundBundle | null, { code, message }: Fault, nowEpochMs: number): boolean {
    const { id, sha256 } = found ?? { id: null, sha256: null };
    const before = this.refused?.id === id ? this.refused : null;
    const tries = (before?.tries ?? 0) + 1;
    this.refused = { id, sha256, epochMs: nowEpochMs, tries, code, message };
    this.count("refused");
    return before?.message !== message;
  }

  /** Nobody knows what the source has. @returns whether that is news. */
  fail({ code, message }: Fault, nowEpochMs: number): boolean {
    const { away } = this;
    const [failures, epochMs] = [(away?.failures ?? 0) + 1, away?.epochMs ?? nowEpochMs];
    this.away = { code, message, failures, epochMs };
    this.count("failed");
    return away?.message !== message;
  }
}
