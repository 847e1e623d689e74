/** Evaluates arithmetic over numbers and units, in a sandbox. */
import type { MathNode } from "mathjs";
import { arithmetic } from "./arithmetic.ts";

/** Dimension of a value: `none` for a plain number. */
export type Dimension = "time" | "rate" | "none";

export type Evaluated =
  | { readonly ok: true; readonly value: number; readonly dimension: Dimension }
  | { readonly ok: false; readonly reason: string };

/** Longest expression that is read; it also bounds the depth of its tree. */
const MAX_EXPRESSION_LENGTH = 500;

/** Total length of all expressions in a file: 4,000 of 25 characters take half a second. */
const MAX_BUDGET = 100_000;

/** Remaining characters for expressions of the current file. */
let budget = Number.POSITIVE_INFINITY;

/** Reads a file with a limit on the total length of its expressions. */
export function withExpressionBudget<T>(read: () => T): T {
  budget = MAX_BUDGET;
  try {
    return read();
  } finally {
    budget = Number.POSITIVE_INFINITY;
  }
}

const FUNCTIONS = ["min", "max", "sqrt"];
const OPERATORS = ["add", "subtract", "multiply", "divide", "pow", "unaryMinus"];

/**
 * Evaluates arithmetic over numbers and units, such as `2 * 75 ms` or `1/3`, to a time in ms, a
 * rate per second, or a plain number; always finite.
 */
export function evaluateExpression(text: string): Evaluated {
  const parsed = parseArithmetic(text, (name) =>
    arithmetic().Unit.isValuelessUnit(name) ? null : `unknown unit ${JSON.stringify(name)}`,
  );
  if (typeof parsed === "string") return { ok: false, reason: parsed };
  return measure(() => parsed.compile().evaluate({}));
}

type CompiledExpression =
  | { readonly ok: true; readonly evaluate: (values: Readonly<Record<string, number>>) => number }
  | { readonly ok: false; readonly reason: string };

/**
 * Compiles arithmetic over the named symbols, without units. `evaluate` takes one number per symbol
 * and returns NaN if the result is not a finite plain number, as for a division by zero.
 */
export function compileExpression(text: string, symbols: readonly string[]): CompiledExpression {
  const parsed = parseArithmetic(text, (name) =>
    symbols.includes(name) ? null : `unknown name ${JSON.stringify(name)}`,
  );
  if (typeof parsed === "string") return { ok: false, reason: parsed };
  const code = parsed.compile();
  const evaluate = (values: Readonly<Record<string, number>>): number => {
    const result = measure(() => code.evaluate(new Map(Object.entries(values))));
    return result.ok && result.dimension === "none" ? result.value : Number.NaN;
  };
  return { ok: true, evaluate };
}

/** Returns the tree of an expression with only allowed nodes, or the reason for refusing it. */
function parseArithmetic(
  text: string,
  refuseSymbol: (name: string) => string | null,
): MathNode | string {
  if (text.length > MAX_EXPRESSION_LENGTH) {
    return `longer than ${MAX_EXPRESSION_LENGTH} characters`;
  }
  budget -= text.length;
  if (budget < 0) return `more than ${MAX_BUDGET} characters of expressions in one file`;
  let root: MathNode;
  try {
    root = arithmetic().parse(text);
  } catch {
    return "not an expression";
  }
  let reason: string | null = null;
  root.traverse((node, path) => {
    reason ??= refuseNode(node, path, refuseSymbol);
  });
  return reason ?? root;
}

function refuseNode(
  node: MathNode,
  path: string,
  refuseSymbol: (name: string) => string | null,
): string | null {
  const math = arithmetic();
  if (math.isConstantNode(node) && typeof node.value === "number") return null;
  if (math.isParenthesisNode(node)) return null;
  if (math.isOperatorNode(node) && OPERATORS.includes(node.fn)) return null;
  if (math.isFunctionNode(node) && math.isSymbolNode(node.fn)) return null;
  if (math.isSymbolNode(node)) {
    if (path !== "fn") return refuseSymbol(node.name);
    return FUNCTIONS.includes(node.name) ? null : `unknown function ${JSON.stringify(node.name)}`;
  }
  return "only numbers, units, + - * / ^, min, max and sqrt may be used";
}

function measure(evaluate: () => unknown): Evaluated {
  try {
    return measured(evaluate());
  } catch {
    // Thrown also for a complex number with a unit.
    return { ok: false, reason: "its units do not go together" };
  }
}

function measured(result: unknown): Evaluated {
  if (typeof result === "number") return finite(result, "none");
  const math = arithmetic();
  if (math.isUnit(result)) {
    if (result.equalBase(math.unit(1, "s"))) return finite(result.toNumber("ms"), "time");
    if (result.equalBase(math.unit(1, "Hz"))) return finite(result.toNumber("Hz"), "rate");
    return { ok: false, reason: "neither a time, a rate nor a plain number" };
  }
  return { ok: false, reason: "not a real number" };
}

function finite(value: number, dimension: Dimension): Evaluated {
  return Number.isFinite(value)
    ? { ok: true, value, dimension }
    : { ok: false, reason: "not a finite number" };
}
