/** Kinds of settings about devices and workers. */
import { DEVICE_FORM, parseDevice } from "../bundle/schema.ts";
import { AUTO } from "../exec/limits/first-provider.ts";
import { parseProviderOptions } from "../exec/onnx/provider-options.ts";
import { POOL_URLS_FORM, parsePoolUrls } from "../remote/elsewhere.ts";
import type { Kind } from "./kinds.ts";

function isDevice(text: string): boolean {
  return text === AUTO || parseDevice(text) !== null;
}

/** Devices of all pools, or of one by its name. */
export const devices: Kind<readonly string[]> = listOf({
  sign: "<device>",
  expected: `${AUTO}, or ${DEVICE_FORM}, after POOL= for one pool, once per pool`,
  isOne: (text) => isDevice(splitPoolDevice(text).value),
  isEach: (all) => new Set(all.map((text) => splitPoolDevice(text).name)).size === all.length,
});

const VARIABLE = /^(?:[^=]+:)?[A-Za-z_][A-Za-z0-9_]*=/;

/** Variables of all workers, or of those of a pool. */
export const workerVariables: Kind<readonly string[]> = listOf({
  sign: "<name=value>",
  expected: "a variable such as VK_DRIVER_FILES=/etc/vulkan/icd.d/x.json, or gpu:NAME=VALUE",
  isOne: (text) => VARIABLE.test(text),
});

/** URLs of remote workers in the form of `parsePoolUrls`. */
export const workerUrls: Kind<readonly string[]> = listOf({
  sign: "<pool=url,url>",
  expected: POOL_URLS_FORM,
  isOne: (text) => parsePoolUrls(text) !== undefined,
});

/** Splits `pool=device`, where the pool may contain "="; the name is empty for all pools. */
export function splitPoolDevice(text: string): { readonly name: string; readonly value: string } {
  const at = text.lastIndexOf("=");
  return { name: text.slice(0, Math.max(0, at)), value: text.slice(at + 1) };
}

/** Provider options in the form of `parseProviderOptions`. */
export const providerOptions: Kind<string> = {
  sign: "<name=value>",
  expected: "options such as preferredLayout=NHWC,enableRobustness=false, each once",
  read: (value) => (typeof value === "string" && areOptions(value) ? value : undefined),
  write: (value) => value,
};

function areOptions(text: string): boolean {
  try {
    parseProviderOptions(text);
    return true;
  } catch {
    return false;
  }
}

/** Splits `a=b`, where b may contain "=". */
export function splitPair(text: string): { readonly name: string; readonly value: string } {
  const at = Math.max(0, text.indexOf("="));
  return { name: text.slice(0, at), value: text.slice(at + 1) };
}

interface OneOfList {
  readonly sign: string;
  readonly expected: string;
  readonly isOne: (text: string) => boolean;
  /** Whether the combination is valid; by default always. */
  readonly isEach?: (texts: readonly string[]) => boolean;
}

/** List of texts that may contain commas; a variable separates them by semicolons. */
export function listOf({
  sign,
  expected,
  isOne,
  isEach = () => true,
}: OneOfList): Kind<readonly string[]> {
  return {
    sign,
    expected,
    isList: true,
    hasCommas: true,
    read: (value) => {
      const list: unknown = typeof value === "string" ? value.split(";") : value;
      if (!Array.isArray(list) || list.length === 0) return undefined;
      if (!list.every((one) => typeof one === "string" && isOne(one))) return undefined;
      return isEach(list) ? list : undefined;
    },
    write: (value) => value,
  };
}
