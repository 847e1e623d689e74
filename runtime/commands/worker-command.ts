/** Adds `worker`, which both command lines have. */
import { type Command, InvalidArgumentError, Option } from "commander";
import { address, bytes, count, type Kind } from "../kinds/kinds.ts";
import { LOG_FORMATS } from "../server/logs/log.ts";
import { tokenOption } from "../settings/shown-tokens.ts";
import { print, stopSignal } from "./command-line.ts";
import type { WorkerCommand } from "./worker.ts";

const MIB = 2 ** 20;
const file = "<file>";

export function addWorker(program: Command): void {
  program
    .command("worker")
    .description("run batches for front ends, until SIGTERM or SIGINT")
    .option("--models <folder>", "folder of the model files (default: the folder of --policy)")
    .option("--policy <bundle>", "bundle whose variants to load")
    .addOption(
      new Option("--http <host:port>", "address for HTTP; port 0 for any")
        .default({ host: "127.0.0.1", port: 8000 }, "127.0.0.1:8000")
        .argParser(readAs(address)),
    )
    .option("--name <name>", "name of the worker (default: the host name)")
    .option("--pool <pool>", "pool that it belongs to (default: any that needs a worker)")
    .option("--device <device>", "device for the models, such as cuda:0, or auto", "cpu")
    .addOption(
      new Option("--threads <n>", "threads of a model, unless a front end states its cores")
        .default(1)
        .argParser(readAs(count({ least: 1, most: 1024 }))),
    )
    .addOption(
      new Option(
        "--memory <bytes>",
        "memory of a model's process (default: by the model, at least 4GiB; unlimited on a GPU)",
      ).argParser(readAs(bytes({ least: 256 * MIB }))),
    )
    .addOption(
      new Option("--max-body <bytes>", "bytes of a batch, and of tensors kept for other workers")
        .default(256 * MIB, "256MiB")
        .argParser(readAs(bytes({ most: 1024 * MIB }))),
    )
    .option(`--tokens ${file}`, "hashed tokens of front ends, as for serve")
    .option(`--tls-cert ${file}`, "certificate chain of the worker, PEM")
    .option(`--tls-key ${file}`, "private key of the certificate, PEM")
    .option(`--tls-client-ca ${file}`, "certificate authorities for front ends, PEM")
    .option("--cluster <url>", "nats://a,b,c of its cluster")
    .addOption(tokenOption("cluster"))
    .option("--url <url>", "URL for front ends of the cluster (default: that of --http)")
    .option("--store <folder>", "folder for models of the cluster (default: that of serve)")
    .addOption(new Option("--log-format <name>").choices(LOG_FORMATS).default("text"))
    .action(async (command: WorkerCommand) => {
      const { workerCommand } = await import("./worker.ts");
      await workerCommand(command, { signal: stopSignal(), onReady: print });
    });
}

/** Reads a value of a flag as a setting of that kind is read. */
function readAs<T>({ read, expected }: Kind<T>): (text: string) => T {
  return (text) => {
    const value = read(text);
    if (value === undefined) throw new InvalidArgumentError(`expected ${expected}`);
    return value;
  };
}
