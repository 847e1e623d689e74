/**
 * Methods by name. A method is loaded when the first bundle of it is read, because the modules of
 * all are several times those of one; code that has a bundle can rely on its method being loaded.
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
/** In the order of messages. */
const METHOD_NAME = oneOf(Object.keys(METHODS) as readonly MethodName[]);

type MethodOf<B extends Bundle> = Awaited<ReturnType<(typeof METHODS)[B["method"]]>>;

/** The types of a method's state, decision and core. */
export type StateOf<B extends Bundle> = Parameters<MethodOf<B>["decide"]>[2];
export type DecisionOf<B extends Bundle> = ReturnType<MethodOf<B>["decide"]>;
export type CoreOptionsOf<B extends Bundle> = Parameters<MethodOf<B>["core"]>[1];
export type CoreOf<B extends Bundle> = ReturnType<MethodOf<B>["core"]>;

/** Methods of the bundles that were read. Like modules they are loaded once, and stay. */
const opened = new Map<MethodName, RuntimeMethod<Bundle>>();

/** @param name name in the bundle; undefined means ramsis. @throws BundleError BUNDLE_SCHEMA */
export async function openMethod(name: unknown): Promise<RuntimeMethod<Bundle>> {
  return keepOpen(await METHODS[nameOf(name)]());
}

/** Registers a method that is already loaded. */
export function keepOpen(method: RuntimeMethod<Bundle>): RuntimeMethod<Bundle> {
  opened.set(method.name, method);
  return method;
}

/** Returns the method of a bundle that was read; it accepts only bundles of this method. */
export function methodOf<B extends Bundle>(bundle: B): RuntimeMethod<B>;
export function methodOf({ method: name }: Bundle): RuntimeMethod<Bundle> {
  const method = opened.get(name);
  assert(method !== undefined, `a bundle of method ${name} is read before anything is asked of it`);
  return method;
}

/** Returns a loaded method, like `openMethod`. @throws BundleError BUNDLE_SCHEMA */
export function methodNamed(name: unknown): RuntimeMethod<Bundle> {
  const known = nameOf(name);
  const method = opened.get(known);
  assert(method !== undefined, `method ${known} is opened before bundles of it are read`);
  return method;
}

function nameOf(name: unknown): MethodName {
  return name === undefined ? "ramsis" : METHOD_NAME.read(name, "method");
}
