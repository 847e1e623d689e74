/** How many are in, and when the last of them has left. */

export class Occupancy {
  #count = 0;
  readonly #onEmpty: (() => void)[] = [];

  enter(): void {
    this.#count++;
  }

  leave(): void {
    this.#count--;
    if (this.#count > 0) return;
    for (const tell of this.#onEmpty.splice(0)) tell();
  }

  /** Kept once none is in. */
  emptied(): Promise<void> {
    if (this.#count === 0) return Promise.resolve();
    return new Promise((resolve) => void this.#onEmpty.push(resolve));
  }
}
