/** Program of the thread that writes answers of a worker to its socket. */
import { workerData } from "node:worker_threads";
import { type AnswerWriterData, CLOSED, IS_UP, PENDING } from "./answer-writer.ts";
import { BlockingChannel } from "./blocking-channel.ts";

const { fd, cells, memory }: AnswerWriterData = workerData;
const channel = new BlockingChannel(fd);
Atomics.store(cells, IS_UP, 1);
for (let open = true; open; ) {
  Atomics.wait(cells, PENDING, 0);
  open = channel.write([memory.subarray(0, Atomics.load(cells, PENDING))]);
  Atomics.store(cells, PENDING, open ? 0 : CLOSED);
  Atomics.notify(cells, PENDING);
}
