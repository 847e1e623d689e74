/** Counts what became of reading bundles again, by application. */
import { head, line, type MetricLine } from "./exposition.ts";

interface Counts {
  followed: number;
  refused: number;
  isLastFollowed: boolean;
}

export class ReloadCounts {
  readonly #names: readonly string[];
  readonly #counts: readonly Counts[];

  /** @param names of the applications. */
  constructor(names: readonly string[]) {
    this.#names = names;
    this.#counts = names.map(() => ({ followed: 0, refused: 0, isLastFollowed: true }));
  }

  /** @param application its place among those of the server. */
  onReloaded(application: number, isFollowed: boolean): void {
    const counts = this.#counts[application];
    if (counts === undefined) return;
    counts[isFollowed ? "followed" : "refused"]++;
    counts.isLastFollowed = isFollowed;
  }

  lines(): MetricLine[] {
    const total = "stratagem_reloads_total";
    const last = "stratagem_last_reload_successful";
    const each = this.#names.map((model, index) => [model, this.#counts[index]] as const);
    return [
      head(total, "counter", "Times that the bundle was read again, by what became of it"),
      ...each.flatMap(([model, counts]) => [
        line(total, { model, outcome: "followed" }, counts?.followed ?? 0),
        line(total, { model, outcome: "refused" }, counts?.refused ?? 0),
      ]),
      head(last, "gauge", "Whether the file that was read last is followed; 1 before any"),
      ...each.map(([model, counts]) => line(last, { model }, counts?.isLastFollowed ? 1 : 0)),
    ];
  }
}
