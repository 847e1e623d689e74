/** Measures the way of a request through a server that listens, phase by phase. */
import { open } from "node:fs/promises";
import { InferenceClient } from "../../load/inference-client.ts";
import {
  type PathWindow,
  pathWindow,
  type SentRequests,
  type WindowSources,
} from "./path-window.ts";
import { quietWindows, type WindowCounts } from "./quiet-windows.ts";
import { atOnce, inTheirTime, type LoopClock, type LoopEnd, oneByOne } from "./request-loops.ts";
import { readServedModel, type ShapeOf } from "./served-model.ts";
import { ServedPath, type ServedPathSources } from "./served-path.ts";
import type { ServedProcess } from "./served-process.ts";
import type { ServedRequest } from "./served-request.ts";
import type { PathSamples } from "./serving-rows.ts";
import { meanOf } from "./spread.ts";

/** How much is done of each phase. */
export interface PathEffort {
  /** Until the code of the server is compiled: as many requests, or as long. */
  readonly warmUp: LoopEnd;
  /** Requests under way of which the best is sought, ascending; each is tried so long. */
  readonly widths: readonly number[];
  readonly width: LoopEnd;
  /** The highest load of the application, or, where that is too low to be seen, all at once. */
  readonly many: LoopEnd & WindowCounts;
  readonly large: LoopEnd & WindowCounts & { readonly rows: number };
  readonly single: LoopEnd & WindowCounts;
}

interface PathSources extends LoopClock, ServedPathSources {
  readonly signal: AbortSignal;
  /** Until the next request that comes alone. */
  readonly gapMs: () => number;
  /** Mean 1, of times between requests that know nothing of each other. */
  readonly nextGap: () => number;
  /** The highest load that the application is compiled for. */
  readonly loadQps: number;
  readonly shapeOf: ShapeOf;
  readonly onProgress: (done: number, total: number, stage: string) => void;
}

/** What of the samples a server tells. */
export type ServedSamples = Pick<PathSamples, "requestBytes" | "single" | "many" | "large">;

const TIMEOUT_MS = 60_000;
/** Part of the requests of a width that may go without an answer. */
const MOST_FAILED = 0.01;
/** Requests of a width that would take longer are not waited for. */
const LONG_MS = 1000;
/** Looks at the counters that tell what one costs. */
const COUNTER_LOOKS = 5;
/** How long lines of the access log are waited for, in steps of. */
const LINES_MS = 1000;
const LINES_STEP_MS = 10;

/** @throws InputError where the server does not answer; the reason of the signal. */
export async function measurePath(
  server: ServedProcess,
  accessLog: string,
  effort: PathEffort,
  sources: PathSources,
): Promise<ServedSamples> {
  const client = new InferenceClient({ url: server.url, timeoutMs: TIMEOUT_MS });
  try {
    const model = await readServedModel(client, sources.shapeOf);
    const path = new ServedPath(client, model, sources);
    const watched = await sourcesOf(server, accessLog, path, sources);
    return await new Phases(path, watched, effort, sources).run();
  } finally {
    await client.close();
  }
}

/** How many requests come: so many a second, or the next whenever one of so many is answered. */
type Pace =
  | { readonly kind: "load"; readonly qps: number }
  | { readonly kind: "width"; readonly width: number };

/** About as many rows, in requests of so many. */
function fewer(pace: Pace, rows: number): Pace {
  if (pace.kind === "load") return { kind: "load", qps: pace.qps / rows };
  return { kind: "width", width: Math.max(1, Math.floor(pace.width / rows)) };
}

function bytesOf(requests: readonly ServedRequest[]): number {
  return requests[0]?.body.length ?? 0;
}

/** What is done one after the other; the code of the server is compiled before any counts. */
class Phases {
  readonly #path: ServedPath;
  readonly #watched: WindowSources;
  readonly #effort: PathEffort;
  readonly #sources: PathSources;
  readonly #one: readonly ServedRequest[];

  constructor(path: ServedPath, watched: WindowSources, effort: PathEffort, sources: PathSources) {
    this.#path = path;
    this.#watched = watched;
    this.#effort = effort;
    this.#sources = sources;
    this.#one = path.requests(1);
  }

