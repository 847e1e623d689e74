/** Measures the traffic envelope of the time that ends now. */
import { assert } from "../../../core/assert.ts";

/**
 * Arrivals of the horizon that are remembered; beyond that, at 17 000 per second, the oldest are
 * forgotten before their time.
 */
const MAX_ARRIVALS = 2 ** 20;
const INITIAL_CAPACITY = 1024;
/**
 * Number of the first arrival: so near to where numbers wrap around that every test of some length
 * gets there.
 */
const FIRST_NUMBER = 2 ** 31 - 50;

/**
 * The traffic envelope of the last `horizonMs`: for each of a few window lengths,
 * the most arrivals in any closed window [t, t + length].
 *
 * Arrivals have consecutive numbers that wrap around at 32 bits. A window begins at each arrival;
 * two arrivals share a window if the difference of their times is at most its length. Constant time
 * per arrival and window length, amortised. Times must not go back. Source: InferLine §5.
 */
export class TrailingEnvelope {
  #windows: readonly SlidingWindow[] = [];
  #windowMs = new Float64Array(0);
  #maxima = new Uint32Array(0);
  /** Ring of arrival times, by number. */
  #arrivalMs = new Float64Array(INITIAL_CAPACITY);
  /** Number of the oldest arrival of the horizon ... */
  #first = FIRST_NUMBER;
  /** ... and of the next arrival. */
  #next = FIRST_NUMBER;
  readonly #horizonMs: number;

  /** @param windowMs ascending, in (0, horizonMs]. */
  constructor(windowMs: Float64Array, horizonMs: number) {
    this.#horizonMs = horizonMs;
    this.setWindows(windowMs);
  }

  /** [windowCount] */
  get windowMs(): Float64Array {
    return this.#windowMs;
  }

  /** [windowCount]: most arrivals in a window of each length, as of the last call; not a copy. */
  get maxima(): Uint32Array {
    return this.#maxima;
  }

  /** Counts an arrival. */
  record(nowMs: number): void {
    this.advance(nowMs);
    this.#makeRoom();
    const next = this.#next;
    this.#arrivalMs[next & (this.#arrivalMs.length - 1)] = nowMs;
    this.#next = (next + 1) | 0;
    const windows = this.#windows;
    const maxima = this.#maxima;
    for (let index = 0; index < windows.length; index++) {
      maxima[index] = windows[index]!.extend(this.#arrivalMs, next);
    }
  }

  /** Forgets the arrivals that are longer ago than the horizon. */
  advance(nowMs: number): void {
    const arrivalMs = this.#arrivalMs;
    const mask = arrivalMs.length - 1;
    const next = this.#next;
    const horizonMs = this.#horizonMs;
    let first = this.#first;
    while (first !== next && nowMs - arrivalMs[first & mask]! > horizonMs) first = (first + 1) | 0;
    if (first === this.#first) return;
    this.#first = first;
    this.#forget();
  }

  /** Changes the lengths of the windows; remembered arrivals are counted again. */
  setWindows(windowMs: Float64Array): void {
    assert(windowMs.length > 0, "an envelope has a window");
    this.#windowMs = Float64Array.from(windowMs);
    this.#maxima = new Uint32Array(windowMs.length);
    this.#windows = Array.from(windowMs, (lengthMs) => {
      assert(lengthMs > 0 && lengthMs <= this.#horizonMs, "a window is within the horizon");
      return new SlidingWindow(lengthMs, this.#first);
    });
    for (const [index, window] of this.#windows.entries()) {
      for (let number = this.#first; number !== this.#next; number = (number + 1) | 0) {
        this.#maxima[index] = window.extend(this.#arrivalMs, number);
      }
    }
  }

  #forget(): void {
    const windows = this.#windows;
    const maxima = this.#maxima;
    for (let index = 0; index < windows.length; index++) {
      maxima[index] = windows[index]!.forget(this.#first, this.#next);
    }
  }

  /** Doubles the ring of arrivals if it is full, or at its largest gives the oldest up. */
  #makeRoom(): void {
    const old = this.#arrivalMs;
    if (((this.#next - this.#first) | 0) < old.length) return;
    if (old.length >= MAX_ARRIVALS) {
      this.#first = (this.#first + 1) | 0;
      this.#forget();
      return;
    }
    const grown = new Float64Array(2 * old.length);
    for (let number = this.#first; number !== this.#next; number = (number + 1) | 0) {
      grown[number & (grown.length - 1)] = old[number & (old.length - 1)]!;
    }
    this.#arrivalMs = grown;
  }
}

/**
 * The fullest window of one length. A window is open while an arrival of now would be in it; of
 * those the oldest has the most arrivals. Of the closed ones, whose counts are final, only those
 * are kept that no later one equals: a queue with falling counts, the most at its head.
 */
class SlidingWindow {
  readonly #lengthMs: number;
  /** Number of the arrival that the oldest open window begins at. */
  #open: number;
  /** Rings: numbers of the arrivals that closed windows begin at, and their counts. */
  #starts = new Int32Array(64);
  #counts = new Int32Array(64);
  #head = 0;
  #size = 0;

  constructor(lengthMs: number, first: number) {
    this.#lengthMs = lengthMs;
    this.#open = first;
  }

  /** Called when an arrival has come. @returns the most in a window. */
  extend(arrivalMs: Float64Array, number: number): number {
    const mask = arrivalMs.length - 1;
    const nowMs = arrivalMs[number & mask]!;
    let open = this.#open;
    while (nowMs - arrivalMs[open & mask]! > this.#lengthMs) {
      this.#close(open, (number - open) | 0);
      open = (open + 1) | 0;
    }
    this.#open = open;
    return this.#most((number + 1) | 0);
  }

  /** Removes windows that begin before the arrival `first`. @returns the most in the others. */
  forget(first: number, next: number): number {
    const mask = this.#starts.length - 1;
    while (this.#size > 0 && ((this.#starts[this.#head]! - first) | 0) < 0) {
      this.#head = (this.#head + 1) & mask;
      this.#size--;
    }
    if (((this.#open - first) | 0) < 0) this.#open = first;
    return this.#most(next);
  }

  #most(next: number): number {
    const openCount = (next - this.#open) | 0;
    if (this.#size === 0) return openCount;
    const closedCount = this.#counts[this.#head]!;
    return closedCount > openCount ? closedCount : openCount;
  }

  #close(start: number, count: number): void {
    const mask = this.#starts.length - 1;
    let size = this.#size;
    while (size > 0 && this.#counts[(this.#head + size - 1) & mask]! <= count) size--;
    this.#size = size;
    if (size > mask) this.#grow();
    const tail = (this.#head + size) & (this.#starts.length - 1);
    this.#starts[tail] = start;
    this.#counts[tail] = count;
    this.#size = size + 1;
  }

  /** Doubles the rings. They hold at most the arrivals of the horizon, which bound them. */
  #grow(): void {
    const capacity = this.#starts.length;
    const starts = new Int32Array(2 * capacity);
    const counts = new Int32Array(2 * capacity);
    for (let position = 0; position < this.#size; position++) {
      const from = (this.#head + position) & (capacity - 1);
      starts[position] = this.#starts[from]!;
      counts[position] = this.#counts[from]!;
    }
    this.#starts = starts;
    this.#counts = counts;
    this.#head = 0;
  }
}
