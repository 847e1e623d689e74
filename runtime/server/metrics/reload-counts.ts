/** Metrics of reloads: how many there were, and since when the served bundle is. */
import { head, line, type MetricLine } from "../../base/exposition.ts";
import { lastReloadLines } from "../../base/metric-families.ts";

interface Counts {
  followed: number;
  refused: number;
  isLastFollowed: boolean;
  lastSuccessS: number;
}

export class ReloadCounts {
  readonly #byApplication = new Map<string, Counts>();
  readonly #nowS: () => number;

  /** @param nowS seconds since 1970. @param applications by their names, served from now on. */
  constructor(applications: readonly string[], nowS: () => number) {
    this.#nowS = nowS;
    for (const name of applications) this.#of(name);
  }

  /** @param application name before the reload. */
  onReload(application: string, isFollowed: boolean): void {
    const counts = this.#of(application);
    counts.isLastFollowed = isFollowed;
    counts[isFollowed ? "followed" : "refused"]++;
    if (isFollowed) counts.lastSuccessS = this.#nowS();
  }

  lines(): MetricLine[] {
    const total = "stratagem_reloads_total";
    const time = "stratagem_reload_last_success_timestamp_seconds";
    const all = [...this.#byApplication];
    return [
      head(total, "counter", "Bundle reloads, by whether the bundle was accepted"),
      ...all.flatMap(([model, { followed, refused }]) => [
        line(total, { model, result: "followed" }, followed),
        line(total, { model, result: "refused" }, refused),
      ]),
      ...lastReloadLines(
        "bundle",
        all.map(([model, { isLastFollowed }]) => [{ model }, isLastFollowed]),
      ),
      head(time, "gauge", "Time when the served bundle was read, seconds since 1970"),
      ...all.map(([model, { lastSuccessS }]) => line(time, { model }, lastSuccessS)),
    ];
  }

  #of(application: string): Counts {
    const known = this.#byApplication.get(application);
    if (known !== undefined) return known;
    const lastSuccessS = this.#nowS();
    const counts = { followed: 0, refused: 0, isLastFollowed: true, lastSuccessS };
    this.#byApplication.set(application, counts);
    return counts;
  }
}
