/** The methods that this runtime knows: the only place of it that tells one from another. */
import { oneOf } from "../bundle/fields.ts";
import type { Bundle } from "../bundle/schema.ts";
import { accordion } from "./accordion/accordion.ts";
import { inferline } from "./inferline/inferline.ts";
import { loki } from "./loki/loki.ts";
import type { RuntimeMethod } from "./method.ts";
import { ramsis } from "./ramsis/ramsis.ts";
import { themis } from "./themis/themis.ts";

/** A method under its own name, for every kind of bundle. */
type Methods = { readonly [B in Bundle as B["method"]]: RuntimeMethod<B> };

const METHODS: Methods = { ramsis, loki, inferline, themis, accordion };
/** In the order in which messages have them. */
const NAMES = Object.values(METHODS).map(({ name }) => name);

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
  return METHODS[name === undefined ? "ramsis" : oneOf(name, "method", NAMES)];
}
