/** Adds `scaler`, which computes the number of workers for the observed load. */
import { type Command, InvalidArgumentError } from "commander";
import { type Address, address } from "../kinds/kinds.ts";
import { tokenOption } from "../settings/shown-tokens.ts";
import { print, stopSignal } from "./command-line.ts";
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
    .option("--cluster <url>", "nats://a,b,c of the front ends' cluster, instead of --metrics")
    .option("--grpc <host:port>", "address for KEDA; port 0 for any", addressOf, DEFAULT)
    .addOption(tokenOption("sources", "cluster", "metrics"))
    .option("--tls-cert <file>", "certificate for KEDA, PEM; set caCert in KEDA")
    .option("--tls-key <file>", "private key of the certificate, PEM")
    .option("--tls-client-ca <file>", "certificate authorities for KEDA's certificate, PEM")
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

const DEFAULT: Address = { host: "127.0.0.1", port: 6000 };

function addressOf(text: string): Address {
  const found = address.read(text);
  if (found !== undefined) return found;
  throw new InvalidArgumentError(`expected ${address.expected}`);
}

function several(value: string, earlier: readonly string[]): string[] {
  return [...earlier, value];
}
