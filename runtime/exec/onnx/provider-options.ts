/**
 * Options that users may give a provider: those that onnxruntime-node 1.30 passes on, with the
 * values that each was seen to accept. A later release with more options gets a line here.
 */
import { suggestion } from "../../base/nearest.ts";
import type { Provider, ProviderOptions } from "../models/worker-device.ts";

/** Allowed values: one of some words, a boolean, or any number of names. */
type Allowed = readonly string[] | "boolean" | "names";

/** Maximum length of a value shown in a message. */
const MAX_SHOWN_LENGTH = 100;
const CACHE_MODES = ["disabled", "lazyRelease", "simple", "bucket"];

const WEBGPU: Readonly<Record<string, Allowed>> = {
  preferredLayout: ["NCHW", "NHWC"],
  validationMode: ["disabled", "wgpuOnly", "basic", "full"],
  storageBufferCacheMode: CACHE_MODES,
  uniformBufferCacheMode: CACHE_MODES,
  queryResolveBufferCacheMode: CACHE_MODES,
  defaultBufferCacheMode: CACHE_MODES,
  enableRobustness: "boolean",
  forceCpuNodeNames: "names",
};

/** The binding passes on only the device number for cuda and tensorrt. */
const OPTIONS: Readonly<Record<Provider, Readonly<Record<string, Allowed>>>> = {
  cpu: {},
  cuda: {},
  tensorrt: {},
  webgpu: WEBGPU,
};

/** Describes the first option that the provider does not take; null if all are valid. */
export function checkProviderOptions(provider: Provider, options: ProviderOptions): string | null {
  const known = OPTIONS[provider];
  for (const [name, value] of Object.entries(options)) {
    const allowed = Object.hasOwn(known, name) ? known[name] : undefined;
    if (allowed === undefined) return unknownOption(provider, name);
    const wrong = wrongValue(allowed, value);
    if (wrong !== null) return `option "${name}" of ${provider}: ${wrong}`;
  }
  return null;
}

/**
 * Checks options for workers on several providers: each option goes to those that know it.
 * @param providers providers of the workers, at least one.
 */
export function checkOptionsOfAny(
  providers: readonly Provider[],
  options: ProviderOptions,
): string | null {
  for (const name of Object.keys(options)) {
    const knowing = providers.filter((provider) => Object.hasOwn(OPTIONS[provider], name));
    // If no provider has the option, one with options of its own gives the best message.
    const nearest = providers.find((provider) => Object.keys(OPTIONS[provider]).length > 0);
    const asked = knowing[0] ?? nearest ?? providers[0];
    const mistake = asked === undefined ? null : checkProviderOptions(asked, only(options, name));
    if (mistake !== null) return mistake;
  }
  return null;
}

/** Returns the options that the provider knows. */
export function optionsOf(provider: Provider, options: ProviderOptions): ProviderOptions {
  const known = Object.entries(options).filter(([name]) => Object.hasOwn(OPTIONS[provider], name));
  return Object.fromEntries(known);
}

function only(options: ProviderOptions, name: string): ProviderOptions {
  const value = options[name];
  return value === undefined ? {} : { [name]: value };
}

function unknownOption(provider: Provider, name: string): string {
  const names = Object.keys(OPTIONS[provider]);
  const found = `${provider} has no option ${shown(name)}`;
  if (names.length > 0) return `${found}${suggestion(name, names)}`;
  const others = Object.entries(OPTIONS).flatMap(([other, own]) =>
    Object.hasOwn(own, name) ? [other] : [],
  );
  const hint = others.length === 0 ? "" : `, ${others.join(" and ")} has`;
  return `${found}${hint}; the onnxruntime binding passes no options to ${provider}`;
}

function wrongValue(allowed: Allowed, value: ProviderOptions[string]): string | null {
  if (allowed === "boolean") {
    return typeof value === "boolean" ? null : `expected true or false, got ${shown(value)}`;
  }
  if (allowed === "names") {
    const isNames = typeof value === "object" && value.length > 0 && !value.includes("");
    return isNames ? null : `expected at least one node name, got ${shown(value)}`;
  }
  if (typeof value === "string" && allowed.includes(value)) return null;
  const near = typeof value === "string" ? suggestion(value, allowed) : "";
  const isNear = near.endsWith("?");
  return `expected ${allowed.join(", ")}, got ${shown(value)}${isNear ? near : ""}`;
}

function shown(value: ProviderOptions[string]): string {
  const text = JSON.stringify(value);
  return text.length > MAX_SHOWN_LENGTH ? `${text.slice(0, MAX_SHOWN_LENGTH)}…` : text;
}

/**
 * Parses options of a command line: `preferredLayout=NHWC,enableRobustness=false`. An option that
 * takes names is repeated for each of them.
 * @throws RangeError for text of another form, or a repeated option.
 */
export function parseProviderOptions(text: string): ProviderOptions {
  const options = new Map<string, string | boolean | readonly string[]>();
  for (const part of text.split(",")) {
    const at = part.indexOf("=");
    const [name, value] = [part.slice(0, Math.max(0, at)).trim(), part.slice(at + 1).trim()];
    if (!/^\w+$/.test(name) || value === "") {
      const expected = "options such as preferredLayout=NHWC,enableRobustness=false";
      throw new RangeError(`expected ${expected}, got ${JSON.stringify(part)}`);
    }
    const before = options.get(name);
    if (isNamesOption(name)) {
      options.set(name, [...(typeof before === "object" ? before : []), value]);
      continue;
    }
    if (before !== undefined) {
      throw new RangeError(`expected option "${name}" once, got ${before} and ${value}`);
    }
    options.set(name, value === "true" || value === "false" ? value === "true" : value);
  }
  return Object.fromEntries(options);
}

function isNamesOption(name: string): boolean {
  return Object.values(OPTIONS).some((own) => Object.hasOwn(own, name) && own[name] === "names");
}
