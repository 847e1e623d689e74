/** Status of a policy in relation to its source. */
import type { Fault } from "./source-error.ts";
import type { Staged } from "./staging.ts";

/**
 * `followed`: the source's bundle decides. `refused`: the source's bundle is rejected, and the
 * previous one still decides. `away`: the source is unreachable.
 */
export const POLICY_STATES = ["starting", "followed", "refused", "away"] as const;
type PolicyState = (typeof POLICY_STATES)[number];

/** Outcomes of a poll. */
export const LOOK_RESULTS = ["unchanged", "followed", "refused", "failed"] as const;
type LookResult = (typeof LOOK_RESULTS)[number];

export interface FoundBundle {
  /** Id of its revision. */
  readonly id: string;
  readonly sha256: string;
}

/** Rejected bundle of a source. */
interface Refused extends Fault {
  /** Id of its revision; null if it could not be identified. */
  readonly id: string | null;
  readonly sha256: string | null;
  /** Last attempt, milliseconds since 1970. */
  readonly epochMs: number;
  readonly tries: number;
}

interface Away extends Fault {
  /** Since when it is unreachable, milliseconds since 1970. */
  readonly epochMs: number;
  /** Consecutive failures. */
  readonly failures: number;
}

export class PolicyStatus {
  readonly source: string;
  application: string | null = null;
  /** Revision that decides. */
  inForce: Staged | null = null;
  /** Since when it decides, milliseconds since 1970. */
  inForceEpochMs: number | null = null;
  refused: Refused | null = null;
  away: Away | null = null;
  /** Last poll and last answered poll, milliseconds since 1970. */
  lookEpochMs: number | null = null;
  answerEpochMs: number | null = null;
  /** Last time the source's bundle was the deciding one, milliseconds since 1970. */
  successEpochMs: number | null = null;
  /** Bytes received from the source. */
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

  /** Records that the source has answered. @returns whether the state changed. */
  answered(nowEpochMs: number): boolean {
    const before = this.state;
    this.away = null;
    this.answerEpochMs = nowEpochMs;
    if (this.refused === null) this.successEpochMs = nowEpochMs;
    return this.state !== before;
  }

  /**
   * Records that the source's bundle was rejected.
   * @param found null if it could not be identified. @returns whether this is new.
   */
  refuse(found: FoundBundle | null, { code, message }: Fault, nowEpochMs: number): boolean {
    const { id, sha256 } = found ?? { id: null, sha256: null };
    const before = this.refused?.id === id ? this.refused : null;
    const tries = (before?.tries ?? 0) + 1;
    this.refused = { id, sha256, epochMs: nowEpochMs, tries, code, message };
    this.count("refused");
    return before?.message !== message;
  }

  /** Records that the source is unreachable. @returns whether this is new. */
  fail({ code, message }: Fault, nowEpochMs: number): boolean {
    const { away } = this;
    const [failures, epochMs] = [(away?.failures ?? 0) + 1, away?.epochMs ?? nowEpochMs];
    this.away = { code, message, failures, epochMs };
    this.count("failed");
    return away?.message !== message;
  }
}
