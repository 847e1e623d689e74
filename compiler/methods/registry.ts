/**
 * Registry of methods by name: the only file of the compiler that lists them. A method is loaded on
 * first use: the solvers of all methods are half of what a command would load.
 */
import type { MethodName } from "../spec/application.ts";
import type { CompilerMethod, CompilerMethodOf } from "./method.ts";
import { METHOD_DEFAULTS } from "./method-defaults.ts";

const METHODS: { readonly [M in MethodName]: () => Promise<CompilerMethodOf<M>> } = {
  ramsis: async () => (await import("./ramsis/ramsis.ts")).ramsisMethod,
  async loki() {
    // A task of a plan may have its own table.
    const { ramsis } = await import("./ramsis/solve/ramsis.ts");
    return (await import("./loki/loki.ts")).lokiMethod(ramsis);
  },
  inferline: async () => (await import("./inferline/inferline.ts")).inferlineMethod,
  themis: async () => (await import("./themis/themis.ts")).themisMethod,
  accordion: async () => (await import("./accordion/accordion.ts")).accordionMethod,
};

/** Loads the method of a policy, a frame or a bundle. */
export async function methodOf(of: { readonly method: MethodName }): Promise<CompilerMethod> {
  return { ...METHOD_DEFAULTS, ...(await METHODS[of.method]()) };
}

/** In the order of the help and of messages. */
export function allMethods(): Promise<readonly CompilerMethod[]> {
  const names = Object.keys(METHODS) as MethodName[];
  return Promise.all(names.map((method) => methodOf({ method })));
}
