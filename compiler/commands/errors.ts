/** Exit codes of all errors of the compiler that are not bugs. */

import { EXIT_CODES } from "stratagem-runtime/internal/base/errors";
import type { ExplainedError } from "stratagem-runtime/internal/commands/command-line";
import { InterruptedError, StepError, UnwritableError } from "../base/errors.ts";
import { SolverMemoryError } from "../processes/level-pool.ts";
import { INPUT_ERRORS, InputError } from "../spec/document/input-error.ts";

export const COMPILER_ERRORS = {
  ...INPUT_ERRORS,
  COMPILER_INTERRUPTED: "the work was interrupted by SIGINT or SIGTERM; no output was written",
  COMPILER_MEMORY: "a process that solves levels ran out of memory; nothing was written",
  COMPILER_STEP: "a step of the command failed; its output is above",
  COMPILER_UNWRITABLE: "the output file could not be written; an existing one is unchanged",
} as const;

/** 128 + SIGINT, as in shells. */
const INTERRUPTED_EXIT_CODE = 130;

export function explainCompilerError(error: unknown): ExplainedError | null {
  if (error instanceof InputError) {
    const { code, message, others } = error;
    return { code, message, exitCode: EXIT_CODES.badInput, others };
  }
  if (error instanceof UnwritableError) {
    const { message } = error;
    return { code: "COMPILER_UNWRITABLE", message, exitCode: EXIT_CODES.badInput };
  }
  if (error instanceof SolverMemoryError) {
    const { message } = error;
    return { code: "COMPILER_MEMORY", message, exitCode: EXIT_CODES.badInput };
  }
  if (error instanceof StepError) {
    const { message, exitCode } = error;
    return { code: "COMPILER_STEP", message, exitCode };
  }
  if (error instanceof InterruptedError) {
    const { message } = error;
    return { code: "COMPILER_INTERRUPTED", message, exitCode: INTERRUPTED_EXIT_CODE };
  }
  return null;
}
