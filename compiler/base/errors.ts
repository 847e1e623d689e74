/** Errors of the compiler that several folders throw. */

/** A step failed, and its process has said why. */
export class StepError extends Error {
  /** Of the step's process. */
  readonly exitCode: number;

  constructor(command: string, exitCode: number) {
    super(`stratagem ${command} ended with ${exitCode}, for the reason that it gives above`);
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

/** An output file could not be written. */
export class UnwritableError extends Error {
  constructor(path: string, reason: string) {
    super(`${path}: expected a place that can be written, got: ${reason}`);
    this.name = "UnwritableError";
  }
}
