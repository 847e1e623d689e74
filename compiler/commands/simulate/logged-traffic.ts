/** Arrivals from a log, for `simulate`: as a process, as text, and as a trace file. */

import { RuntimeError } from "stratagem-runtime/internal/base/errors";
import type { Bundle } from "stratagem-runtime/internal/bundle/schema";
import { writeAtomically } from "../../base/atomic-write.ts";
import type { CompilerMethod } from "../../methods/method.ts";
import { readServerText } from "../../recalibrate/server-text.ts";
import { type LoggedArrivals, loggedArrivals } from "../../replay/logged-arrivals.ts";
import type { ArrivalProcess } from "../../simulate/arrivals.ts";
import { MAX_TRACE_ROWS } from "../../spec/trace.ts";

/**
 * @param stated arrival process, or location of a log.
 * @returns the process, or the arrivals of the log with their description.
 * @throws RuntimeError, InputError for a log.
 */
export async function arrivalsOf(
  stated: ArrivalProcess | string,
  bundle: Bundle,
  { servesWhole }: CompilerMethod,
  signal: AbortSignal,
): Promise<readonly [ArrivalProcess, LoggedArrivals | null]> {
  if (typeof stated !== "string") return [stated, null];
  const asked = { bundle, isWhole: servesWhole };
  const textOf = async (url: string) => (await readServerText(url, "/", signal)).text;
  const logged = await loggedArrivals(stated, asked, textOf, signal);
  return [{ kind: "trace", trace: logged.trace }, logged];
}

export function arrivalsText({ requests, models, fromMs, toMs }: LoggedArrivals): string {
  const [from, to] = [fromMs, toMs].map((ms) => new Date(ms).toISOString());
  return `arrivals of ${requests} requests for ${models.join(", ")}, ${from} to ${to}`;
}

export function arrivalsJson({ requests, queries, models, fromMs, toMs }: LoggedArrivals): object {
  const [from, to] = [fromMs, toMs].map((ms) => new Date(ms).toISOString());
  return { requests, queries, models, from, to };
}

/**
 * A trace that specs and `--arrivals` take. @throws RuntimeError RUNTIME_USAGE for more rows than
 * one may have, UnwritableError.
 */
export async function writeTrace(path: string, { trace }: LoggedArrivals): Promise<void> {
  const { arrivalMs } = trace;
  if (arrivalMs.length > MAX_TRACE_ROWS) {
    const message = `--write-trace: expected at most ${MAX_TRACE_ROWS} arrivals in the log`;
    throw new RuntimeError("RUNTIME_USAGE", `${message}, got ${arrivalMs.length}`);
  }
  const rows = Array.from(arrivalMs, (ms) => ms.toFixed(3));
  await writeAtomically(path, Buffer.from(`arrivalMs\n${rows.join("\n")}\n`));
}
