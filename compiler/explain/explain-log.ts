/** `stratagem explain LOG… --policy BUNDLE --request ID | --time SPAN`. */

import { EXIT_CODES, RuntimeError } from "stratagem-runtime/internal/base/errors";
import type { Bundle } from "stratagem-runtime/internal/bundle/schema";
import { type LoadedBundle, loadBundle } from "stratagem-runtime/internal/bundles/load-bundle";
import type { CommandResult } from "stratagem-runtime/internal/commands/command-result";
import type { CompilerMethod } from "../methods/method.ts";
import { methodOf } from "../methods/registry.ts";
import { askedSpan, type Span } from "./asked-span.ts";
import { explainRequest } from "./explained-request.ts";
import { timesProfiled } from "./explained-run.ts";
import { SpanGatherer } from "./explained-span.ts";
import { logPaths } from "./log-files.ts";
import { type LogSummary, passOver } from "./log-pass.ts";
import { sourceJson, sourceLines } from "./log-source.ts";
import type { LoggedRequest } from "./logged-request.ts";
import type { SeenBatch } from "./ran-batches.ts";
import { reasonsOf, type TimesProfiledOf } from "./reasons.ts";
import { ContextGatherer } from "./request-context.ts";
import { requestJson } from "./request-json.ts";
import { requestText } from "./request-text.ts";
import { spanJson } from "./span-json.ts";
import { spanText } from "./span-text.ts";

export interface ExplainOptions {
  readonly logs: readonly string[];
  readonly policy: string;
  /** Id of the request to explain. */
  readonly request?: string | undefined;
  /** Or else a span of time. */
  readonly time?: string | undefined;
}

/**
 * Explains a request or a span of time.
 * @throws RuntimeError RUNTIME_USAGE if the log does not have the id or the time, or another bundle
 * decided; InputError or BundleError if a log or the bundle cannot be read.
 */
export async function explainCommand(
  { logs, policy, request: id, time }: ExplainOptions,
  signal: AbortSignal,
): Promise<CommandResult> {
  if ((id === undefined) === (time === undefined)) {
    throw usage("expected either --request or --time");
  }
  const span = time === undefined ? null : askedSpan(time);
  const file = await loadBundle(policy);
  const files = await logPaths(logs);
  if (id !== undefined) return aboutRequest(files, id, file, signal);
  if (span === null) throw new RangeError("expected a span or a request");
  return aboutSpan(files, span, file, signal);
}

async function aboutSpan(
  files: readonly string[],
  span: Span,
  file: LoadedBundle,
  signal: AbortSignal,
): Promise<CommandResult> {
  const { bundle, sha256 } = file;
  const timesOf = timesOfBatches(bundle, await methodOf(bundle));
  const gatherer = new SpanGatherer(span, bundle, timesOf);
  const summary = await passOver(files, signal, (request) => {
    if (request.bundle === null || sha256.startsWith(request.bundle)) gatherer.take(request);
  });
  const explained = gatherer.summary();
  if (explained.requests === 0) {
    const whole = [span.fromMs, span.toMs].map((ms) => new Date(ms).toISOString()).join(" to ");
    throw usage(`expected a span with inference requests, got ${whole}; ${spanOf(summary)}`);
  }
  const text = [spanText(explained, bundle.slo.latencyMs), ...sourceLines(summary, file)].join(
    "\n",
  );
  const json = {
    ...spanJson(explained, bundle.slo.latencyMs),
    source: sourceJson(summary, file),
  };
  return { exitCode: EXIT_CODES.ok, text, json };
}

async function aboutRequest(
  files: readonly string[],
  id: string,
  file: LoadedBundle,
  signal: AbortSignal,
): Promise<CommandResult> {
  const method = await methodOf(file.bundle);
  const { request, summary } = await findRequest(files, id, signal);
  requireOwn(request, file);
  const gatherer = new ContextGatherer(request, workerCountOf(file.bundle));
  await passOver(files, signal, (other) => {
    if (other.model === request.model) gatherer.take(other);
  });
  const context = gatherer.context();
  const explained = await explainRequest(file.bundle, method, request, context);
  const reasons = reasonsOf(explained, timesOfBatches(file.bundle, method));
  const text = [requestText(explained, reasons), ...sourceLines(summary, file)].join("\n");
  const json = { ...requestJson(explained, reasons), source: sourceJson(summary, file) };
  return { exitCode: EXIT_CODES.ok, text, json };
}

interface FoundRequest {
  readonly request: LoggedRequest;
  readonly summary: LogSummary;
}

/** Returns the last request with an id: a client may restart its numbering. */
async function findRequest(
  files: readonly string[],
  id: string,
  signal: AbortSignal,
): Promise<FoundRequest> {
  let request: LoggedRequest | undefined;
  const summary = await passOver(files, signal, (one) => {
    if (one.id === id) request = one;
  });
  if (request !== undefined) return { request, summary };
  const expected = "expected the id of an inference request in the log";
  throw usage(`--request: ${expected}, got "${id}"; ${spanOf(summary)}`);
}

/** Describes which times the log covers. */
function spanOf({ firstMs, lastMs, lines, unreadable }: LogSummary): string {
  const bad = unreadable === 0 ? "" : `; ${unreadable} other lines are not access log entries`;
  if (firstMs === null || lastMs === null)
    return `the log has no inference requests in ${lines} lines${bad}`;
  const [first, last] = [firstMs, lastMs].map((ms) => new Date(ms).toISOString());
  return `the log covers ${first} to ${last}${bad}`;
}

function requireOwn({ bundle, id }: LoggedRequest, { sha256, path }: LoadedBundle): void {
  if (bundle === null || sha256.startsWith(bundle)) return;
  throw usage(
    `--policy: expected the bundle that decided request "${id}", with digest ${bundle}…, ` +
      `got ${path} with digest ${sha256.slice(0, bundle.length)}…`,
  );
}

/** Returns a function that compares the time of a logged batch with its profile. */
function timesOfBatches(bundle: Bundle, method: CompilerMethod): TimesProfiledOf {
  return ({ run, kind }: SeenBatch) => {
    const { task, variant, batch, level, worker, places } = run;
    // Looking a state up is slow, and the profiled times do not depend on it.
    const ran = {
      task,
      variant,
      batch,
      level,
      worker,
      kind,
      places,
      queued: null,
      slackMs: null,
      pace: 1,
    };
    return timesProfiled(run, method.batchFacts(bundle, ran));
  };
}

function workerCountOf({ cluster }: Bundle): number {
  return cluster.pools.reduce((sum, { workers }) => sum + workers, 0);
}

function usage(message: string): RuntimeError {
  return new RuntimeError("RUNTIME_USAGE", message);
}
