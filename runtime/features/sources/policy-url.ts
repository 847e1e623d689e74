/** Which texts of `--policy` are places of the net, and what is said and kept of them. */
import { createHash } from "node:crypto";
import { RuntimeError } from "../../base/errors.ts";

/** Of a registry, the part behind the plus says how it is spoken to. */
const KIND_BY_SCHEME = {
  https: "web",
  http: "web",
  oci: "registry",
  "oci+http": "registry",
  "oci+https": "registry",
} as const;
type SourceKind = "web" | "registry";

export interface PolicyUrl {
  readonly kind: SourceKind;
  /** As it was written. */
  readonly text: string;
}

const WITH_SCHEME = /^([a-z][a-z0-9+.-]{0,30}):\/\/(.*)$/is;
/** Of the name of a folder, the readable part. */
const MAX_NAME = 60;
const KEY_DIGITS = 8;

/**
 * @returns null for the path of a file.
 * @throws RuntimeError RUNTIME_USAGE for another scheme, for no host, and for credentials, which
 * would be told wherever the URL is.
 */
export function policyUrlOf(text: string, flag = "--policy"): PolicyUrl | null {
  const [, name = "", rest = ""] = WITH_SCHEME.exec(text) ?? [];
  if (name === "") return null;
  const kind = kindOf(name.toLowerCase());
  const [authority = ""] = rest.split(/[/?#]/);
  if (kind === undefined || authority === "") {
    const allowed = "the path of a bundle, or a URL of https, http or oci with a host";
    const removed = name.toLowerCase() === "nats" ? "; nats:// was removed" : "";
    const message = `expected ${allowed}, got ${told(text)}${removed}`;
    throw new RuntimeError("RUNTIME_USAGE", `${flag}: ${message}`);
  }
  if (authority.includes("@")) {
    const instead = "--token sources=FILE, or the credentials file of the registry";
    const message = `expected a URL without credentials, which everybody would be told; ${instead}`;
    throw new RuntimeError("RUNTIME_USAGE", `${flag}: ${message}`);
  }
  return { kind, text };
}

function kindOf(scheme: string): SourceKind | undefined {
  return Object.entries(KIND_BY_SCHEME).find(([name]) => name === scheme)?.[1];
}

/** The name of what is kept of a place: the same for the same text, and no other's. */
export function keyOf(text: string): string {
  const digest = createHash("sha256").update(text).digest("hex").slice(0, KEY_DIGITS);
  const readable = text.toLowerCase().replaceAll(/[^a-z0-9.]/g, "-");
  return `${readable.slice(0, MAX_NAME)}-${digest}`;
}

/** A file beside another one, with the query of that one, where some stores have their leave. */
export function besideOf(url: string, file: string): string {
  const beside = new URL(encodeURIComponent(file), url);
  beside.search = new URL(url).search;
  return beside.href;
}

/** A URL as it may be told: queries may hold signatures that let anybody in. */
export function told(url: string): string {
  const question = url.indexOf("?");
  return question < 0 ? url : `${url.slice(0, question)}?…`;
}
