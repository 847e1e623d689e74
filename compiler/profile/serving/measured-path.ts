/** Measures the way of a request through a server that listens, phase by phase. */
import { open } from "node:fs/promises";
import { InferenceClient } from "../../load/inference-client.ts";
import { SequenceIds } from "../../load/load-sequences.ts";
import { InputError } from "../../spec/input-error.ts";
import {
  type PathWindow,
  pathWindow,
  type SentRequests,
  type WindowSources,
} from "./path-window.ts";
import { quietWindows, type WindowCounts } from "./quiet-windows.ts";
import { type Ask, atOnce, type LoopClock, type LoopEnd, oneByOne } from "./request-loops.ts";
import { readServedModel, type ServedModel, type ShapeOf } from "./served-model.ts";
import type { ServedProcess } from "./served-process.ts";
import { type RowsOf, type ServedRequest, servedRequest } from "./served-request.ts";
import { serverCounters } from "./server-counters.ts";
import type { PathSamples } from "./serving-rows.ts";
import { meanOf } from "./spread.ts";

/** How much is done of each phase. */
export interface PathEffort {
  /** Until the code of the server is compiled: as many requests, or as long. */
  readonly warmUp: LoopEnd;
  /** Requests under way of which the best is sought, ascending; each is tried so long. */
  readonly widths: readonly number[];
  readonly width: LoopEnd;
  readonly many: LoopEnd & WindowCounts;
  readonly large: LoopEnd & WindowCounts & { readonly rows: number };
  readonly single: LoopEnd & WindowCounts;
}

export interface PathSources extends LoopClock {
  readonly signal: AbortSignal;
  /** Until the next request that comes alone. */
  readonly gapMs: () => number;
  readonly rowsOf: RowsOf;
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
    return await measurePhases(
      path,
      await sourcesOf(server, accessLog, path, sources),
      effort,
      sources,
    );
  } finally {
    await client.close();
  }
}

async function measurePhases(
  path: ServedPath,
  watched: WindowSources,
  effort: PathEffort,
  { gapMs, onProgress, signal, ...clock }: PathSources,
): Promise<ServedSamples> {
  const one = path.request(1);
  const stage = (index: number, name: string) => onProgress(index, 5, `serving path, ${name}`);
  const many =
    (width: number, end: LoopEnd, request: ServedRequest = one) =>
    () =>
      path.sent(request, (ask) => atOnce(ask, width, end, clock, signal));
  stage(0, "warm-up");
  const warm = await many(effort.widths[1] ?? 1, effort.warmUp)();
  path.expectAnswers(warm);
  stage(1, "many requests at once");
  const width = await bestWidth(effort.widths, (tried) =>
    pathWindow(watched, many(tried, effort.width)),
  );
  const hot = await quietWindows(() => pathWindow(watched, many(width, effort.many)), effort.many);
  stage(2, "larger requests");
  const large = await path.larger(effort.large.rows);
  const fewer = Math.max(1, Math.floor(width / effort.large.rows));
  const larger =
    large === null
      ? null
      : {
          windows: await quietWindows(
            () => pathWindow(watched, many(fewer, effort.large, large)),
            effort.large,
          ),
          bytes: large.body.length,
        };
  stage(3, "one request at a time");
  const single = await quietWindows(
    () =>
      pathWindow(watched, () =>
        path.sent(one, (ask) => oneByOne(ask, gapMs, effort.single, clock, signal)),
      ),
    effort.single,
  );
  return { requestBytes: one.body.length, single, many: hot, large: larger };
}

/** The number of requests under way at which the server takes least of the processors for each. */
async function bestWidth(
  widths: readonly number[],
  take: (width: number) => Promise<PathWindow>,
): Promise<number> {
  let best = { width: widths[0] ?? 1, ms: Number.POSITIVE_INFINITY };
  for (const [index, width] of widths.entries()) {
    const { processorMs, answered, failed, requests } = await take(width);
    if (failed > MOST_FAILED * (answered + failed)) break;
    if (processorMs < best.ms) best = { width, ms: processorMs };
    // More under way wait for each other: where that takes long, it is not tried.
    const nextMs = meanOf(requests.map(({ roundTripMs }) => roundTripMs)) / width;
    if (nextMs * (widths[index + 1] ?? 0) > LONG_MS) break;
  }
  return best.width;
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

/** Requests of one kind to one model. */
class ServedPath {
  readonly #client: InferenceClient;
  readonly #model: ServedModel;
  readonly #rowsOf: RowsOf;
  readonly #nowMs: () => number;
  readonly #url: string;
  readonly #sequences: SequenceIds | null;
  #count = 0;
  #failure = "";

  constructor(client: InferenceClient, model: ServedModel, { rowsOf, nowMs }: PathSources) {
    this.#client = client;
    this.#model = model;
    this.#rowsOf = rowsOf;
    this.#nowMs = nowMs;
    this.#url = `/v2/models/${encodeURIComponent(model.name)}/infer`;
    this.#sequences = model.wantsSequences ? new SequenceIds() : null;
  }

  /** @throws InputError as `servedRequest`. */
  request(rows: number): ServedRequest {
    return servedRequest(this.#model, rows, this.#rowsOf, this.#sequences?.first ?? null);
  }

  /** A request of as many rows; null where the model answers none. */
  async larger(rows: number): Promise<ServedRequest | null> {
    if (this.#sequences !== null) return null;
    const request = this.request(rows);
    const { roundTripMs } = await this.sent(request, async (ask) => {
      await ask(new AbortController().signal);
    });
    return [...roundTripMs.values()].some(Number.isNaN) ? null : request;
  }

  /** What came of the requests that a loop sends. */
  async sent(request: ServedRequest, loop: (ask: Ask) => Promise<unknown>): Promise<SentRequests> {
    const roundTripMs = new Map<string, number>();
    await loop(async () => {
      const id = `path-${this.#count++}`;
      const ms = await this.#ask(request, id);
      roundTripMs.set(id, ms);
      return ms;
    });
    return { roundTripMs };
  }

  async counters() {
    const { body } = await this.#client.send("/metrics", null);
    return serverCounters(body.toString(), this.#model.name);
  }

  /** @throws InputError where none of the requests was answered. */
  expectAnswers({ roundTripMs }: SentRequests): void {
    if ([...roundTripMs.values()].some((ms) => !Number.isNaN(ms))) return;
    throw new InputError(
      "INPUT_CONFLICT",
      `expected a server that answers requests for "${this.#model.name}", to measure its ` +
        `serving path, got: ${this.#failure}`,
    );
  }

  async #ask({ headers, body }: ServedRequest, id: string): Promise<number> {
    const startMs = this.#nowMs();
    const sequence = this.#sequences;
    const own = sequence === null ? body : sequence.next(body);
    const reply = await this.#client.send(this.#url, own, { ...headers, "x-request-id": id });
    if (reply.status === 200) return this.#nowMs() - startMs;
    this.#failure = `${reply.status} ${reply.body.toString("utf8", 0, 200)}`;
    return Number.NaN;
  }
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
