/** How a method is opened as an endpoint, on workers that are not real and wait for the test. */
import type { Bundle } from "../../../runtime/bundle/schema.ts";
import type { AssignedExecutor, Executor } from "../../../runtime/exec/models/executor.ts";
import type { WorkerStarter } from "../../../runtime/methods/method.ts";
import type { AxisNames } from "../../../runtime/server/graph/signature/output-groups.ts";
import { FakeAssignedExecutor } from "../../runtime/server/graph/fake-executor.ts";

export interface ServedSubject {
  readonly bundle: Bundle;
  readonly axisNames?: readonly AxisNames[];
  openWorkers(): FakeWorkers;
  /** A name of a model, and two rows for it. */
  readonly model: string;
  readonly input: { readonly name: string; readonly data: readonly (readonly number[])[] };
  /** Time that a client has to give at least, µs. */
  readonly leastUs: number;
  /** The same bundle with another SLO. */
  readonly otherSlo: Bundle;
  /** The same with other levels, and why the server does not follow it; null where it does. */
  readonly otherLevels: Bundle;
  readonly refusal: RegExp | null;
}

export interface FakeWorkers {
  readonly starter: WorkerStarter;
  /** All come up, with all that they are to hold. */
  ready(): void;
  loseAll(): Promise<void>;
  /**
   * The worker that began first hangs and is taken out; another is there for it, with all that it
   * is to hold.
   */
  hang(): Promise<void>;
  /** Profiled p99 of the batches that run, as the workers were told. */
  p99sMs(): readonly (number | undefined)[];
  runningCount(): number;
  /** What began first is done. */
  finish(): Promise<void>;
}

/**
 * Workers that are told which models to hold. @param answer of a batch; left out, that of scenes.
 */
export function assignedWorkers(
  workerCount: number,
  answer?: ConstructorParameters<typeof FakeAssignedExecutor>[1],
): FakeWorkers {
  let executor: FakeAssignedExecutor | undefined;
  const workers = Array.from({ length: workerCount }, (_, worker) => worker);
  return {
    starter: {
      start: never,
      startAssigned: async (handlers): Promise<AssignedExecutor> => {
        executor = new FakeAssignedExecutor(handlers, answer);
        return executor;
      },
    },
    ready() {
      for (const worker of workers) executor?.handlers.onReady(worker);
      while ((executor?.loading.length ?? 0) > 0) executor?.load();
    },
    async loseAll() {
      for (const worker of workers) executor?.lose(worker);
    },
    async hang() {
      const worker = executor?.held[0]?.worker ?? -1;
      executor?.lose(worker, "hung");
      executor?.handlers.onReady(worker);
      while ((executor?.loading.length ?? 0) > 0) executor?.load();
    },
    p99sMs: () => executor?.held.map(({ batch }) => batch.p99Ms) ?? [],
    runningCount: () => executor?.held.length ?? 0,
    finish: async () => executor?.finish(),
  };
}

/** For the kind of workers that a method does not have. */
export async function never(): Promise<Executor & AssignedExecutor> {
  throw new Error("the method has workers of another kind");
}
