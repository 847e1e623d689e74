/** Suggests the name that a misspelt one was meant to be, at bounded cost. */

/** Longer names are not checked; the longest key of any format has 20 characters. */
const MAX_WORD_LENGTH = 64;
/** Maximum number of candidates; lists in messages are shorter still. */
const MAX_CANDIDATES = 200;

/**
 * Returns the candidate closest to `word` by edit distance; null if none is close enough to be a
 * typing error. Ties go to the first. Only the first `MAX_CANDIDATES` are considered.
 */
export function nearest(word: string, candidates: Iterable<string>): string | null {
  if (word.length > MAX_WORD_LENGTH) return null;
  const lowered = word.toLowerCase();
  let best: string | null = null;
  let bestDistance = Math.ceil(word.length / 3) + 1;
  let looked = 0;
  for (const candidate of candidates) {
    if (++looked > MAX_CANDIDATES) break;
    if (Math.abs(candidate.length - word.length) >= bestDistance) continue;
    const distance = editDistance(lowered, candidate.toLowerCase());
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/**
 * Returns `; did you mean "x"?` if a candidate is near, else the allowed candidates, shortened to
 * keep one line readable.
 */
export function suggestion(word: string, candidates: readonly string[]): string {
  const near = nearest(word, candidates);
  if (near !== null) return `; did you mean ${JSON.stringify(near)}?`;
  return candidates.length === 0 ? "" : `; allowed are ${shortList(candidates)}`;
}

function shortList(names: readonly string[]): string {
  const shown = names.slice(0, MAX_NAMES_SHOWN).join(", ");
  const hidden = names.length - MAX_NAMES_SHOWN;
  return hidden > 0 ? `${shown} and ${hidden} more` : shown;
}

const MAX_NAMES_SHOWN = 12;

/**
 * Levenshtein distance: least number of single-character insertions, deletions and replacements.
 */
function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let i = 0; i < a.length; i++) {
    const current = [i + 1];
    for (let j = 0; j < b.length; j++) {
      const replace = (previous[j] ?? 0) + (a[i] === b[j] ? 0 : 1);
      current.push(Math.min(replace, (previous[j + 1] ?? 0) + 1, (current[j] ?? 0) + 1));
    }
    previous = current;
  }
  return previous[b.length] ?? 0;
}
