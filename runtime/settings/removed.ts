/** Commands and options removed in this release, each with its replacement. */
import { flagOf } from "../kinds/setting.ts";

const SIMULATE = "use simulate NEW --arrivals log:LOG with a decision log";

/** Commands of both command lines, by name. */
const COMMANDS: Readonly<Record<string, string>> = {
  diff: "use stratagem gate OLD NEW --show",
  recalibrate: "use stratagem profile APP --from URL -o FILE",
  replay: "use stratagem explain LOG --replay --policy BUNDLE",
  schema: "the JSON Schemas are schema/application.json and profile.json of the package stratagem",
  token: "use keygen --token NAME",
  completion: "shell completion is no longer supported; --help lists commands and options",
  "shadow-report": SIMULATE,
};

/** Former flags of `serve` that are limits now. */
const LIMIT_FLAGS = [
  ...["max-body", "max-in-flight", "max-rows", "max-pending", "max-sequences"],
  ...["max-sequence-bytes", "sequence-idle", "feedback-rows", "feedback-time", "max-connections"],
  ...["max-pipelined", "max-header", "max-header-fields", "header-timeout", "body-timeout"],
  ...["body-window", "min-body-rate", "send-timeout", "max-unsent", "max-unsent-per-connection"],
  ...["idle-timeout", "linger", "drain-delay", "drain-timeout", "grpc-max-message"],
  ...["grpc-max-streams", "client-rate", "client-burst", "client-concurrency", "poll"],
  ...["canary-time", "canary-tolerance", "canary-gate", "hours-per-false-alarm"],
];

const MODEL_LIMITS = "the limits now follow from the size of the models";
const ERRORS = "use --json for all errors";
const REQUIRE = "use --require none to ignore the requirements of the spec";
const CREDENTIALS =
  "log in with docker, podman or oras, or set STRATAGEM_REGISTRY_USERNAME and _PASSWORD, or _TOKEN";
const CREDENTIALS_FILE = "set REGISTRY_AUTH_FILE to the file";
const ALL_PROCESSORS = "levels are solved on all processors";

const KEDA_SCALES = "KEDA sets the replicas, with the ScaledObject that manifests writes";
const POD_KNOWS = "replicas are read with the service account of the scaler's pod";
const TLS = {
  "--tls-cert": "use --tls cert=FILE,key=FILE",
  "--tls-key": "use --tls cert=FILE,key=FILE",
  "--tls-client-ca": "use --tls cert=FILE,key=FILE,client-ca=FILE",
};
const LOG = { "--log-level": "use --log LEVEL", "--log-format": "use --log FORMAT" };
const ARRIVALS = {
  "--poisson": "use --arrivals poisson:QPS",
  "--gamma": "use --arrivals gamma:QPS,CV2",
  "--trace": "use --arrivals trace:FILE",
};
const PLAIN_HTTP = "use oci+http://HOST/NAME for a registry without TLS";
const SPAN = "use --time BEGIN/END";

