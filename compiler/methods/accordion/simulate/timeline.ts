/** Occupancy of the places; arrays are by step, from time 0 to the end of the last query. */
export interface PlaceTimelineSteps {
  readonly stepMs: number;
  /** Means over each step; the last step may be incomplete. */
  readonly busyPlaces: readonly number[];
  readonly activeQueries: readonly number[];
  readonly waitingQueries: readonly number[];
}

/** Integrates step functions of time, in total and over equal steps. */
export class PlaceTimeline {
  /** ∫ busy places dt, ∫ active queries dt so far. */
  busyMs = 0;
  activeMs = 0;
  mostActive = 0;
  readonly #stepMs: number;
  /** Integrals by step: busy, active, waiting; a step is added once time reaches it. */
  readonly #steps: [number[], number[], number[]] = [[], [], []];
  #nowMs = 0;
  #busy = 0;
  #active = 0;
  #waiting = 0;

  /** @param stepMs Infinity for no steps. */
  constructor(stepMs: number) {
    this.#stepMs = stepMs;
  }

  /** Records the values from now on. Times do not go back. */
  observe(nowMs: number, busy: number, active: number, waiting: number): void {
    if (nowMs > this.#nowMs) this.#passUntil(nowMs);
    this.#busy = busy;
    this.#active = active;
    this.#waiting = waiting;
    if (active > this.mostActive) this.mostActive = active;
  }

  /** Steps so far; null without steps. */
  steps(): PlaceTimelineSteps | null {
    const stepMs = this.#stepMs;
    if (stepMs === Number.POSITIVE_INFINITY) return null;
    const [busyPlaces, activeQueries, waitingQueries] = this.#steps.map((integrals) =>
      integrals.map((sum, step) => sum / Math.min(stepMs, this.#nowMs - step * stepMs)),
    );
    return {
      stepMs,
      busyPlaces: busyPlaces ?? [],
      activeQueries: activeQueries ?? [],
      waitingQueries: waitingQueries ?? [],
    };
  }

  #passUntil(nowMs: number): void {
    const passedMs = nowMs - this.#nowMs;
    this.busyMs += this.#busy * passedMs;
    this.activeMs += this.#active * passedMs;
    if (this.#stepMs < Number.POSITIVE_INFINITY) this.#fillSteps(nowMs);
    this.#nowMs = nowMs;
  }

  #fillSteps(nowMs: number): void {
    const stepMs = this.#stepMs;
    const [busy, active, waiting] = this.#steps;
    for (let step = Math.floor(this.#nowMs / stepMs); step * stepMs < nowMs; step++) {
      const fromMs = Math.max(this.#nowMs, step * stepMs);
      const passedMs = Math.min(nowMs, (step + 1) * stepMs) - fromMs;
      add(busy, step, this.#busy * passedMs);
      add(active, step, this.#active * passedMs);
      add(waiting, step, this.#waiting * passedMs);
    }
  }
}

function add(integrals: number[], step: number, amount: number): void {
  while (integrals.length <= step) integrals.push(0);
  integrals[step] = (integrals[step] ?? 0) + amount;
}
