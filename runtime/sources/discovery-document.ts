/** The document that names the bundles of a fleet: which for which labels. */
import { RuntimeError } from "../errors.ts";
import { isInScope, type Labels } from "../trust/labels.ts";
import { told } from "./policy-url.ts";

/** A line of the document: whom it is for, and what they serve. */
export interface DiscoveryEntry {
  /** Null where the fleet serves one application. */
  readonly application: string | null;
  /** A site has to have one of the values of each. */
  readonly labels: Readonly<Record<string, readonly string[]>>;
  /** A URL. */
  readonly policy: string;
}

export const MAX_DISCOVERY_BYTES = 2 ** 20;
const MAX_ENTRIES = 10_000;
const MAX_TEXT = 2048;
const FIELDS = new Set(["application", "labels", "policy"]);

type Fields = Readonly<Record<string, unknown>>;

/**
 * @param url of the document, which relative ones are relative to.
 * @throws RuntimeError RUNTIME_DISCOVERY
 */
export function readDiscovery(bytes: Uint8Array, url: string): DiscoveryEntry[] {
  const { version, policies, ...others } = fieldsOf(jsonOf(bytes, url), told(url));
  const [other] = Object.keys(others);
  if (other !== undefined) throw refusal(url, "expected version and policies", other);
  if (version !== 1) throw refusal(url, "expected version 1", version);
  if (!Array.isArray(policies) || policies.length > MAX_ENTRIES) {
    throw refusal(url, `expected policies to be a list of at most ${MAX_ENTRIES}`, policies);
  }
  return policies.map((one: unknown, index) => entryOf(one, `policies[${index}]`, url));
}

/**
 * What a site serves: of each application the first entry that is for it.
 * @returns URLs by application, in the order of the document; of null the only one.
 * @throws RuntimeError RUNTIME_DISCOVERY where there is none.
 */
export function policiesFor(
  entries: readonly DiscoveryEntry[],
  site: Labels,
  url: string,
): ReadonlyMap<string | null, string> {
  const chosen = new Map<string | null, string>();
  for (const { application, labels, policy } of entries) {
    if (!chosen.has(application) && isFor(labels, site)) chosen.set(application, policy);
  }
  if (chosen.size === 0) {
    throw refusal(url, "expected a policy for the labels of this site", site);
  }
  if (chosen.size > 1 && chosen.has(null)) {
    throw refusal(url, "expected each policy to name its application, or none", [...chosen.keys()]);
  }
  return chosen;
}

function isFor(labels: DiscoveryEntry["labels"], site: Labels): boolean {
  return Object.entries(labels).every(([name, values]) =>
    values.some((value) => isInScope({ [name]: value }, site)),
  );
}

function entryOf(value: unknown, where: string, url: string): DiscoveryEntry {
  const fields = fieldsOf(value, `${told(url)}: ${where}`);
  const other = Object.keys(fields).find((key) => !FIELDS.has(key));
  if (other !== undefined) {
    throw refusal(url, `expected ${where} to have ${[...FIELDS].join(", ")}`, other);
  }
  const { application = null, labels = {}, policy } = fields;
  if (application !== null && !isText(application)) {
    throw refusal(url, `expected ${where}.application to be a name`, application);
  }
  if (!isText(policy)) throw refusal(url, `expected ${where}.policy to be a URL`, policy);
  return {
    application,
    labels: labelsOf(labels, `${where}.labels`, url),
    policy: absoluteUrl(policy, url, where),
  };
}

function labelsOf(value: unknown, where: string, url: string): DiscoveryEntry["labels"] {
  const labels: Record<string, readonly string[]> = {};
  for (const [name, given] of Object.entries(fieldsOf(value, `${told(url)}: ${where}`))) {
    const values: readonly unknown[] = Array.isArray(given) ? given : [given];
    const texts = values.filter(isText);
    if (texts.length === 0 || texts.length < values.length) {
      throw refusal(url, `expected ${where}.${name} to be a text, or a list of texts`, given);
    }
    labels[name] = texts;
  }
  return labels;
}

function absoluteUrl(policy: string, url: string, where: string): string {
  // A registry's reference is no URL to a parser: its port may be followed by a tag.
  if (policy.includes("://")) return policy;
  try {
    return new URL(policy, url).href;
  } catch {
    throw refusal(url, `expected ${where}.policy to be a URL`, policy);
  }
}

function jsonOf(bytes: Uint8Array, url: string): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (error) {
    const found = error instanceof Error ? error.message : String(error);
    throw refusal(url, "expected a document in JSON", found);
  }
}

function fieldsOf(value: unknown, where: string): Fields {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return { ...value };
  const found = JSON.stringify(value)?.slice(0, 100);
  throw new RuntimeError("RUNTIME_DISCOVERY", `${where}: expected an object, got ${found}`);
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "" && value.length <= MAX_TEXT;
}

function refusal(url: string, expected: string, found: unknown): RuntimeError {
  const text = (JSON.stringify(found) ?? String(found)).slice(0, 200);
  return new RuntimeError("RUNTIME_DISCOVERY", `${told(url)}: ${expected}, got ${text}`);
}
