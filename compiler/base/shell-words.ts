/** Words of commands that are printed for users. */

/** Quotes a word for a shell if it needs that. */
export function quoted(text: string): string {
  return /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
