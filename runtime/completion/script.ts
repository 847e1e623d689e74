/** Completion scripts by shell. */
import type { Command } from "commander";
import { bashScript } from "./bash.ts";
import { fishScript } from "./fish.ts";
import { completedProgram } from "./tree.ts";
import { zshScript } from "./zsh.ts";

const SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript };

export type Shell = keyof typeof SCRIPTS;

/** What a shell reads to complete the command line of a program. */
export function completionScript(program: Command, shell: Shell): string {
  return SCRIPTS[shell](completedProgram(program));
}
