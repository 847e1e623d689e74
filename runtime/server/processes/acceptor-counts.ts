/** Adds what processes that accept count to what the one that decides does. */
import {
  type Family,
  familiesOf,
  head,
  type Labels,
  line,
  type MetricLine,
  type Sample,
} from "../metrics/exposition.ts";

/** Told by the process that decides alone, which is told of each request. */
const OF_DISPATCHER: ReadonlySet<string> = new Set([
  "stratagem_request_duration_seconds",
  "stratagem_queue_duration_seconds",
  "stratagem_compute_duration_seconds",
]);
/** Gauges whose sum says something; of others, what the process that decides tells is so. */
const SUMMED_GAUGES: ReadonlySet<string> = new Set([
  "stratagem_pending_requests",
  "stratagem_connections",
  "stratagem_unsent_bytes",
  "stratagem_request_bytes",
  "stratagem_http_requests_in_flight",
  "process_resident_memory_bytes",
  "process_virtual_memory_bytes",
  "process_open_fds",
]);

const REFUSED = "stratagem_access_refused_total";
const CPU = "process_cpu_seconds_total";
const CPU_BY_PROCESS = "stratagem_process_cpu_seconds_total";

/** Of one of them, as it told last. */
export type Counts = readonly Family[];

export class AcceptorCounts {
  readonly #byPlace = new Map<number, Counts>();
  /** Counters of those that have ended, which must not go back. */
  readonly #gone = new Map<string, Map<string, Sample>>();

  set(place: number, lines: readonly MetricLine[]): void {
    this.#byPlace.set(place, familiesOf(lines));
  }

  /** It has ended: what it counted stays, and what it had is gone. */
  end(place: number): void {
    for (const { type, name, samples } of this.#byPlace.get(place) ?? []) {
      if (type === "gauge" || OF_DISPATCHER.has(name)) continue;
      const gone = this.#gone.get(name) ?? new Map<string, Sample>();
      this.#gone.set(name, gone);
      for (const sample of samples) {
        const key = keyOf(sample);
        gone.set(key, { ...sample, value: sample.value + (gone.get(key)?.value ?? 0) });
      }
    }
    this.#byPlace.delete(place);
  }

  /**
   * Requests refused for who asked or how much, by reason.
   * @param own what the process that decides tells of them.
   */
  refusals(own: readonly MetricLine[]): Record<string, number> {
    const family = familiesOf(own).find(({ name }) => name === REFUSED);
    if (family === undefined) return {};
    const samples = added(family, this.#sums().get(REFUSED) ?? []);
    return Object.fromEntries(samples.map(({ labels, value }) => [labels["reason"], value]));
  }

  /** @param own what the process that decides tells. */
  summed(own: readonly MetricLine[]): MetricLine[] {
    const families = familiesOf(own);
    const sums = this.#sums();
    return [
      ...families.flatMap((family) => [
        head(family.name, family.type, family.help),
        ...added(family, sums.get(family.name) ?? []),
      ]),
      ...this.#cpuLines(families),
    ];
  }

  /** By name of the family. */
  #sums(): Map<string, Sample[]> {
    const sums = new Map([...this.#gone].map(([name, gone]) => [name, [...gone.values()]]));
    for (const counts of this.#byPlace.values()) {
      for (const { name, type, samples } of counts) {
        const isSummed = type === "gauge" ? SUMMED_GAUGES.has(name) : !OF_DISPATCHER.has(name);
        if (isSummed) sums.set(name, [...(sums.get(name) ?? []), ...samples]);
      }
    }
    return sums;
  }

  #cpuLines(own: readonly Family[]): MetricLine[] {
    const of = (counts: Counts) => counts.find(({ name }) => name === CPU)?.samples[0]?.value ?? 0;
    const help = "User and system time of the process that decides, and of those that accept";
    return [
      head(CPU_BY_PROCESS, "counter", help),
      line(CPU_BY_PROCESS, { process: "dispatcher" }, of(own)),
      ...[...this.#byPlace].map(([place, counts]) =>
        line(CPU_BY_PROCESS, { process: `acceptor-${place}` }, of(counts)),
      ),
    ];
  }
}

function added({ samples }: Family, others: readonly Sample[]): Sample[] {
  const byKey = new Map(samples.map((sample) => [keyOf(sample), sample]));
  for (const other of others) {
    const key = keyOf(other);
    const known = byKey.get(key);
    byKey.set(key, known === undefined ? other : { ...known, value: known.value + other.value });
  }
  return [...byKey.values()];
}

function keyOf({ name, labels }: { readonly name: string; readonly labels: Labels }): string {
  return `${name} ${JSON.stringify(labels)}`;
}
