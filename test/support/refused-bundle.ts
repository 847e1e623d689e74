import { BundleError } from "../../runtime/base/bundle-error.ts";
import { validateBundle } from "../../runtime/bundles/checked-bundle.ts";

type Node = Record<string | number, unknown>;

/**
 * A copy with one place changed; `undefined` removes it.
 * @param path such as `levels[0].loadQps`.
 */
export function changedAt(bundle: object, path: string, value: unknown): unknown {
  const copy = structuredClone(bundle) as Node;
  const keys = path.split(/[.[\]]+/).filter((key) => key !== "");
  const last = keys.pop() ?? "";
  const parent = keys.reduce<Node>((node, key) => node[key] as Node, copy);
  if (value === undefined) delete parent[last];
  else parent[last] = value;
  return copy;
}

/** Code and message of the refusal, or that there is none. */
export function refusal(value: unknown): string {
  try {
    validateBundle(value);
    return "accepted";
  } catch (error) {
    if (!(error instanceof BundleError)) throw error;
    return `${error.code} ${error.message}`;
  }
}