  async run(): Promise<ServedSamples> {
    const { warmUp, widths } = this.#effort;
    this.#tell(0, "warm-up");
    const some: Pace = { kind: "width", width: widths[1] ?? 1 };
    this.#path.expectAnswers(await this.#sent(this.#one, some, warmUp));
    this.#tell(1, "many requests at once");
    const paced = await this.#paced();
    const pace = paced?.pace ?? (await this.#bestWidth());
    const many = paced?.many ?? (await this.#windows(this.#one, pace, this.#effort.many));
    this.#tell(2, "larger requests");
    const large = await this.#larger(pace);
    this.#tell(3, "one request at a time");
    const single = await this.#single();
    this.#tell(4, "done");
    return { requestBytes: bytesOf(this.#one), single, many, large };
  }

  /**
   * At the highest load, since that is where queues are long: a server that always has something
   * to do takes less of a processor for a request than one that sleeps and wakes between. At half
   * of it where it is more than this machine bears, and so on.
   * @returns null where the load is so low that nothing would be seen of it.
   */
  async #paced(): Promise<{ readonly pace: Pace; readonly many: PathWindow[] } | null> {
    const { many: end } = this.#effort;
    const leastQps = (1000 * end.fewest) / end.mostMs;
    for (let qps = this.#sources.loadQps; qps >= leastQps; qps /= 2) {
      const pace: Pace = { kind: "load", qps };
      const many = await this.#windows(this.#one, pace, end);
      const failed = many.reduce((sum, window) => sum + window.failed, 0);
      const answered = many.reduce((sum, window) => sum + window.answered, 0);
      if (failed <= MOST_FAILED * (answered + failed)) return { pace, many };
    }
    return null;
  }

  /** The number of requests under way at which each takes least of the server's processor. */
  async #bestWidth(): Promise<Pace> {
    const { widths, width: end } = this.#effort;
    let best = { width: widths[0] ?? 1, ms: Number.POSITIVE_INFINITY };
    for (const [index, width] of widths.entries()) {
      const pace: Pace = { kind: "width", width };
      const window = await pathWindow(this.#watched, () => this.#sent(this.#one, pace, end));
      const { processorMs, answered, failed, requests } = window;
      if (failed > MOST_FAILED * (answered + failed)) break;
      if (processorMs < best.ms) best = { width, ms: processorMs };
      // More under way wait for each other: where that takes long, it is not tried.
      const eachMs = meanOf(requests.map(({ roundTripMs }) => roundTripMs)) / width;
      if (eachMs * (widths[index + 1] ?? 0) > LONG_MS) break;
    }
    return { kind: "width", width: best.width };
  }

  async #larger(pace: Pace): Promise<ServedSamples["large"]> {
    const { large } = this.#effort;
    const requests = await this.#path.larger(large.rows, LONG_MS);
    if (requests === null) return null;
    const windows = await this.#windows(requests, fewer(pace, large.rows), large);
    return { windows, bytes: bytesOf(requests) };
  }

  #windows(
    requests: readonly ServedRequest[],
    pace: Pace,
    end: LoopEnd & WindowCounts,
  ): Promise<PathWindow[]> {
    const take = () => pathWindow(this.#watched, () => this.#sent(requests, pace, end));
    return quietWindows(take, end, this.#sources.nowMs);
  }

  #single(): Promise<PathWindow[]> {
    const { single } = this.#effort;
    const { gapMs, signal, nowMs } = this.#sources;
    const send = () =>
      this.#path.sent(this.#one, (ask) => oneByOne(ask, gapMs, single, this.#sources, signal));
    return quietWindows(() => pathWindow(this.#watched, send), single, nowMs);
  }

  #sent(requests: readonly ServedRequest[], pace: Pace, end: LoopEnd): Promise<SentRequests> {
    const { signal, nextGap } = this.#sources;
    return this.#path.sent(requests, (ask) => {
      if (pace.kind === "width") return atOnce(ask, pace.width, end, this.#sources, signal);
      const gapMs = () => (1000 / pace.qps) * nextGap();
      return inTheirTime(ask, gapMs, end, this.#sources, signal);
    });
  }

  #tell(done: number, what: string): void {
    this.#sources.onProgress(done, 4, `serving path, ${what}`);
  }
}

async function sourcesOf(
  server: ServedProcess,
  accessLog: string,
  path: ServedPath,
  { nowMs, sleep }: LoopClock,
): Promise<WindowSources> {
  const looks: number[] = [];
  for (let look = 0; look < COUNTER_LOOKS; look++) looks.push((await path.counters()).processorMs);
  const last = looks.length - 1;
  const log = new GrowingFile(accessLog);
  return {
    serverPid: server.pid,
    counters: () => path.counters(),
    countersMs: Math.max(0, (looks[last] ?? 0) - (looks[last - 1] ?? 0)),
    nowMs,
    newLines: async (wanted) => {
      let text = "";
      for (let waitedMs = 0; waitedMs < LINES_MS; waitedMs += LINES_STEP_MS) {
        text += await log.more();
        if (text.split("\n").length > wanted && text.endsWith("\n")) break;
        await sleep(LINES_STEP_MS);
      }
      return text;
    },
  };
}

/** A file that another process appends to. */
class GrowingFile {
  readonly #path: string;
  #at = 0;

  constructor(path: string) {
    this.#path = path;
  }

  /** What has come since the last call. */
  async more(): Promise<string> {
    const file = await open(this.#path, "r");
    try {
      const { size } = await file.stat();
      const bytes = Buffer.alloc(Math.max(0, size - this.#at));
      const { bytesRead } = await file.read(bytes, 0, bytes.length, this.#at);
      this.#at += bytesRead;
      return bytes.toString("utf8", 0, bytesRead);
    } finally {
      await file.close();
    }
  }
}
