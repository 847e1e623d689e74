/** Limits on the time that a worker takes to load models, and on single steps that hang. */
import { assert } from "../../core/assert.ts";
import { type LoadPace, OpenLimit } from "../limits/load-pace.ts";
import { modelTimeoutMs, type WorkerLimits } from "../limits/worker-limits.ts";
import { fileBytesOf } from "../models/variant-files.ts";
import type { WorkerSetup } from "../models/worker-setup.ts";
import type { LoadStep } from "./model-store.ts";

interface LoadTerms {
  /** Pace of earlier loads. */
  readonly pace: LoadPace;
  readonly isOnGpu: boolean;
  /** Called at most once, with the time limit. */
  readonly onLate: (limitMs: number) => void;
}

/** A start or a load in progress. */
export class AwaitedLoad {
  readonly #terms: LoadTerms;
  readonly #sinceMs = performance.now();
  readonly #limit: OpenLimit;
  #timer: NodeJS.Timeout | undefined;
  #isOver = false;

  constructor(terms: LoadTerms) {
    this.#terms = terms;
    this.#limit = new OpenLimit(this.#sinceMs, terms.pace.limitMs(), terms.isOnGpu);
    this.#wait();
  }

  /** @param stepMs that its next step may take. */
  onStep(stepMs: number): void {
    // The timer that runs asks the limit again.
    this.#limit.onStep(performance.now(), stepMs);
  }

  done(): void {
    this.end();
    this.#terms.pace.onDone(performance.now() - this.#sinceMs);
  }

  /** Stops waiting for it. */
  end(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
  }

  /**
   * Timers run before the channel is read: when the server itself has paused, the awaited message
   * may be there already. So the time is checked again after reading.
   */
  #wait(): void {
    const onDue = () => setImmediate(() => this.#onDue());
    this.#timer = setTimeout(onDue, this.#limit.leftMs(performance.now())).unref();
  }

  #onDue(): void {
    if (this.#isOver) return;
    if (this.#limit.leftMs(performance.now()) > 0) {
      this.#wait();
      return;
    }
    this.#isOver = true;
    this.#terms.pace.onHung();
    this.#terms.onLate(Math.round(this.#limit.limitMs));
  }
}

interface Assignment {
  readonly resolve: (loads: number) => void;
  readonly reject: (error: Error) => void;
}

/**
 * Assignments that a worker works off: it loads one after the other, each with its own time limit.
 */
export class AssignedLoads {
  readonly #terms: LoadTerms;
  /** Assignments without an answer, the oldest first. */
  readonly #assignments: Assignment[] = [];
  /** Load of the oldest assignment. */
  #load: AwaitedLoad | null = null;

  constructor(terms: LoadTerms) {
    this.#terms = terms;
  }

  get isOpen(): boolean {
    return this.#load !== null;
  }

  /** @returns how many variants the worker had to load. @throws Error if it is lost first. */
  add(): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#assignments.push({ resolve, reject });
      this.#load ??= new AwaitedLoad(this.#terms);
    });
  }

  /** @param stepMs that the next step of the oldest may take. */
  onStep(stepMs: number): void {
    this.#load?.onStep(stepMs);
  }

  onDone(loads: number): void {
    const assignment = this.#assignments.shift();
    assert(assignment !== undefined, "a worker changes its models only on request");
    this.#load?.done();
    this.#load = this.#assignments.length === 0 ? null : new AwaitedLoad(this.#terms);
    assignment.resolve(loads);
  }

  /** The worker is lost. */
  reject(reason: string): void {
    this.#load?.end();
    this.#load = null;
    for (const { reject } of this.#assignments.splice(0)) reject(new Error(reason));
  }
}

export class LoadWatch {
  readonly #setup: WorkerSetup;
  readonly #limits: WorkerLimits;
  readonly #onLate: (reason: string) => void;
  #step: LoadStep | null = null;
  #timer: NodeJS.Timeout | undefined;

  /** @param onLate called at most once for a step, with a message about it. */
  constructor(setup: WorkerSetup, limits: WorkerLimits, onLate: (reason: string) => void) {
    this.#setup = setup;
    this.#limits = limits;
    this.#onLate = onLate;
  }

  /**
   * The worker begins a step, and has ended the one before.
   * @returns time that it may take, ms.
   */
  onStep(step: LoadStep): number {
    this.#step = step;
    const variant = this.#setup.variants[step.variant];
    assert(variant !== undefined, "a worker loads known variants only");
    const fileBytes = fileBytesOf(variant, () => 0);
    // Compilers of kernels take any time on a machine that others load too.
    const factor = this.#setup.on.provider === "cpu" ? 1 : this.#limits.busyFactor;
    const limitMs = Math.round(factor * modelTimeoutMs(fileBytes, this.#limits));
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      // Reads first what the worker wrote meanwhile: the server itself may have paused.
      setImmediate(() => {
        if (this.#step !== step) return;
        this.#onLate(`${variant.name}: ${step.step} took more than ${limitMs} ms`);
      });
    }, limitMs).unref();
    return limitMs;
  }

  /** All is loaded, or the worker ends. */
  end(): void {
    this.#step = null;
    clearTimeout(this.#timer);
  }
}
