/** URLs of policies in `--policy`. */
import { createHash } from "node:crypto";
import { RuntimeError } from "../../base/errors.ts";

/** Kinds of sources; for a registry, the part behind the plus names the protocol. */
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
  /** Text given by the user. */
  readonly text: string;
}

const WITH_SCHEME = /^([a-z][a-z0-9+.-]{0,30}):\/\/(.*)$/is;
/** Length of the readable part of a folder's name. */
const MAX_NAME = 60;
const KEY_DIGITS = 8;

/**
 * @returns null for the path of a file.
 * @throws RuntimeError RUNTIME_USAGE for another scheme, a missing host, and credentials, which
 * would be shown wherever the URL is.
 */
export function policyUrlOf(text: string, flag = "--policy"): PolicyUrl | null {
  const [, name = "", rest = ""] = WITH_SCHEME.exec(text) ?? [];
  if (name === "") return null;
  const kind = kindOf(name.toLowerCase());
  const [authority = ""] = rest.split(/[/?#]/);
  if (kind === undefined || authority === "") {
    const allowed = "the path of a bundle, or a URL of https, http or oci with a host";
    const removed = name.toLowerCase() === "nats" ? "; nats:// was removed" : "";
    const message = `expected ${allowed}, got ${redacted(text)}${removed}`;
    throw new RuntimeError("RUNTIME_USAGE", `${flag}: ${message}`);
  }
  if (authority.includes("@")) {
    const instead = "--token sources=FILE, or the credentials file of the registry";
    const message = `expected a URL without credentials, which logs would show; use ${instead}`;
    throw new RuntimeError("RUNTIME_USAGE", `${flag}: ${message}`);
  }
  return { kind, text };
}

function kindOf(scheme: string): SourceKind | undefined {
  return Object.entries(KIND_BY_SCHEME).find(([name]) => name === scheme)?.[1];
}

/** Name of the folder in the store: unique for each text. */
export function keyOf(text: string): string {
  const digest = createHash("sha256").update(text).digest("hex").slice(0, KEY_DIGITS);
  const readable = text.toLowerCase().replaceAll(/[^a-z0-9.]/g, "-");
  return `${readable.slice(0, MAX_NAME)}-${digest}`;
}

/**
 * URL of a file in the same folder, with the same query, which holds the access rights of some
 * stores.
 */
export function besideOf(url: string, file: string): string {
  const beside = new URL(encodeURIComponent(file), url);
  beside.search = new URL(url).search;
  return beside.href;
}

/** Hides the query of a URL, which may hold a signature that grants access. */
export function redacted(url: string): string {
  const question = url.indexOf("?");
  return question < 0 ? url : `${url.slice(0, question)}?…`;
}
