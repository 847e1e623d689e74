/**
 * Finds credentials for a registry: given ones, variables, or the files that docker, podman, ORAS
 * and others write at login. Called only when a registry requires them.
 */
import { homedir } from "node:os";
import { join } from "node:path";
import { RuntimeError } from "../base/errors.ts";
import { readRegularFile } from "../base/regular-file.ts";
import { helpedCredentials } from "./credential-helper.ts";
import type { Credentials } from "./credential-kinds.ts";
import type { RegistryReference } from "./reference.ts";

/** Credentials with their source for messages. */
export interface FoundCredentials {
  readonly credentials: Credentials;
  readonly from: string;
}

export interface RegistryAuth {
  /** Takes precedence over all other sources. */
  readonly given?: Credentials | undefined;
  /** File in the form of docker's config.json; omitted for the default files. */
  readonly file?: string | undefined;
  /** Environment variables; omitted for none. */
  readonly environment?: NodeJS.ProcessEnv | undefined;
}

const USERNAME_VARIABLE = "STRATAGEM_REGISTRY_USERNAME";
const PASSWORD_VARIABLE = "STRATAGEM_REGISTRY_PASSWORD";
const TOKEN_VARIABLE = "STRATAGEM_REGISTRY_TOKEN";

const MAX_FILE_BYTES = 2 ** 20;
/** Key of Docker Hub's account in docker's file. */
const DOCKER_HUB = "https://index.docker.io/v1/";
const DOCKER_HUB_HOSTS = new Set(["docker.io", "index.docker.io", "registry-1.docker.io"]);

type Fields = Readonly<Record<string, unknown>>;

/**
 * Returns null without credentials; most registries allow anonymous access to some content.
 * @throws RuntimeError RUNTIME_CREDENTIALS for an invalid file or a failing helper.
 */
export async function credentialsFor(
  reference: Pick<RegistryReference, "host" | "repository">,
  { given, file, environment = {} }: RegistryAuth,
): Promise<FoundCredentials | null> {
  if (given !== undefined) return { credentials: given, from: "the command line" };
  const fromVariables = variableCredentials(environment);
  if (fromVariables !== null) return fromVariables;
  const places = file === undefined ? defaultFiles(environment) : [file];
  for (const path of places) {
    const config = await configOf(path, file !== undefined);
    if (config === null) continue;
    const found = await credentialsIn(config, path, reference, environment);
    if (found !== null) return { credentials: found, from: path };
  }
  return null;
}

/** @throws RuntimeError RUNTIME_CREDENTIALS if only one of name and password is set. */
function variableCredentials(environment: NodeJS.ProcessEnv): FoundCredentials | null {
  const token = environment[TOKEN_VARIABLE] ?? "";
  if (token !== "") return { credentials: { kind: "bearer", token }, from: TOKEN_VARIABLE };
  const username = environment[USERNAME_VARIABLE] ?? "";
  const password = environment[PASSWORD_VARIABLE] ?? "";
  if (username === "" && password === "") return null;
  if (username === "" || password === "") {
    throw refusal(USERNAME_VARIABLE, `expected both this variable and ${PASSWORD_VARIABLE}`);
  }
  return { credentials: { kind: "password", username, password }, from: USERNAME_VARIABLE };
}

/** Default files in the order of precedence. */
function defaultFiles(environment: NodeJS.ProcessEnv): string[] {
  const named = environment["REGISTRY_AUTH_FILE"] ?? "";
  if (named !== "") return [named];
  const docker = environment["DOCKER_CONFIG"] ?? "";
  const run = environment["XDG_RUNTIME_DIR"] ?? "";
  const home = environment["HOME"] ?? homedir();
  return [
    join(docker === "" ? join(home, ".docker") : docker, "config.json"),
    ...(run === "" ? [] : [join(run, "containers", "auth.json")]),
  ];
}

/** Reads a file; null if a default file does not exist. */
async function configOf(path: string, isNamed: boolean): Promise<Fields | null> {
  const file = await readRegularFile(path, MAX_FILE_BYTES).catch((error) => {
    const { code, message } = error as NodeJS.ErrnoException;
    if (!isNamed && (code === "ENOENT" || code === "ENOTDIR")) return null;
    const reason = code === "ENOENT" ? "no such file" : (code ?? message);
    throw refusal(path, `expected a credentials file, got: ${reason}`);
  });
  if (file === null) return null;
  if (file.isTooLarge) throw refusal(path, `expected at most ${MAX_FILE_BYTES} bytes`);
  try {
    const config: unknown = JSON.parse(file.bytes.toString());
    if (isFields(config)) return config;
  } catch {
    // The parser's message is omitted because it may quote a password.
  }
  throw refusal(path, "expected JSON such as docker's config.json");
}

async function credentialsIn(
  config: Fields,
  path: string,
  { host, repository }: Pick<RegistryReference, "host" | "repository">,
  environment: NodeJS.ProcessEnv,
): Promise<Credentials | null> {
  const { auths, credHelpers, credsStore } = config;
  const names = namesOf(host, repository);
  const helpers = isFields(credHelpers) ? credHelpers : {};
  for (const name of names) {
    const helper = helpers[name];
    if (typeof helper === "string") return helpedCredentials(helper, name, environment);
  }
  const entries = isFields(auths) ? auths : {};
  for (const name of names) {
    const entry = entries[name];
    if (!isFields(entry)) continue;
    const found = credentialsOf(entry, `${path}: auths["${name}"]`);
    if (found !== null) return found;
    if (typeof credsStore === "string") return helpedCredentials(credsStore, name, environment);
  }
  const [name] = DOCKER_HUB_HOSTS.has(host) ? [DOCKER_HUB] : [host];
  if (typeof credsStore !== "string" || name === undefined) return null;
  return helpedCredentials(credsStore, name, environment);
}

/** Keys under which a registry may be listed, the longest repository path first, as in podman. */
function namesOf(host: string, repository: string): string[] {
  const folders = repository.split("/");
  const names = folders.map((_, cut) => {
    return [host, ...folders.slice(0, folders.length - cut)].join("/");
  });
  const hub = DOCKER_HUB_HOSTS.has(host) ? [DOCKER_HUB] : [];
  const urls = [`https://${host}`, `https://${host}/v1/`, `https://${host}/v2/`, `http://${host}`];
  return [...names, host, ...hub, ...urls];
}

/** Reads an entry; null if a helper has its credentials. */
function credentialsOf(entry: Fields, where: string): Credentials | null {
  const { auth, username, password, identitytoken, registrytoken } = entry;
  if (isText(registrytoken)) return { kind: "bearer", token: registrytoken };
  if (isText(identitytoken)) return { kind: "identity", token: identitytoken };
  if (isText(auth)) return decoded(auth, where);
  if (!isText(username) || !isText(password)) return null;
  return { kind: "password", username, password };
}

/** Decodes base64 of `name:password`. */
function decoded(auth: string, where: string): Credentials {
  const text = Buffer.from(auth, "base64").toString();
  const colon = text.indexOf(":");
  if (colon <= 0) throw refusal(`${where}.auth`, "expected base64 of name:password");
  // Docker pads some passwords with zero bytes.
  const password = text.slice(colon + 1).replaceAll("\0", "");
  return { kind: "password", username: text.slice(0, colon), password };
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function refusal(where: string, message: string): RuntimeError {
  return new RuntimeError("RUNTIME_CREDENTIALS", `${where}: ${message}`);
}
