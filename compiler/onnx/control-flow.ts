/** Refuses models whose amount of work depends on their input. */
import { nodeLabel } from "./graph-flow.ts";
import type { FunctionsByKey } from "./node-values.ts";
import { bodiesOf, checkNesting, functionKey, readsOf, writesOf } from "./node-values.ts";
import { OnnxModelError } from "./onnx-model-error.ts";
import type { GraphProto, NodeProto } from "./onnx-pb.ts";

/**
 * @param varying values that depend on the graph's inputs.
 * @throws OnnxModelError naming the first If whose condition, or Loop whose trip count or
 * condition, depends on them; without the file's name.
 */
export function refuseDynamicControlFlow(
  nodes: readonly NodeProto[],
  varying: ReadonlySet<string>,
  functions: FunctionsByKey,
  nesting = 0,
): void {
  checkNesting(nesting);
  for (const node of nodes) {
    if (node.opType === "If" && isStandard(node)) {
      if (varying.has(node.input[0] ?? "")) refuse(node, "condition");
    } else if (node.opType === "Loop" && isStandard(node)) {
      if (varying.has(node.input[0] ?? "")) refuse(node, "trip count");
      if (varying.has(node.input[1] ?? "")) refuse(node, "condition");
    }
    for (const body of bodiesOf(node)) {
      const inside = varyingInBody(node, body, varying);
      const isLoop = node.opType === "Loop" && isStandard(node);
      if (isLoop && inside.has(body.output[0]?.name ?? "")) refuse(node, "condition");
      refuseDynamicControlFlow(body.node, inside, functions, nesting + 1);
    }
    const called = functions.get(functionKey(node, node.opType));
    if (called !== undefined) {
      const given = called.input.filter((_, index) => varying.has(node.input[index] ?? ""));
      const inside = spread(called.node, new Set(given));
      refuseDynamicControlFlow(called.node, inside, functions, nesting + 1);
    }
  }
}

function isStandard({ domain }: NodeProto): boolean {
  return domain === "" || domain === "ai.onnx";
}

function refuse(node: NodeProto, what: string): never {
  const why = "its work depends on the data, so no profile of it would hold";
  const allowed = "allowed: control flow decided by constants";
  throw new OnnxModelError(
    `${nodeLabel(node)}: its ${what} depends on the inputs of the graph; ${why}; ${allowed}`,
  );
}

/** Returns the values of a body that depend on the inputs of the graph. */
function varyingInBody(
  node: NodeProto,
  body: GraphProto,
  outside: ReadonlySet<string>,
): ReadonlySet<string> {
  const names = body.input.map(({ name }) => name);
  if (node.opType !== "Loop" || !isStandard(node)) {
    const any = node.input.some((name) => outside.has(name));
    return spread(body.node, new Set([...outside, ...(any ? names : [])]));
  }
  // A loop's body takes iteration, condition and carried values; it returns condition and carried
  // values, one position earlier.
  const carried = names.slice(2);
  const given = carried.filter((_, index) => outside.has(node.input[index + 2] ?? ""));
  let inside = spread(body.node, new Set([...outside, ...given]));
  for (let round = 0; round < carried.length; round++) {
    const more = carried.filter((_, index) => inside.has(body.output[index + 1]?.name ?? ""));
    const next = spread(body.node, new Set([...inside, ...more]));
    if (next.size === inside.size) break;
    inside = next;
  }
  return inside;
}

/** Returns all values that depend on `seeds`. Nodes of bodies may be in any order here. */
function spread(nodes: readonly NodeProto[], seeds: Set<string>): ReadonlySet<string> {
  const readers = new Map<string, NodeProto[]>();
  for (const node of nodes) {
    for (const name of readsOf(node)) {
      const known = readers.get(name);
      if (known === undefined) readers.set(name, [node]);
      else known.push(node);
    }
  }
  const open = [...seeds];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    const own = readers.get(name) ?? [];
    readers.delete(name);
    for (const written of own.flatMap((node) => [...writesOf(node)])) {
      if (seeds.has(written)) continue;
      seeds.add(written);
      open.push(written);
    }
  }
  return seeds;
}
