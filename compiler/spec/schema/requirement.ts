/** Parses requirements in the form of `--require` and of `require` in a spec. */
import {
  readClauses,
  readSubject,
  type Scope,
  Unreadable,
  type Whose,
} from "../document/clause.ts";
import { invalid, type Mistake, show } from "../document/mistakes.ts";
import {
  AMOUNT_FORMS,
  FIGURES,
  type Figure,
  isFigure,
  isLevelFigure,
  LEVEL_FIGURES,
  type LevelFigure,
  readAmount,
} from "./promise-figures.ts";

export type Relation = "<=" | ">=" | "<" | ">";

/** Amount, or a value of the bundle: its ceiling, or the SLO of the queries. */
export type Bound = number | "ceiling" | "slo";

export type Demand =
  | { readonly kind: "feasible" }
  | {
      readonly kind: "level";
      readonly figure: LevelFigure;
      readonly whose: Whose;
      readonly relation: Relation;
      readonly bound: Bound;
    }
  /** Size of the whole bundle. */
  | { readonly kind: "bytes"; readonly relation: Relation; readonly bound: number };

export interface Requirement {
  /** Text with single spaces. */
  readonly text: string;
  readonly demand: Demand;
  readonly scope: Scope;
}

export const REQUIREMENT_FORM =
  "requirements such as feasible; violations <= ceiling; accuracy >= 97% @ 1000; cost <= 3/h";

const NAMES = ["feasible", ...Object.keys(LEVEL_FIGURES), "bytes"];
const RELATIONS: readonly Relation[] = ["<=", ">=", "<", ">"];
const SIGNS = new Map([
  ["≤", "<="],
  ["≥", ">="],
]);
/** Words that replace an amount, by figure. */
const WORDS: Readonly<Partial<Record<Figure, "ceiling" | "slo">>> = {
  violations: "ceiling",
  p50: "slo",
  p95: "slo",
  p99: "slo",
};

/** @param text requirements separated by semicolons. */
export function readRequirements(text: string): readonly Requirement[] | Unreadable {
  const clauses = readClauses(text, REQUIREMENT_FORM);
  if (clauses instanceof Unreadable) return clauses;
  const requirements: Requirement[] = [];
  for (const { text, body, scope } of clauses) {
    const demand = readDemand(body);
    if (demand instanceof Unreadable) return demand;
    if (demand.kind === "bytes" && scope.kind !== "all") {
      return new Unreadable("no @ with bytes, which is for the whole bundle", show(text));
    }
    requirements.push({ text, demand, scope });
  }
  return requirements;
}

function readDemand(body: string): Demand | Unreadable {
  const plain = [...body].map((sign) => SIGNS.get(sign) ?? sign).join("");
  const at = plain.search(/[<>=]/);
  const subject = readSubject(at < 0 ? plain : plain.slice(0, at).trim(), NAMES);
  if (subject instanceof Unreadable) return subject;
  const { name, whose } = subject;
  if (name === "feasible") {
    if (at < 0 && whose.kind === "all") return { kind: "feasible" };
    return new Unreadable("feasible by itself, or with @ and loads", show(body));
  }
  if (!isFigure(name)) throw new RangeError("expected a figure");
  const rest = at < 0 ? "" : plain.slice(at);
  const relation = RELATIONS.find((one) => rest.startsWith(one));
  const allowed = FIGURES[name].better === "less" ? "<=" : ">=";
  if (relation?.[0] !== allowed[0] || relation === undefined) {
    const why = `since ${FIGURES[name].better} is better`;
    return new Unreadable(`${name} ${allowed} an amount, ${why}`, show(body));
  }
  const bound = readBound(name, rest.slice(relation.length).trim());
  if (bound instanceof Unreadable) return bound;
  if (isLevelFigure(name)) return { kind: "level", figure: name, whose, relation, bound };
  if (whose.kind === "all" && typeof bound === "number") return { kind: "bytes", relation, bound };
  return new Unreadable(`${name} of the whole bundle`, show(body));
}

function readBound(figure: Figure, text: string): Bound | Unreadable {
  const word = WORDS[figure];
  if (word !== undefined && text === word) return word;
  const { unit } = FIGURES[figure];
  const amount = readAmount(unit, text);
  if (amount !== null) return amount;
  const alternative = word === undefined ? "" : `, or ${word},`;
  return new Unreadable(`${AMOUNT_FORMS[unit]}${alternative} for ${figure}`, show(text));
}

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
