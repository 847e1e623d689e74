/** Adds `scaler`, which says how many workers the observed load wants. */
import { type Command, Option } from "commander";
import { address } from "../kinds/kinds.ts";
import { tokenOption } from "../settings/shown-tokens.ts";
import { TLS_HELP, tlsFiles } from "../settings/tls-files.ts";
import { print, readAs, stopSignal } from "./command-line.ts";
import type { ScalerFlags } from "./scaler-options.ts";

export function addScaler(program: Command): void {
  program
    .command("scaler")
    .description(
      "serve KEDA the number of workers in the plan for the observed load, until SIGTERM",
    )
    .requiredOption(
      "--policy <source>",
      "bundle that the front ends serve: a path, https:// or oci://",
    )
    .option("--store <folder>", "folder for a bundle of a source (default: that of serve)")
    .option(
      "--metrics <url>",
      "/metrics of a front end (repeatable); dns+http://… for one at each address of a name",
      several,
      [],
    )
    .option("--cluster <url>", "nats://a,b,c where front ends tell their load, instead")
    .addOption(
      new Option("--grpc <host:port>", "where KEDA asks; port 0 for any")
        .default({ host: "127.0.0.1", port: 6000 }, "127.0.0.1:6000")
        .argParser(readAs(address)),
    )
    .addOption(tokenOption("sources", "cluster", "metrics"))
    .addOption(new Option(`--tls ${tlsFiles.sign}`, TLS_HELP).argParser(readAs(tlsFiles)))
    .action(async (flags: ScalerFlags) => {
      const { scalerCommand } = await import("./scaler.ts");
      await scalerCommand(flags, {
        signal: stopSignal(),
        onReady: print,
        nowMs: () => performance.now(),
        environment: process.env,
        onNotice: (message) => process.stderr.write(`${message}\n`),
      });
    });
}

function several(value: string, earlier: readonly string[]): string[] {
  return [...earlier, value];
}
