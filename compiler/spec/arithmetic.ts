/** mathjs, cut down to the arithmetic of expressions and loaded only when a spec has one: it takes longer to load than most specs to compile. */
import { createRequire } from "node:module";
import type * as MathJs from "mathjs";

let loaded: MathJs.MathJsInstance | null = null;

/**
 * Only the functions an expression may reach are registered, and the tree is checked before it runs: assignments, ranges, property access and
 * every call but these are refused, so text of a spec cannot reach `import`, `createUnit`, `evaluate` or the host.
 */
export function arithmetic(): MathJs.MathJsInstance {
  loaded ??= load();
  return loaded;
}

function load(): MathJs.MathJsInstance {
  // Parsing is synchronous throughout, so this cannot be a dynamic import.
  const math = createRequire(import.meta.url)("mathjs") as typeof MathJs;
  return math.create({
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
}
