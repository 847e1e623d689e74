/** How right a text is that was read. */

/** What counts as the same: kinds of quotes, dashes and spaces. */
export function comparable(text: string): string {
  return text
    .normalize("NFKC")
    .replace(/[‘’‚`´]/gu, "'")
    .replace(/[“”„]|''/gu, '"')
    .replace(/[‐‑‒–—−]+/gu, "-")
    .replace(/\s+/gu, " ")
    .trim();
}

/** Least number of characters put in, left out or exchanged (Levenshtein). */
export function editDistance(from: string, to: string): number {
  const [a, b] = [[...from], [...to]];
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (const [index, letter] of a.entries()) {
    let diagonal = row[0] ?? 0;
    const next = [index + 1];
    for (const [column, other] of b.entries()) {
      const above = row[column + 1] ?? 0;
      const kept = diagonal + (letter === other ? 0 : 1);
      next.push(Math.min(kept, above + 1, (next[column] ?? 0) + 1));
      diagonal = above;
    }
    row = next;
  }
  return row[b.length] ?? 0;
}

/** Errors and characters of a page. */
export interface PageScore {
  readonly errors: number;
  readonly characters: number;
}

export function pageScore(truth: string, found: string): PageScore {
  const expected = comparable(truth);
  return { errors: editDistance(expected, comparable(found)), characters: [...expected].length };
}

/** Share of the characters of all pages that are right, 0 to 1. */
export function accuracyOf(scores: readonly PageScore[]): number {
  const errors = scores.reduce((sum, score) => sum + score.errors, 0);
  const characters = scores.reduce((sum, score) => sum + score.characters, 0);
  return Math.max(0, 1 - errors / characters);
}
