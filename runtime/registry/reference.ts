/** References to artifacts in registries: `oci://host[:port]/repository[:tag][@sha256:…]`. */
import { RuntimeError } from "../base/errors.ts";
import { printable } from "./registry-errors.ts";

export interface RegistryReference {
  /** Protocol: `http:` for registries on this machine, or if the reference says so. */
  readonly protocol: "http:" | "https:";
  /** Host and optional port. */
  readonly host: string;
  /** Path such as `team/policies`. */
  readonly repository: string;
  /** Null if only a digest is given. */
  readonly tag: string | null;
  /** `sha256:` and 64 digits, which identify the content. */
  readonly digest: string | null;
}

/** Tag of references without tag and digest. */
const DEFAULT_TAG = "latest";
const MAX_LENGTH = 1024;
const EXPECTED =
  "a reference such as oci://registry.example:5000/team/policy:1.2 or …/policy@sha256:…";

const PROTOCOL_BY_SCHEME = {
  "oci:": null,
  "oci+http:": "http:",
  "oci+https:": "https:",
} as const;
type Scheme = keyof typeof PROTOCOL_BY_SCHEME;

const SCHEME = /^(oci(?:\+https?)?:)\/\//;
/** A name or an address with an optional port; other parts of URLs are rejected. */
const HOST = /^(?:[a-z\d](?:[a-z\d.-]*[a-z\d])?|\[[\da-f:.]+\])(?::\d{1,5})?$/i;
const COMPONENT = /^[a-z\d]+(?:(?:\.|_|__|-+)[a-z\d]+)*$/;
const TAG = /^\w[\w.-]{0,127}$/;
const DIGEST = /^sha256:[0-9a-f]{64}$/;
const THIS_MACHINE = /^(?:localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[::1\])(?::\d+)?$/i;

/**
 * Parses a reference with or without scheme. `oci://` means TLS, except for registries on this
 * machine; `oci+http://` and `oci+https://` state the protocol explicitly.
 * @throws RuntimeError RUNTIME_USAGE
 */
export function parseReference(text: string): RegistryReference {
  const scheme = SCHEME.exec(text)?.[1] ?? "oci:";
  const rest = text.replace(SCHEME, "");
  const slash = rest.indexOf("/");
  const host = rest.slice(0, Math.max(slash, 0));
  if (text.length > MAX_LENGTH || !HOST.test(host) || !isHost(host)) refuse(text);
  const [path = "", digest = null, ...more] = rest.slice(slash + 1).split("@");
  const colon = path.indexOf(":");
  const repository = colon < 0 ? path : path.slice(0, colon);
  const tag = colon < 0 ? null : path.slice(colon + 1);
  const isSound =
    more.length === 0 &&
    repository.split("/").every((component) => COMPONENT.test(component)) &&
    (tag === null || TAG.test(tag)) &&
    (digest === null || DIGEST.test(digest));
  if (!isSound || !isScheme(scheme)) refuse(text);
  const protocol = PROTOCOL_BY_SCHEME[scheme] ?? (THIS_MACHINE.test(host) ? "http:" : "https:");
  const named = tag ?? (digest === null ? DEFAULT_TAG : null);
  return { protocol, host, repository, tag: named, digest };
}

/** Formats a reference with its scheme. */
export function formatReference({ protocol, host, ...name }: RegistryReference): string {
  const defaultProtocol = THIS_MACHINE.test(host) ? "http:" : "https:";
  const scheme = protocol === defaultProtocol ? "oci:" : `oci+${protocol}`;
  const tag = name.tag === null ? "" : `:${name.tag}`;
  const digest = name.digest === null ? "" : `@${name.digest}`;
  return `${scheme}//${host}/${name.repository}${tag}${digest}`;
}

/** Name to request: the digest if given, because tags can move. */
export function wantedOf({ tag, digest }: RegistryReference): string {
  return digest ?? tag ?? DEFAULT_TAG;
}

function isScheme(scheme: string): scheme is Scheme {
  return scheme in PROTOCOL_BY_SCHEME;
}

/**
 * Requires a name of a host: a first part without dot and port is a folder of Docker Hub, and ports
 * and addresses may be invalid.
 */
function isHost(host: string): boolean {
  const hasName = /[.:]/.test(host) || host.toLowerCase() === "localhost";
  return hasName && URL.canParse(`http://${host}/`);
}

function refuse(text: string): never {
  // The text may contain a password.
  const shown = printable(text.slice(0, 200)).replace(/\/\/[^/]*@/, "//…@");
  throw new RuntimeError("RUNTIME_USAGE", `${shown}: expected ${EXPECTED}`);
}
