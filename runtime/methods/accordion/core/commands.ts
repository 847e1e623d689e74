/**
 * Kinds of commands: a query begins on its places; a running one goes on with other places; a query
 * is given up.
 */
export const START = 0;
export const RESHAPE = 1;
export const DROP = 2;

/**
 * Why a query is dropped: it would be too late; no place is up; places were lost
 * under it twice, or when it was late.
 */
export const DROP_LATE = 0;
export const DROP_NO_PLACE = 1;
export const DROP_PLACES_LOST = 2;

/**
 * Commands of the scheduler, in order; reused for every event: the driver reads it by index,
 * carries it out, and clears it.
 */
export class AccordionCommands {
  readonly #kind: number[] = [];
  readonly #query: number[] = [];
  readonly #shape: number[] = [];
  readonly #resumeAt: number[] = [];
  readonly #reason: number[] = [];
  /** Start of a command's places in `#places`. */
  readonly #first: number[] = [];
  readonly #places: number[] = [];
  #count = 0;
  #placeCount = 0;

  get count(): number {
    return this.#count;
  }

  clear(): void {
    this.#count = 0;
    this.#placeCount = 0;
  }

  /** Opens a start; its places are appended next, in the order of the stages. */
  start(query: number, shape: number, resumeAt: number): void {
    this.#open(START, query);
    this.#shape[this.#count - 1] = shape;
    this.#resumeAt[this.#count - 1] = resumeAt;
  }

  /** Opens a reshape; its places follow likewise. */
  reshape(query: number, shape: number, resumeAt: number): void {
    this.#open(RESHAPE, query);
    this.#shape[this.#count - 1] = shape;
    this.#resumeAt[this.#count - 1] = resumeAt;
  }

  drop(query: number, reason: number): void {
    this.#open(DROP, query);
    this.#reason[this.#count - 1] = reason;
  }

  appendPlace(place: number): void {
    this.#places[this.#placeCount++] = place;
  }

  kind(command: number): number {
    return this.#kind[command]!;
  }

  query(command: number): number {
    return this.#query[command]!;
  }

  /** Shape of a start or reshape. */
  shape(command: number): number {
    return this.#shape[command]!;
  }

  /** Instances that are done and are not run again, for a start or reshape. */
  resumeAt(command: number): number {
    return this.#resumeAt[command]!;
  }

  /** Reason of a drop. */
  reason(command: number): number {
    return this.#reason[command]!;
  }

  /** Number of places of a start or reshape: one for each stage. */
  placeCount(command: number): number {
    const end = command + 1 < this.#count ? this.#first[command + 1]! : this.#placeCount;
    return end - this.#first[command]!;
  }

  place(command: number, stage: number): number {
    return this.#places[this.#first[command]! + stage]!;
  }

  #open(kind: number, query: number): void {
    this.#kind[this.#count] = kind;
    this.#query[this.#count] = query;
    this.#first[this.#count] = this.#placeCount;
    this.#count++;
  }
}
