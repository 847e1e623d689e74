/** Adds `completion`, which both command lines have. */
import { Argument, type Command } from "commander";
import { print } from "./command-line.ts";
import type { Shell } from "./completion/script.ts";
import { EXIT_CODES } from "./errors.ts";

/** Every verb that is added before or after is completed. */
export function addCompletion(program: Command): void {
  program
    .command("completion")
    .description("print what lets a shell complete this command")
    .addArgument(new Argument("<shell>", "which shell").choices(["bash", "zsh", "fish"]))
    .action(async (shell: Shell) => {
      const { completionScript } = await import("./completion/script.ts");
      const script = completionScript(program, shell);
      print({ exitCode: EXIT_CODES.ok, text: script.trimEnd(), json: { shell, script } });
    });
}
