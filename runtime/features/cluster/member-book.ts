/**
 * Who is a member of a cluster, as one front end sees it: a state machine over what it hears, and
 * when. It has no clock and no link of its own.
 */
import type { WorkerState } from "./worker-state.ts";

export const BEAT_MS = 1000;
/** Three beats are missing, and the last of them is not merely late. */
export const SILENT_MS = 3.5 * BEAT_MS;
/** Whoever looks less often than that was stopped itself, and has heard nobody meanwhile. */
const STOPPED_MS = 2 * BEAT_MS;
/** From then on a member may be asked whether it is there. */
const DOUBTFUL_MS = 2 * BEAT_MS;
const MAX_KNOWN = 10_000;

interface Known {
  state: WorkerState;
  heardMs: number;
  isIn: boolean;
  /** Session that this one took the place of; null for none. */
  replaced: string | null;
}

/** What became of a beat; `another`: two workers have one name, and the later one keeps it. */
type Beaten = "same" | "changed" | "another";

export class MemberBook {
  readonly #known = new Map<string, Known>();
  #members: readonly WorkerState[] = [];
  /** Null while the link is there. */
  #awayMs: number | null = 0;
  #lookedMs = 0;

  /** By name. The same list until it changes. */
  get members(): readonly WorkerState[] {
    return this.#members;
  }

  /** A worker said something of itself. */
  onBeat(state: WorkerState, nowMs: number): Beaten {
    const known = this.#known.get(state.name);
    if (known?.isIn === true && known.replaced === state.session) return "another";
    return this.#take(state, known, nowMs) ? "changed" : "same";
  }

  /** What was kept of a worker, who may have gone. @returns whether the members changed. */
  onKept(state: WorkerState, nowMs: number): boolean {
    if (this.#known.has(state.name)) return false;
    return this.#take(state, undefined, nowMs);
  }

  /** A worker answered, by whatever way. */
  onHeard(name: string, nowMs: number): void {
    const known = this.#known.get(name);
    if (known?.isIn === true) known.heardMs = Math.max(known.heardMs, nowMs);
  }

  /** Nothing can be heard from now on, so nobody is silent. */
  onAway(nowMs: number): void {
    this.#awayMs ??= nowMs;
  }

  /** From now on silence counts again, for each from here. */
  onBack(nowMs: number): void {
    this.#awayMs = null;
    this.#lookedMs = nowMs;
    this.#forgive(nowMs);
  }

  /** Has to be called about twice in a beat. @returns whether the members changed. */
  onLook(nowMs: number): boolean {
    if (nowMs - this.#lookedMs > STOPPED_MS) this.#forgive(nowMs);
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

  /** Members that will be put out soon, unless something is heard of them. */
  doubtful(nowMs: number): WorkerState[] {
    if (this.#awayMs !== null) return [];
    const silent = [...this.#known.values()].filter(
      ({ isIn, heardMs }) => isIn && nowMs - heardMs > DOUBTFUL_MS,
    );
    return silent.map(({ state }) => state);
  }

  /** Names of those that were silent for so long, who are then forgotten. */
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

  #forgive(nowMs: number): void {
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
