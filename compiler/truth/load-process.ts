/** Program of the process that sends the load, one order after another from its parent. */
import { RuntimeError } from "stratagem-runtime/internal/base/errors";
import { openBodyWorkload } from "../load/body-workload.ts";
import { inputsFromFiles } from "../load/input-file.ts";
import type { Settled } from "../load/load-generator.ts";
import { openPlannedWorkload } from "../load/planned-workload.ts";
import { DEFAULT_MAX_OUTSTANDING, type LoadOptions, runLoad } from "../load/run-load.ts";
import { InputError } from "../spec/document/input-error.ts";
import type { LoadContent, LoadMessage, LoadOrder, SentRequests } from "./load-messages.ts";

process.on("message", (order: LoadOrder) => {
  carryOut(order)
    .then(send)
    .catch((error: unknown) => send(failure(error)));
});
// A terminal interrupts the whole group; the parent ends this process itself.
process.on("SIGINT", () => {});
// The parent has ended, so the result has no reader.
process.on("disconnect", () => process.exit());

async function carryOut({ content, hasClasses, ...order }: LoadOrder): Promise<LoadMessage> {
  const settled: Settled[] = [];
  let startMs = Number.NaN;
  const result = await runLoad({
    ...order,
    ...(await contentOf(content)),
    ...(hasClasses ? { classes: { kind: "all" } } : {}),
    sloMs: hasClasses ? null : order.sloMs,
    maxOutstanding: DEFAULT_MAX_OUTSTANDING,
    nowMs: () => performance.now(),
    onStart: (ms) => {
      startMs = ms;
    },
    onSettled: (one) => settled.push(one),
    onProgress: progressReporter(),
    signal: new AbortController().signal,
  });
  const startEpochMs = performance.timeOrigin + startMs;
  return { kind: "done", result, sent: sentOf(settled), startEpochMs };
}

async function contentOf(
  content: LoadContent,
): Promise<Pick<LoadOptions, "model" | "inputs" | "workload">> {
  const none = { model: null, inputs: null };
  switch (content.kind) {
    case "rows":
      if (content.inputs === null) return none;
      return { model: null, inputs: await inputsFromFiles(content.inputs, content.labels) };
    case "bodies":
      return { ...none, workload: (client) => openBodyWorkload(client, content.folder) };
    case "planned":
      return { ...none, workload: (client) => openPlannedWorkload(client, content.requests) };
  }
}

/** Reports once per second. */
function progressReporter(): LoadOptions["onProgress"] {
  let reported = -1;
  return (doneSeconds) => {
    if (doneSeconds <= reported) return;
    reported = doneSeconds;
    send({ kind: "progress", doneSeconds });
  };
}

function sentOf(settled: readonly Settled[]): SentRequests {
  const of = (value: (one: Settled) => number) => Float64Array.from(settled, value);
  return {
    scheduledMs: of(({ scheduledMs }) => scheduledMs),
    sentMs: of(({ sentMs }) => sentMs),
    endMs: of(({ endMs }) => endMs),
    accuracy: of(({ answer }) => answer?.accuracy ?? Number.NaN),
    score: of(({ answer }) => answer?.score ?? Number.NaN),
    sloMs: of(({ sloMs }) => sloMs ?? Number.POSITIVE_INFINITY),
    isAnswered: Uint8Array.from(settled, ({ answer }) => (answer === null ? 0 : 1)),
  };
}

function failure(error: unknown): LoadMessage {
  const isKnown = error instanceof RuntimeError || error instanceof InputError;
  const message = error instanceof Error ? error.message : String(error);
  return { kind: "failed", code: isKnown ? error.code : null, message };
}

function send(message: LoadMessage): void {
  process.send?.(message);
}
