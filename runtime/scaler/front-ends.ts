/** Front ends whose load is followed through their metrics. */
import { lookup } from "node:dns/promises";
import { RuntimeError } from "../base/errors.ts";
import type { MeasuredLoad } from "../core/load-monitor.ts";
import { metricValues } from "../describe/metrics-lines.ts";
import { type TrafficCounts, trafficCounts, trafficGrowth } from "../describe/traffic-counts.ts";
import type { LoadSource } from "./load-source.ts";
import { ObservedLoad, sharedPace, summedLoad } from "./observed-load.ts";

/** Time for which an unreachable front end's last load counts; then its clients have moved. */
const FORGET_MS = 30_000;
/** Silence of all front ends after which the load is unknown. */
const SILENT_MS = 5000;
/** Limit of the addresses of one name. */
const MOST_ADDRESSES = 64;
/** Prefix of a URL that stands for a front end at each address of the name. */
const EACH = "dns+";

interface FrontEndsOptions {
  /** URLs of `/metrics`; with the prefix `dns+`, of each address of the name. */
  readonly urls: readonly string[];
  readonly application: string;
  /** Reads the text at a URL. @throws Error on failure. */
  readonly read: (url: string) => Promise<string>;
  /** Resolves a name; by default with the system's resolver. */
  readonly addressesOf?: (hostname: string) => Promise<readonly string[]>;
}

interface FrontEnd {
  counts: TrafficCounts | null;
  readonly load: ObservedLoad;
}

export class FrontEnds implements LoadSource {
  readonly #options: FrontEndsOptions;
  readonly #byUrl = new Map<string, FrontEnd>();
  #heardMs = Number.NEGATIVE_INFINITY;
  #complaint = "no front end has answered yet";

  /** @throws RuntimeError RUNTIME_USAGE */
  constructor(options: FrontEndsOptions) {
    for (const url of options.urls) checkUrl(url);
    this.#options = options;
  }

  get count(): number {
    return this.#byUrl.size;
  }

  /** Reason why the load is unknown; null if known. */
  whyUnknown(nowMs: number): string | null {
    if (nowMs - this.#heardMs > SILENT_MS) return this.#complaint;
    if (!this.load().isKnown) return "the front ends have been observed for less than 10 s";
    return null;
  }

  /** Total over the front ends that were heard recently. */
  load(): MeasuredLoad {
    return summedLoad([...this.#byUrl.values()].map(({ load }) => load.measured()));
  }

  pace(): number {
    return sharedPace([...this.#byUrl.values()].map(({ load }) => load));
  }

  /** Polls all front ends. Never throws: an unreachable one keeps its last load for a while. */
  async look(nowMs: () => number): Promise<void> {
    const found = await Promise.all(this.#options.urls.map((url) => this.#addresses(url)));
    await Promise.all([...new Set(found.flat())].map((url) => this.#ask(url, nowMs)));
    for (const [url, { load }] of this.#byUrl) {
      if (nowMs() - load.heardMs > FORGET_MS) this.#byUrl.delete(url);
    }
  }

  async #ask(url: string, nowMs: () => number): Promise<void> {
    try {
      const values = metricValues(await this.#options.read(url));
      const { application } = this.#options;
      const counts = trafficCounts(values, application);
      if (counts === null)
        throw new Error(`${url}: no metrics of the application "${application}"`);
      this.#hear(url, counts, nowMs());
    } catch (error) {
      this.#complaint = error instanceof Error ? error.message : String(error);
    }
  }

  #hear(url: string, counts: TrafficCounts, nowMs: number): void {
    const known = this.#byUrl.get(url) ?? { counts: null, load: new ObservedLoad() };
    const growth = known.counts === null ? null : trafficGrowth(known.counts, counts);
    known.load.record(growth, nowMs);
    known.load.pace = counts.pace ?? 1;
    known.counts = counts;
    this.#byUrl.set(url, known);
    this.#heardMs = nowMs;
  }

  async #addresses(url: string): Promise<readonly string[]> {
    if (!url.startsWith(EACH)) return [url];
    const one = new URL(url.slice(EACH.length));
    const { addressesOf = systemAddresses } = this.#options;
    try {
      const found = await addressesOf(one.hostname);
      return found.slice(0, MOST_ADDRESSES).map((address) => withHost(one, address));
    } catch (error) {
      this.#complaint = error instanceof Error ? error.message : String(error);
      return [];
    }
  }
}

function checkUrl(url: string): void {
  const plain = url.startsWith(EACH) ? url.slice(EACH.length) : url;
  if (URL.canParse(plain) && /^https?:$/.test(new URL(plain).protocol)) return;
  const expected = "expected a URL of a front end's metrics such as http://10.0.0.7:8002/metrics";
  throw new RuntimeError("RUNTIME_USAGE", `--metrics ${url}: ${expected}`);
}

async function systemAddresses(hostname: string): Promise<readonly string[]> {
  const found = await lookup(hostname, { all: true });
  return found.map(({ address }) => address);
}

function withHost(url: URL, address: string): string {
  const own = new URL(url);
  own.hostname = address.includes(":") ? `[${address}]` : address;
  return own.href;
}
