/** The methods that this runtime knows: the only place of it that tells one from another. */
import { oneOf } from "../bundle/fields.ts";
import type { Bundle } from "../bundle/schema.ts";
import { accordion } from "./accordion/accordion.ts";
import { inferline } from "./inferline/inferline.ts";
import { loki } from "./loki/loki.ts";
import type { RuntimeMethod } from "./method.ts";
import { ramsis } from "./ramsis/ramsis.ts";
import { themis } from "./themis/themis.ts";

export {
  DROP as DROP_QUERY,
  RESHAPE as RESHAPE_QUERY,
  START as START_QUERY,
} from "./accordion/core/commands.ts";

/** A method under its own name, for every kind of bundle. */
type Methods = { readonly [B in Bundle as B["method"]]: RuntimeMethod<B> };

const METHODS = { ramsis, loki, inferline, themis, accordion } satisfies Methods;
/** In the order in which messages have them. */
const METHOD_NAME = oneOf(Object.values(METHODS).map(({ name }) => name));

/** What the method of a bundle takes for a state, and what it gives for a decision and a core. */
export type StateOf<B extends Bundle> = Parameters<(typeof METHODS)[B["method"]]["decide"]>[2];
export type DecisionOf<B extends Bundle> = ReturnType<(typeof METHODS)[B["method"]]["decide"]>;
export type CoreOptionsOf<B extends Bundle> = Parameters<(typeof METHODS)[B["method"]]["core"]>[1];
export type CoreOf<B extends Bundle> = ReturnType<(typeof METHODS)[B["method"]]["core"]>;

/** The method of a bundle, to be asked about bundles of this method only. */
export function methodOf<B extends Bundle>(bundle: B): RuntimeMethod<B>;
export function methodOf({ method }: Bundle): RuntimeMethod<Bundle> {
  return METHODS[method];
}

/**
 * @param name as a bundle says it; one that says none is of ramsis. @throws BundleError
 * BUNDLE_SCHEMA
 */
export function methodNamed(name: unknown): RuntimeMethod<Bundle> {
  return METHODS[name === undefined ? "ramsis" : METHOD_NAME.read(name, "method")];
}
