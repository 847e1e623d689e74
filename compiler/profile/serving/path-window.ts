/** Observes the server for a period: the requests, and their use of the machine. */
import { type AnsweredRequest, answeredRequests } from "../../explain/logged-request.ts";
import { familyMs, machineTime, mainThreadMs } from "./machine-time.ts";
import type { ServerCounters } from "./server-counters.ts";

/** Requests of a period as means over the answered ones, and the state of the machine. */
export interface PathWindow {
  /** Requests answered, and requests without an answer. */
  readonly answered: number;
  readonly failed: number;
  /** Batches per request. */
  readonly batches: number;
  /** Processor time of the server per request, of its main thread if known, ms. */
  readonly processorMs: number;
  /** From the choice of the first batch until a worker received it, ms. */
  readonly inputMs: number;
  /** From the last result until the answer was written, ms. */
  readonly outputMs: number;
  /** Requests with a line in the access log, in its order. */
  readonly requests: readonly SeenRequest[];
  readonly machine: MachineShares;
}

/** Request as client and server measured it. */
export interface SeenRequest
  extends Pick<AnsweredRequest, "totalMs" | "queueMs" | "computeMs" | "responseBytes"> {
  /** Rows of its last batch; 1 if not logged. */
  readonly batch: number;
  /** Variant that answered; in a pipeline, the last one. */
  readonly variant: string;
  /** Latency measured by the client, ms. */
  readonly roundTripMs: number;
}

/** Use of the machine's processors in the period, as shares of all of them. */
interface MachineShares {
  /** Share that the hypervisor gave to others; null if unknown. */
  readonly steal: number | null;
  /** Share that neither the server, its workers nor the client used; null if unknown. */
  readonly neighbours: number | null;
  /** Use by the client, in processors. */
  readonly generator: number;
}

export interface WindowSources {
  readonly serverPid: number;
  readonly counters: () => Promise<ServerCounters>;
  /** Processor time of one call of `counters`, ms. */
  readonly countersMs: number;
  /** Returns the text of the access log since the last call. */
  readonly newLines: (wanted: number) => Promise<string>;
  readonly nowMs: () => number;
}

export interface SentRequests {
  /** Round-trip time by request id; NaN without an answer. */
  readonly roundTripMs: ReadonlyMap<string, number>;
}

/** Observes the server while requests are sent. @throws as sending. */
export async function pathWindow(
  sources: WindowSources,
  send: () => Promise<SentRequests>,
): Promise<PathWindow> {
  const { serverPid, counters, countersMs, newLines, nowMs } = sources;
  const before = await counters();
  const [machine, own, family] = [machineTime(), process.cpuUsage(), familyMs(serverPid)];
  const thread = mainThreadMs(serverPid);
  const startMs = nowMs();
  const { roundTripMs } = await send();
  const tookMs = nowMs() - startMs;
  const threadTook = lessOf(mainThreadMs(serverPid), thread);
  const [machineAfter, ownAfter, familyAfter] = [
    machineTime(),
    process.cpuUsage(own),
    familyMs(serverPid),
  ];
  const after = await counters();
  const answered = [...roundTripMs.values()].filter((ms) => !Number.isNaN(ms)).length;
  const lines = answeredRequests(await newLines(roundTripMs.size));
  const requests = lines.flatMap((line) => seenRequest(line, roundTripMs.get(line.id)));
  const each = (of: (counted: ServerCounters) => number) =>
    (of(after) - of(before)) / Math.max(1, answered);
  const generatorMs = (ownAfter.user + ownAfter.system) / 1000;
  const busyMs = machineAfter.busyMs - machine.busyMs;
  const stealMs = lessOf(machineAfter.stealMs, machine.stealMs);
  const allMs = busyMs + machineAfter.idleMs - machine.idleMs + (stealMs ?? 0);
  const familyTook = lessOf(familyAfter, family);
  const part = (ms: number) => Math.max(0, ms) / Math.max(1, allMs);
  return {
    answered,
    failed: roundTripMs.size - answered,
    batches: each((counted) => counted.batches),
    processorMs:
      threadTook === null
        ? Math.max(0, each((counted) => counted.processorMs) - countersMs / answered)
        : threadTook / Math.max(1, roundTripMs.size),
    inputMs: each((counted) => counted.inputMs),
    outputMs: each((counted) => counted.outputMs),
    requests,
    machine: {
      steal: stealMs === null ? null : part(stealMs),
      neighbours: familyTook === null ? null : part(busyMs - familyTook - generatorMs),
      generator: tookMs > 0 ? generatorMs / tookMs : 0,
    },
  };
}

function seenRequest(line: AnsweredRequest, roundTripMs = Number.NaN): SeenRequest[] {
  if (Number.isNaN(roundTripMs)) return [];
  const { totalMs, queueMs, computeMs, responseBytes, runs } = line;
  const batch = runs.at(-1)?.batch ?? 1;
  const variant = line.variant ?? "";
  return [{ totalMs, queueMs, computeMs, responseBytes, batch, variant, roundTripMs }];
}

function lessOf(after: number | null, before: number | null): number | null {
  return after === null || before === null ? null : after - before;
}

export function disturbance({ steal, neighbours }: MachineShares): number {
  return (steal ?? 0) + (neighbours ?? 0);
}
