/** A while in which the server was watched: what was asked, and what it took of the machine. */
import { type AnsweredRequest, answeredRequests } from "../../explain/logged-request.ts";
import { familyMs, machineTime, mainThreadMs } from "./machine-time.ts";
import type { ServerCounters } from "./server-counters.ts";

/** Of the requests of a while, in means of those that were answered, and of the machine then. */
export interface PathWindow {
  /** Requests answered, and those that were not. */
  readonly answered: number;
  readonly failed: number;
  /** Batches per request. */
  readonly batches: number;
  /** Processor time of the server per request, of its main thread where that is told, ms. */
  readonly processorMs: number;
  /** From the choice of the first batch until a worker had it, ms. */
  readonly inputMs: number;
  /** From the last result until the answer was written, ms. */
  readonly outputMs: number;
  /** Of the requests whose line is in the access log, in their order. */
  readonly requests: readonly SeenRequest[];
  readonly machine: MachineShares;
}

/** A request as both ends saw it. */
export interface SeenRequest
  extends Pick<AnsweredRequest, "totalMs" | "queueMs" | "computeMs" | "responseBytes"> {
  /** Rows of its last batch; 1 if the log states none. */
  readonly batch: number;
  /** Variant that answered, the last of a pipeline. */
  readonly variant: string;
  /** As its client waited for it, ms. */
  readonly roundTripMs: number;
}

/** What the processors of the machine did meanwhile, as parts of all of them. */
interface MachineShares {
  /** What the hypervisor gave to others; null where the system does not tell. */
  readonly steal: number | null;
  /** What neither the server, its workers nor the client took; null where nothing tells. */
  readonly neighbours: number | null;
  /** The client's, in processors. */
  readonly generator: number;
}

/** What a window is taken from. */
export interface WindowSources {
  readonly serverPid: number;
  readonly counters: () => Promise<ServerCounters>;
  /** Processor time of one call of `counters`, ms. */
  readonly countersMs: number;
  /** What the access log says by now, since the last call. */
  readonly newLines: (wanted: number) => Promise<string>;
  readonly nowMs: () => number;
}

/** Requests that a window was taken of. */
export interface SentRequests {
  /** What the client waited for each answer, by the id of the request; NaN where none came. */
  readonly roundTripMs: ReadonlyMap<string, number>;
}

/** Watches the server while requests are sent. @throws what sending throws. */
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

/** How far from quiet the machine was: what others took of it, as a part. */
export function disturbance({ steal, neighbours }: MachineShares): number {
  return (steal ?? 0) + (neighbours ?? 0);
}
