/** Result of a command; the caller prints `text` or `json` and exits. */
export interface CommandResult {
  readonly exitCode: number;
  /** For people, without a final newline. */
  readonly text: string;
  /** The document of `--json`. */
  readonly json: object;
}
