/** Error codes for invalid input, all with exit code 65. */
export const INPUT_ERRORS = {
  INPUT_UNREADABLE: "a named file is missing, unreadable, or not a file",
  INPUT_SYNTAX: "a file is not well-formed YAML, JSON or CSV",
  INPUT_UNKNOWN_KEY: "a key is not part of the format; the nearest known key is named",
  INPUT_MISSING_KEY: "a required key is absent",
  INPUT_INVALID_VALUE: "a value has the wrong type, unit or range",
  INPUT_CONFLICT: "values that are fine alone contradict each other",
  INPUT_PARTS: "parts of a compile are lost, double, unfinished, damaged, or of different compiles",
  INPUT_UNSUPPORTED: "the value is part of the format, but this version does not implement it",
} as const;

export type InputErrorCode = keyof typeof INPUT_ERRORS;

/** Mistake with its place, what was found and what is allowed, on one line. */
export interface LocatedMistake {
  readonly code: InputErrorCode;
  readonly message: string;
}

/** Bad input. The message says where, what was found and what is allowed, on one line. */
export class InputError extends Error {
  readonly code: InputErrorCode;
  /** Further mistakes in the same file, in order. */
  readonly others: readonly LocatedMistake[];

  constructor(code: InputErrorCode, message: string, others: readonly LocatedMistake[] = []) {
    super(message);
    this.name = "InputError";
    this.code = code;
    this.others = others;
  }
}
