/** An error that is of some rows of a batch, and not of the others. */

export interface RowMistake {
  /** From 0, in the batch. */
  readonly row: number;
  readonly message: string;
}

/** Faulty rows of a batch that the message has. */
const SHOWN = 3;

export class RowError extends Error {
  override readonly name = "RowError";
  /** Every row that is at fault, in order: the others are run again without them. */
  readonly rows: readonly number[];

  /** @param input the tensor that the rows are of. @param mistakes one or more. */
  constructor(input: string, mistakes: readonly RowMistake[]) {
    const shown = mistakes.slice(0, SHOWN);
    const more = mistakes.length - shown.length;
    const texts = shown.map(({ row, message }) => `input "${input}" row ${row}: ${message}`);
    super([...texts, ...(more > 0 ? [`and ${more} more rows`] : [])].join("; "));
    this.rows = mistakes.map(({ row }) => row);
  }
}

/**
 * Does the rows of a batch one after the other: all failures are reported at once, by a RowError.
 * @param input the tensor that the rows are of.
 */
export async function eachRow<T>(
  input: string,
  rows: readonly T[],
  act: (value: T, row: number) => Promise<void> | void,
): Promise<void> {
  const mistakes: RowMistake[] = [];
  for (const [row, value] of rows.entries()) {
    try {
      await act(value, row);
    } catch (error) {
      mistakes.push({ row, message: error instanceof Error ? error.message : String(error) });
    }
  }
  if (mistakes.length > 0) throw new RowError(input, mistakes);
}
