/** Letters of the models. */
import type { AccordionBundle } from "../../../bundle/schema.ts";
import { letterAt } from "../../../describe/letters.ts";

/** Returns the letters in the order of the models, over all tasks. */
export function modelLetters({
  tasks,
}: Pick<AccordionBundle, "tasks">): ReadonlyMap<string, string> {
  const names = tasks.flatMap(({ variants }) => variants.map(({ name }) => name));
  return new Map(names.map((name, position) => [name, letterAt(position)]));
}
