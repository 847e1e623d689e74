/** Adds `worker`, which both command lines have. */
import { type Command, Option } from "commander";
import { isWorkerUrl, WORKER_URL_FORM } from "../bundle/schema.ts";
import { address, bytes, count, type Kind } from "../kinds/kinds.ts";
import { DEFAULT_LOG, LOG_HELP, logState } from "../settings/logs.ts";
import { tokenOption } from "../settings/shown-tokens.ts";
import { TLS_HELP, tlsFiles } from "../settings/tls-files.ts";
import { print, readAs, stopSignal } from "./command-line.ts";
import type { WorkerCommand } from "./worker.ts";

const MIB = 2 ** 20;

const PEERS: Kind<readonly string[]> = {
  sign: "<url,url>",
  expected: `${WORKER_URL_FORM}; several with commas`,
  read: (value) => {
    const urls = typeof value === "string" ? value.split(",") : [];
    return urls.length > 0 && urls.every(isWorkerUrl) ? urls : undefined;
  },
  write: (value) => value,
};

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
    .option("--tokens <file>", "tokens that front ends have to show, as serve has them")
    .addOption(new Option(`--tls ${tlsFiles.sign}`, TLS_HELP).argParser(readAs(tlsFiles)))
    .option("--cluster <url>", "nats://a,b,c of the cluster that it is a worker of")
    .addOption(tokenOption("cluster", "workers"))
    .addOption(
      new Option(
        `--peers ${PEERS.sign}`,
        "workers whose kept tensors it may fetch (default: those of --policy and the cluster)",
      ).argParser(readAs(PEERS)),
    )
    .option("--url <url>", "where front ends of a cluster reach it (default: as it listens)")
    .option("--store <folder>", "where models of the cluster are kept (default: as serve)")
    .addOption(
      new Option(`--log ${logState.sign}`, LOG_HELP)
        .default(DEFAULT_LOG, `${logState.write(DEFAULT_LOG)}`)
        .argParser(readAs(logState)),
    )
    .action(async (command: WorkerCommand) => {
      const { workerCommand } = await import("./worker.ts");
      await workerCommand(command, { signal: stopSignal(), onReady: print });
    });
}
