/** Whether a server has anything to do with sources, told before anything of them is loaded. */
import { RuntimeError } from "../errors.ts";
import { policyUrlOf } from "./policy-url.ts";

/**
 * @param policies paths and URLs. @param settings that name a document of policies instead.
 * @throws RuntimeError RUNTIME_USAGE for both, and for URLs that are none of policies.
 */
export function haveSources(
  policies: readonly string[],
  { discovery }: { readonly discovery?: string | undefined },
): boolean {
  if (discovery !== undefined && policies.length > 0) {
    const expected = "expected --policy or --discovery, which names policies itself, got both";
    throw new RuntimeError("RUNTIME_USAGE", expected);
  }
  const urls = policies.filter((text) => policyUrlOf(text) !== null);
  return discovery !== undefined || urls.length > 0;
}
