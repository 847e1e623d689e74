/**
 * Which method answers for which name: the only file of the compiler that lists them. A method is
 * loaded once it is asked for: the solvers of all are half of what a command would load.
 */
import type { MethodName } from "../spec/application.ts";
import type { CompilerMethod, CompilerMethodOf } from "./method.ts";

const METHODS: { readonly [M in MethodName]: () => Promise<CompilerMethodOf<M>> } = {
  ramsis: async () => (await import("./ramsis/ramsis.ts")).ramsisMethod,
  async loki() {
    // A task of a plan may have a table of its own.
    const { ramsis } = await import("./ramsis/solve/ramsis.ts");
    return (await import("./loki/loki.ts")).lokiMethod(ramsis);
  },
  inferline: async () => (await import("./inferline/inferline.ts")).inferlineMethod,
  themis: async () => (await import("./themis/themis.ts")).themisMethod,
  accordion: async () => (await import("./accordion/accordion.ts")).accordionMethod,
};

/** The method of a policy, a frame or a bundle. */
export function methodOf({ method }: { readonly method: MethodName }): Promise<CompilerMethod> {
  return METHODS[method]();
}

/** In the order in which people are told of them. */
export function allMethods(): Promise<readonly CompilerMethod[]> {
  return Promise.all(Object.values(METHODS).map((load) => load()));
}
