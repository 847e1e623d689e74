/** Starts the workers of a bundle on other machines, beside those on this one. */
import { hostname } from "node:os";
import type { MetricLine } from "../base/exposition.ts";
import type { Notice } from "../base/notice.ts";
import type { VariantModel } from "../exec/models/executor.ts";
import type {
  AssignedProcessExecutor,
  AssignedProcessHandlers,
} from "../exec/pool/assigned-pool.ts";
import type { ProcessExecutor, ProcessExecutorHandlers } from "../exec/pool/worker-pool.ts";
import {
  type ExecutorPart,
  startDivided,
  startDividedAssigned,
} from "../remote/divided-executor.ts";
import type { Elsewhere, ElsewhereOptions } from "../remote/elsewhere.ts";
import { Hops } from "../remote/hops.ts";
import { startRemoteAssignedExecutor } from "../remote/remote-assigned.ts";
import { startRemoteExecutor } from "../remote/remote-executor.ts";
import type { RemoteOptions } from "../remote/remote-options.ts";
import { tokenReader } from "../remote/worker-token.ts";

interface WorkersElsewhereOptions extends ElsewhereOptions {
  readonly variants: readonly VariantModel[];
  readonly threads: number;
  readonly poolNames: readonly string[];
  /** The pool of each worker slot, by index. */
  readonly poolBySlot: readonly number[];
  readonly elsewhere: Elsewhere;
  /** Time per hop that the bundle was planned with, ms. */
  readonly hopMs: number;
  readonly onNotice: Notice;
}

export class WorkersElsewhere {
  readonly #context: WorkersElsewhereOptions;
  readonly #hops: Hops;

  constructor(context: WorkersElsewhereOptions) {
    this.#context = context;
    this.#hops = new Hops(context.hopMs, (message) => context.onNotice(message, "warn"));
  }

  metricLines(): MetricLine[] {
    return this.#hops.metricLines();
  }

  /** Starts workers that all hold all models. @param here starts those of this machine. */
  start(
    here: ExecutorPart<ProcessExecutor, ProcessExecutorHandlers>,
    handlers: ProcessExecutorHandlers,
  ): Promise<ProcessExecutor> {
    const options = this.#options();
    const start = (own: ProcessExecutorHandlers) => startRemoteExecutor(options, own);
    return startDivided([here, { slots: this.#slots, start }], handlers);
  }

  /** Starts workers that hold assigned models only. @param here starts those of this machine. */
  startAssigned(
    here: ExecutorPart<AssignedProcessExecutor, AssignedProcessHandlers>,
    handlers: AssignedProcessHandlers,
  ): Promise<AssignedProcessExecutor> {
    const options = this.#options();
    const start = (own: AssignedProcessHandlers) => startRemoteAssignedExecutor(options, own);
    return startDividedAssigned([here, { slots: this.#slots, start }], handlers);
  }

  get #slots(): number[] {
    const { poolBySlot, elsewhere } = this.#context;
    return [...poolBySlot.keys()].filter((slot) => {
      return elsewhere.isElsewhere[poolBySlot[slot] ?? 0] === true;
    });
  }

  #options(): RemoteOptions {
    const { variants, threads, poolNames, poolBySlot, elsewhere, onNotice } = this.#context;
    const slots = this.#slots;
    return {
      variants,
      workerCount: slots.length,
      threadsPerWorker: threads,
      pools: slots.map((slot) => poolBySlot[slot] ?? 0),
      poolNames,
      workers: elsewhere.workers,
      frontEnd: this.#context.frontEnd ?? `${hostname()}-${process.pid}`,
      hops: this.#hops,
      readToken: tokenReader(this.#context.workerToken),
      onNotice,
    };
  }
}
