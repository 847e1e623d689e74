/** Parses tolerances in the form of `--allow`: `accuracy 0.5%; cost 5%; p99 2ms @ 1000`. */
import { RuntimeError } from "stratagem-runtime/internal/base/errors";
import {
  readClauses,
  readSubject,
  type Scope,
  Unreadable,
  type Whose,
} from "../spec/document/clause.ts";
import { show } from "../spec/document/mistakes.ts";
import {
  AMOUNT_FORMS,
  FIGURES,
  type Figure,
  isFigure,
  readAmount,
} from "../spec/schema/promise-figures.ts";

/** Allowed change: in the figure's unit, relative to the old promise, or any. */
type Room =
  | { readonly kind: "amount"; readonly amount: number }
  | { readonly kind: "share"; readonly share: number }
  | { readonly kind: "any" };

export interface Tolerance {
  /** Text with single spaces. */
  readonly text: string;
  readonly figure: Figure | "feasible";
  /** A tolerance for all queries also applies to each class and bucket. */
  readonly whose: Whose;
  readonly room: Room;
  readonly scope: Scope;
}

const TOLERANCE_FORM =
  "tolerances such as accuracy 0.5%; violations 0.1%; cost 5%; p99 2ms @ 1000; feasible @ 4000";

const NAMES = ["feasible", ...Object.keys(FIGURES)];
/** Most words of a subject, such as `accuracy of class fast`. */
const SUBJECT_WORDS = 4;

/** @param text tolerances separated by semicolons. */
export function readTolerances(text: string): readonly Tolerance[] | Unreadable {
  const clauses = readClauses(text, TOLERANCE_FORM);
  if (clauses instanceof Unreadable) return clauses;
  const tolerances: Tolerance[] = [];
  for (const clause of clauses) {
    const words = clause.body.split(" ");
    const count = words[1] === "of" ? SUBJECT_WORDS : 1;
    const subject = readSubject(words.slice(0, count).join(" "), NAMES);
    if (subject instanceof Unreadable) return subject;
    const { name, whose } = subject;
    const room = readRoom(name, words.slice(count).join(" "));
    if (room instanceof Unreadable) return room;
    const figure = isFigure(name) ? name : "feasible";
    tolerances.push({ text: clause.text, figure, whose, room, scope: clause.scope });
  }
  return tolerances;
}

/** @param flag option that has the text. @throws RuntimeError RUNTIME_USAGE */
export function tolerancesOf(text: string, flag: string): readonly Tolerance[] {
  const read = readTolerances(text);
  if (!(read instanceof Unreadable)) return read;
  const message = `${flag}: expected ${read.expected}, got ${read.found}`;
  throw new RuntimeError("RUNTIME_USAGE", message);
}

/** For ratios, percentages are points; for other figures they are relative to the old promise. */
function readRoom(name: string, text: string): Room | Unreadable {
  if (!isFigure(name)) {
    if (text === "") return { kind: "any" };
    return new Unreadable("feasible by itself, or with @ and loads", show(`${name} ${text}`));
  }
  if (text === "any") return { kind: "any" };
  const { unit } = FIGURES[name];
  if (unit !== "ratio" && text.endsWith("%")) {
    const share = readAmount("count", text);
    if (share !== null) return { kind: "share", share };
  }
  const amount = readAmount(unit, text);
  if (amount !== null) return { kind: "amount", amount };
  const part = unit === "ratio" ? "" : ", a percentage";
  return new Unreadable(`${AMOUNT_FORMS[unit]}${part}, or any, for ${name}`, show(text));
}
