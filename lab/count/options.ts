/** The options of each command, as its help lists them. */
import { spawnSync } from "node:child_process";

export interface CommandOptions {
  readonly name: string;
  /** Long names without `--help` and those that all commands have. */
  readonly options: readonly string[];
}

/** @param cli path of a built command line. */
export function commandOptions(cli: string): CommandOptions[] {
  const names = [...help(cli, []).matchAll(/^ {2}([a-z][a-z-]*) /gm)]
    .map(([, name = ""]) => name)
    .filter((name) => name !== "help");
  return names.map((name) => {
    const [own = ""] = help(cli, [name]).split("\nGlobal Options:");
    const options = [...own.matchAll(/^ {2}(?:-[a-zA-Z], )?--([a-z][a-z-]*)/gm)]
      .map(([, option = ""]) => option)
      .filter((option) => option !== "help");
    return { name, options };
  });
}

function help(cli: string, command: readonly string[]): string {
  const run = spawnSync(process.execPath, [cli, ...command, "--help"], { encoding: "utf8" });
  if (run.status !== 0) throw new Error(`${cli} ${command.join(" ")} --help: ${run.stderr}`);
  return run.stdout;
}
