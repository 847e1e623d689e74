/**
 * Which method answers for which name. A method is opened when the first bundle of it is read, for
 * the modules of all are several times those of one; whoever has a bundle has one that was read.
 */
import { oneOf } from "../bundle/fields.ts";
import type { Bundle } from "../bundle/schema.ts";
import { assert } from "../core/assert.ts";
import type { RuntimeMethod } from "./method.ts";

/** A method under its own name, for every kind of bundle. */
export type Methods = { readonly [B in Bundle as B["method"]]: RuntimeMethod<B> };

type MethodName = keyof Methods;

const METHODS = {
  ramsis: async () => (await import("./ramsis/ramsis.ts")).ramsis,
  loki: async () => (await import("./loki/loki.ts")).loki,
  inferline: async () => (await import("./inferline/inferline.ts")).inferline,
  themis: async () => (await import("./themis/themis.ts")).themis,
  accordion: async () => (await import("./accordion/accordion.ts")).accordion,
} satisfies { readonly [M in MethodName]: () => Promise<Methods[M]> };
/** In the order in which messages have them. */
const METHOD_NAME = oneOf(Object.keys(METHODS) as readonly MethodName[]);

type MethodOf<B extends Bundle> = Awaited<ReturnType<(typeof METHODS)[B["method"]]>>;

/** What the method of a bundle takes for a state, and what it gives for a decision and a core. */
export type StateOf<B extends Bundle> = Parameters<MethodOf<B>["decide"]>[2];
export type DecisionOf<B extends Bundle> = ReturnType<MethodOf<B>["decide"]>;
export type CoreOptionsOf<B extends Bundle> = Parameters<MethodOf<B>["core"]>[1];
export type CoreOf<B extends Bundle> = ReturnType<MethodOf<B>["core"]>;

/** Methods of the bundles that were read. Like modules they are loaded once, and stay. */
const opened = new Map<MethodName, RuntimeMethod<Bundle>>();

/**
 * @param name as a bundle says it; one that says none is of ramsis. @throws BundleError
 * BUNDLE_SCHEMA
 */
export async function openMethod(name: unknown): Promise<RuntimeMethod<Bundle>> {
  return keepOpen(await METHODS[nameOf(name)]());
}

/** Opens a method that is there already. */
export function keepOpen(method: RuntimeMethod<Bundle>): RuntimeMethod<Bundle> {
  opened.set(method.name, method);
  return method;
}

/** The method of a bundle that was read, to be asked about bundles of this method only. */
export function methodOf<B extends Bundle>(bundle: B): RuntimeMethod<B>;
export function methodOf({ method: name }: Bundle): RuntimeMethod<Bundle> {
  const method = opened.get(name);
  assert(method !== undefined, `a bundle of method ${name} is read before anything is asked of it`);
  return method;
}

/** As `openMethod`, of a method that is open. @throws BundleError BUNDLE_SCHEMA */
export function methodNamed(name: unknown): RuntimeMethod<Bundle> {
  const known = nameOf(name);
  const method = opened.get(known);
  assert(method !== undefined, `method ${known} is opened before bundles of it are read`);
  return method;
}

function nameOf(name: unknown): MethodName {
  return name === undefined ? "ramsis" : METHOD_NAME.read(name, "method");
}
