/**
 * Who we are to a registry: as it was given, as variables say, or as the files have it that docker,
 * podman, ORAS and others write when somebody logs in. Asked for only once a registry wants it.
 */
import { homedir } from "node:os";
import { join } from "node:path";
import { RuntimeError } from "../base/errors.ts";
import { readRegularFile } from "../base/regular-file.ts";
import { helpedCredentials } from "./credential-helper.ts";
import type { Credentials } from "./credential-kinds.ts";
import type { RegistryReference } from "./reference.ts";

/** Credentials, and where they are from, as messages name it. */
export interface FoundCredentials {
  readonly credentials: Credentials;
  readonly from: string;
}

export interface RegistryAuth {
  /** Goes before anything else. */
  readonly given?: Credentials | undefined;
  /** A file as docker's config.json; left out for those that are usual. */
  readonly file?: string | undefined;
  /** Variables; left out for none. */
  readonly environment?: NodeJS.ProcessEnv | undefined;
}

const USERNAME_VARIABLE = "STRATAGEM_REGISTRY_USERNAME";
const PASSWORD_VARIABLE = "STRATAGEM_REGISTRY_PASSWORD";
const TOKEN_VARIABLE = "STRATAGEM_REGISTRY_TOKEN";

const MAX_FILE_BYTES = 2 ** 20;
/** The name under which docker keeps the account of its own registry. */
const DOCKER_HUB = "https://index.docker.io/v1/";
const DOCKER_HUB_HOSTS = new Set(["docker.io", "index.docker.io", "registry-1.docker.io"]);

type Fields = Readonly<Record<string, unknown>>;

/**
 * Null where nobody said who we are: most registries answer anybody then, as far as they may.
 * @throws RuntimeError RUNTIME_CREDENTIALS for a file or a helper that is not as they should be.
 */
export async function credentialsFor(
  reference: Pick<RegistryReference, "host" | "repository">,
  { given, file, environment = {} }: RegistryAuth,
): Promise<FoundCredentials | null> {
  if (given !== undefined) return { credentials: given, from: "the command line" };
  const ofVariables = variableCredentials(environment);
  if (ofVariables !== null) return ofVariables;
  const places = file === undefined ? usualFiles(environment) : [file];
  for (const path of places) {
    const config = await configOf(path, file !== undefined);
    if (config === null) continue;
    const found = await credentialsIn(config, path, reference, environment);
    if (found !== null) return { credentials: found, from: path };
  }
  return null;
}

/** @throws RuntimeError RUNTIME_CREDENTIALS for half of an account. */
function variableCredentials(environment: NodeJS.ProcessEnv): FoundCredentials | null {
  const token = environment[TOKEN_VARIABLE] ?? "";
  if (token !== "") return { credentials: { kind: "bearer", token }, from: TOKEN_VARIABLE };
  const username = environment[USERNAME_VARIABLE] ?? "";
  const password = environment[PASSWORD_VARIABLE] ?? "";
  if (username === "" && password === "") return null;
  if (username === "" || password === "") {
    throw refusal(USERNAME_VARIABLE, `expected ${PASSWORD_VARIABLE} beside it, and both`);
  }
  return { credentials: { kind: "password", username, password }, from: USERNAME_VARIABLE };
}

/** In the order in which they are looked into. */
function usualFiles(environment: NodeJS.ProcessEnv): string[] {
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

/** Null where there is none and nobody named it. */
async function configOf(path: string, isNamed: boolean): Promise<Fields | null> {
  const file = await readRegularFile(path, MAX_FILE_BYTES).catch((error) => {
    const { code, message } = error as NodeJS.ErrnoException;
    if (!isNamed && (code === "ENOENT" || code === "ENOTDIR")) return null;
    const reason = code === "ENOENT" ? "no such file" : (code ?? message);
    throw refusal(path, `expected a file of credentials, got: ${reason}`);
  });
  if (file === null) return null;
  if (file.isTooLarge) throw refusal(path, `expected at most ${MAX_FILE_BYTES} bytes`);
  try {
    const config: unknown = JSON.parse(file.bytes.toString());
    if (isFields(config)) return config;
  } catch {
    // What is wrong with it is not told: the words of the error may have a password in them.
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

/** Under which a registry may be listed: with more of the repository first, as podman has it. */
function namesOf(host: string, repository: string): string[] {
  const folders = repository.split("/");
  const names = folders.map((_, cut) => {
    return [host, ...folders.slice(0, folders.length - cut)].join("/");
  });
  const hub = DOCKER_HUB_HOSTS.has(host) ? [DOCKER_HUB] : [];
  const urls = [`https://${host}`, `https://${host}/v1/`, `https://${host}/v2/`, `http://${host}`];
  return [...names, host, ...hub, ...urls];
}

/** Null where the entry only says that a helper has them. */
function credentialsOf(entry: Fields, where: string): Credentials | null {
  const { auth, username, password, identitytoken, registrytoken } = entry;
  if (isText(registrytoken)) return { kind: "bearer", token: registrytoken };
  if (isText(identitytoken)) return { kind: "identity", token: identitytoken };
  if (isText(auth)) return decoded(auth, where);
  if (!isText(username) || !isText(password)) return null;
  return { kind: "password", username, password };
}

/** Of base64 of `name:password`. */
function decoded(auth: string, where: string): Credentials {
  const text = Buffer.from(auth, "base64").toString();
  const colon = text.indexOf(":");
  if (colon <= 0) throw refusal(`${where}.auth`, "expected base64 of name:password");
  // Docker ends some with zeros.
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
