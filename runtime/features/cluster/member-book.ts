/**
 * Members of a cluster as seen by one front end: a state machine over beats and times, without a
 * clock or connection of its own.
 */
import type { WorkerState } from "./worker-state.ts";

export const BEAT_MS = 1000;
/** Silence that excludes a worker: three missing beats and some delay. */
export const SILENT_MS = 3.5 * BEAT_MS;
/** A longer interval between checks means that this process was suspended and missed beats. */
const STOPPED_MS = 2 * BEAT_MS;
/** Silence from which a member is checked over HTTP. */
const DOUBTFUL_MS = 2 * BEAT_MS;
const MAX_KNOWN = 10_000;

interface Known {
  state: WorkerState;
  heardMs: number;
  isIn: boolean;
  /** Session that this one replaced; null for none. */
  replaced: string | null;
}

/** Result of a beat; `another`: two workers have the same name, and the later one keeps it. */
type Beaten = "same" | "changed" | "another";

export class MemberBook {
  readonly #known = new Map<string, Known>();
  #members: readonly WorkerState[] = [];
  /** Null while connected. */
  #awayMs: number | null = 0;
  #lookedMs = 0;

  /** Members by name; the same array until they change. */
  get members(): readonly WorkerState[] {
    return this.#members;
  }

  /** Handles a beat of a worker. */
  onBeat(state: WorkerState, nowMs: number): Beaten {
    const known = this.#known.get(state.name);
    if (known?.isIn === true && known.replaced === state.session) return "another";
    return this.#take(state, known, nowMs) ? "changed" : "same";
  }

  /**
   * Handles the stored state of a worker, which may be gone. @returns whether the members changed.
   */
  onKept(state: WorkerState, nowMs: number): boolean {
    if (this.#known.has(state.name)) return false;
    return this.#take(state, undefined, nowMs);
  }

  /** Records any other sign of life of a worker. */
  onHeard(name: string, nowMs: number): void {
    const known = this.#known.get(name);
    if (known?.isIn === true) known.heardMs = Math.max(known.heardMs, nowMs);
  }

  /** Suspends the detection of silence while disconnected. */
  onAway(nowMs: number): void {
    this.#awayMs ??= nowMs;
  }

  /** Resumes the detection of silence, counted from now. */
  onBack(nowMs: number): void {
    this.#awayMs = null;
    this.#lookedMs = nowMs;
    this.#resetSilence(nowMs);
  }

  /** Must be called about twice per beat. @returns whether the members changed. */
  onLook(nowMs: number): boolean {
    if (nowMs - this.#lookedMs > STOPPED_MS) this.#resetSilence(nowMs);
    this.#lookedMs = nowMs;
    if (this.#awayMs !== null) return false;
    let isChanged = false;
    for (const known of this.#known.values()) {
      if (!known.isIn || nowMs - known.heardMs <= SILENT_MS) continue;
      known.isIn = false;
      isChanged = true;
    }
    if (isChanged) this.#list();
    return isChanged;
  }

  /** Members that will be excluded soon unless they are heard. */
  doubtful(nowMs: number): WorkerState[] {
    if (this.#awayMs !== null) return [];
    const silent = [...this.#known.values()].filter(
      ({ isIn, heardMs }) => isIn && nowMs - heardMs > DOUBTFUL_MS,
    );
    return silent.map(({ state }) => state);
  }

  /** Forgets workers that were silent for a time. @returns their names. */
  forget(silentMs: number, nowMs: number): string[] {
    if (this.#awayMs !== null) return [];
    const gone = [...this.#known].filter(
      ([, { isIn, heardMs }]) => !isIn && nowMs - heardMs > silentMs,
    );
    for (const [name] of gone) this.#known.delete(name);
    return gone.map(([name]) => name);
  }

  #take(state: WorkerState, known: Known | undefined, nowMs: number): boolean {
    if (known === undefined && this.#known.size >= MAX_KNOWN) return false;
    const wasIn = known?.isIn === true;
    const isIn = !state.isLeaving;
    const isOther = known === undefined || !isSame(known.state, state);
    const isNewSession = known !== undefined && known.state.session !== state.session;
    const replaced = isNewSession ? known.state.session : (known?.replaced ?? null);
    const kept = isOther ? state : known.state;
    this.#known.set(state.name, { state: kept, heardMs: nowMs, isIn, replaced });
    if (wasIn === isIn && !(isIn && isOther)) return false;
    this.#list();
    return true;
  }

  #resetSilence(nowMs: number): void {
    for (const known of this.#known.values()) {
      if (known.isIn) known.heardMs = Math.max(known.heardMs, nowMs);
    }
  }

  #list(): void {
    const states = [...this.#known.values()].filter(({ isIn }) => isIn).map(({ state }) => state);
    this.#members = states.sort((one, other) => (one.name < other.name ? -1 : 1));
  }
}

function isSame(one: WorkerState, other: WorkerState): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
