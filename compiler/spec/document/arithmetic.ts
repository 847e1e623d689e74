/**
 * Loads mathjs, restricted to the arithmetic of expressions, only if a spec has an expression:
 * loading takes longer than compiling most specs.
 */
import { createRequire } from "node:module";
import type * as MathJs from "mathjs";
import { power } from "./power.ts";

let loaded: MathJs.MathJsInstance | null = null;

/**
 * Registers only the allowed functions, and the tree is checked before it runs: assignments,
 * ranges, property access and other calls are refused, so text of a spec cannot reach `import`,
 * `createUnit`, `evaluate` or the host.
 */
export function arithmetic(): MathJs.MathJsInstance {
  loaded ??= load();
  return loaded;
}

function load(): MathJs.MathJsInstance {
  // Parsing is synchronous throughout, so this cannot be a dynamic import.
  const math = createRequire(import.meta.url)("mathjs") as typeof MathJs;
  const arithmetic = math.create({
    ...math.parseDependencies,
    ...math.UnitDependencies,
    ...math.addDependencies,
    ...math.subtractDependencies,
    ...math.multiplyDependencies,
    ...math.divideDependencies,
    ...math.powDependencies,
    ...math.unaryMinusDependencies,
    ...math.minDependencies,
    ...math.maxDependencies,
    ...math.sqrtDependencies,
    ...math.unitDependencies,
  });
  withSamePowers(arithmetic);
  return arithmetic;
}

type Power = MathJs.MathJsInstance["pow"] & {
  /** Keys are the types of the arguments. */
  readonly signatures: Parameters<MathJs.MathJsInstance["typed"]>[1];
};

/** Uses `power` for powers of real numbers, and mathjs for all others. */
function withSamePowers(math: MathJs.MathJsInstance): void {
  const pow = math.pow as Power;
  const own = (base: number, exponent: number) =>
    base >= 0 || Number.isInteger(exponent) ? power(base, exponent) : pow(base, exponent);
  const signatures = { ...pow.signatures, "number,number": own };
  math.import({ pow: math.typed("pow", signatures) }, { override: true });
}
