import type { ThemisBundle } from "../../runtime/bundle/schema.ts";
import {
  ASSIGN,
  CommandBuffer,
  RELEASE,
  RESIZE,
  START_BATCH,
} from "../../runtime/core/command-buffer.ts";
import {
  type ThemisDispatcher,
  type ThemisDispatcherOptions,
  themisDispatcherOf,
} from "../../runtime/methods/themis/core/themis-dispatcher.ts";

export interface WatchedCommand {
  readonly kind: number;
  readonly worker: number;
  readonly task: number;
  readonly cores: number;
  readonly queryCount: number;
  /** Cores that the worker was to have before, 0 for none. */
  readonly wantedBefore: number;
  /** Whether it ran a batch. */
  readonly isBusyBefore: boolean;
}

/** What the dispatcher did at one event. */
export interface WatchedEvent {
  readonly name: string;
  readonly nowMs: number;
  readonly commands: readonly WatchedCommand[];
  /** Bursts that it met, and plans that it settled on. */
  readonly bursts: number;
  readonly settled: number;
  /** By task: instances that were leaving before it. */
  readonly leavingBefore: readonly number[];
}

/** An instance as its commands and events tell. */
export interface WatchedInstance {
  readonly worker: number;
  readonly task: number;
  wanted: number;
  /** 0 until it is up. */
  inForce: number;
  isBusy: boolean;
}

const EVENTS: readonly string[] = [
  "onBatchDone",
  "onWake",
  "onWorkerReady",
  "onModelReady",
  "onWorkerLost",
  "onResized",
];

/**
 * Stands between a simulation and its dispatcher and tells what passes, after each event in which
 * something does.
 */
export class ThemisWatch {
  readonly instances = new Map<number, WatchedInstance>();
  dispatcher: ThemisDispatcher | null = null;
  readonly #tell: (event: WatchedEvent, dispatcher: ThemisDispatcher) => void;

  constructor(tell: (event: WatchedEvent, dispatcher: ThemisDispatcher) => void) {
    this.#tell = tell;
  }

  readonly dispatcherOf = (
    bundle: ThemisBundle,
    options: ThemisDispatcherOptions,
  ): ThemisDispatcher => {
    const dispatcher = themisDispatcherOf(bundle, options);
    this.dispatcher = dispatcher;
    return new Proxy(dispatcher, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== "function") return value;
        if (!EVENTS.includes(String(name))) return value.bind(target);
        return (...values: unknown[]) => {
          const { burstCount, settledCount } = dispatcher;
          const leavingBefore = bundle.tasks.map((_, task) => leavingCount(dispatcher, task));
          value.apply(target, values);
          const nowMs = Number(values.at(-2));
          const out = values.find((one) => one instanceof CommandBuffer) as CommandBuffer;
          if (name !== "onWake") this.#note(String(name), Number(values[0]));
          this.#tell(
            {
              name: String(name),
              nowMs,
              commands: this.#read(out),
              bursts: dispatcher.burstCount - burstCount,
              settled: dispatcher.settledCount - settledCount,
              leavingBefore,
            },
            dispatcher,
          );
        };
      },
    });
  };

  ofTask(task: number): WatchedInstance[] {
    return [...this.instances.values()].filter((instance) => instance.task === task);
  }

  #note(name: string, worker: number): void {
    const instance = this.instances.get(worker);
    if (instance === undefined) return;
    if (name === "onBatchDone") instance.isBusy = false;
    else instance.inForce = instance.wanted;
  }

  #read(out: CommandBuffer): WatchedCommand[] {
    return Array.from({ length: out.count }, (_, command) => {
      const kind = out.kind(command);
      const worker = out.worker(command);
      const [task, cores] = [out.variant(command), out.cores(command)];
      const instance = this.instances.get(worker);
      const wantedBefore = instance?.wanted ?? 0;
      const isBusyBefore = instance?.isBusy ?? false;
      if (kind === ASSIGN) {
        const fresh = { worker, task, wanted: cores, inForce: 0, isBusy: false };
        this.instances.set(worker, fresh);
      } else if (kind === RELEASE) this.instances.delete(worker);
      else if (kind === RESIZE && instance !== undefined) instance.wanted = cores;
      else if (kind === START_BATCH && instance !== undefined) instance.isBusy = true;
      const queryCount = out.queryCount(command);
      return { kind, worker, task, cores, queryCount, wantedBefore, isBusyBefore };
    });
  }
}

/** Instances of a task that go once their batch is done: all beyond those that there are to be. */
export function leavingCount(
  { assignedByTask, targetsByTask }: ThemisDispatcher,
  task: number,
): number {
  return Math.max(0, (assignedByTask[task] ?? 0) - (targetsByTask[task] ?? 0));
}
