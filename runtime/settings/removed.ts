/** Commands and options that the last release had, each with what to use instead. */
import { flagOf } from "./setting.ts";

const SIMULATE = "simulate NEW --arrivals LOG on a decision log answers the question offline";

/** Of either command line, by name. */
const COMMANDS: Readonly<Record<string, string>> = {
  completion: "no shell completion is written any more; --help lists commands and options",
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
  ...["canary-time", "canary-tolerance", "hours-per-false-alarm"],
];

const KEDA_SCALES = "KEDA sets the replicas, by the ScaledObject that manifests writes";
const POD_KNOWS = "replicas are read by the service account of the scaler's pod";

/** Flags by command; those of `serve` are also variables and keys of its file. */
const OPTIONS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  scaler: {
    "--scale": KEDA_SCALES,
    "--resize": KEDA_SCALES,
    "--lease": KEDA_SCALES,
    "--kube-api": POD_KNOWS,
    "--kube-namespace": POD_KNOWS,
    "--kube-token-file": POD_KNOWS,
  },
  serve: {
    ...Object.fromEntries(LIMIT_FLAGS.map((flag) => [`--${flag}`, limitInstead(flag)])),
    "--device-ids": "use --device cuda:0,1",
    "--pool-device": "use --device POOL=DEVICE",
    "--policy-token": "use --token sources=FILE",
    "--worker-token": "use --token workers=FILE",
    "--cluster-token": "use --token cluster=FILE",
    "--policy-store": "use --store",
    "--worker-memory": "use --memory",
    "--shadow": SIMULATE,
    "--shadow-share": "accuracy in service is estimated from labels alone (docs/operate.md)",
    "--processes": "start more servers, of a cluster or behind a load balancer",
    "--discovery": "name the bundle with --policy https://… or oci://…",
  },
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

function limitInstead(flag: string): string {
  const name = flag.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
  return `use --limit ${name}=VALUE, or ${name} under limits in the file`;
}

function own<T>(table: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}
