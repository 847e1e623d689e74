/** Which method answers for which name: the only file of the compiler that lists them. */
import type { MethodName } from "../spec/application.ts";
import { accordionMethod } from "./accordion/accordion.ts";
import { inferlineMethod } from "./inferline/inferline.ts";
import { lokiMethod } from "./loki/loki.ts";
import type { CompilerMethod, CompilerMethodOf } from "./method.ts";
import { ramsisMethod } from "./ramsis/ramsis.ts";
import { ramsis } from "./ramsis/solve/ramsis.ts";
import { themisMethod } from "./themis/themis.ts";

const METHODS: { readonly [M in MethodName]: CompilerMethodOf<M> } = {
  ramsis: ramsisMethod,
  // A task of a plan may have a table of its own.
  loki: lokiMethod(ramsis),
  inferline: inferlineMethod,
  themis: themisMethod,
  accordion: accordionMethod,
};

/** The method of a policy, a frame or a bundle. */
export function methodOf({ method }: { readonly method: MethodName }): CompilerMethod {
  return METHODS[method];
}

/** In the order in which people are told of them. */
export function allMethods(): readonly CompilerMethod[] {
  return Object.values(METHODS);
}
