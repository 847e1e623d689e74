/** The one queue driven by recorded events alone. */
import { given, noEvent, type RecordedEntry } from "../../../server/requests/recorded-entry.ts";
import { FixedCluster } from "../core/fixed-cluster.ts";

export class FixedReplayer {
  readonly #cluster: FixedCluster;

  constructor(batch: number) {
    this.#cluster = new FixedCluster(batch);
  }

  tell(event: RecordedEntry): readonly RecordedEntry[] {
    if (event.kind === "query") this.#cluster.onArrival(given(event, "query"));
    else if (event.kind === "free") this.#cluster.onFree(given(event, "worker"));
    else if (event.kind === "lost") this.#cluster.onLost(given(event, "worker"));
    else if (event.kind === "next") return this.#starts();
    else noEvent(event, ["query", "free", "lost", "next"]);
    return [];
  }

  #starts(): readonly RecordedEntry[] {
    const starts: RecordedEntry[] = [];
    for (let start = this.#cluster.next(); start !== null; start = this.#cluster.next()) {
      starts.push({ kind: "start-batch", ...start });
    }
    return starts;
  }
}
