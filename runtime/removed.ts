/** Commands and options that the last release had, each with what to use instead. */
import { flagOf } from "./settings/setting.ts";

/** Of either command line, by name. */
const COMMANDS: Readonly<Record<string, string>> = {
  completion: "no shell completion is written any more; --help lists commands and options",
};

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

function own<T>(table: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}
