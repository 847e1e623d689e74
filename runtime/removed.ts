/** Commands and options that the last release had, each with what to use instead. */
import { flagOf } from "./settings/setting.ts";

/** Of either command line, by name. */
const COMMANDS: Readonly<Record<string, string>> = {
  diff: "stratagem gate OLD NEW --show shows the differences of two bundles",
  recalibrate:
    "stratagem profile APP --from URL -o FILE writes a profile of what a server measured",
  replay: "stratagem explain LOG --replay --policy BUNDLE decides again what a log says",
  schema: "the JSON Schemas are schema/application.json and profile.json of the package stratagem",
  token: "keygen --token --name NAME makes a token",
};

const MODEL_LIMITS = "the limits follow from the size of the models";
const ERRORS = "--json has all errors";
const REQUIRE = "--require none ignores the requirements of the spec";
const CREDENTIALS =
  "log in with docker, podman or oras, or set STRATAGEM_REGISTRY_USERNAME and _PASSWORD, or _TOKEN";
const CREDENTIALS_FILE = "set REGISTRY_AUTH_FILE to the file";
const ALL_PROCESSORS = "all processors solve levels";

/** Flags by command; those of `serve` are also variables and keys of its file. */
const OPTIONS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  init: {
    "--name": "the name is a key of the spec",
    "--yes": "init asks nothing where standard input is no terminal, such as < /dev/null",
    "--model-memory": MODEL_LIMITS,
    "--model-timeout": MODEL_LIMITS,
  },
  profile: {
    "--threads": "--cores N measures on N cores",
    "--seed": "the inputs of a profile are always the same",
    "--cpu-fallback": "serve and compile tell which models a GPU leaves nodes of to the processor",
    "--model-memory": MODEL_LIMITS,
    "--model-timeout": MODEL_LIMITS,
    "--all-errors": ERRORS,
  },
  compile: {
    "--no-require": REQUIRE,
    "--model-memory": MODEL_LIMITS,
    "--model-timeout": MODEL_LIMITS,
    "--all-errors": ERRORS,
  },
  merge: { "--no-require": REQUIRE, "--jobs": ALL_PROCESSORS },
  verify: { "--jobs": ALL_PROCESSORS },
  gate: {
    "--junit": "the report is text, --markdown or --json",
    "--sarif": "the report is text, --markdown or --json",
    "--spec": "only SARIF named the lines of a spec",
  },
  simulate: { "--neighbours": "truth measures beside its load generator" },
  report: { "--no-frontier": "--frontier none solves no load under other ceilings" },
  bench: { "--slo-classes": "--slo-class all draws a class for each query" },
  truth: {
    "--seconds": "--duration 10s says how long each load is sent",
    "--retries": "a run that others disturbed is repeated twice",
  },
  push: {
    "--username": CREDENTIALS,
    "--password-stdin": CREDENTIALS,
    "--registry-config": CREDENTIALS_FILE,
  },
  pull: {
    "--username": CREDENTIALS,
    "--password-stdin": CREDENTIALS,
    "--registry-config": CREDENTIALS_FILE,
  },
  manifests: {
    "--no-models": "--models-claim none mounts no volume",
    "--polling": "change pollingInterval in the ScaledObject",
  },
  sign: { "--cosign": "--cosign-key FILE signs with any key, such as that of --key" },
  worker: {
    "--load": "a worker holds the models of its folder, and loads others when they are asked for",
    "--standby": "a worker replaces a process that ends",
    "--max-values": "--max-body bounds the tensors that stay too",
    "--cpu-fallback": "serve and compile tell which models a GPU leaves nodes of to the processor",
    "--token-file": "--tokens FILE has the tokens that front ends show",
    "--store": "--policy-store FOLDER keeps the models of the cluster",
    "--log-level": "a worker logs from info on",
  },
  serve: {},
};

/** One line for a command that was removed; null for all others. */
export function removedCommand(name: string | undefined): string | null {
  const instead = name === undefined ? undefined : own(COMMANDS, name);
  return instead === undefined ? null : `${name} was removed: ${instead}`;
}

/** One line for a flag of a command that was removed; null for all others. */
export function removedOption(command: string | undefined, flag: string): string | null {
  const ofCommand = command === undefined ? undefined : own(OPTIONS, command);
  const instead = ofCommand === undefined ? undefined : own(ofCommand, flag);
  return instead === undefined ? null : `${command} ${flag} was removed: ${instead}`;
}

/** The same for the key of a setting of `serve`. */
export function removedSetting(key: string): string | null {
  return removedOption("serve", flagOf(key));
}

/** One line for the first variable in an environment whose setting was removed. */
export function removedVariable(environment: NodeJS.ProcessEnv): string | null {
  for (const [flag, instead] of Object.entries(OPTIONS["serve"] ?? {})) {
    const variable = `STRATAGEM_${flag.slice(2).replaceAll("-", "_").toUpperCase()}`;
    const value = environment[variable];
    if (value !== undefined && value !== "") return `${variable} was removed: ${instead}`;
  }
  return null;
}

function own<T>(table: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}
