/** Tracks which query has which place. */
import { assert } from "../../../core/assert.ts";
import { IdleSets } from "../../../core/graph/idle-sets.ts";
import { NONE } from "./pipeline-table.ts";

/** In place of a query: the place is free, or not up. */
const FREE = -1;
const DOWN = -2;

/** Assignment of places: each is down, free, or held by one query. */
export class PlaceLedger {
  readonly placeCount: number;
  readonly classOfPlace: Uint8Array;
  /** Query per place, FREE or DOWN. */
  readonly #holder: Int32Array;
  readonly #free: IdleSets;
  /** Places that are up, by class. */
  readonly #readyByClass: Uint32Array;
  #readyCount = 0;
  #freeCount = 0;

  /** All places are down at first. */
  constructor(classOfPlace: Uint8Array, classCount: number) {
    this.placeCount = classOfPlace.length;
    this.classOfPlace = classOfPlace;
    this.#holder = new Int32Array(this.placeCount).fill(DOWN);
    this.#free = new IdleSets(classCount, this.placeCount);
    this.#readyByClass = new Uint32Array(classCount);
  }

  get readyCount(): number {
    return this.#readyCount;
  }

  get freeCount(): number {
    return this.#freeCount;
  }

  readyOf(placeClass: number): number {
    return this.#readyByClass[placeClass]!;
  }

  freeOf(placeClass: number): number {
    return this.#free.count(placeClass);
  }

  isUp(place: number): boolean {
    return this.#holder[place] !== DOWN;
  }

  isFree(place: number): boolean {
    return this.#holder[place] === FREE;
  }

  /** Returns the query that holds a place, or NONE. */
  holder(place: number): number {
    return Math.max(this.#holder[place]!, NONE);
  }

  comeUp(place: number): void {
    assert(this.#holder[place] === DOWN, "a place that comes up was down");
    this.#readyByClass[this.classOfPlace[place]!]!++;
    this.#readyCount++;
    this.#setFree(place);
  }

  /** @returns the query that held it, or NONE. */
  goDown(place: number): number {
    assert(this.isUp(place), "a place goes down that was up");
    const holder = this.holder(place);
    if (holder === NONE) this.#unsetFree(place);
    this.#holder[place] = DOWN;
    this.#readyByClass[this.classOfPlace[place]!]!--;
    this.#readyCount--;
    return holder;
  }

  /** Gives a query a free place of a class, that with the lowest index unless one is named. */
  take(placeClass: number, query: number, place = this.#free.lowest(placeClass)): number {
    assert(place !== NONE, "a place that is taken is free");
    this.#unsetFree(place);
    this.#holder[place] = query;
    return place;
  }

  release(place: number): void {
    assert(this.#holder[place]! >= 0, "a place that is released was held");
    this.#setFree(place);
  }

  /** Lets another query have a place without it being free in between. */
  handOver(place: number, query: number): void {
    assert(this.#holder[place]! >= 0, "a place that is handed over was held");
    this.#holder[place] = query;
  }

  #setFree(place: number): void {
    this.#holder[place] = FREE;
    this.#free.add(this.classOfPlace[place]!, place);
    this.#freeCount++;
  }

  #unsetFree(place: number): void {
    this.#free.remove(this.classOfPlace[place]!, place);
    this.#freeCount--;
  }
}
