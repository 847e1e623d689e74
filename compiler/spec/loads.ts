/** Resolves the loads of a spec to rates. */
import type { Loads } from "./application.ts";
import { conflict, invalid, type Mistake, missing } from "./document/mistakes.ts";
import { type LoadsSpec, MAX_LOADS } from "./schema/application-schema.ts";

const PATH = ["workload", "loads"] as const;

/** Finds mistakes in the loads of a spec beyond their structure. */
export function* loadMistakes(loads: LoadsSpec): Generator<Mistake> {
  if (Array.isArray(loads)) {
    yield* listMistakes(loads);
    return;
  }
  const { from, to, step, maxAccuracyStep } = loads;
  if (from > to) {
    yield conflict([...PATH, "from"], `expected at most to, which is ${to}, got ${from}`);
  }
  if (step !== undefined && maxAccuracyStep !== undefined) {
    yield conflict([...PATH, "maxAccuracyStep"], "expected step or maxAccuracyStep, got both");
  } else if (step !== undefined) {
    const { loadCount } = exactRange(from, to, step);
    if (loadCount > MAX_LOADS) {
      yield invalid(
        [...PATH, "step"],
        `at most ${MAX_LOADS} loads`,
        `a step that makes ${loadCount}`,
      );
    }
  } else if (maxAccuracyStep === undefined) {
    yield missing([...PATH, "step"], "step or maxAccuracyStep with from and to");
  }
}

function* listMistakes(loads: readonly number[]): Generator<Mistake> {
  if (loads.length === 0) yield invalid(PATH, "at least one load", "an empty list");
  for (const [index, load] of loads.entries()) {
    const previous = loads[index - 1] ?? 0;
    if (load > previous) continue;
    const expected = `loads in ascending order without repeats, above ${previous}`;
    yield invalid([...PATH, index], expected, String(load));
  }
}

/** Resolves the loads of a valid spec. */
export function resolveLoads(loads: LoadsSpec): Loads {
  if (Array.isArray(loads)) return { kind: "list", qps: loads };
  const { from, to, step, maxAccuracyStep } = loads;
  if (step !== undefined) return { kind: "list", qps: exactRange(from, to, step).expand() };
  return { kind: "adaptive", fromQps: from, toQps: to, maxAccuracyStep: maxAccuracyStep ?? 1 };
}

/**
 * Lists from, from + step, … up to and including `to`, computed with the decimals of the spec: 0.1
 * to 0.5 by 0.1 has 0.3, not 0.30000000000000004. The count is known before the list is built, so
 * that it can be bounded.
 */
function exactRange(from: number, to: number, step: number) {
  const exponent = Math.min(...[from, to, step].map((value) => decimal(value).exponent));
  const scaled = (value: number): bigint => {
    const { digits, exponent: own } = decimal(value);
    return digits * 10n ** BigInt(own - exponent);
  };
  const [first, last, distance] = [scaled(from), scaled(to), scaled(step)];
  const loadCount = last < first ? 0n : (last - first) / distance + 1n;
  const expand = () =>
    Array.from({ length: Number(loadCount) }, (_, index) =>
      Number(`${first + BigInt(index) * distance}e${exponent}`),
    );
  return { loadCount, expand };
}

/** Returns the shortest decimal that reads back as `value`: digits times ten to the exponent. */
function decimal(value: number): { digits: bigint; exponent: number } {
  const [mantissa = "", exponent = "0"] = value.toExponential().split("e");
  const [whole = "", fraction = ""] = mantissa.split(".");
  return { digits: BigInt(whole + fraction), exponent: Number(exponent) - fraction.length };
}
