/** Adds `serve`, which both command lines have. */
import { type Command, Option } from "commander";
import { addSettingFlags, givenFlags } from "../settings/flags.ts";
import { print, stopSignal } from "./command-line.ts";
import type { ServeTools } from "./serve.ts";

/** Adds `serve`. @param tools functions of the compiler, if it is installed. */
export function addServe(program: Command, tools: ServeTools = {}): void {
  const command = program
    .command("serve")
    .description(
      "answer inference requests by policy bundles, until SIGTERM or SIGINT; SIGHUP reloads them",
    );
  addSettingFlags(command)
    .optionsGroup("Options:")
    .addOption(new Option("--config <file>", "settings file, YAML or JSON").env("STRATAGEM_CONFIG"))
    .option("--print-config", "print every setting, its value and its source, and exit")
    .addHelpText(
      "after",
      "\nEvery setting is also an environment variable: STRATAGEM_SERVER_NAME is --server-name.",
    )
    .action(async ({ config, printConfig }: { config?: string; printConfig?: boolean }) => {
      const { servedSettings, serveCommand } = await import("./serve.ts");
      const flags = givenFlags(command.opts(), (key) => command.getOptionValueSource(key));
      const settings = await servedSettings(flags, process.env, config);
      if (printConfig === true) {
        const { printedSettings } = await import("./print-settings.ts");
        print(printedSettings(settings));
        return;
      }
      await serveCommand(settings, tools, {
        signal: stopSignal(),
        onReady: print,
        environment: process.env,
        onReload: (reload) => process.on("SIGHUP", reload),
      });
    });
}
