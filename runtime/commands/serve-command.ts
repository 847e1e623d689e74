/** Adds `serve`, which both command lines have. */
import { type Command, Option } from "commander";
import { addSettingFlags, givenFlags } from "../settings/flags.ts";
import { print, stopSignal } from "./command-line.ts";
import type { ServeTools } from "./serve.ts";

/**
 * Adds `serve`.
 * @param tools what there is where the compiler is.
 */
export function addServe(program: Command, tools: ServeTools = {}): void {
  const command = program
    .command("serve")
    .description(
      "answer inference requests as bundles say, until SIGTERM or SIGINT; SIGHUP reads them again",
    );
  addSettingFlags(command)
    .optionsGroup("Options:")
    .addOption(new Option("--config <file>", "settings in YAML or JSON").env("STRATAGEM_CONFIG"))
    .option("--print-config", "show every setting, its value and where it is from, and end")
    .addHelpText(
      "after",
      "\nEvery setting is a variable too: STRATAGEM_SERVER_NAME is --server-name.",
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
