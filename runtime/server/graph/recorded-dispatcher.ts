/** Records the events and commands of a pipeline's dispatcher. */
import {
  ASSIGN,
  CommandBuffer,
  DROP,
  RELEASE,
  RESIZE,
  START_BATCH,
} from "../../core/command-buffer.ts";
import type { PipelineDispatcher, ResizedPipeline } from "../../core/graph/pipeline-dispatcher.ts";
import type { LoadShare, SeenLoad } from "../../core/load-share.ts";
import type { PaceMonitor } from "../../core/pace.ts";
import { WakeTimer } from "../wake-timer.ts";
import type { PipelineCommand, PipelineRecorder } from "./pipeline-recording.ts";

/**
 * A dispatcher of a pipeline; one whose plans resize workers also receives resizes and forecasts.
 */
export type ServedDispatcher = PipelineDispatcher & Partial<ResizedPipeline>;

interface RecordedDispatcherOptions {
  /** A new dispatcher without any events. */
  readonly dispatcher: ServedDispatcher;
  /** Maximum number of queries in the commands of one event. */
  readonly queryCapacity: number;
  readonly recorder: PipelineRecorder | undefined;
  /** Called when the dispatcher requests a wake-up. */
  readonly onWake: () => void;
}

/**
 * Records the events and commands of a pipeline's dispatcher. Commands are copied, because
 * executing one may cause the next event.
 */
export class RecordedDispatcher {
  readonly #dispatcher: ServedDispatcher;
  readonly #recorder: PipelineRecorder | undefined;
  readonly #buffer: CommandBuffer;
  readonly #wakeTimer: WakeTimer;

  constructor({ dispatcher, queryCapacity, recorder, onWake }: RecordedDispatcherOptions) {
    this.#dispatcher = dispatcher;
    this.#recorder = recorder;
    this.#buffer = new CommandBuffer(dispatcher.commandCapacity, queryCapacity);
    this.#wakeTimer = new WakeTimer(onWake);
  }

  /** Undefined where the method does not measure it. */
  get pace(): PaceMonitor | undefined {
    return this.#dispatcher.pace;
  }

  get workerCount(): number {
    return this.#dispatcher.workerCount;
  }

  get level(): number {
    return this.#dispatcher.level;
  }

  get servers(): number {
    return this.#dispatcher.servers;
  }

  get wakeMs(): number {
    return this.#dispatcher.wakeMs;
  }

  loadQps(nowMs: number): number {
    return this.#dispatcher.loadQps(nowMs);
  }

  seenLoad(nowMs: number): SeenLoad {
    return this.#dispatcher.seenLoad(nowMs);
  }

  /** Takes effect from the next check of the demand. */
  onShare(share: LoadShare, nowMs: number): void {
    this.#recorder?.({ kind: "share", ...share, nowMs });
    this.#dispatcher.onShare(share);
  }

  onRequest(nowMs: number): boolean {
    this.#recorder?.({ kind: "request", nowMs });
    const isAdmitted = this.#dispatcher.onRequest(nowMs);
    this.#wakeTimer.set(this.#dispatcher.wakeMs, nowMs);
    return isAdmitted;
  }

  onQuery(query: number, task: number, parent: number, deadlineMs: number, nowMs: number) {
    this.#recorder?.({ kind: "query", query, task, parent, deadlineMs, nowMs });
    this.#dispatcher.onQuery(query, task, parent, deadlineMs, nowMs, this.#buffer);
    return this.#commands(nowMs);
  }

  onBatchDone(worker: number, nowMs: number, ranMs?: number) {
    this.#recorder?.({ kind: "done", worker, nowMs, ...(ranMs === undefined ? {} : { ranMs }) });
    this.#dispatcher.onBatchDone(worker, nowMs, this.#buffer, ranMs);
    return this.#commands(nowMs);
  }

  onFanout(query: number, childTask: number, count: number): void {
    this.#recorder?.({ kind: "fanout", query, childTask, count });
    this.#dispatcher.onFanout(query, childTask, count);
  }

  /** The timer has called; timers and clocks do not agree to the microsecond. */
  onTimer(nowMs: number) {
    if (nowMs >= this.#dispatcher.wakeMs) {
      this.#recorder?.({ kind: "wake", nowMs });
      this.#dispatcher.onWake(nowMs, this.#buffer);
    }
    return this.#commands(nowMs);
  }

  onWorkerReady(worker: number, nowMs: number) {
    this.#recorder?.({ kind: "ready", worker, nowMs });
    this.#dispatcher.onWorkerReady(worker, nowMs, this.#buffer);
    return this.#commands(nowMs);
  }

  onModelReady(worker: number, nowMs: number) {
    this.#recorder?.({ kind: "model-ready", worker, nowMs });
    this.#dispatcher.onModelReady(worker, nowMs, this.#buffer);
    return this.#commands(nowMs);
  }

  onResized(worker: number, nowMs: number) {
    this.#recorder?.({ kind: "resized", worker, nowMs });
    this.#dispatcher.onResized?.(worker, nowMs, this.#buffer);
    return this.#commands(nowMs);
  }

  /** Takes effect from the next check of the traffic. */
  onForecast(qps: number): void {
    this.#recorder?.({ kind: "forecast", qps });
    this.#dispatcher.onForecast?.(qps);
  }

  onWorkerLost(worker: number, nowMs: number) {
    this.#recorder?.({ kind: "lost", worker, nowMs });
    this.#dispatcher.onWorkerLost(worker, nowMs, this.#buffer);
    return this.#commands(nowMs);
  }

  onRetry(query: number, task: number, nowMs: number) {
    this.#recorder?.({ kind: "retry", query, task, nowMs });
    this.#dispatcher.onRetry(query, task, nowMs, this.#buffer);
    return this.#commands(nowMs);
  }

  onCancel(query: number): boolean {
    this.#recorder?.({ kind: "cancel", query });
    return this.#dispatcher.onCancel(query);
  }

  /** Cancels the timer until the next event. */
  stop(): void {
    this.#wakeTimer.clear();
  }

  #commands(nowMs: number): readonly PipelineCommand[] {
    this.#wakeTimer.set(this.#dispatcher.wakeMs, nowMs);
    const commands = commandsOf(this.#buffer);
    this.#buffer.clear();
    if (this.#recorder !== undefined) commands.forEach(this.#recorder);
    return commands;
  }
}

const NONE: readonly PipelineCommand[] = [];

/** The commands of a buffer, in order. */
export function commandsOf(buffer: CommandBuffer): readonly PipelineCommand[] {
  if (buffer.count === 0) return NONE;
  return Array.from({ length: buffer.count }, (_, command) => commandOf(buffer, command));
}

function commandOf(buffer: CommandBuffer, command: number): PipelineCommand {
  const worker = buffer.worker(command);
  const kind = buffer.kind(command);
  if (kind === DROP) {
    return { kind: "drop", query: buffer.query(command, 0), reason: buffer.reason(command) };
  }
  if (kind === RELEASE) return { kind: "release", worker };
  if (kind === RESIZE) return { kind: "resize", worker, cores: buffer.cores(command) };
  const variant = buffer.variant(command);
  if (kind === ASSIGN) {
    const cores = buffer.cores(command);
    return { kind: "assign", worker, variant, ...(cores === 0 ? {} : { cores }) };
  }
  if (kind !== START_BATCH) throw new RangeError(`no command is of kind ${kind}`);
  const queries = Array.from({ length: buffer.queryCount(command) }, (_, position) =>
    buffer.query(command, position),
  );
  const level = buffer.level(command);
  return { kind: "start-batch", worker, variant, level, queued: buffer.queued(command), queries };
}
