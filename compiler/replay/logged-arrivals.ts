/** Reads arrivals from a decision log or an access log, for simulations of real traffic. */

import { RuntimeError } from "stratagem-runtime/internal/base/errors";
import type { Bundle } from "stratagem-runtime/internal/bundle/schema";
import { counted } from "stratagem-runtime/internal/describe/text";
import { eachLine, logPaths } from "../explain/log-files.ts";
import { loggedRequest } from "../explain/logged-request.ts";
import type { Trace } from "../spec/trace.ts";
import { fieldsOf, parsedLine } from "./parsed-line.ts";

/** Limits the times to half a gigabyte. */
const MAX_ARRIVALS = 2 ** 26;
const FIRST_CAPACITY = 2 ** 12;

export interface LoggedArrivals {
  readonly trace: Extract<Trace, { readonly kind: "arrivals" }>;
  readonly requests: number;
  /** Simulated queries: each row of a request, unless requests are served whole. */
  readonly queries: number;
  /** Names that clients used. */
  readonly models: readonly string[];
  /** Time of the first and the last request, since 1970. */
  readonly fromMs: number;
  readonly toMs: number;
}

export interface ArrivalsAsked {
  /** Bundle whose requests count; in a log of one model all count. */
  readonly bundle: Bundle;
  /** True if a request is one query regardless of its rows. */
  readonly isWhole: boolean;
}

/**
 * @param place a file, a pattern, or a URL that returns log lines.
 * @throws RuntimeError RUNTIME_USAGE if the log has no such requests; InputError if it cannot be
 * read.
 */
export async function loggedArrivals(
  place: string,
  asked: ArrivalsAsked,
  textOf: (url: string) => Promise<string>,
  signal: AbortSignal,
): Promise<LoggedArrivals> {
  const gatherer = new ArrivalGatherer();
  if (/^https?:\/\//.test(place)) {
    for (const line of (await textOf(place)).split("\n")) gatherer.takeLine(line);
  } else {
    const log = { isGrowing: true, flag: "--decision-log" };
    for (const path of await logPaths([place])) {
      await eachLine(path, signal, (line) => gatherer.takeLine(line), log);
    }
  }
  return gatherer.arrivals(place, asked);
}

/** Arrival times and rows of a model's requests. */
class ModelArrivals {
  readonly application: string;
  epochMs = new Float64Array(FIRST_CAPACITY);
  rows = new Uint32Array(FIRST_CAPACITY);
  count = 0;

  constructor(application: string) {
    this.application = application;
  }

  add(epochMs: number, rows: number): void {
    if (this.count === this.epochMs.length) {
      this.epochMs = grown(new Float64Array(2 * this.count), this.epochMs);
      this.rows = grown(new Uint32Array(2 * this.count), this.rows);
    }
    this.epochMs[this.count] = epochMs;
    this.rows[this.count++] = rows;
  }
}

function grown<A extends Float64Array | Uint32Array>(larger: A, array: A): A {
  larger.set(array);
  return larger;
}

class ArrivalGatherer {
  readonly #byModel = new Map<string, ModelArrivals>();
  #lines = 0;
  #count = 0;

  takeLine(text: string | null): void {
    this.#lines++;
    if (text === null || text.trim() === "") return;
    if (fieldsOf(text)?.["kind"] === undefined) this.#takeAccess(text);
    else this.#takeNoted(text);
  }

  #takeAccess(text: string): void {
    const request = loggedRequest(text);
    if (request === null || request.model === "") return;
    this.#add("", request.model, request.timeMs - request.lagMs, request.rows);
  }

  #takeNoted(text: string): void {
    const line = parsedLine(text);
    if (line?.kind !== "arrivals") return;
    const { application, model, startUs, gapsUs, rows } = line;
    let atUs = startUs;
    this.#add(application, model, atUs / 1000, rows?.[0] ?? 1);
    for (const [index, gapUs] of gapsUs.entries()) {
      atUs += gapUs;
      this.#add(application, model, atUs / 1000, rows?.[index + 1] ?? 1);
    }
  }

  #add(application: string, model: string, epochMs: number, rows: number): void {
    const key = `${application}\n${model}`;
    let own = this.#byModel.get(key);
    if (own === undefined) {
      own = new ModelArrivals(application);
      this.#byModel.set(key, own);
    }
    if (++this.#count > MAX_ARRIVALS) {
      throw usage(`expected at most ${MAX_ARRIVALS} requests, got more; use a part of the log`);
    }
    own.add(epochMs, Math.max(1, rows));
  }

  arrivals(place: string, { bundle, isWhole }: ArrivalsAsked): LoggedArrivals {
    const all = [...this.#byModel].map(([key, own]) => {
      return { model: key.slice(key.indexOf("\n") + 1), own };
    });
    const names = namesOf(bundle);
    const isOwn = ({ model, own }: (typeof all)[number]) => {
      return own.application === bundle.application || names.has(model);
    };
    const found = all.length === 1 ? all : all.filter(isOwn);
    if (found.length === 0) throw none(place, this.#lines, all, bundle);
    const times = timesOf(
      found.map(({ own }) => own),
      isWhole,
    );
    const first = times[0] ?? 0;
    return {
      trace: { kind: "arrivals", arrivalMs: times.map((ms) => ms - first) },
      requests: found.reduce((sum, { own }) => sum + own.count, 0),
      queries: times.length,
      models: found.map(({ model }) => model),
      fromMs: first,
      toMs: times.at(-1) ?? first,
    };
  }
}

/** Returns the times of each row or each request, sorted. */
function timesOf(found: readonly ModelArrivals[], isWhole: boolean): Float64Array {
  let total = 0;
  for (const { rows, count } of found) {
    for (let index = 0; index < count; index++) total += isWhole ? 1 : (rows[index] ?? 1);
  }
  if (total > MAX_ARRIVALS) {
    throw usage(`expected at most ${MAX_ARRIVALS} rows, got ${total}; use a part of the log`);
  }
  const times = new Float64Array(total);
  let at = 0;
  for (const { epochMs, rows, count } of found) {
    for (let index = 0; index < count; index++) {
      const copies = isWhole ? 1 : (rows[index] ?? 1);
      times.fill(epochMs[index] ?? 0, at, at + copies);
      at += copies;
    }
  }
  return times.sort();
}

/** Names that clients can use for the models of a bundle, including classes. */
function namesOf({ application, tasks, slo }: Bundle): ReadonlySet<string> {
  const variants = tasks.flatMap((task) => task.variants.map(({ name }) => name));
  const names = [application, ...tasks.map(({ name }) => name), ...variants];
  const classes = "classes" in slo ? (slo.classes ?? []) : [];
  const ofClasses = names.flatMap((name) => classes.map((one) => `${name}.${one.name}`));
  return new Set([...names, ...ofClasses]);
}

function none(
  place: string,
  lines: number,
  all: readonly { readonly model: string; readonly own: ModelArrivals }[],
  { application }: Bundle,
): RuntimeError {
  const known = all.map(({ model, own }) => `${model} (${counted(own.count, "request")})`);
  const found = known.length === 0 ? "none" : `those of ${known.join(", ")}`;
  const expected = `expected ${place} to have requests of ${application}`;
  const what = "a file of serve --decision-log or --access-log";
  return usage(`${expected}, ${what}; got ${found} in ${counted(lines, "line")}`);
}

function usage(message: string): RuntimeError {
  return new RuntimeError("RUNTIME_USAGE", `--arrivals: ${message}`);
}
