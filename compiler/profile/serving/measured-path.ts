/** Measures the path of a request through a listening server in phases. */
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

/** Extent of each phase. */
export interface PathEffort {
  /** Warm-up until the server's code is compiled. */
  readonly warmUp: LoopEnd;
  /** Concurrency levels to compare, ascending; each is tried until `width` ends. */
  readonly widths: readonly number[];
  readonly width: LoopEnd;
  /**
   * Phase at the highest load of the application, or with concurrent requests if that load is too
   * low to measure.
   */
  readonly many: LoopEnd & WindowCounts;
  readonly large: LoopEnd & WindowCounts & { readonly rows: number };
  readonly single: LoopEnd & WindowCounts;
}

interface PathSources extends LoopClock, ServedPathSources {
  readonly signal: AbortSignal;
  /** Returns the delay before the next single request. */
  readonly gapMs: () => number;
  /** Returns a gap with mean 1 between independent requests. */
  readonly nextGap: () => number;
  /** Highest load that the application is compiled for. */
  readonly loadQps: number;
  readonly shapeOf: ShapeOf;
  readonly onProgress: (done: number, total: number, stage: string) => void;
}

/** Samples that a server provides. */
export type ServedSamples = Pick<PathSamples, "requestBytes" | "single" | "many" | "large">;

const TIMEOUT_MS = 60_000;
/** Share of requests of a concurrency level that may fail. */
const MOST_FAILED = 0.01;
/** Estimated time per round above which a concurrency level is skipped. */
const LONG_MS = 1000;
/** Readings of the counters that measure the cost of reading them. */
const COUNTER_LOOKS = 5;
/** How long to wait for lines of the access log, and the polling interval. */
const LINES_MS = 1000;
const LINES_STEP_MS = 10;

/** @throws InputError if the server does not answer; the signal's reason. */
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

/** How requests are sent: at a rate, or with a number of requests in flight. */
type Pace =
  | { readonly kind: "load"; readonly qps: number }
  | { readonly kind: "width"; readonly width: number };

/** Sends about the same number of rows in requests of `rows` each. */
function fewer(pace: Pace, rows: number): Pace {
  if (pace.kind === "load") return { kind: "load", qps: pace.qps / rows };
  return { kind: "width", width: Math.max(1, Math.floor(pace.width / rows)) };
}

function bytesOf(requests: readonly ServedRequest[]): number {
  return requests[0]?.body.length ?? 0;
}

/** Runs the phases in sequence; the server's code is compiled before measurements count. */
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
    this.#report(0, "warm-up");
    const some: Pace = { kind: "width", width: widths[1] ?? 1 };
    this.#path.expectAnswers(await this.#sent(this.#one, some, warmUp));
    this.#report(1, "many requests at once");
    const paced = await this.#paced();
    const pace = paced?.pace ?? (await this.#bestWidth());
    const many = paced?.many ?? (await this.#windows(this.#one, pace, this.#effort.many));
    this.#report(2, "larger requests");
    const large = await this.#larger(pace);
    this.#report(3, "one request at a time");
    const single = await this.#single();
    this.#report(4, "done");
    return { requestBytes: bytesOf(this.#one), single, many, large };
  }

  /**
   * Finds the highest load that the machine sustains, starting at the application's highest load
   * and halving. Queues are long there, and a server that is always busy uses less processor time
   * per request than one that sleeps and wakes.
   * @returns null if the load is too low to measure.
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

  /** Finds the number of requests in flight with the least server processor time per request. */
  async #bestWidth(): Promise<Pace> {
    const { widths, width: end } = this.#effort;
    let best = { width: widths[0] ?? 1, ms: Number.POSITIVE_INFINITY };
    for (const [index, width] of widths.entries()) {
      const pace: Pace = { kind: "width", width };
      const window = await pathWindow(this.#watched, () => this.#sent(this.#one, pace, end));
      const { processorMs, answered, failed, requests } = window;
      if (failed > MOST_FAILED * (answered + failed)) break;
      if (processorMs < best.ms) best = { width, ms: processorMs };
      // More requests in flight queue longer; levels that would take too long are skipped.
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

  #report(done: number, what: string): void {
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

/** File that another process appends to. */
class GrowingFile {
  readonly #path: string;
  #at = 0;

  constructor(path: string) {
    this.#path = path;
  }

  /** Returns the text added since the last call. */
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
