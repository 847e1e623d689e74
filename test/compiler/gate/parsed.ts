/** Requirements and tolerances of tests, which are sound. */
import { readTolerances, type Tolerance } from "../../../compiler/gate/tolerance.ts";
import { Unreadable } from "../../../compiler/spec/document/clause.ts";
import { type Requirement, readRequirements } from "../../../compiler/spec/schema/requirement.ts";

export function parsed(text: string): readonly Requirement[] {
  return sound(readRequirements(text));
}

export function allowed(text: string): readonly Tolerance[] {
  return sound(readTolerances(text));
}

function sound<T>(read: T | Unreadable): T {
  if (read instanceof Unreadable) throw new Error(`expected ${read.expected}, got ${read.found}`);
  return read;
}
