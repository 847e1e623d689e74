/** Checks and parses the requirements of a spec. */
import { Unreadable } from "../document/clause.ts";
import { invalid, type Mistake } from "../document/mistakes.ts";
import { type Requirement, readRequirements } from "./requirement.ts";

export function* requiredMistakes(texts: readonly string[] = []): Generator<Mistake> {
  for (const [index, text] of texts.entries()) {
    const read = readRequirements(text);
    if (read instanceof Unreadable) yield invalid(["require", index], read.expected, read.found);
  }
}

/** Parses valid texts; left out if empty. */
export function requiredPart(texts: readonly string[] = []): {
  readonly requirements?: readonly Requirement[];
} {
  const requirements = texts.flatMap((text) => {
    const read = readRequirements(text);
    return read instanceof Unreadable ? [] : read;
  });
  return requirements.length === 0 ? {} : { requirements };
}
