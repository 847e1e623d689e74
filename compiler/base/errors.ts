/** Errors of the compiler that several folders throw. */

/** Failure of a step whose process has already reported the reason. */
export class StepError extends Error {
  /** Exit code of the step's process. */
  readonly exitCode: number;

  constructor(command: string, exitCode: number) {
    super(`stratagem ${command} ended with ${exitCode}; see its output above`);
    this.name = "StepError";
    this.exitCode = exitCode;
  }
}

/** Reason of an aborted command. */
export class InterruptedError extends Error {
  constructor(message = "interrupted; nothing was written") {
    super(message);
    this.name = "InterruptedError";
  }
}

/** Failure to write an output file. */
export class UnwritableError extends Error {
  constructor(path: string, reason: string) {
    super(`${path}: expected a place that can be written, got: ${reason}`);
    this.name = "UnwritableError";
  }
}