/** Options by command; those of `serve` were also variables and keys of its file. */
const OPTIONS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  init: {
    "--name": "set name in the spec",
    "--yes": "init asks nothing if standard input is not a terminal, as with < /dev/null",
    "--model-memory": MODEL_LIMITS,
    "--model-timeout": MODEL_LIMITS,
  },
  profile: {
    "--worker-token": "use --token workers=FILE",
    "--threads": "use --cores N",
    "--into": "use --serving PROFILE",
    "--seed": "the inputs of a profile are always the same",
    "--cpu-fallback": "serve and compile report models with nodes on the CPU",
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
  simulate: {
    ...ARRIVALS,
    "--worker-pace": "use --pace WORKER=FACTOR",
    "--neighbours": "truth measures beside its load generator",
    "--fanout": "fan-outs are rounded, as in plans",
  },
  explain: { "--minute": "use --time MINUTE", "--from": SPAN, "--to": SPAN },
  report: { "--no-frontier": "use --frontier none" },
  bench: {
    ...ARRIVALS,
    "--slo-classes": "use --slo-class all",
    "--warm-up": "run bench twice: the first run is the warm-up",
    "--seed": "the load is always that of simulate --seed 1",
  },
  truth: {
    "--seconds": "use --duration 10s",
    "--retries": "a disturbed run is repeated up to twice",
    "--seed": "each run of a load has a seed of its own, always the same",
    "--models": "models are found as the spec names them",
  },
  push: {
    "--plain-http": PLAIN_HTTP,
    "--username": CREDENTIALS,
    "--password-stdin": CREDENTIALS,
    "--registry-config": CREDENTIALS_FILE,
  },
  pull: {
    "--plain-http": PLAIN_HTTP,
    "--username": CREDENTIALS,
    "--password-stdin": CREDENTIALS,
    "--registry-config": CREDENTIALS_FILE,
  },
  manifests: {
    "--worker-memory": "use --memory",
    "--no-models": "use --models-claim none",
    "--polling": "change pollingInterval in the ScaledObject",
  },
  keygen: {
    "--name": "use --token NAME",
    "--cosign": "openssl genpkey makes a key of P-256 for sign --cosign-key (docs/ship.md)",
  },
  sign: {
    "--spec": "use --provenance SPEC",
    "--cosign": "use --cosign-key FILE, which may be that of --key",
  },
  worker: {
    ...TLS,
    ...LOG,
    "--load": "a worker loads the models of its folder, and others on request",
    "--standby": "a worker replaces a process that ends",
    "--max-values": "--max-body also limits the tensors kept for other workers",
    "--cpu-fallback": "serve and compile report models with nodes on the CPU",
    "--token-file": "use --tokens FILE",
    "--cluster-token": "use --token cluster=FILE",
    "--worker-memory": "use --memory",
  },
  scaler: {
    ...TLS,
    "--policy-token": "use --token sources=FILE",
    "--policy-store": "use --store",
    "--cluster-token": "use --token cluster=FILE",
    "--token-file": "use --token metrics=FILE",
    "--scale": KEDA_SCALES,
    "--resize": KEDA_SCALES,
    "--lease": KEDA_SCALES,
    "--kube-api": POD_KNOWS,
    "--kube-namespace": POD_KNOWS,
    "--kube-token-file": POD_KNOWS,
  },
  serve: {
    ...TLS,
    ...LOG,
    ...Object.fromEntries(LIMIT_FLAGS.map((flag) => [`--${flag}`, limitInstead(flag)])),
    "--device-ids": "use --device cuda:0,1",
    "--pool-device": "use --device POOL=DEVICE",
    "--policy-token": "use --token sources=FILE",
    "--worker-token": "use --token workers=FILE",
    "--cluster-token": "use --token cluster=FILE",
    "--policy-store": "use --store",
    "--worker-memory": "use --memory",
    "--shadow": SIMULATE,
    "--shadow-share": "accuracy in service is estimated only from labels (docs/operate.md)",
    "--processes": "start more servers, in a cluster or behind a load balancer",
    "--discovery": "use --policy https://… or oci://…",
  },
};

/** Returns a message for a removed command; null for all others. */
export function removedCommand(name: string | undefined): string | null {
  const instead = name === undefined ? undefined : own(COMMANDS, name);
  return instead === undefined ? null : `${name} was removed: ${instead}`;
}

/** Returns a message for a removed option of a command; null for all others. */
export function removedOption(command: string | undefined, flag: string): string | null {
  const ofCommand = command === undefined ? undefined : own(OPTIONS, command);
  const instead = ofCommand === undefined ? undefined : own(ofCommand, flag);
  return instead === undefined ? null : `${command} ${flag} was removed: ${instead}`;
}

/** Returns the message for the first removed option among the words after a command. */
export function removedOptionIn(
  command: string | undefined,
  words: readonly string[],
): string | null {
  const removed = words.map((word) => removedOption(command, word.split("=", 1)[0] ?? ""));
  return removed.find((one) => one !== null) ?? null;
}

/** Returns a message for a removed key of the settings file. */
export function removedSetting(key: string): string | null {
  return removedOption("serve", flagOf(key));
}

/** Returns a message for the first variable of an environment whose setting was removed. */
export function removedVariable(environment: NodeJS.ProcessEnv): string | null {
  for (const [flag, instead] of Object.entries(OPTIONS["serve"] ?? {})) {
    const variable = `STRATAGEM_${flag.slice(2).replaceAll("-", "_").toUpperCase()}`;
    const value = environment[variable];
    if (value !== undefined && value !== "") return `${variable} was removed: ${instead}`;
  }
  return null;
}

function limitInstead(flag: string): string {
  const name = flag.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
  return `use --limit ${name}=VALUE, or ${name} under limits in the file`;
}

function own<T>(table: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}
