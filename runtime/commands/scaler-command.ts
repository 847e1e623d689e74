/** Adds `scaler`, which says how many workers the observed load wants. */
import { type Command, InvalidArgumentError } from "commander";
import { type Address, address } from "../kinds/kinds.ts";
import { tokenOption } from "../settings/shown-tokens.ts";
import { print, stopSignal } from "./command-line.ts";
import type { ScalerFlags } from "./scaler-options.ts";

export function addScaler(program: Command): void {
  program
    .command("scaler")
    .description("tell KEDA how many workers the plan of the observed load wants, until SIGTERM")
    .requiredOption("--policy <source>", "the bundle that the front ends serve, as serve takes it")
    .option("--store <folder>", "where a bundle of a source is kept (default: as serve)")
    .option(
      "--metrics <url>",
      "/metrics of a front end (repeatable); dns+http://… for one at each address of the name",
      several,
      [],
    )
    .option("--cluster <url>", "nats://a,b,c where front ends tell their load, instead")
    .option("--grpc <host:port>", "where KEDA asks; port 0 for any", addressOf, DEFAULT)
    .addOption(tokenOption("sources", "cluster", "metrics"))
    .option("--tls-cert <file>", "certificate in PEM, with --tls-key; KEDA then has caCert")
    .option("--tls-key <file>", "its private key")
    .option("--tls-client-ca <file>", "who has to have signed KEDA's certificate")
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
